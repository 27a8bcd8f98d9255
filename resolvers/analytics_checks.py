"""Reads semantic queries: every name is one of the catalogue that the caller may use, every value of its dimension.

What is wrong is named where it stands, with the names that are nearest (decision 272).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_FLOOR, Decimal
from difflib import get_close_matches
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from contract.analytics_queries import OF_LINKS, OF_NULL, Linked, Operator, Test
from contract.catalog import CATALOG, ColumnKind, Entity
from contract.catalog import Field as CatalogField
from contract.criteria import All, Any_, Compare, Not, Op
from contract.errors import Forbidden, Path, Problem, Problems
from contract.limits import (
    ANALYTICS_CONDITIONS_MAX,
    ANALYTICS_DEPTH_MAX,
    ANALYTICS_LIST_MAX,
    GROUP_DIMENSIONS_MAX,
    MONEY_BELOW,
    MONEY_DECIMALS,
)
from contract.vocabulary import SortDirection
from resolvers.analytics_inputs import AnalyticsCondition, AnalyticsQuery
from resolvers.shared.inputs import moment, storable
from storage.expressions import Values
from storage.queries.analytics_facts import FACTS
from storage.queries.analytics_queries import Shape
from storage.queries.filtering import ALWAYS, NEVER, Slot

_Against = Callable[[Op, object], Compare]
"""Makes a comparison with a value."""

NAMES = {"meetings": "subject", "enrollments": "email", "research_results": "company_name"}
"""The dimension that a record is called by, where it is not `name`."""
_WHOLE_BELOW = 2**31


@dataclass(slots=True)
class Checked:
    """A query that can be run: its shape and values, its dimensions in order, and its conditions in words."""

    query: AnalyticsQuery
    entity: Entity
    shape: Shape
    values: Values
    filters: list[str]


def check(query: AnalyticsQuery, scopes: frozenset[str], present: datetime, at: Path = ("input",)) -> Checked:
    """Returns what is to be run. Raises Problems, and Forbidden for an entity, field or link that needs more scopes."""
    return _Check(query, scopes, present, at).run()


def can_run(query: AnalyticsQuery, scopes: frozenset[str], present: datetime) -> bool:
    """Says whether a query made earlier can be run by these scopes: its names are still there, and none is hidden."""
    try:
        check(query, scopes, present)
    except (Problems, Forbidden):
        return False
    return True


def name_of(entity: str) -> str:
    """The dimension that a record of the entity is called by."""
    return NAMES.get(entity, "name")


@dataclass(slots=True)
class _Check:
    query: AnalyticsQuery
    scopes: frozenset[str]
    present: datetime
    at: Path
    problems: list[Problem] = field(default_factory=list)
    values: Values = field(default_factory=dict)
    filters: list[str] = field(default_factory=list)
    conditions: int = 0

    def run(self) -> Checked:
        entity = self._entity()
        query = self.query
        measures = [n for i, n in enumerate(query.measures) if self._known(entity.measures, n, ("measures", i), entity)]
        by = [n for i, n in enumerate(query.by) if self._known(entity.dimensions, n, ("by", i), entity)]
        if len(query.by) > GROUP_DIMENSIONS_MAX:
            self._refuse(("by",), f"must not have more than {GROUP_DIMENSIONS_MAX} items", "too_long")
        for name, given in (("by", query.by), ("measures", query.measures)):
            if len(set(given)) < len(given):
                self._refuse((name,), "must not have one name twice")
        test, words = self._conditions(entity, query.where, ("where",), 0)
        self.filters = words
        dimensions = by if measures else self._shown(entity, by)
        order = self._order(entity, measures, by)
        if self.problems:
            raise Problems(self.problems)
        today = datetime.combine(self.present.astimezone(ZoneInfo(query.time_zone)).date(), time())
        self.values |= {
            "rows": self._first + 1,
            "present": self.present,
            "today": self._utc(today),
        }
        money = {name for name in (*dimensions, *measures) if _is_money(entity, name)}
        has_currency = bool(money) and "currency" not in dimensions
        shape = Shape(
            *(entity.name, tuple(dimensions), tuple(measures), query.grain, test, order),
            *(query.time_zone, has_currency),
        )
        return Checked(query, entity, shape, self.values, self.filters)

    @property
    def _first(self) -> int:
        return 1_000 if self.query.first is None else self.query.first

    def _refuse(self, path: Path, words: str, kind: str = "value_error") -> None:
        self.problems.append(Problem((*self.at, *path), words, kind))

    def _entity(self) -> Entity:
        name = self.query.entity
        if name not in CATALOG:
            visible = [one.name for one in CATALOG.values() if one.group.passes(self.scopes)]
            raise Problems([Problem((*self.at, "entity"), _unknown("an entity", visible, name))])
        return self._allowed(CATALOG[name])

    def _allowed(self, entity: Entity) -> Entity:
        if not entity.group.passes(self.scopes):
            raise Forbidden(entity.group, self.scopes)
        return entity

    def _known(self, fields: Any, name: str, path: Path, entity: Entity) -> bool:  # Any: a mapping of the catalogue
        if name not in fields:
            what = "a measure" if fields is entity.measures else "a dimension"
            visible = [n for n, f in fields.items() if f.group is None or f.group.passes(self.scopes)]
            self._refuse(path, _unknown(f"{what} of {entity.name}", visible, name))
            return False
        group = fields[name].group
        if group is not None and not group.passes(self.scopes):
            raise Forbidden(group, self.scopes)
        return True

    def _shown(self, entity: Entity, by: Sequence[str]) -> list[str]:
        """The dimensions that rows have: the name, those asked for, those of conditions and orders, and the owner."""
        of_conditions = [one.field for one in self.query.where if one.op not in OF_LINKS and one.field != "tag"]
        of_orders = [one.field for one in self.query.order_by]
        names = [name_of(entity.name), *by, *of_conditions, *of_orders, "owner"]
        return [name for name in dict.fromkeys(names) if name in entity.dimensions]

    def _order(self, entity: Entity, measures: Sequence[str], by: Sequence[str]) -> tuple[tuple[str, bool], ...]:
        found = []
        known = [*measures, *by] if measures else [*entity.dimensions]
        for index, one in enumerate(self.query.order_by):
            path = ("order_by", index, "field")
            if one.field not in known:
                self._refuse(path, _unknown("a measure or dimension of the query", known, one.field))
            elif not measures:
                self._known(entity.dimensions, one.field, path, entity)
            found.append((one.field, one.direction is SortDirection.DESC))
        return tuple(found or [(name, False) for name in by])

    def _conditions(
        self, entity: Entity, conditions: Sequence[AnalyticsCondition], at: Path, depth: int
    ) -> tuple[Test, list[str]]:
        tests, words = [], []
        for index, one in enumerate(conditions):
            self.conditions += 1
            if self.conditions > ANALYTICS_CONDITIONS_MAX:
                self._refuse((*at, index), f"is one more than {ANALYTICS_CONDITIONS_MAX} conditions", "too_long")
                break
            found = (self._link if one.op in OF_LINKS else self._test)(entity, one, (*at, index), depth)
            if found is not None:
                tests.append(found[0])
                words.append(found[1])
        return All(tuple(tests)), words  # type: ignore[arg-type]  # tests have tests in them

    def _link(self, entity: Entity, one: AnalyticsCondition, at: Path, depth: int) -> tuple[Test, str] | None:
        if one.field not in entity.links:
            self._refuse((*at, "field"), _unknown(f"a link of {entity.name}", [*entity.links], one.field))
            return None
        if one.value is not None:
            self._refuse((*at, "value"), "goes with dimensions only")
        if depth == ANALYTICS_DEPTH_MAX:
            self._refuse((*at, "where"), f"is behind more than {ANALYTICS_DEPTH_MAX} links", "too_long")
            return None
        there = self._allowed(CATALOG[entity.links[one.field]])
        test, words = self._conditions(there, one.where or (), (*at, "where"), depth + 1)
        exists = one.op is Operator.EXISTS
        such = f" with {' and '.join(words)}" if words else ""
        return Linked(one.field, exists, test), f"{'some' if exists else 'no'} {one.field.replace('_', ' ')}{such}"

    def _test(self, entity: Entity, one: AnalyticsCondition, at: Path, _depth: int) -> tuple[Test, str] | None:
        if not self._known(entity.dimensions, one.field, (*at, "field"), entity):
            return None
        if one.where is not None:
            self._refuse((*at, "where"), "goes with exists and missing only")
        said = one.field.replace("_", " ")
        among = one.field in FACTS[entity.name].among
        if one.op in OF_NULL:
            if one.value is not None:
                self._refuse((*at, "value"), f"does not go with {one.op.value}")
            is_null = Compare(one.field, Op.IS_NULL, False if among else one.op is Operator.IS_NULL)
            words = f"{said} is {'empty' if one.op is Operator.IS_NULL else 'not empty'}"
            return (Not(is_null) if among and one.op is Operator.IS_NULL else is_null), words
        dimension = entity.dimensions[one.field]
        listed = one.op is Operator.IN
        if listed != isinstance(one.value, list) or (listed and not 0 < len(one.value) <= ANALYTICS_LIST_MAX):
            words = f"must be a list of 1 to {ANALYTICS_LIST_MAX} values" if listed else "must be one value"
            self._refuse((*at, "value"), words)
            return None
        tests = []
        for index, value in enumerate(one.value if listed else [one.value]):
            try:
                tests.append(self._compared(entity.name, dimension, one.op, value, among))
            except ValueError as error:
                self._refuse((*at, "value", index) if listed else (*at, "value"), str(error))
        words = f"{said} {_WORDS[one.op]} {', '.join(map(str, one.value)) if listed else one.value}"
        return (tests[0] if len(tests) == 1 else Any_(tuple(tests))), words  # type: ignore[arg-type]

    def _compared(self, entity: str, dimension: CatalogField, op: Operator, value: object, among: bool) -> Test:
        """The comparison with one value. Raises ValueError for one that the dimension cannot have."""
        name, kind = dimension.name, FACTS[entity].dimensions[dimension.name].type
        against = partial(self._against, name, kind)
        if among and op is Operator.NEQ:
            return Not(against(Op.EQ, _text(dimension, value)))
        if dimension.kind is ColumnKind.DATETIME:
            return self._moment(against, op, value)
        if dimension.kind is ColumnKind.DATE:
            return against(_OPS[op], _day(value))
        if dimension.kind is ColumnKind.DECIMAL:
            return _number(against, name, _OPS[op], value, MONEY_BELOW, MONEY_DECIMALS)
        if dimension.kind in (ColumnKind.INTEGER, ColumnKind.FLOAT):
            return _number(against, name, _OPS[op], value, Decimal(_WHOLE_BELOW), 0)
        return against(_OPS[op], _text(dimension, value))

    def _against(self, name: str, kind: Any, op: Op, value: object) -> Compare:  # Any: the type of a column
        slot = Slot(f"v{len(self.values)}", kind)
        self.values[slot.name] = value
        return Compare(name, op, slot)

    def _utc(self, local: datetime) -> datetime:
        return local.replace(tzinfo=ZoneInfo(self.query.time_zone)).astimezone(UTC)

    def _moment(self, against: _Against, op: Operator, value: object) -> Test:
        """A moment; or a day, which is from its beginning to that of the next one in the time zone."""
        if not isinstance(value, str):
            raise ValueError("must be a day of the form YYYY-MM-DD, or an ISO 8601 time")
        if len(value) != 10:
            return against(_OPS[op], moment(value))
        day = _day(value)
        if day >= date(9999, 12, 30) or day <= date(1, 1, 2):
            raise ValueError("must be a day between 0001-01-03 and 9999-12-29")
        start, end = (self._utc(datetime.combine(one, time())) for one in (day, day + timedelta(days=1)))
        within = All((against(Op.GTE, start), against(Op.LT, end))) if op in _OF_DAYS else None
        match op:
            case Operator.GT | Operator.LTE:
                return against(Op.GTE if op is Operator.GT else Op.LT, end)
            case Operator.GTE | Operator.LT:
                return against(_OPS[op], start)
            case Operator.NEQ:
                return Not(within)  # type: ignore[arg-type]
        return within  # type: ignore[return-value]  # of eq and in


_OF_DAYS = (Operator.EQ, Operator.IN, Operator.NEQ)
_OPS = {op: Op.EQ if op is Operator.IN else Op(op.value) for op in Operator if op not in OF_NULL | OF_LINKS}
_WORDS = {
    Operator.EQ: "is",
    Operator.NEQ: "is not",
    Operator.IN: "is one of",
    Operator.GT: "is over",
    Operator.GTE: "is at least",
    Operator.LT: "is under",
    Operator.LTE: "is at most",
}


def _unknown(what: str, known: Iterable[str], given: str) -> str:
    nearest = get_close_matches(given, [*known], 3, 0.0)
    return f"must be {what}; the nearest are {', '.join(nearest)}" if nearest else f"must be {what}"


def _is_money(entity: Entity, name: str) -> bool:
    measure = FACTS[entity.name].measures.get(name)
    if measure is not None and name in entity.measures:
        return measure.unit == "money"
    return entity.dimensions[name].kind is ColumnKind.DECIMAL


def _text(dimension: CatalogField, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a text")
    if dimension.values is not None and value not in {one.value for one in dimension.values}:
        raise ValueError(f"must be one of {', '.join(one.value for one in dimension.values)}")
    return storable(value)


def _day(value: object) -> date:
    if isinstance(value, str) and len(value) == 10:
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise ValueError("must be a day of the form YYYY-MM-DD")


def _number(against: _Against, name: str, op: Op, value: object, below: Decimal, decimals: int) -> Test:
    """A comparison with any number, also one that the column could not hold, without rounding it."""
    try:
        number = Decimal(str(value)) if not isinstance(value, bool) and value is not None else Decimal("nan")
    except ArithmeticError:
        number = Decimal("nan")
    if not number.is_finite() or abs(number.adjusted()) > 1_000:
        raise ValueError("must be a number")
    if not 0 <= number < below:
        holds = op in (Op.LT, Op.LTE) if number > 0 else op in (Op.GT, Op.GTE)
        nothing = ALWAYS if op is Op.NEQ else NEVER
        return Compare(name, Op.IS_NULL, False) if holds else nothing
    floor = number.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_FLOOR)
    if floor != number:
        if op in (Op.EQ, Op.NEQ):
            return ALWAYS if op is Op.NEQ else NEVER
        op = Op.GT if op in (Op.GT, Op.GTE) else Op.LTE
    return against(op, floor if decimals else int(floor))
