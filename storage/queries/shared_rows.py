"""Links of a long page to rows that many records have in common: each such row comes once (decision 970).

Two hundred deals have a handful of owners and stages. Joined, each of these is looked up, sent, read and written two
hundred times. On PostgreSQL the page is found first, and its first row has a column with the rows that the whole page
links to, as JSON: still one statement, under the same policies and pinned in the same way. A short page joins: for few
rows finding them twice is dearer than what it saves. On SQLite a look-up costs no more than this would.
"""

from dataclasses import replace
from typing import ClassVar

from sqlalchemy import Boolean, Integer, case, literal_column, select, type_coerce
from sqlalchemy.orm import aliased

from storage.expressions import AnySelect
from storage.queries.dialects import Dialectal
from storage.queries.json_rows import JsonRows, as_json, decoder
from storage.queries.listable import Listable
from storage.rows import Row
from storage.shared_rows import SHARED, SharedRows
from storage.statements import INSIDE, ORG_PARAM, reader

SHARED_FROM = 100
"""The rows of a page from which on it is quicker (docs/performance.md)."""


class _is_one_of(Dialectal[bool]):
    """Whether a value is among those that a subquery gives, which are put together first: an index finds each."""

    type = Boolean()
    inherit_cache = True
    name = "is_one_of"
    templates: ClassVar = {"postgresql": "({0} = ANY (ARRAY{1}))"}


def has_shared_rows(listable: Listable[Row], dialect: str, size: int) -> bool:
    """Whether a page of so many rows brings rows that it links to once each."""
    return bool(listable.shared) and size >= SHARED_FROM and dialect == "postgresql"


def without_shared_rows(listable: Listable[Row]) -> Listable[Row]:
    """The same source without the links to such rows."""
    columns, links = listable.selected or (frozenset(), frozenset())
    return replace(listable, selected=(columns, links - listable.shared), shared=frozenset())


def with_shared_rows(page: AnySelect, listable: Listable[Row]) -> AnySelect:
    """The rows of a page of `without_shared_rows`, the first of which has the rows that all of them link to."""
    found = page.cte("found")
    first = select(found.c.id).limit(literal_column("1", Integer)).scalar_subquery()
    columns = []
    for name, wanted in sorted(listable.shared, key=lambda link: link[0]):
        local, target = listable.links[name]
        other = aliased(target.entity)
        shown = [getattr(other, column.key) for column in target.columns if column.key in wanted | {"id"}]
        wanted_ids = select(found.c[local]).distinct().scalar_subquery()
        rows = select(as_json(*shown)).where(other.org_id == ORG_PARAM, _is_one_of(other.id, wanted_ids))
        read = reader(tuple(column.key for column in shown), tuple(decoder(column.type) for column in shown))
        kind = JsonRows(read, SharedRows(local, read))
        column = type_coerce(case((found.c.id == first, rows.scalar_subquery())), kind)
        columns.append(column.label(f"{name}{INSIDE}{SHARED}"))
    return select(*found.c, *columns)
