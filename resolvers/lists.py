"""Lists: a page of an ordered noun, whole or of one parent, with its cursors and its count on demand."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from contract.criteria import Listing, Order, Selection
from contract.errors import CostExceeded
from contract.limits import OPERATION_NODES_MAX
from resolvers.context import Context
from storage.base import as_uuid
from storage.queries import paging
from storage.queries.nouns import Noun


@dataclass(frozen=True, slots=True)
class PageOf:
    """One page of a list; `total` counts the whole list, only when it is called."""

    noun: Noun
    order: Order | None
    rows: Sequence[Any]
    has_next: bool
    has_previous: bool
    total: Callable[[], Awaitable[int]]

    def cursor(self, row: Any) -> str:
        """The cursor of one of the rows."""
        return paging.cursor(self.noun, self.order, row)


async def page_of(ctx: Context, noun: Noun, listing: Listing, selection: Selection | None = None) -> PageOf:
    """A page of the organization's rows, with what is selected of them or with everything."""
    noun = noun.selecting(selection, listing.order)
    async with ctx.reading() as session:
        found = await paging.page(session, noun, listing, is_bounded=True)

    async def total() -> int:
        async with ctx.reading() as session:
            return await paging.count(session, noun, listing.condition)

    return PageOf(noun, listing.order, found.rows, found.has_next, found.has_previous, total)


async def children(
    ctx: Context, noun: Noun, parent: Any, parent_id: str, listing: Listing, selection: Selection | None = None
) -> PageOf:
    """A page of one parent's rows; the same page of its siblings comes in the same statement.

    `parent` is the column that holds the parent's identifier. Raises CostExceeded where the siblings are so many that
    their pages together are more than one answer may have: how many they are was not known before (decision 86).
    """
    noun = noun.selecting(selection, listing.order)

    async def load_pages(ids: list[str]) -> list[paging.Rows]:
        rows = len(ids) * listing.page.size
        if rows > OPERATION_NODES_MAX:
            message = (
                f"{len(ids)} pages of {listing.page.size} rows are more than {OPERATION_NODES_MAX} nodes; ask for fewer"
            )
            raise CostExceeded(message, rows, OPERATION_NODES_MAX, ())
        async with ctx.reading() as session:
            pages = await paging.pages_by_parent(session, noun, parent, ids, listing)
        return [pages[i] for i in ids]

    async def load_totals(ids: list[str]) -> list[int]:
        async with ctx.reading() as session:
            totals = await paging.counts_by_parent(session, noun, parent, ids, listing.condition)
        return [totals[i] for i in ids]

    found = await ctx.loader((noun, parent, listing, "page"), load_pages).load(parent_id)

    async def total() -> int:
        counted: int = await ctx.loader((parent, listing.condition, "total"), load_totals).load(parent_id)
        return counted

    return PageOf(noun, listing.order, found.rows, found.has_next, found.has_previous, total)


async def by_id(ctx: Context, noun: Noun, identifier: str | None, selection: Selection | None = None) -> Any:
    """The row with this identifier, batched with its neighbours; None where there is none in the organization."""
    noun = noun.selecting(selection)

    async def load(ids: list[str]) -> list[Any]:
        async with ctx.reading() as session:
            found = await paging.by_ids(session, noun, ids, is_bounded=selection is not None)
        return [found.get(i) for i in ids]

    canonical = as_uuid(identifier)
    if canonical is None:
        return None
    return await ctx.loader((noun, "by_id"), load).load(canonical)
