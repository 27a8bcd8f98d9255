"""Semantic queries in SQL: rows of an entity, or groups of them with what they come to (decisions 272 and 273).

A query has names of the catalogue alone (storage/queries/analytics_facts.py); its values are bound.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import (
    ColumnElement,
    Integer,
    Subquery,
    and_,
    bindparam,
    cast,
    false,
    func,
    literal_column,
    not_,
    null,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.orm import join, outerjoin

from contract.analytics_queries import Linked, Test
from contract.catalog import CATALOG, ColumnKind, DateGrain
from contract.criteria import All, Any_, Compare, Not, Op
from storage.expressions import AnyColumn, AnySelect, Values
from storage.queries.aggregates import Part
from storage.queries.analytics_fact import Fact, Facts, Join
from storage.queries.analytics_facts import FACTS, ROLLED_UP, STAY_JOINS, STAY_PARTS, STAY_STAGE
from storage.queries.filtering import compared
from storage.queries.numbers import NONE
from storage.queries.periods import beginning, local_day, zone_of
from storage.queries.stored_order import as_stored
from storage.statements import ORG_PARAM
from storage.tenancy.sessions import TenantSession

CURRENCY = "currency"
ORDER = "_order"
"""How the names end of columns that groups are ordered by, and callers are not shown."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A query without its values: rows with the dimensions `by` where there is no measure, or else groups by them.

    `order` has names, each with whether it descends.
    """

    entity: str
    by: tuple[str, ...]
    measures: tuple[str, ...]
    grain: DateGrain
    where: Test
    order: tuple[tuple[str, bool], ...]
    zone: str = "UTC"
    has_currency: bool = False
    """Whether the currency comes along that amounts have."""


async def fetch(session: TenantSession, shape: Shape, values: Values) -> Sequence[object]:
    """The rows, one more than `first` of the values says where there are more. Any: their columns are the shape's."""
    statement = QueryStatement(shape)
    return await session.fetch(statement.key, statement.build, **statement.bound(values))


@dataclass(frozen=True, slots=True)
class QueryStatement:
    """A statement without its values."""

    shape: Shape

    @property
    def key(self) -> Hashable:
        return "analytics", self.shape

    @property
    def orders(self) -> frozenset[str]:
        """The names of the columns that only order by a dimension, and are not shown."""
        return frozenset(f"{name}{ORDER}" for name in self.shape.by)

    @property
    def _facts(self) -> Facts:
        """The roll-up of the records where that has all that is asked for, else the records."""
        rolled = ROLLED_UP.get(self.shape.entity)
        return FACTS[self.shape.entity] if rolled is None or not _answers(rolled, self.shape) else rolled

    @property
    def _of_stays(self) -> Facts:
        return replace(self._facts, dimensions={**self._facts.dimensions, "stage": STAY_STAGE})

    def bound(self, values: Values) -> Values:
        """The values of its parameters, those of the zone among them."""
        found = dict(values)
        zone_of(self.shape.zone).bind(found)
        return found

    def build(self) -> AnySelect:
        return self._groups() if self.shape.measures else self._records()

    def _records(self) -> AnySelect:
        """The records themselves, ties by their identifiers."""
        facts, ordering = self._facts, list[AnyColumn]()
        columns, joins = self._columns(facts, self.shape.by, at_grain=False)
        if self.shape.has_currency:
            columns[CURRENCY] = facts.currency
        for name, descends in self.shape.order:
            fact = facts.dimensions[name]
            joins += fact.joins
            by = [column for column in (fact.order, fact.column) if column is not None]
            ordering += [(column.desc() if descends else column.asc()).nulls_last() for column in by]
        labelled = [column.label(name) for name, column in columns.items() if name not in self.orders]
        statement = self._from(facts, labelled, joins)
        return statement.order_by(*ordering, facts.id).limit(bindparam("rows", type_=Integer))

    def _columns(self, facts: Facts, names: Iterable[str], *, at_grain: bool) -> tuple[dict[str, AnyColumn], list[str]]:
        """The columns of dimensions, those of identifiers and orders after each, and the joins that they come from."""
        columns: dict[str, AnyColumn] = {}
        joins: list[str] = []
        for name in names:
            fact = facts.dimensions[name]
            columns |= self._of(name, fact, at_grain=at_grain)
            joins += fact.joins
        return columns, joins

    def _of(self, name: str, fact: Fact, *, at_grain: bool) -> dict[str, AnyColumn]:
        kind, column = CATALOG[self.shape.entity].dimensions[name].kind, fact.column
        if at_grain and kind is ColumnKind.DATETIME and not fact.is_day:
            column = beginning(local_day(column, zone_of(self.shape.zone).size), self.shape.grain)
        elif at_grain and kind in (ColumnKind.DATE, ColumnKind.DATETIME):
            column = beginning(column, self.shape.grain)
        found = {name: column}
        if fact.id is not None:
            found |= {f"{name}_id": fact.id, f"{name}{ORDER}": fact.order}
        return found

    def _from(
        self, facts: Facts, columns: Sequence[AnyColumn], joins: Iterable[str], inner: Sequence[Join] = ()
    ) -> AnySelect:
        """A select of the records that the conditions hold for."""
        entity = source = facts.listable.entity
        for name in dict.fromkeys([*joins, *_joins_of(facts, self.shape.where)]):
            source = outerjoin(source, *facts.joins[name])
        for target, on in inner:
            source = join(source, target, on)
        statement = select(*columns).select_from(source).where(entity.org_id == ORG_PARAM, *facts.listable.fixed)
        return statement if self.shape.where == All() else statement.where(_clause(facts, self.shape.where))

    def _groups(self) -> AnySelect:
        facts, shape, parts = self._facts, self.shape, self._parts()
        rows = self._rows(parts)
        hidden = {"record", "counted", "one", *parts}
        keys = [column for column in rows.c if column.name not in hidden]
        sums = {name: part.how(rows.c[name]) for name, part in parts.items()}
        sums["count"] = func.coalesce(func.sum(rows.c.counted), NONE) if "counted" in rows.c else self._number(rows)
        shown = [column for column in keys if column.name not in self.orders]
        ordering: list[tuple[AnyColumn, bool]] = []
        for name, descends in shape.order:
            if name in facts.measures and name in shape.measures:
                ordering += [(term, descends) for term in facts.measures[name].terms(sums)]
            else:
                ordering += [(column, descends) for column in self._keys_of(rows, name)]
        ordered = {name for name, _ in shape.order}
        ties = [name for name in (*shape.by, CURRENCY) if name not in ordered]
        ordering += [(column, False) for name in ties for column in self._keys_of(rows, name)]
        return (
            select(*shown, *(column.label(name) for name, column in sums.items()))
            .select_from(rows)
            .group_by(*keys)
            .order_by(*((column.desc() if descends else column.asc()).nulls_last() for column, descends in ordering))
            .limit(bindparam("rows", type_=Integer))
        )

    @staticmethod
    def _keys_of(rows: Subquery, name: str) -> list[AnyColumn]:
        return [rows.c[n] for n in (f"{name}{ORDER}", name, f"{name}_id") if n in rows.c]

    def _parts(self) -> dict[str, Part]:
        facts = self._facts
        names = sorted({part for name in self.shape.measures for part in facts.measures[name].parts})
        return {name: facts.parts.get(name) or STAY_PARTS[name] for name in names}

    def _number(self, rows: Subquery) -> AnyColumn:
        """Says how many records a group has, also where joins make several rows of one."""
        return func.count(rows.c.record.distinct()) if "record" in rows.c else func.count()

    def _rows(self, parts: Mapping[str, Part]) -> Subquery:
        """The records with their keys and what they count for; their stays beside them where those are asked for."""
        of_stays = [name for name in parts if name in STAY_PARTS]
        of_records = [name for name in parts if name not in STAY_PARTS]
        if not of_stays:
            return self._record_rows(parts).subquery("records")
        stays = self._stay_rows(parts, of_stays)
        if self.shape.measures == ("stage_days",):
            return stays.subquery("records")
        records = self._record_rows({name: parts[name] for name in of_records}, beside=of_stays)
        return union_all(records, stays).subquery("records")

    def _keys(self, facts: Facts) -> tuple[dict[str, AnyColumn], list[str]]:
        """The columns of groups, and the joins that they come from."""
        columns, joins = self._columns(facts, self.shape.by, at_grain=True)
        if self.shape.has_currency:
            columns[CURRENCY] = facts.currency
        return columns, joins

    def _record_rows(self, parts: Mapping[str, Part], beside: Sequence[str] = ()) -> AnySelect:
        facts = self._facts
        columns, joins = self._keys(facts)
        joins += [of_part for part in parts.values() for of_part in part.joins]
        if facts.repeats.intersection(joins):
            columns["record"] = facts.id
        keys = frozenset(columns)
        columns |= {name: part.column for name, part in parts.items()}
        if beside:
            columns |= {name: cast(null(), Integer) for name in beside} | {"counted": literal_column("1", Integer)}
        if facts.number is not None:
            columns["counted"] = facts.number
        columns = columns or {"one": literal_column("1", Integer)}
        statement = self._from(facts, [column.label(name) for name, column in columns.items()], joins)
        return self._as_read(statement, facts, keys)

    def _as_read(self, statement: AnySelect, facts: Facts, keys: Collection[str]) -> AnySelect:
        """Make of the select what is sent."""
        return as_stored(statement, facts.listable.entity, keys)

    def _stay_rows(self, parts: Mapping[str, Part], of_stays: Sequence[str]) -> AnySelect:
        """Ended stays in stages: the stage is that of the stay, all else is the deal's."""
        facts = self._of_stays
        columns, joins = self._keys(facts)
        columns |= {name: cast(null(), parts[name].column.type) for name in parts if name not in STAY_PARTS}
        columns |= {name: parts[name].column for name in of_stays} | {"counted": literal_column("0", Integer)}
        return self._from(facts, [column.label(name) for name, column in columns.items()], joins, STAY_JOINS)


def _answers(rolled: Facts, shape: Shape) -> bool:
    """Says whether a roll-up has the groups, the figures and what conditions speak of."""
    kept = rolled.rolled_up
    return (
        kept is not None
        and bool(shape.measures)
        and rolled.measures.keys() >= set(shape.measures)
        and rolled.dimensions.keys() >= set(shape.by)
        and all(shape.grain in kept.grains[name] for name in shape.by if name in kept.grains)
        and (shape.zone == "UTC" or kept.of_zones.isdisjoint(shape.by))
        and _speaks_of(rolled, shape.where)
    )


def _speaks_of(rolled: Facts, test: Test) -> bool:
    """Says whether a condition is on what a roll-up has; of its days it knows the period, and where there is none."""
    match test:
        case All(parts) | Any_(parts):
            return all(_speaks_of(rolled, part) for part in parts)  # type: ignore[arg-type]
        case Not(part):
            return _speaks_of(rolled, part)  # type: ignore[arg-type]  # tests have tests in them
        case Compare(name, op):
            fact = rolled.dimensions.get(name)
            return fact is not None and (op is Op.IS_NULL or not fact.is_day)
    return False


def _joins_of(facts: Facts, test: Test) -> list[str]:
    """The joins that the columns of a condition come from."""
    match test:
        case All(parts) | Any_(parts):
            return [name for part in parts for name in _joins_of(facts, part)]  # type: ignore[arg-type]
        case Not(part):
            return _joins_of(facts, part)  # type: ignore[arg-type]  # tests have tests in them
        case Compare(name):
            return [] if name in facts.among else [*facts.dimensions[name].joins]
    return []


def _clause(facts: Facts, test: Test) -> ColumnElement[bool]:
    match test:
        case All(parts):
            return and_(*(_clause(facts, part) for part in parts)) if parts else true()  # type: ignore[arg-type]
        case Any_(parts):
            return or_(false(), *(_clause(facts, part) for part in parts))  # type: ignore[arg-type]
        case Not(part):
            return not_(func.coalesce(_clause(facts, part), false()))  # type: ignore[arg-type]
        case Linked():
            return _linked(facts, test)
        case Compare(name, op, value):
            clause = compared(facts.dimensions[name].column, op, value)
            return facts.among[name](clause) if name in facts.among else clause
    raise TypeError(f"no condition: {test}")


def _linked(facts: Facts, test: Linked) -> ColumnElement[bool]:
    """Says whether a linked record meets the condition. What the entity is around it is outside of it by that alone."""
    link, here = facts.links[test.link], facts.listable.entity
    there = FACTS[link.entity]
    entity = there.listable.entity
    statement: AnySelect = (
        select(literal_column("1")).select_from(entity).where(entity.org_id == ORG_PARAM, link.condition)
    )
    statement = statement.where(*there.listable.fixed)
    if link.through is not None:
        between, on = link.through
        statement = statement.join(between, and_(between.org_id == entity.org_id, link.condition)).where(on)
    for name in dict.fromkeys(_joins_of(there, test.condition)):
        target, on = there.joins[name]
        statement = statement.outerjoin(target, on)
    if test.condition != All():
        statement = statement.where(_clause(there, test.condition))
    found = statement.correlate(here).exists()
    return found if test.exists else not_(found)
