"""Contacts: the people, with their deals and meetings."""

from contract.criteria import ListQuery, Selection
from contract.errors import Problem, Problems
from contract.scopes import ScopeGroup
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, Input
from resolvers.shared.lists import PageResult, by_id, children, page_of
from resolvers.shared.record_inputs import fields_of
from resolvers.shared.tagging import Names
from resolvers.shared.writing import change_record, create_record, delete_record
from storage.base import JsonDict
from storage.columns import CREATE, UPDATE
from storage.queries import listables
from storage.rows import ActivityRow, ContactRow, DealRow
from storage.tables import Activity, Contact, DealContact


@fields_of(Contact, CREATE)
class ContactCreate(Input):
    """A new person."""

    tags: Names | None = None


@fields_of(Contact, UPDATE)
class ContactUpdate(Input):
    """Changes to a person; null clears a field."""


@requires(ScopeGroup.CRM_READ, finds=(listables.CONTACTS,))
async def get_contact(ctx: Context, contact_id: str, selection: Selection | None = None) -> ContactRow | None:
    """The contact, or None."""
    return await by_id(ctx, listables.CONTACTS, contact_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_contacts(ctx: Context, listing: ListQuery, selection: Selection | None = None) -> PageResult[ContactRow]:
    """A page of the contacts."""
    return await page_of(ctx, listables.CONTACTS, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def deals_of_contact(
    ctx: Context, contact_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[DealRow]:
    """A page of the deals that the contact is linked to."""
    return await children(ctx, listables.DEALS_OF_CONTACTS, DealContact.contact_id, contact_id, listing, selection)


@requires(ScopeGroup.MEETINGS_READ)
async def meetings_of_contact(
    ctx: Context, contact_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[ActivityRow]:
    """A page of the contact's meetings."""
    return await children(ctx, listables.MEETINGS, Activity.contact_id, contact_id, listing, selection)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_contact(ctx: Context, input: ContactCreate) -> Contact:
    """Create a contact; the caller becomes its owner. Raises Problems for one that nothing names."""
    expect_named(input.given())
    return await create_record(ctx, Contact, input, created)


def created(contact: Contact) -> JsonDict:
    """Makes the data of the change log's event on a new contact."""
    return {
        "contact_id": contact.id,
        "first_name": contact.first_name,
        "last_name": contact.last_name,
        "email": contact.email,
        "account_id": contact.account_id,
        "owner_id": contact.owner_id,
    }


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_contact(ctx: Context, contact_id: str, input: ContactUpdate) -> Contact:
    """Change a contact. Raises NotFound, Problems, or PreconditionFailed for a stale version."""

    def still_named(contact: Contact, before: Given) -> None:
        if not before.keys().isdisjoint(NAMES):
            expect_named({name: getattr(contact, name) for name in NAMES})

    return await change_record(ctx, Contact, contact_id, input, check=still_named)


NAMES = ("first_name", "last_name", "email")


def is_named(fields: Given) -> bool:
    """Says whether a name or an e-mail address is in the fields."""
    return any((fields.get(name) or "").strip() for name in NAMES)


def expect_named(fields: Given) -> None:
    """Raise Problems where neither a name nor an e-mail address is in the fields (decision 212)."""
    if not is_named(fields):
        raise Problems([Problem(("input", "email"), "must be given where there is no name", "missing")])


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_contact(ctx: Context, contact_id: str) -> str:
    """Delete a contact and its links to deals; deals, meetings and enrollments stay, without it (decision 10)."""
    return await delete_record(ctx, Contact, contact_id)
