"""Groups of records with what they come to, and all of them together, in one statement (decision 252).

The rows of a source are grouped as finely as the answer needs, by the keys and, where amounts are asked for, by the
currency; all else is made of these sums. Each sum is one of whole numbers or of exact decimals, so that both databases
say the same to the last digit.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Integer,
    Subquery,
    and_,
    bindparam,
    cast,
    func,
    literal_column,
    null,
    select,
    union_all,
)

from contract.catalog import ColumnKind, DateGrain
from contract.criteria import All, Any_, Compare, Condition, Not
from contract.vocabulary import SortDirection
from storage.base import now
from storage.expressions import AnyColumn, AnyEntity, AnySelect, Values
from storage.queries.filtering import bind, narrowed
from storage.queries.listable import Listable
from storage.queries.periods import beginning, local_day, zone_of
from storage.queries.stored_order import as_stored
from storage.rows import Row
from storage.statements import ORG_PARAM
from storage.tenancy.sessions import TenantSession

SUM, LEAST, MOST = func.sum, func.min, func.max
_ADDED = (SUM, LEAST, MOST)
"""Those by which the numbers of groups are put together to that of all."""
KEYS = ("key0", "key1")
"""The names of the keys' columns in a row."""
_CURRENCY, _NUMBER = "currency", "number"


@dataclass(frozen=True, slots=True)
class Dimension:
    """A trait that records are grouped by: a column, what it holds, and the joins that it comes from.

    `named_by` is the table whose row the key identifies, with the column that orders it.
    """

    column: AnyColumn
    kind: ColumnKind = ColumnKind.TEXT
    joins: tuple[str, ...] = ()
    named_by: tuple[AnyEntity, str] | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A number that figures are made of: what of a row counts for it, how rows are put together, and its joins.

    One that `is_per_currency` is apart for each currency.
    """

    column: AnyColumn
    how: Callable[[AnyColumn], AnyColumn] = SUM
    joins: tuple[str, ...] = ()
    is_per_currency: bool = False


Term = Callable[[Callable[[AnyColumn], AnyColumn], AnyColumn], Sequence[AnyColumn]]
"""Makes the columns that groups are ordered by, of a function that adds up the finest ones of a group, and of the
columns of these."""


@dataclass(frozen=True, slots=True)
class Order:
    """An order of groups besides their keys: the parts that it takes, and its columns."""

    parts: tuple[str, ...]
    terms: Term


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Records that are grouped. `joins` are those that dimensions and parts name."""

    listable: Listable[Row]
    dimensions: Mapping[str, Dimension]
    parts: Mapping[str, Part]
    orders: Mapping[str, Order]
    joins: Mapping[str, tuple[AnyEntity, ColumnElement[bool]]] = field(default_factory=dict)
    currency: AnyColumn = None
    repeats: frozenset[str] = frozenset()
    """The joins that make several rows of one record, which its total then is not the sum of."""
    number: AnyColumn = None
    """The number of records that a row stands for, where that is not one."""
    rolled_up: "RolledUp | None" = None
    """The same records rolled up, for questions that these can answer."""


@dataclass(frozen=True, slots=True, eq=False)
class RolledUp:
    """A source whose rows stand for many records, with the periods that its dates can be put together to.

    Its days are those of UTC.
    """

    source: Source
    grains: Mapping[str, frozenset[DateGrain]]
    of_zones: frozenset[str] = frozenset()
    """Its dates that are moments of the records."""

    def answers(self, shape: Condition, question: "Question", parts: Collection[str]) -> bool:
        """Says whether it has all that is asked for, by the same words."""
        keys, source = question.keys, self.source
        return (
            source.dimensions.keys() >= set(keys)
            and source.parts.keys() >= set(parts)
            and all(question.grain in self.grains[name] for name in keys if name in self.grains)
            and (question.zone == "UTC" or self.of_zones.isdisjoint(keys))
            and _compares_only(shape, source.listable)
        )


def _compares_only(shape: Condition, listable: Listable[Row]) -> bool:
    """Says whether a shape speaks of columns of the listable alone."""
    match shape:
        case All(parts) | Any_(parts):
            return all(_compares_only(part, listable) for part in parts)
        case Not(part):
            return _compares_only(part, listable)
        case Compare(name):
            return any(column.key == name for column in listable.columns)
    return False


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a source: by which dimensions, the parts that the figures take, in which order, how many groups.

    `currency` is that of an order by amounts.
    """

    keys: tuple[str, ...]
    parts: frozenset[str]
    grain: DateGrain = DateGrain.MONTH
    zone: str = "UTC"
    order: str | None = None
    direction: SortDirection = SortDirection.ASC
    currency: str | None = None
    first: int = 100


class AggregateRow(Row):
    """One of the finest groups that are listed, or of the total, which has no place; `groups` is there alone."""

    place: int | None
    groups: int | None
    currency: str | None


async def aggregate(
    session: TenantSession, source: Source, condition: Condition, question: Question
) -> Sequence[Any]:  # Any: an AggregateRow with the keys and parts that were asked for
    """The rows of the groups that are listed, in their order, and those of the total."""
    values: Values = {"first": question.first, "in_currency": question.currency, "present": now()}
    shape = bind(source.listable, condition, values)
    zone = zone_of(question.zone)
    zone.bind(values)
    statement = _Statement(source, shape, question, zone.size)
    if source.rolled_up is not None and source.rolled_up.answers(shape, question, statement.parts):
        statement = replace(statement, source=source.rolled_up.source)
    return await session.fetch(statement.key, statement.build, **values)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement without its values."""

    source: Source
    condition: Condition
    question: Question
    zone_size: int

    @property
    def key(self) -> Hashable:
        asked, has_zone = self.question, any(self._has_zone(name) for name in self.question.keys)
        grain = asked.grain if any(self.source.dimensions[name].kind in _DATES for name in asked.keys) else None
        return (
            *("aggregate", self.source.listable.name, self.condition, asked.keys, grain),
            *(asked.parts, asked.order, asked.direction, self.zone_size if has_zone else None),
        )

    def _has_zone(self, name: str) -> bool:
        return self.source.dimensions[name].kind is ColumnKind.DATETIME

    @property
    def _order(self) -> Order | None:
        return None if self.question.order is None else self.source.orders[self.question.order]

    @property
    def parts(self) -> dict[str, Part]:
        """The parts that are needed, in one order."""
        wanted = self.question.parts.union(() if self._order is None else self._order.parts)
        return {name: self.source.parts[name] for name in sorted(wanted)}

    @property
    def _is_per_currency(self) -> bool:
        return any(part.is_per_currency for part in self.parts.values())

    def build(self) -> AnySelect:
        keys = KEYS[: len(self.question.keys)]
        fine = self._grouped(self._rows(self.question.keys), keys)
        ranked = self._ranked(fine)
        listed = select(
            ranked.c.place, cast(null(), Integer).label("groups"), *(ranked.c[column.name] for column in fine.c)
        ).where(ranked.c.place <= bindparam("first", type_=Integer))
        whole = union_all(listed, self._total(fine, ranked)).subquery("whole")
        return select(*whole.c).order_by(whole.c.place, *([whole.c[_CURRENCY]] if self._is_per_currency else []))

    def _rows(self, names: Sequence[str]) -> Subquery:
        """The records, each with its keys, its currency and what it counts for."""
        source = self.source
        columns = [self._key(source.dimensions[n]).label(k) for n, k in zip(names, KEYS, strict=False)]
        if self._is_per_currency:
            columns.append(source.currency.label(_CURRENCY))
        columns += [part.column.label(name) for name, part in self.parts.items()]
        if source.number is not None:
            columns.append(source.number.label(_NUMBER))
        columns = columns or [literal_column("1").label("one")]
        statement = narrowed(source.listable.select(ORG_PARAM, *columns), source.listable, self.condition)
        of_keys = [join for name in names for join in source.dimensions[name].joins]
        of_parts = [join for part in self.parts.values() for join in part.joins]
        for name in dict.fromkeys([*of_keys, *of_parts]):
            target, on = source.joins[name]
            statement = statement.outerjoin(target, on)
        return as_stored(statement, source.listable.entity, KEYS).subquery()

    def _key(self, dimension: Dimension) -> AnyColumn:
        if dimension.kind is ColumnKind.DATE:
            return beginning(dimension.column, self.question.grain)
        if dimension.kind is ColumnKind.DATETIME:
            return beginning(local_day(dimension.column, self.zone_size), self.question.grain)
        return dimension.column

    def _grouped(self, rows: Subquery, keys: Sequence[str]) -> CTE:
        by = [rows.c[name] for name in (*keys, *((_CURRENCY,) if self._is_per_currency else ()))]
        sums = [part.how(rows.c[name]).label(name) for name, part in self.parts.items()]
        # A statement that names no column of the rows would count without them.
        if self.source.number is None:
            grouped = select(*by, *sums, func.count().label("count")).select_from(rows)
            return (grouped.group_by(*by) if by else grouped).cte("fine")
        number = func.coalesce(func.sum(rows.c[_NUMBER]), literal_column("0", Integer))
        grouped = select(*by, *sums, number.label("count")).select_from(rows)
        if by:  # what a row took away may have been the last of a group
            grouped = grouped.group_by(*by).having(number > literal_column("0"))
        return grouped.cte("fine")

    def _ranked(self, fine: CTE) -> CTE:
        """The finest groups, each with the place of its group."""
        keys = [fine.c[name] for name in KEYS[: len(self.question.keys)]]
        if not keys:
            return select(literal_column("1", Integer).label("place"), *fine.c).cte("ranked")

        def over(column: AnyColumn) -> AnyColumn:
            return func.sum(column).over(partition_by=keys)

        is_descending, order = self.question.direction is SortDirection.DESC, self._order
        terms = [] if order is None else [t.label(f"term{n}") for n, t in enumerate(order.terms(over, fine.c))]
        statement, by = select(*fine.c, *terms), [(term.name, is_descending) for term in terms]
        for key, name in zip(keys, self.question.keys, strict=True):
            named_by = self.source.dimensions[name].named_by
            if named_by is not None:
                entity, column = named_by
                statement = statement.outerjoin(entity, and_(entity.org_id == ORG_PARAM, entity.id == key))
                statement = statement.add_columns(getattr(entity, column).label(f"{key.name}_{column}"))
                by.append((f"{key.name}_{column}", is_descending and order is None))
            by.append((key.name, is_descending and order is None))
        ordered = statement.subquery("ordered")
        terms = [ordered.c[name].desc() if descends else ordered.c[name].asc() for name, descends in by]
        place = func.dense_rank().over(order_by=[term.nulls_last() for term in terms]).label("place")
        return select(place, *(ordered.c[column.name] for column in fine.c)).cte("ranked")

    def _total(self, fine: CTE, ranked: CTE) -> AnySelect:
        """The rows of all groups together, added up of these, or counted anew where a record may be in several."""
        repeats = {join for name in self.question.keys for join in self.source.dimensions[name].joins}
        is_anew = bool(repeats & self.source.repeats) or any(part.how not in _ADDED for part in self.parts.values())
        rows: Any = self._rows(()) if is_anew else fine  # Any: a subquery or a CTE
        by = [rows.c[_CURRENCY]] if self._is_per_currency else []
        sums = [part.how(rows.c[name]) for name, part in self.parts.items()]
        groups = select(func.max(ranked.c.place)).scalar_subquery()
        kinds = [fine.c[name].type for name in KEYS[: len(self.question.keys)]]
        nothing = [cast(null(), Integer), groups, *(cast(null(), kind) for kind in kinds)]
        number = func.count() if is_anew else func.sum(fine.c["count"])
        return select(*nothing, *by, *sums, number).select_from(rows).group_by(*by)


_DATES = (ColumnKind.DATE, ColumnKind.DATETIME)
