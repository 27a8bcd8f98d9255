"""The organization's change log, as far as the caller's scopes reach (specification part 6)."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from contract.criteria import All, Compare, Condition, ListQuery, Op, Order, PageWindow
from contract.errors import CursorExpired, Path, Problem, Problems
from contract.event_types import areas_seen
from contract.scopes import ScopeGroup
from contract.vocabulary import SortDirection
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.lists import PageResult, page_of
from storage.queries import events as log
from storage.queries import listables, retention
from storage.queries.paging import cursor, decode
from storage.rows import EventRow


def areas_of(ctx: Context) -> list[str]:
    """The areas that the caller sees."""
    return areas_seen(ctx.caller.scopes)


@requires(ScopeGroup.CRM_READ)
async def list_events(ctx: Context, types: Sequence[str] | None, page: PageWindow) -> PageResult[EventRow]:
    """The events after the cursor, oldest first, of these types if any are named, in the areas that the caller sees.

    Raises CursorExpired for a cursor behind which events are missing.
    """
    found = await page_of(ctx, listables.EVENTS, ListQuery(All(tuple(_conditions(ctx, types))), None, page))
    await _check_kept(ctx, page, None)
    return found


def _conditions(ctx: Context, types: Sequence[str] | None) -> list[Condition]:
    conditions: list[Condition] = [Compare("area", Op.IN, tuple(areas_of(ctx)))]
    if types is not None:
        conditions.append(Compare("type", Op.IN, tuple(types)))
    return conditions


@requires(ScopeGroup.CRM_READ)
async def list_changes(
    ctx: Context,
    since: datetime,
    until: datetime | None,
    types: Sequence[str] | None,
    page: PageWindow,
    at: Path = ("until",),
) -> PageResult[EventRow]:
    """The same events between two moments, by when they happened. Raises Problems where the second is before the first.

    Raises CursorExpired where events of that time are missing.
    Requests at the same time may be logged in another order than theirs, which is that of `sequence` (decision 320).
    """
    if until is not None and until < since:
        raise Problems([Problem(at, "must not be before since", "value_error")])
    between = [Compare("occurred_at", Op.GTE, since)]
    if until is not None:
        between.append(Compare("occurred_at", Op.LT, until))
    conditions = All((*between, *_conditions(ctx, types)))
    order = Order("occurred_at", SortDirection.ASC)
    found = await page_of(ctx, listables.EVENTS, ListQuery(conditions, order, page))
    await _check_kept(ctx, page, order, since)
    return found


@requires(ScopeGroup.CRM_READ)
async def watch_events(ctx: Context, types: Sequence[str] | None, after: str | None) -> AsyncIterator[EventRow]:
    """The same as they happen, from the cursor on, or from now on; each once, in their order, without an end.

    What the caller sees follows the scopes that the caller has at that moment. Raises Problems for a cursor that is
    none of the log, and CursorExpired for one behind which events are missing.
    """
    if after is None:
        async with ctx.reading() as session:
            sequence = await log.last_sequence(session)
    else:
        page = PageWindow(after=after)
        (sequence,) = decode(page, listables.EVENTS, None)
        await _check_kept(ctx, page, None)
    return _watched(ctx, None if types is None else frozenset(types), sequence)


async def _check_kept(ctx: Context, page: PageWindow, order: Order | None, since: datetime | None = None) -> None:
    """Refuse a page that would lack events which are kept no more, rather than show what is left (decision 1005)."""
    place = None if page.cursor is None else tuple(decode(page, listables.EVENTS, order))
    if place is None and since is None:
        return
    # Behind the page, and asked of the primary: the log forgets without an event, of which a replica knows later.
    async with ctx.services.database.reading(ctx.org_id) as session:
        counter = await retention.forgotten(session)
    if counter is None or counter.forgotten is None or counter.forgotten_at is None:
        return
    last = (counter.forgotten,) if order is None else (counter.forgotten_at, counter.forgotten)
    if place is not None and place < last:
        raise CursorExpired(field=("after",))
    if place is None and since is not None and since <= counter.forgotten_at:
        kept = f"{counter.forgotten_at:%Y-%m-%dT%H:%M:%SZ}"
        raise CursorExpired(f"What happened up to {kept} is not kept any more", field=("since",))


async def _watched(ctx: Context, types: frozenset[str] | None, sequence: int) -> AsyncIterator[EventRow]:
    with ctx.services.feed.channel(ctx.org_id) as channel:
        while True:
            for event in await channel.after(sequence):
                sequence = event.sequence
                if (types is None or event.type in types) and event.area in areas_of(ctx):
                    yield event


def cursor_of(event: EventRow) -> str:
    """The cursor of an event in the log, whichever page shows it."""
    return cursor(listables.EVENTS, None, event)
