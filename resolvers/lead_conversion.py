"""Conversion of a lead into an account, a contact and a deal, and what to convert it into (decisions 39, 40)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, JsonValue, ValidationInfo

from contract.errors import NotFound, Problem, Problems
from contract.lead_states import LeadMove
from contract.limits import CANDIDATES_MAX
from contract.scopes import ScopeGroup
from contract.vocabulary import LeadStatus
from resolvers import accounts, changes, contacts
from resolvers.access import requires
from resolvers.aside import aside
from resolvers.context import Context
from resolvers.deals import add_deal, announce
from resolvers.found import Found
from resolvers.inputs import Input, Reference, RequiredLine
from resolvers.lead_matching import company_key, domain_of, parted, patterns, person_key
from resolvers.leads import check_move, to_change
from resolvers.lists import by_id
from storage.base import Record, now
from storage.queries import leads as statements
from storage.queries import nouns, records
from storage.queries.nouns import Noun
from storage.sessions import TenantSession
from storage.tables import Account, Contact, Deal, Lead


def _new_only(name: str | None, info: ValidationInfo) -> str | None:
    if name is not None and info.data.get("deal_id") is not None:
        raise ValueError("does not go with an existing deal")
    return name


def _both(*names: str) -> JsonValue:
    """The JSON schema of an object that has all of these, and no null in them."""
    return {"required": list(names), "properties": {name: {"type": "string"} for name in names}}


class LeadConversion(Input):
    """What to convert a lead into: an existing record, or none for a new one; a deal only where one is named."""

    model_config = ConfigDict(json_schema_extra={"not": _both("deal_id", "deal_name")})

    account_id: Reference | None = None
    contact_id: Reference | None = None
    deal_id: Reference | None = None
    deal_name: Annotated[RequiredLine | None, AfterValidator(_new_only)] = None


@dataclass(frozen=True, slots=True)
class Converted:
    """A converted lead with what it was converted into; None for what it was not, or what is gone since."""

    lead: Any
    account: Any
    contact: Any
    deal: Any


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record that the lead may be about, and why, in words."""

    node: Found
    reason: str


@dataclass(frozen=True, slots=True)
class Preview:
    """The candidates, the strongest reasons first."""

    accounts: Sequence[Candidate]
    contacts: Sequence[Candidate]


@requires(ScopeGroup.CRM_READ)
async def preview_conversion(ctx: Context, lead_id: str) -> Preview:
    """The accounts and contacts that a lead may be converted into. Raises NotFound."""
    lead = await by_id(ctx, nouns.LEADS, lead_id)
    if lead is None:
        raise NotFound(field=("id",))
    accounts, contacts = await asyncio.gather(_accounts_like(ctx, lead), _contacts_like(ctx, lead))
    return Preview(_candidates("Account", accounts), _candidates("Contact", contacts))


async def _accounts_like(ctx: Context, lead: Any) -> dict[str, tuple[Any, list[str]]]:
    """The accounts by identifier, each with its reasons."""
    found: dict[str, tuple[Any, list[str]]] = {}
    domain, of_email = domain_of(lead.company_domain), domain_of(lead.email)
    async with ctx.reading() as session:
        for wanted, reason in ((domain, "same domain"), (None if of_email == domain else of_email, "e-mail domain")):
            if wanted is None:
                continue
            for row in await statements.containing(session, "account domain", [[wanted]]):
                if domain_of(row.domain) == wanted:
                    _add(found, row, f"{reason} {wanted}")
        key = company_key(lead.company)
        words = patterns(lead.company, is_company=True) if key else []
        named = await statements.containing(session, "account name", words) if words else []
    for row in await _of_key(named, key, lambda row: row.name, company_key):
        _add(found, row, "same company name")
    return found


async def _contacts_like(ctx: Context, lead: Any) -> dict[str, tuple[Any, list[str]]]:
    """The contacts by identifier, each with its reasons."""
    found: dict[str, tuple[Any, list[str]]] = {}
    async with ctx.reading() as session:
        if lead.email is not None:
            for row in await statements.containing(session, "contact email", [[lead.email.lower()]]):
                if row.email.lower() == lead.email.lower():
                    _add(found, row, f"same e-mail {lead.email.lower()}")
        key = person_key(lead.name)
        named = await statements.containing(session, "contact name", patterns(lead.name)) if key else []
    for row in await _of_key(named, key, lambda row: f"{row.first_name or ''} {row.last_name or ''}", person_key):
        _add(found, row, "same name")
    return found


_COMPARED_AT_ONCE = 50_000
"""Characters of names, which take some milliseconds; nothing else waits for more."""


async def _of_key(
    rows: Sequence[Any], key: tuple[str, ...], text: Callable[[Any], str], key_of: Callable[[str], tuple[str, ...]]
) -> list[Any]:
    """The rows whose text has this key; compared in a thread where that takes a while."""

    def find(pace: Callable[[], None] = lambda: None) -> list[Any]:
        same = []
        for row in rows:
            pace()
            if key_of(text(row)) == key:
                same.append(row)
        return same

    return await aside(find) if sum(len(text(row)) for row in rows) > _COMPARED_AT_ONCE else find()


def _add(found: dict[str, tuple[Any, list[str]]], row: Any, reason: str) -> None:
    found.setdefault(row.id, (row, []))[1].append(reason)


def _candidates(kind: str, found: Mapping[str, tuple[Any, list[str]]]) -> list[Candidate]:
    strongest = sorted(found.values(), key=lambda entry: -len(entry[1]))[:CANDIDATES_MAX]
    return [Candidate(Found(kind, row), ", ".join(reasons)) for row, reasons in strongest]


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
            made = await _convert(ctx, session, lead, input)
        converted = Converted(
            lead,
            await _shown(session, nouns.ACCOUNTS, lead.account_id),
            await _shown(session, nouns.CONTACTS, lead.contact_id),
            await _shown(session, nouns.DEALS, lead.deal_id),
        )
    ctx.forget()
    if made is not None:
        announce(ctx, made)
    return converted


async def _shown(session: TenantSession, noun: Noun, identifier: str | None) -> Any:
    return None if identifier is None else await records.one(session, noun, identifier)


async def _convert(ctx: Context, session: TenantSession, lead: Lead, input: LeadConversion) -> Deal | None:
    """Write the records and the lead's new state; the deal where it is a new one."""
    named = await _named(session, input)
    account = await _account(ctx, session, lead, named.get("account_id"))
    contact = await _contact(ctx, session, lead, named.get("contact_id"), account)
    deal = await _deal(ctx, session, lead, named.get("deal_id"), input.deal_name, account)
    if deal is not None:
        await statements.link(session, deal.id, contact.id, is_primary=input.deal_id is None)
    into = {"account_id": account.id, "contact_id": contact.id, "deal_id": None if deal is None else deal.id}
    changes.apply(lead, {"status": LeadStatus.CONVERTED.value, "converted_at": now(), **into})
    await session.flush()
    await changes.note(ctx, session, "lead_converted", {"lead_id": lead.id, **into})
    return deal if input.deal_id is None else None


async def _named(session: TenantSession, input: LeadConversion) -> dict[str, Any]:
    """The existing records, locked. Raises Problems for each that is not in the organization."""
    models: dict[str, type[Record]] = {"account_id": Account, "contact_id": Contact, "deal_id": Deal}
    wanted = {name: (model, getattr(input, name)) for name, model in models.items() if getattr(input, name) is not None}
    found = {name: await records.to_change(session, model, i) for name, (model, i) in wanted.items()}
    if absent := [name for name, record in found.items() if record is None]:
        raise Problems(
            [Problem(("input", name), "does not exist in this organization", "reference") for name in absent]
        )
    return found


async def _account(ctx: Context, session: TenantSession, lead: Lead, account: Account | None) -> Account:
    domain = domain_of(lead.company_domain)
    if account is not None:
        await _fill(ctx, session, account, "account", {"domain": domain})
        return account
    name = next(text for text in (lead.company, domain, lead.name) if text and text.strip())
    account = Account(name=name, domain=domain, owner_id=ctx.caller.subject)
    await session.insert(account)
    await changes.note(ctx, session, "account_created", accounts.created(account))
    return account


async def _contact(
    ctx: Context, session: TenantSession, lead: Lead, contact: Contact | None, account: Account
) -> Contact:
    first_name, last_name = parted(lead.name)
    names: dict[str, Any] = {"first_name": first_name, "last_name": last_name}
    facts = {name: getattr(lead, name) for name in ("email", "phone", "title", "linkedin")}
    if contact is not None:
        if _has(contact.first_name) or _has(contact.last_name):
            names = {}
        await _fill(ctx, session, contact, "contact", {**names, **facts, "account_id": account.id})
        return contact
    contact = Contact(**names, **facts, account_id=account.id, owner_id=ctx.caller.subject)
    await session.insert(contact)
    await changes.note(ctx, session, "contact_created", contacts.created(contact))
    return contact


async def _deal(
    ctx: Context, session: TenantSession, lead: Lead, deal: Deal | None, name: str | None, account: Account
) -> Deal | None:
    facts = {"account_id": account.id, "source": lead.source, "notes": lead.notes}
    if deal is not None:
        await _fill(ctx, session, deal, "deal", facts)
        return deal
    return None if name is None else await add_deal(ctx, session, {"name": name, **facts})


async def _fill(ctx: Context, session: TenantSession, record: Any, noun: str, facts: Mapping[str, Any]) -> None:
    """Set those fields of an existing record that are empty, and note it where there are any."""
    filled = {name: fact for name, fact in facts.items() if _has(fact) and not _has(getattr(record, name))}
    if changes.apply(record, filled):
        await session.flush()
        data = {f"{noun}_id": record.id, "changed": sorted(filled)}
        await changes.note(ctx, session, f"{noun}_updated", data)


def _has(text: str | None) -> bool:
    return text is not None and text.strip() != ""
