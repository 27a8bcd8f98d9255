"""Lists: a page of an ordered record type, whole or of one parent, with its cursors and its count on demand."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from contract.criteria import ListQuery, Selection
from contract.errors import CostExceeded
from contract.limits import OPERATION_NODES_MAX
from contract.scopes import ROW_GROUPS, ScopeGroup
from resolvers.shared.context import Context
from storage.base import as_uuid
from storage.expressions import AnyColumn
from storage.queries import along, child_pages, merged_ids, paging
from storage.queries.listable import Listable
from storage.rows import Row

RowT = TypeVar("RowT", bound=Row, covariant=True)


@dataclass(frozen=True, slots=True)
class PageResult(Generic[RowT]):
    """One page of a list, with the function that gives the cursor of one of its rows.

    `total` counts the whole list, only when it is called.
    """

    cursor: Callable[[Row], str]
    rows: Sequence[RowT]
    has_next: bool
    has_previous: bool
    total: Callable[[], Awaitable[int]]


def may_read(ctx: Context, needs: str | None) -> bool:
    """Says whether the caller may read a row that needs this group beside that of its kind (decision 850)."""
    return needs is None or ScopeGroup[needs].passes(ctx.caller.scopes)


def readable(ctx: Context, listable: Listable[RowT]) -> Listable[RowT]:
    """The source, without the rows that need a group which the caller is in none of."""
    if listable.needs is None:
        return listable
    held = frozenset(group for group in ROW_GROUPS if may_read(ctx, group))
    return listable if len(held) == len(ROW_GROUPS) else listable.read_by(held)


async def page_of(
    ctx: Context, listable: Listable[RowT], listing: ListQuery, selection: Selection | None = None
) -> PageResult[RowT]:
    """A page of the organization's rows, with what is selected of them or with everything."""
    listable = readable(ctx, listable).selecting(selection, listing.order)
    async with ctx.reading() as session:
        found = await paging.page(session, listable, listing, is_bounded=True)

    async def total() -> int:
        async with ctx.reading() as session:
            return await paging.count(session, listable, listing.condition)

    return PageResult(
        partial(paging.cursor, listable, listing.order), found.rows, found.has_next, found.has_previous, total
    )


async def children(
    ctx: Context,
    listable: Listable[RowT],
    parent: AnyColumn,
    parent_id: str,
    listing: ListQuery,
    selection: Selection | None = None,
) -> PageResult[RowT]:
    """A page of one parent's rows; the same page of its siblings comes in the same statement.

    `parent` is the column that holds the parent's identifier. Raises CostExceeded where the siblings are so many that
    their pages together are more than one answer may have: how many they are was not known before (decision 86).
    """
    listable = readable(ctx, listable).selecting(selection, listing.order)
    came = ctx.came_along(lambda: along.key_of(listable, parent, listing), parent_id)

    async def load_pages(ids: list[str]) -> list[paging.PageRows[RowT]]:
        rows = len(ids) * listing.page.size
        if rows > OPERATION_NODES_MAX:
            message = (
                f"{len(ids)} pages of {listing.page.size} rows are more than {OPERATION_NODES_MAX} nodes; ask for fewer"
            )
            raise CostExceeded(message, rows, OPERATION_NODES_MAX, ())
        async with ctx.reading() as session:
            pages = await child_pages.pages_by_parent(session, listable, parent, ids, listing)
        return [pages[i] for i in ids]

    async def load_totals(ids: list[str]) -> list[int]:
        async with ctx.reading() as session:
            totals = await child_pages.counts_by_parent(session, listable, parent, ids, listing.condition)
        return [totals[i] for i in ids]

    if came is not None:
        found = paging.windowed(came, listing.page)
    else:
        found = await ctx.loader((listable, parent, listing, "page"), load_pages).load(parent_id)

    async def total() -> int:
        return await ctx.loader((listable.name, parent, listing.condition, "total"), load_totals).load(parent_id)

    return PageResult(
        partial(paging.cursor, listable, listing.order), found.rows, found.has_next, found.has_previous, total
    )


async def by_id(
    ctx: Context, listable: Listable[RowT], identifier: str | None, selection: Selection | None = None
) -> RowT | None:
    """The row with this identifier, batched with its neighbours; None where there is none in the organization."""
    canonical = as_uuid(identifier)
    return None if canonical is None else await by_key(ctx, listable, canonical, selection)


async def by_key(ctx: Context, listable: Listable[RowT], key: str, selection: Selection | None = None) -> RowT | None:
    """Find the row with this identifier as rows have it; otherwise as `by_id`.

    One that is asked for alone brings selected lists along, which the fields below it find at hand (decision 247).
    """
    listable = readable(ctx, listable).selecting(selection)

    async def load(ids: list[str]) -> list[RowT | None]:
        async with ctx.reading() as session:
            if len(ids) == 1 and selection is not None and selection.along and session.dialect == "postgresql":
                scopes = ctx.caller.scopes
                wanted = along.wanted_of(listable, selection)
                allowed = [w for w in wanted if w.along.group is None or w.along.group.passes(scopes)]
                if allowed:
                    row, came = await along.with_children(session, listable, ids[0], allowed)
                    ctx.bring(came)
                    if row is not None:
                        return [row]
            found = await paging.by_ids(session, listable, ids, is_bounded=selection is not None)
            missing = [i for i in ids if i not in found]
            if missing and merged_ids.can_lead(listable.entity):  # to the records that these went into (decision 435)
                leads = await merged_ids.leading(session, missing)
                stayed = list(dict.fromkeys(leads.values()))
                rows = await paging.by_ids(session, listable, stayed, is_bounded=selection is not None) if leads else {}
                found |= {i: rows[into] for i, into in leads.items() if into in rows}
        return [found.get(i) for i in ids]

    return await ctx.loader((listable, "by_id"), load).load(key)
