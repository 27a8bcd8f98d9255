"""Deals: creation, change, contacts, the way through the stages, and the board (specification 2.2, 4.4, 4.5)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from contract.criteria import All, Compare, Condition, ListQuery, Op, Selection
from contract.errors import NotFound
from contract.scopes import ScopeGroup
from contract.timeline import as_told
from contract.vocabulary import StageType
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Acting, Context
from resolvers.shared.inputs import Given, Input, Line
from resolvers.shared.keys import check_key, of_one_record
from resolvers.shared.lists import PageResult, by_id, children, page_of
from resolvers.shared.record_inputs import fields_of, references_of
from resolvers.shared.tagging import Names, tag_new
from resolvers.shared.writing import change_record, created_at_once, delete_record, stage_standing
from storage.base import JsonDict, as_uuid, now
from storage.columns import CREATE, UPDATE
from storage.joined_rows import LinkedContactRow
from storage.new_rows import new_row
from storage.queries import at_once, history, listables, merged_ids, records
from storage.queries import deals as statements
from storage.queries.exact import weighed
from storage.queries.history import Told
from storage.rows import ActivityRow, DealRow, PipelineStageRow, StageChangeRow
from storage.tables import Activity, Contact, Deal, DealContact, StageChange
from storage.tenancy.sessions import TenantSession

_REFERENCES = references_of(Deal)


@fields_of(Deal, CREATE)
class DealCreate(Input):
    """Keeps the columns to CREATE of a new deal (specification 2.2)."""

    tags: Names | None = None


@fields_of(Deal, UPDATE)
class DealUpdate(Input):
    """Changes to a deal: the columns to UPDATE, and `expected_version`; null clears a field that may be empty."""


class LinkInput(Input):
    """How a contact stands to a deal."""

    role: Line | None = None
    is_primary: bool = False


@dataclass(frozen=True, slots=True)
class LinkedContact:
    """A deal with a contact that was put on it, and how that stands there."""

    deal: Deal
    link: DealContact


@dataclass(frozen=True, slots=True)
class MoneyTotal:
    """The deals of one currency: their exact sum, and how many there are, those without a value included."""

    currency: str
    amount: Decimal
    count: int


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """A stage with the filtered deals in it."""

    stage: PipelineStageRow
    condition: Condition
    totals: Sequence[MoneyTotal]
    deal_count: int
    weighted_totals: Sequence[MoneyTotal]


@dataclass(frozen=True, slots=True)
class Board:
    """The columns in order, what they are worth together, and the deals of no column: their worth and their filter."""

    columns: Sequence[BoardColumn]
    condition: Condition
    totals: Sequence[MoneyTotal]
    unstaged_totals: Sequence[MoneyTotal]


@requires(ScopeGroup.CRM_READ, finds=(listables.DEALS,))
async def get_deal(ctx: Context, deal_id: str | None, selection: Selection | None = None) -> DealRow | None:
    """The deal, or None."""
    return await by_id(ctx, listables.DEALS, deal_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_deals(ctx: Context, listing: ListQuery, selection: Selection | None = None) -> PageResult[DealRow]:
    """A page of the deals."""
    return await page_of(ctx, listables.DEALS, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def contacts_of_deal(
    ctx: Context, deal_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[LinkedContactRow]:
    """A page of the contacts on the deal, in the order they were linked, each row with the link's own fields."""
    return await children(ctx, listables.CONTACTS_OF_DEALS, DealContact.deal_id, deal_id, listing, selection)


@requires(ScopeGroup.MEETINGS_READ)
async def meetings_of_deal(
    ctx: Context, deal_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[ActivityRow]:
    """A page of the deal's meetings."""
    return await children(ctx, listables.MEETINGS, Activity.deal_id, deal_id, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def stage_history(ctx: Context, deal_id: str) -> Sequence[StageChangeRow]:
    """The deal's moves between stages, oldest first."""

    async def load(ids: list[str]) -> list[Sequence[StageChangeRow]]:
        async with ctx.reading() as session:
            found = await statements.stage_history(session, ids)
        return [found[i] for i in ids]

    return await ctx.loader("stage_history", load).load(deal_id)


@requires(ScopeGroup.CRM_READ)
async def deal_board(ctx: Context, condition: Condition) -> Board:
    """The board: a column per stage, with exact totals per currency."""
    async with ctx.reading() as session:
        stages = await records.all_of(session, listables.STAGES)
        totals = await statements.totals(session, condition)
    of_stage: dict[str | None, list[MoneyTotal]] = {}
    for row in totals:
        of_stage.setdefault(row.stage_id, []).append(MoneyTotal(row.currency, row.amount, row.deals))
    columns = [_column(stage, condition, of_stage.get(stage.id, ())) for stage in stages]
    together = _together([total for column in columns for total in column.totals])
    return Board(columns, condition, together, of_stage.get(None, ()))


def _column(stage: PipelineStageRow, condition: Condition, totals: Sequence[MoneyTotal]) -> BoardColumn:
    """A column with its totals; the deals in an open stage are open, and those in another are not (decision 4)."""
    weighted: Sequence[MoneyTotal] = ()
    if stage.type == StageType.OPEN.value and stage.probability is not None:
        weighted = [replace(total, amount=weighed(total.amount * stage.probability)) for total in totals]
    return BoardColumn(stage, condition, totals, sum(total.count for total in totals), weighted)


def _together(totals: Sequence[MoneyTotal]) -> list[MoneyTotal]:
    """The totals of several columns as one for each currency, by its code."""
    found: dict[str, MoneyTotal] = {}
    for total in totals:
        known = found.get(total.currency, MoneyTotal(total.currency, Decimal(0), 0))
        found[total.currency] = MoneyTotal(total.currency, known.amount + total.amount, known.count + total.count)
    return [found[currency] for currency in sorted(found)]


@requires(ScopeGroup.CRM_READ)
async def deals_of_stage(
    ctx: Context, stage_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[DealRow]:
    """A page of the deals in one column."""
    return await children(ctx, listables.DEALS, Deal.stage_id, stage_id, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def unstaged_deals(ctx: Context, condition: Condition, selection: Selection | None = None) -> PageResult[DealRow]:
    """The deals that no column holds because they have no stage (specification part 3)."""
    unstaged = All((condition, Compare("stage_id", Op.IS_NULL, True)))
    return await page_of(ctx, listables.DEALS, ListQuery(unstaged), selection)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_deal(ctx: Context, input: DealCreate) -> Deal:
    """Create a deal that the caller owns, with its analytics event; the notification follows the commit."""
    fields = input.given()
    names = fields.pop("tags", None) or []
    draft = new_row(Deal, **fields, org_id=ctx.org_id, owner_id=ctx.caller.subject)
    move = None if draft.stage_id is None else move_of(ctx, draft, None)
    with of_one_record(fields):
        async with ctx.writing() as session:
            deal = None
            if not names:
                deal = await created_at_once(ctx, session, draft, fields, "deal_created", deal_event(draft), move=move)
            if deal is None:
                if led := await changes.check_references(session, fields, _REFERENCES):
                    draft = changes.as_changed(draft, led)
                    move = None if draft.stage_id is None else move_of(ctx, draft, None)
                await check_key(session, Deal, fields)
                deal = await _written(session, draft, move)
                await tag_new(session, deal, names)
                await changes.append_event(ctx, session, "deal_created", deal_event(deal))
    ctx.forget()
    announce(ctx, deal)
    return deal


async def insert_deal(ctx: Context, session: TenantSession, fields: Given) -> Deal:
    """Insert a deal without a stage that the caller owns, without its event; `announce` it after the transaction."""
    return await _written(session, new_row(Deal, **fields, org_id=ctx.org_id, owner_id=ctx.caller.subject), None)


async def _written(session: TenantSession, draft: Deal, move: StageChange | None) -> Deal:
    """The draft as a row, in the standing of its stage, and the move there."""
    if move is None:
        [deal] = await session.insert(draft)
        return deal
    standing = await stage_standing(session, draft.stage_id, draft.updated_at)
    [deal] = await session.insert(changes.as_changed(draft, standing))
    await session.insert(move)
    return deal


def announce(ctx: Context, deal: Deal) -> None:
    """Hand the best-effort notification of a new deal to the organization's workflow actor (specification part 6)."""
    changes.notify(ctx, "deal_created", deal_event(deal), at=deal.created_at)


def deal_event(deal: Deal) -> JsonDict:
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

    def move(deal: Deal, before: Given) -> StageChange | None:
        return move_of(ctx, deal, before["stage_id"]) if "stage_id" in before else None

    return await change_record(ctx, Deal, deal_id, input, seen=seen, move=move)


def move_of(ctx: Acting, deal: Deal, before: str | None) -> StageChange:
    """The draft of the deal's move to the stage that it is in now."""
    return new_row(
        StageChange,
        deal_id=deal.id,
        from_stage_id=before,
        to_stage_id=deal.stage_id,
        at=now(),
        by=ctx.subject,
        account_id=deal.account_id,
    )


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_deal(ctx: Context, deal_id: str) -> str:
    """Delete a deal with its links and history; its meetings stay, unlinked (decision 10)."""
    return await delete_record(ctx, Deal, deal_id)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def link_contact(ctx: Context, deal_id: str, contact_id: str, input: LinkInput) -> LinkedContact:
    """Put a contact on a deal, or change how it stands there; a deal has at most one primary contact."""
    async with ctx.writing() as session:
        linked = await _linked_at_once(ctx, session, deal_id, contact_id, input)
        if linked is not None:
            ctx.forget()
            return linked
        deal = await records.lock_for_update(session, Deal, deal_id)
        if deal is None:
            raise NotFound(field=("deal_id",))
        contact = as_uuid(contact_id)
        if contact is not None and await records.missing_references(session, {"contact_id": (Contact, contact)}):
            contact = await merged_ids.stays(session, Contact, contact)
        if contact is None:
            raise NotFound(field=("contact_id",))
        link = await statements.link(session, deal.id, contact)
        changed: list[str] | None = None
        seen = link
        if link is None:
            new = new_row(DealContact, deal_id=deal.id, contact_id=contact, **input.given())
            [link] = await session.insert(new)
        else:
            link, changed = await changes.apply(session, link, input.given())
        told = _told_of_link(link, seen)
        if input.is_primary:  # decision 22
            await statements.only_primary(session, deal.id, contact)
        if changed is None:
            data: JsonDict = {"deal_id": deal.id, "contact_id": contact}
            await changes.append_event(ctx, session, "contact_linked", data, told=told)
        elif changed:
            data = {"deal_id": deal.id, "contact_id": contact, "changed": changed}
            await changes.append_event(ctx, session, "contact_link_updated", data, told=told)
    ctx.forget()
    return LinkedContact(deal, link)


def _told_of_link(link: DealContact, seen: DealContact | None) -> list[Told]:
    """Make what the deal's and the contact's histories are told of their link, as it is now and as it was."""
    values = {name: (getattr(seen, name, None), getattr(link, name)) for name in ("role", "is_primary")}
    fields = {n: [as_told(before), as_told(after)] for n, (before, after) in values.items() if before != after}
    return history.linked(link.deal_id, link.contact_id, was=seen is not None, stays=True, fields=fields)


async def _linked_at_once(
    ctx: Context, session: TenantSession, deal_id: str, contact_id: str, input: LinkInput
) -> LinkedContact | None:
    """The deal with the contact on it, in one statement after a look; None where that takes a transaction.

    For a primary contact it does: two that become it at once have to be one after the other.
    """
    deal_key, contact_key = as_uuid(deal_id), as_uuid(contact_id)
    if input.is_primary or not session.can_write_at_once or deal_key is None or contact_key is None:
        return None
    deal = await session.glance(Deal, id=deal_key)
    seen = await session.glance(DealContact, deal_id=deal_key, contact_id=contact_key)
    if deal is None:
        return None
    given = input.given()
    data: JsonDict = {"deal_id": deal_key, "contact_id": contact_key}
    row = new_row(DealContact, org_id=session.org_id, deal_id=deal_key, contact_id=contact_key, **given)
    type = "contact_linked"
    if seen is not None:
        differences = changes.differences(seen, given)
        if not differences:
            return None
        type, data = "contact_link_updated", {**data, "changed": sorted(differences)}
        row = changes.as_changed(seen, differences)
    event = changes.event_draft(ctx, type, data)
    done = await at_once.link(session, row, seen, event, _told_of_link(row, seen))
    return LinkedContact(deal, row) if done else None


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def unlink_contact(ctx: Context, deal_id: str, contact_id: str) -> None:
    """Take a contact off a deal; succeeds whether or not it was on it (specification 4.5)."""
    deal_key, contact_key = as_uuid(deal_id), as_uuid(contact_id)
    if deal_key is None or contact_key is None:
        return
    async with ctx.writing() as session:
        was_linked = await _unlinked(ctx, session, deal_key, contact_key)
        if not was_linked and (stays := await merged_ids.stays(session, Contact, contact_key)) is not None:
            await _unlinked(ctx, session, deal_key, stays)
    ctx.forget()


async def _unlinked(ctx: Context, session: TenantSession, deal_id: str, contact_id: str) -> bool:
    """Take the contact off the deal; whether it was on it."""
    data = {"deal_id": deal_id, "contact_id": contact_id}
    told = history.linked(deal_id, contact_id, was=True, stays=False)
    if session.dialect == "postgresql":
        event = changes.event_draft(ctx, "contact_unlinked", data)
        return await at_once.delete(session, DealContact, event, told, **data)
    if not await statements.unlink(session, deal_id, contact_id):
        return False
    await changes.append_event(ctx, session, "contact_unlinked", data, told=told)
    return True
