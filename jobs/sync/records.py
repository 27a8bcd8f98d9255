"""The records that a page's people lead to, and the contacts that are made of those who are none yet."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from contract.integrations import CONTACTS_OF_A_MEETING_MAX, FREE_MAIL
from jobs.sync.identity import address_key, domain_key
from jobs.sync.match import Known, external, is_person, names_of
from providers.accounts.ports import Guest
from storage.base import JsonDict
from storage.new_rows import new_row
from storage.queries import sync
from storage.tables import Contact, Event
from storage.tenancy.sessions import TenantSession


async def known_of(session: TenantSession, addresses: Collection[str]) -> Known:
    """The records that these addresses lead to, in four statements however many they are."""
    if not addresses:
        return Known()
    contacts = await sync.contacts(session, addresses)
    accounts = await sync.accounts(session, {domain_key(each) for each in addresses} - FREE_MAIL)
    wanted = {account_id for _, account_id in contacts.values() if account_id is not None} | set(accounts.values())
    return Known(contacts, accounts, await sync.open_deals(session, wanted) if wanted else {})


async def make_contacts(
    session: TenantSession,
    known: Known,
    meetings: Iterable[Sequence[Guest]],
    own: frozenset[str],
    internal: frozenset[str],
    owner: str,
    request_id: str,
) -> tuple[Known, list[Event]]:
    """Make contacts of the people from outside who take part in these meetings; what is known then, and the events."""
    made: dict[str, Contact] = {}
    for guests in meetings:
        by_key = {address_key(guest.email): guest for guest in guests}
        new = [key for key in external(guests, own, internal) if key not in known.contacts and is_person(by_key[key])]
        for key in new[:CONTACTS_OF_A_MEETING_MAX]:
            if key not in made:
                given, family = names_of(by_key[key])
                made[key] = new_row(
                    Contact,
                    org_id=session.org_id,
                    first_name=given,
                    last_name=family,
                    email=by_key[key].email,
                    account_id=known.accounts.get(domain_key(key)),
                    owner_id=owner,
                )
    if not made:
        return known, []
    await session.insert(*made.values())
    contacts = {key: (contact.id, contact.account_id) for key, contact in made.items()}
    events = [_told(contact, owner, request_id) for contact in made.values()]
    return replace(known, contacts={**known.contacts, **contacts}), events


def _told(contact: Contact, owner: str, request_id: str) -> Event:
    names = ("first_name", "last_name", "email", "account_id", "owner_id")
    data: JsonDict = {"contact_id": contact.id, **{name: getattr(contact, name) for name in names}}
    return new_row(Event, sequence=0, type="contact_created", area="crm", actor=owner, request_id=request_id, data=data)
