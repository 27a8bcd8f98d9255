"""Deals: creation, change, contacts, the way through the stages, and the board (specification 2.2, 4.4, 4.5)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from contract.criteria import All, Compare, Condition, Listing, Op, Selection
from contract.errors import NotFound
from contract.scopes import ScopeGroup
from contract.vocabulary import DealStatus
from providers.notifications import Notification
from resolvers import changes
from resolvers.access import requires
from resolvers.context import Context
from resolvers.inputs import Input, Line
from resolvers.lists import PageOf, by_id, children, page_of
from resolvers.record_inputs import fields_of
from resolvers.writing import change_record, delete_record, references_of
from storage.base import as_uuid, now
from storage.columns import CREATE, UPDATE
from storage.drafts import draft
from storage.queries import deals as statements
from storage.queries import nouns, records
from storage.queries.appending import append
from storage.sessions import TenantSession
from storage.tables import Activity, Contact, Deal, DealContact, Event, StageChange

_REFERENCES = references_of(Deal)


@fields_of(Deal, CREATE)
class DealCreate(Input):
    """Keeps the columns to CREATE of a new deal (specification 2.2)."""


@fields_of(Deal, UPDATE)
class DealUpdate(Input):
    """Changes to a deal: the columns to UPDATE, and `expected_version`; null clears a field that may be empty."""


class LinkInput(Input):
    """How a contact stands to a deal."""

    role: Line | None = None
    is_primary: bool = False


@dataclass(frozen=True, slots=True)
class MoneyTotal:
    """The deals of one currency: their exact sum, and how many there are, those without a value included."""

    currency: str
    amount: Decimal
    count: int


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """A stage with the filtered deals in it."""

    stage: Any
    condition: Condition
    totals: Sequence[MoneyTotal]


@dataclass(frozen=True, slots=True)
class Board:
    """The columns in order, and the filter that the deals of no column share."""

    columns: Sequence[BoardColumn]
    condition: Condition


@requires(ScopeGroup.CRM_READ, finds=(nouns.DEALS,))
async def get_deal(ctx: Context, deal_id: str | None, selection: Selection | None = None) -> Any:
    """The deal, or None."""
    return await by_id(ctx, nouns.DEALS, deal_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_deals(ctx: Context, listing: Listing, selection: Selection | None = None) -> PageOf:
    """A page of the deals."""
    return await page_of(ctx, nouns.DEALS, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def contacts_of_deal(ctx: Context, deal_id: str, listing: Listing, selection: Selection | None = None) -> PageOf:
    """A page of the contacts on the deal, in the order they were linked, each row with the link's own fields."""
    return await children(ctx, nouns.CONTACTS_OF_DEALS, DealContact.deal_id, deal_id, listing, selection)


@requires(ScopeGroup.MEETINGS_READ)
async def meetings_of_deal(ctx: Context, deal_id: str, listing: Listing, selection: Selection | None = None) -> PageOf:
    """A page of the deal's meetings."""
    return await children(ctx, nouns.MEETINGS, Activity.deal_id, deal_id, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def stage_history(ctx: Context, deal_id: str) -> Sequence[Any]:
    """The deal's moves between stages, oldest first."""

    async def load(ids: list[str]) -> list[Sequence[Any]]:
        async with ctx.reading() as session:
            found = await statements.stage_history(session, ids)
        return [found[i] for i in ids]

    history: Sequence[Any] = await ctx.loader("stage_history", load).load(deal_id)
    return history


@requires(ScopeGroup.CRM_READ)
async def deal_board(ctx: Context, condition: Condition) -> Board:
    """The board: a column per stage, with exact totals per currency."""
    async with ctx.reading() as session:
        stages = await records.all_of(session, nouns.STAGES)
        totals = await statements.totals(session, condition)
    columns = [
        BoardColumn(
            stage,
            condition,
            [MoneyTotal(t.currency, t.amount or Decimal(0), t.deals) for t in totals if t.stage_id == stage.id],
        )
        for stage in stages
    ]
    return Board(columns, condition)


@requires(ScopeGroup.CRM_READ)
async def deals_of_stage(ctx: Context, stage_id: str, listing: Listing, selection: Selection | None = None) -> PageOf:
    """A page of the deals in one column."""
    return await children(ctx, nouns.DEALS, Deal.stage_id, stage_id, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def unstaged_deals(ctx: Context, condition: Condition, selection: Selection | None = None) -> PageOf:
    """The deals that no column holds because they have no stage (specification part 3)."""
    unstaged = All((condition, Compare("stage_id", Op.IS_NULL, True)))
    return await page_of(ctx, nouns.DEALS, Listing(unstaged), selection)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_deal(ctx: Context, input: DealCreate) -> Any:
    """Create a deal that the caller owns, with its analytics event; the notification follows the commit."""
    fields = input.given()
    # A stage has to be looked at before, and what is wrong with a reference is said in words.
    deal = None if fields.get("stage_id") is not None else await _at_once(ctx, fields)
    if deal is None:
        async with ctx.appending() as session:
            await changes.check_references(session, fields, _REFERENCES)
            deal = await add_deal(ctx, session, fields)
    ctx.forget()
    announce(ctx, deal)
    return deal


async def _at_once(ctx: Context, fields: dict[str, Any]) -> Any:
    """Insert a deal without a stage in one statement; None where it takes more than that (decision 74)."""
    if not ctx.can_append:
        return None
    deal = draft(Deal, **fields, org_id=ctx.org_id, owner_id=ctx.caller.subject)
    event = draft(Event, **changes.noted(ctx, "deal_created", _created(deal)))
    written = await append(ctx.services.database, ctx.org_id, deal, _REFERENCES, event)
    return deal if written else None


async def add_deal(ctx: Context, session: TenantSession, fields: dict[str, Any]) -> Any:
    """Insert a deal that the caller owns, with its analytics event; `announce` it once the transaction is through."""
    status = {} if fields.get("stage_id") is None else {"status": await _status(session, fields["stage_id"])}
    deal = draft(Deal, **fields, **status, org_id=ctx.org_id, owner_id=ctx.caller.subject)
    await session.insert(deal)
    if deal.stage_id is not None:
        await session.insert(_move(ctx, deal, None))
    await changes.note(ctx, session, "deal_created", _created(deal))
    return deal


def announce(ctx: Context, deal: Any) -> None:
    """Hand the best-effort notification of a new deal to the organization's workflow actor (specification part 6)."""
    notification = Notification(ctx.org_id, "deal_created", ctx.request_id, _created(deal))
    ctx.after_commit(lambda: ctx.services.notifications.hand(notification))


def _created(deal: Any) -> dict[str, Any]:
    """Makes the data of both events on a new deal (specification part 6; decision 11)."""
    return {
        "deal_id": deal.id,
        "name": deal.name,
        "value": None if deal.value is None else str(deal.value),
        "currency": deal.currency,
        "account_id": deal.account_id,
        "stage_id": deal.stage_id,
        "owner_id": deal.owner_id,
    }


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_deal(ctx: Context, deal_id: str, input: DealUpdate, *, seen: Collection[int] | None = None) -> Deal:
    """Change a deal; a move to another stage goes into its history. `change_record` says what `seen` is and raises."""

    async def follow(session: TenantSession, deal: Deal, before: Mapping[str, Any]) -> None:
        if "stage_id" in before:
            deal.status = await _status(session, deal.stage_id)
            await session.insert(_move(ctx, deal, before["stage_id"]))

    return await change_record(ctx, Deal, deal_id, input, seen=seen, then=follow)


async def _status(session: TenantSession, stage_id: str | None) -> str:
    """The status of a deal in this stage: the stage's type (decision 4)."""
    stage = await records.one(session, nouns.STAGES, stage_id)
    return DealStatus.OPEN.value if stage is None else str(stage.type)


def _move(ctx: Context, deal: Any, before: str | None) -> Any:
    """The draft of the deal's move to the stage that it is in now."""
    return draft(
        StageChange, deal_id=deal.id, from_stage_id=before, to_stage_id=deal.stage_id, at=now(), by=ctx.caller.subject
    )


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_deal(ctx: Context, deal_id: str) -> str:
    """Delete a deal with its links and history; its meetings stay, unlinked (decision 10)."""
    return await delete_record(ctx, Deal, deal_id)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def link_contact(ctx: Context, deal_id: str, contact_id: str, input: LinkInput) -> Deal:
    """Put a contact on a deal, or change how it stands there; a deal has at most one primary contact."""
    async with ctx.writing() as session:
        deal = await records.to_change(session, Deal, deal_id)
        if deal is None:
            raise NotFound(field=("deal_id",))
        contact = await records.one(session, nouns.CONTACTS, contact_id)
        if contact is None or await records.missing(session, {"contact_id": (Contact, contact.id)}):
            raise NotFound(field=("contact_id",))
        link = await statements.link(session, deal.id, contact.id)
        if link is None:
            session.add(DealContact(deal_id=deal.id, contact_id=contact.id, **input.given()))
        changed = None if link is None else changes.apply(link, input.given())
        await session.flush()
        if input.is_primary:  # decision 22
            await statements.only_primary(session, deal.id, contact.id)
        if changed is None:
            await changes.note(ctx, session, "contact_linked", {"deal_id": deal.id, "contact_id": contact.id})
        elif changed:
            data = {"deal_id": deal.id, "contact_id": contact.id, "changed": changed}
            await changes.note(ctx, session, "contact_link_updated", data)
    ctx.forget()
    return deal


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def unlink_contact(ctx: Context, deal_id: str, contact_id: str) -> None:
    """Take a contact off a deal; succeeds whether or not it was on it (specification 4.5)."""
    async with ctx.writing() as session:
        if await statements.unlink(session, deal_id, contact_id):
            data = {"deal_id": as_uuid(deal_id), "contact_id": as_uuid(contact_id)}
            await changes.note(ctx, session, "contact_unlinked", data)
    ctx.forget()
