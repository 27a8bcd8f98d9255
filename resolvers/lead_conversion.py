"""Conversion of a lead into an account, a contact and a deal, and what to convert it into (decisions 39, 40)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, ConfigDict, ValidationInfo

from contract.domains import domain_of
from contract.errors import NotFound, Problem, Problems
from contract.lead_states import LeadMove
from contract.limits import CANDIDATES_MAX
from contract.matching import company_key, person_key
from contract.scopes import ScopeGroup
from contract.vocabulary import LeadStatus
from resolvers import accounts, contacts
from resolvers.deals import announce, deal_event, insert_deal
from resolvers.lead_matching import parted, patterns
from resolvers.leads import check_move, to_change
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, Input, Reference, RequiredLine, having_all
from resolvers.shared.lists import by_id
from resolvers.shared.node_lookup import NodeResult
from resolvers.shared.sentences import ABSENT
from resolvers.shared.threads import aside
from resolvers.shared.told_at_once import leading, to_record
from storage.base import Record, now
from storage.new_rows import new_row
from storage.queries import history, listables, merged_ids, records
from storage.queries import leads as statements
from storage.queries.listable import Listable
from storage.rows import AccountRow, ContactRow, DealRow, LeadRow, RecordRow
from storage.tables import Account, Contact, Deal, Event, Lead
from storage.tenancy.sessions import TenantSession


def _new_only(name: str | None, info: ValidationInfo) -> str | None:
    if name is not None and info.data.get("deal_id") is not None:
        raise ValueError("does not go with an existing deal")
    return name


_INTO: Final[Mapping[str, type[Record]]] = {"account_id": Account, "contact_id": Contact, "deal_id": Deal}


@leading({(name,): to_record(model) for name, model in _INTO.items()})
class LeadConversion(Input):
    """The records to convert a lead into: existing ones, or none for new ones; a deal only where one is named."""

    model_config = ConfigDict(json_schema_extra={"not": having_all("deal_id", "deal_name")})

    account_id: Reference | None = None
    contact_id: Reference | None = None
    deal_id: Reference | None = None
    deal_name: Annotated[RequiredLine | None, AfterValidator(_new_only)] = None


RowT = TypeVar("RowT", bound=RecordRow)
_Found = dict[str, tuple[RowT, list[str]]]
"""Records by identifier, each with the reasons."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A converted lead with what it was converted into; None for what it was not, or what is gone since."""

    lead: Lead
    account: AccountRow | None
    contact: ContactRow | None
    deal: DealRow | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record that the lead may be about, and why, in words."""

    node: NodeResult
    reason: str


@dataclass(frozen=True, slots=True)
class Preview:
    """The candidates, the strongest reasons first."""

    accounts: Sequence[Candidate]
    contacts: Sequence[Candidate]


@requires(ScopeGroup.CRM_READ)
async def preview_conversion(ctx: Context, lead_id: str) -> Preview:
    """The accounts and contacts that a lead may be converted into. Raises NotFound."""
    lead = await by_id(ctx, listables.LEADS, lead_id)
    if lead is None:
        raise NotFound(field=("id",))
    accounts, contacts = await asyncio.gather(_accounts_like(ctx, lead), _contacts_like(ctx, lead))
    return Preview(_candidates("Account", accounts), _candidates("Contact", contacts))


async def _accounts_like(ctx: Context, lead: LeadRow) -> _Found[AccountRow]:
    """The accounts by identifier, each with its reasons."""
    found: _Found[AccountRow] = {}
    domain, of_email = domain_of(lead.company_domain), domain_of(lead.email)
    async with ctx.reading() as session:
        for wanted, reason in ((domain, "same domain"), (None if of_email == domain else of_email, "e-mail domain")):
            if wanted is None:
                continue
            for row in await statements.containing(session, statements.ACCOUNT_DOMAIN, [[wanted]]):
                if domain_of(row.domain) == wanted:
                    _add(found, row, f"{reason} {wanted}")
        key = company_key(lead.company)
        words = patterns(lead.company or "", is_company=True) if key else []
        named = await statements.containing(session, statements.ACCOUNT_NAME, words) if words else []
    for row in await _of_key(named, key, lambda row: row.name, company_key):
        _add(found, row, "same company name")
    return found


async def _contacts_like(ctx: Context, lead: LeadRow) -> _Found[ContactRow]:
    """The contacts by identifier, each with its reasons."""
    found: _Found[ContactRow] = {}
    async with ctx.reading() as session:
        if lead.email is not None:
            for row in await statements.containing(session, statements.CONTACT_EMAIL, [[lead.email.lower()]]):
                if (row.email or "").lower() == lead.email.lower():
                    _add(found, row, f"same e-mail {lead.email.lower()}")
        key = person_key(lead.name)
        named = await statements.containing(session, statements.CONTACT_NAME, patterns(lead.name)) if key else []
    for row in await _of_key(named, key, lambda row: f"{row.first_name or ''} {row.last_name or ''}", person_key):
        _add(found, row, "same name")
    return found


_COMPARED_AT_ONCE = 50_000
"""Characters of names, which take some milliseconds; nothing else waits for more."""


async def _of_key(
    rows: Sequence[RowT], key: tuple[str, ...], text: Callable[[RowT], str], key_of: Callable[[str], tuple[str, ...]]
) -> list[RowT]:
    """The rows whose text has this key; compared in a thread where that takes a while."""

    def find(pace: Callable[[], None] = lambda: None) -> list[RowT]:
        same = []
        for row in rows:
            pace()
            if key_of(text(row)) == key:
                same.append(row)
        return same

    return await aside(find) if sum(len(text(row)) for row in rows) > _COMPARED_AT_ONCE else find()


def _add(found: _Found[RowT], row: RowT, reason: str) -> None:
    found.setdefault(row.id, (row, []))[1].append(reason)


def _candidates(kind: str, found: _Found[RowT]) -> list[Candidate]:
    strongest = sorted(found.values(), key=lambda entry: -len(entry[1]))[:CANDIDATES_MAX]
    return [Candidate(NodeResult(kind, row), ", ".join(reasons)) for row, reasons in strongest]


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def convert_lead(
    ctx: Context, lead_id: str, input: LeadConversion, *, field: tuple[str, ...] = ("id",)
) -> Converted:
    """Convert a lead, whole or not at all; a converted one answers with its first conversion, whatever is asked.

    `field` is where the caller named the lead. Raises NotFound, Problems, or InvalidState for a disqualified lead.
    """
    made = None
    async with ctx.writing() as session:
        lead = await to_change(session, lead_id, field=field)
        if lead.status != LeadStatus.CONVERTED.value:
            check_move(lead, LeadMove.CONVERT, LeadStatus.CONVERTED, field=field)
            lead, made = await _convert(ctx, session, lead, input)
        converted = Converted(
            lead,
            await _shown(session, listables.ACCOUNTS, lead.account_id),
            await _shown(session, listables.CONTACTS, lead.contact_id),
            await _shown(session, listables.DEALS, lead.deal_id),
        )
    ctx.forget()
    if made is not None:
        announce(ctx, made)
    return converted


async def _shown(session: TenantSession, listable: Listable[RowT], identifier: str | None) -> RowT | None:
    return None if identifier is None else await records.one(session, listable, identifier)


async def _convert(ctx: Context, session: TenantSession, lead: Lead, input: LeadConversion) -> tuple[Lead, Deal | None]:
    """Write the records and the lead's new state; the lead then, and the deal where it is a new one."""
    named, events = await _named(session, input), list[Event]()
    account = await _account(ctx, session, lead, named.get("account_id"), events)
    contact = await _contact(ctx, session, lead, named.get("contact_id"), account, events)
    deal = await _deal(ctx, session, lead, named.get("deal_id"), input.deal_name, account, events)
    if deal is not None:
        await statements.link(session, deal.id, contact.id, is_primary=input.deal_id is None)
    into = {"account_id": account.id, "contact_id": contact.id, "deal_id": None if deal is None else deal.id}
    converted = {"status": LeadStatus.CONVERTED.value, "converted_at": now(), **into}
    before, (lead, _) = lead, await changes.apply(session, lead, converted)
    event = changes.event_draft(ctx, "lead_converted", {"lead_id": lead.id, **into})
    await records.tell(session, event, history.edited(before, lead))
    events.append(event)
    await records.append_events(session, events)
    return lead, deal if input.deal_id is None else None


async def _named(session: TenantSession, input: LeadConversion) -> dict[str, Any]:  # Any: each an entity of its table
    """The existing records, locked. Raises Problems for each that is not in the organization."""
    wanted = {name: (model, getattr(input, name)) for name, model in _INTO.items() if getattr(input, name) is not None}
    found = {name: await records.lock_for_update(session, model, i) for name, (model, i) in wanted.items()}
    for name, (model, i) in wanted.items():  # two that a merge may have taken away
        if found[name] is None and (stays := await merged_ids.stays(session, model, i)) is not None:
            found[name] = await records.lock_for_update(session, model, stays)
    if absent := [name for name, record in found.items() if record is None]:
        raise Problems([Problem(("input", name), ABSENT, "reference") for name in absent])
    return found


async def _account(
    ctx: Context, session: TenantSession, lead: Lead, account: Account | None, events: list[Event]
) -> Account:
    """The account; the drafts of what happens to it join the events, as those of contact and deal do."""
    domain = domain_of(lead.company_domain)
    if account is not None:
        await _fill(ctx, session, account, "account", {"domain": domain}, events)
        return account
    name = next(text for text in (lead.company, domain, lead.name) if text and text.strip())
    account = new_row(Account, org_id=ctx.org_id, name=name, domain=domain, owner_id=ctx.caller.subject)
    await session.insert(account)
    events.append(changes.event_draft(ctx, "account_created", accounts.created(account)))
    return account


async def _contact(
    ctx: Context, session: TenantSession, lead: Lead, contact: Contact | None, account: Account, events: list[Event]
) -> Contact:
    first_name, last_name = parted(lead.name)
    names: Given = {"first_name": first_name, "last_name": last_name}
    facts = {name: getattr(lead, name) for name in ("email", "phone", "title", "linkedin")}
    if contact is not None:
        if _has(contact.first_name) or _has(contact.last_name):
            names = {}
        await _fill(ctx, session, contact, "contact", {**names, **facts, "account_id": account.id}, events)
        return contact
    contact = new_row(Contact, org_id=ctx.org_id, **names, **facts, account_id=account.id, owner_id=ctx.caller.subject)
    await session.insert(contact)
    events.append(changes.event_draft(ctx, "contact_created", contacts.created(contact)))
    return contact


async def _deal(
    ctx: Context,
    session: TenantSession,
    lead: Lead,
    deal: Deal | None,
    name: str | None,
    account: Account,
    events: list[Event],
) -> Deal | None:
    facts = {"account_id": account.id, "source": lead.source, "notes": lead.notes}
    if deal is not None:
        await _fill(ctx, session, deal, "deal", facts, events)
        return deal
    if name is None:
        return None
    made = await insert_deal(ctx, session, {"name": name, **facts})
    events.append(changes.event_draft(ctx, "deal_created", deal_event(made)))
    return made


async def _fill(
    ctx: Context, session: TenantSession, record: Record, kind: str, facts: Given, events: list[Event]
) -> None:
    """Set those fields of an existing record that are empty, and note it where there are any."""
    filled = {name: fact for name, fact in facts.items() if _has(fact) and not _has(getattr(record, name))}
    after, changed = await changes.apply(session, record, filled)
    if changed:
        event = changes.event_draft(ctx, f"{kind}_updated", {f"{kind}_id": record.id, "changed": sorted(filled)})
        await records.tell(session, event, history.edited(record, after))
        events.append(event)


def _has(text: str | None) -> bool:
    return text is not None and text.strip() != ""
