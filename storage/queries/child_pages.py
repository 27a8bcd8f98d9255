"""Pages of what hangs on several records: the same page of each one's children, in one statement.

Of each parent as many rows are read as its page has, along the order's index, however many children it has. A rank over
all of them would read each child with all its columns, to throw most of them away (decision 1140).
"""

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from sqlalchemy import TableValuedAlias, and_, bindparam, column, func, or_, select, true

from contract.criteria import Condition, ListQuery
from storage.base import Identifier
from storage.expressions import AnyColumn, AnySelect, Values
from storage.queries.along_tags import columns_of
from storage.queries.dialects import Dialectal, literal_number, unseen, unsought
from storage.queries.filtering import bind, in_list, narrowed
from storage.queries.list_conditions import TextList
from storage.queries.listable import Listable
from storage.queries.page_order import of_phase, order_by, phases_of
from storage.queries.paging import PageRows, decode, named, page, windowed
from storage.queries.row_size_limit import check_size_limit, with_size_limit_window
from storage.rows import Row
from storage.statements import ORG_PARAM
from storage.tenancy.sessions import TenantSession

RowT = TypeVar("RowT", bound=Row, covariant=True)

_PARENT = "of_parent"
"""The name of the column with the parent's identifier, in rows of several parents."""


class _identifiers(Dialectal[object]):
    """A list of identifiers as rows of a source."""

    inherit_cache = True
    name = "identifiers"
    templates: ClassVar = {"postgresql": "unnest({0}::UUID[])", "sqlite": "json_each({0})"}


async def pages_by_parent(
    session: TenantSession, listable: Listable[RowT], parent: AnyColumn, ids: Sequence[str], listing: ListQuery
) -> dict[str, PageRows[RowT]]:
    """The same page of each parent's children, counted from the start or behind a cursor, in one statement.

    Raises what `page` raises; bounded are the rows of all parents together.
    """
    if len(ids) == 1:
        return {ids[0]: await page(session, listable, listing, parent=parent, parent_id=ids[0], is_bounded=True)}
    values: Values = {"ids": list(ids)}
    shape = bind(listable, listing.condition, values)
    order, size = listing.order or listable.default, listing.page.size
    at = None if listing.page.cursor is None else decode(listing.page, listable, order)
    values |= {f"c{index}": value for index, value in enumerate(at or ())}
    phases = phases_of(listable, order, at, reverse=False)
    is_lateral = session.dialect == "postgresql"

    def build() -> AnySelect:
        terms, columns = listable.terms(order), columns_of(listable)
        ordered = order_by(columns, terms)
        behind = or_(*(of_phase(columns, terms, phase, unseen, reverse=False) for phase in phases))
        limit = literal_number(size + 1)
        asked = _asked(is_lateral=is_lateral)
        its = asked.c.value

        def first(statement: AnySelect) -> AnySelect:
            """The first of one parent's rows."""
            return narrowed(statement.where(parent == its, behind), listable, shape).order_by(*ordered).limit(limit)

        own = listable.column("id")
        if is_lateral:
            # Where PostgreSQL takes a parent to have few children, it would join what all of them link to, and sort
            # them then: so they are found by their identifiers.
            wanted = (own,) if listable.is_joined else ()
            rank = func.row_number().over(order_by=ordered).label("rank")
            child = first(listable.select(ORG_PARAM, *wanted, beside=(rank,))).lateral("child")
            found = select(child, its.label(_PARENT)).select_from(asked.join(child, true()))
            if wanted:
                of_parents = found.subquery("of_parents")
                # A child that links lead to may be of several parents. Of any other the parent is no index to go by.
                of_one = parent == of_parents.c[_PARENT] if listable.joins else true()
                found = listable.select(ORG_PARAM, beside=(of_parents.c[_PARENT], of_parents.c.rank))
                found = found.join(of_parents, and_(own == of_parents.c.id, of_one))
        else:
            rank = func.row_number().over(partition_by=its, order_by=ordered).label("rank")
            sought = own.in_(first(listable.select(ORG_PARAM, own)).correlate(asked))
            found = listable.select(ORG_PARAM, beside=(its.label(_PARENT), rank)).where(unsought(parent) == its, sought)
        bounded = with_size_limit_window(found)
        return bounded.order_by(bounded.selected_columns.rank)

    key = ("children", listable, named(parent), shape, (order.field, order.direction), phases, size)
    found: dict[str, list[RowT]] = {i: [] for i in ids}
    for row in check_size_limit(await session.fetch(key, build, **values)):
        found[getattr(row, _PARENT)].append(row)
    return {i: windowed(rows, listing.page) for i, rows in found.items()}


def _asked(*, is_lateral: bool) -> TableValuedAlias:
    """The parents' identifiers as a source of rows."""
    listed = _identifiers(unseen(bindparam("ids", type_=TextList())))
    asked = listed.table_valued(column("value", Identifier()), name="asked")
    return asked.render_derived() if is_lateral else asked  # SQLite names the column itself


async def counts_by_parent(
    session: TenantSession, listable: Listable[Row], parent: AnyColumn, ids: Sequence[str], condition: Condition
) -> dict[str, int]:
    """Counts the children of each parent that meet the condition."""
    values: Values = {"ids": list(ids)}
    shape = bind(listable, condition, values)

    def build() -> AnySelect:
        counted = listable.select(ORG_PARAM, parent.label(_PARENT), func.count().label("total"))
        return narrowed(counted.where(in_list(parent, "ids")), listable, shape).group_by(parent)

    rows = await session.fetch(("counts", listable.name, named(parent), shape), build, **values)
    return dict.fromkeys(ids, 0) | {getattr(r, _PARENT): r.total for r in rows}
