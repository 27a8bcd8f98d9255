"""Adds up what an operation may cost, and what it did cost, by its fields' costs (schema/costs.py, decision 86).

The tree of a variant is turned, once, into a tree of what costs anything (schema/execution/costing.py). All of it that
no variable has a say in is added up then; a request adds up the rest with the values of its variables, their defaults
among them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from contract.costs import Cost, condition_points, pages, points
from contract.errors import CostLine
from schema.execution.filter_costs import NO_FILTER, Filter
from schema.execution.values import Value, Values


@dataclass(frozen=True, slots=True)
class Rows:
    """The number of rows that a field gives: by its arguments, which are numbers or names of variables."""

    cost: Cost
    asked: tuple[int | str, ...] = ()

    fixed: int | None = field(init=False, default=None)
    """Their number, where no variable has a say in it."""

    def __post_init__(self) -> None:
        if not any(isinstance(one, str) for one in self.asked):
            object.__setattr__(self, "fixed", self._number({}))

    def number(self, values: Values) -> int:
        """Their number with these variables."""
        return self._number(values) if self.fixed is None else self.fixed

    def _number(self, values: Values) -> int:
        sizes = [values.get(one) if isinstance(one, str) else one for one in self.asked]
        known = [len(size) if isinstance(size, list) else size for size in sizes if size is not None]
        return self.cost.rows(max(known) if known else None)


class Sum(NamedTuple):
    """Weight, of which a point is a multiple, nodes, and the weight of conditions, which is reckoned by itself.

    A filter below rows is read once, and asked for their children alone: it weighs again for every page of rows.
    """

    weight: int
    nodes: int
    conditions: int = 0

    @property
    def points(self) -> int:
        """The points; conditions are in them by whole points, so that a handful of plain ones is free."""
        return points(self.weight) + condition_points(self.conditions)


_NOTHING = Sum(0, 0)


@dataclass(slots=True)
class CostNode:
    """A place of the answer. `below` is there for each row, `beside` once.

    `each` is 1 where rows are nodes. `is_many` says whether there may be several rows; those of a page stand below its
    `nodes` and `edges`, places that are its rows (`is_rows`).
    `fixed` is the place's sum where no variable has a say in it; `is_counted` whether the answer shows how many rows.
    """

    key: str
    rows: Rows
    each: int
    below: "tuple[CostNode | CostByType, ...]"
    beside: "tuple[CostNode | CostByType, ...]"
    is_many: bool
    is_rows: bool = False
    filter: Filter = NO_FILTER
    fixed: Sum | None = None
    is_counted: bool = False
    weight: int = 0
    each_row: int | None = None
    """The weight below each row, where that is the same for all rows and variables."""
    _below: "_Added" = field(init=False)
    _beside: "_Added" = field(init=False)

    def __post_init__(self) -> None:
        self.weight = self.rows.cost.weight
        self._below, self._beside = _Added.of(self.below), _Added.of(self.beside)
        self.is_counted = self.is_many or any(place.is_counted for place in (*self.below, *self.beside))
        if not self._below.open and not any(place.is_counted for place in self.below):
            self.each_row = self._below.fixed.weight
        if not (self._below.open or self._beside.open) and self.rows.fixed is not None and self.filter.is_fixed:
            self.fixed = self._sum({})

    def requested(self, values: Values) -> Sum:
        """The most that the place can come to."""
        if self.fixed is not None:
            return self.fixed
        return self._sum(values)

    def _sum(self, values: Values) -> Sum:
        rows = self.rows.number(values)
        below, beside = self._below.requested(values), self._beside.requested(values)
        return Sum(
            self.rows.cost.base + rows * (self.weight + below.weight) + beside.weight,
            rows * (self.each + below.nodes) + beside.nodes,
            self.filter.weight(values) + pages(rows) * below.conditions + beside.conditions,
        )

    def actual(self, parent: Mapping[str, Value], values: Values) -> int:
        """The weight of what the answer has in this place."""
        value = parent.get(self.key)
        if value is None:
            return self.rows.cost.base + self.weight if self.key in parent else 0
        if not self.is_counted:
            return self.requested(values).weight
        if value.__class__ is list:
            return len(value) * self.weight + self.of_rows(value, values)
        if not self.is_many:
            own = self.rows.cost.base + self.rows.number(values) * self.weight
            return own + _actual(self.beside, value, values)
        rows, weight = -1, 0
        for place in self.below:
            if isinstance(place, CostNode) and (found := value.get(place.key)) is not None:
                rows = len(found) if len(found) > rows else rows
                weight += place.of_rows(found, values)
        if rows < 0:  # nobody knows how many were read
            rows = self.rows.number(values)
        return weight + rows * self.weight + _actual(self.beside, value, values)

    def of_rows(self, rows: Sequence[Value], values: Values) -> int:
        """The weight of what stands below these rows."""
        if self.each_row is not None:
            return len(rows) * self.each_row
        return sum(_actual(self.below, row, values) for row in rows if row is not None)

    def lines(self, values: Values, times: int, path: str) -> Iterator[tuple[str, int, int]]:
        """Each place from here on: its path, and its own weight and nodes."""
        path = f"{path}.{self.key}" if path else self.key
        rows = self.rows.number(values)
        yield path, times * (self.rows.cost.base + rows * self.weight), times * rows * self.each
        if self.filter is not NO_FILTER:
            yield f"{path}{_FILTER}", pages(times) * self.filter.weight(values), 0
        for place in self.below:
            yield from place.lines(values, times * rows, path)
        for place in self.beside:
            yield from place.lines(values, times, path)


@dataclass(slots=True)
class CostByType:
    """The places below a record of any kind: those of each kind, of which only one will be there."""

    kinds: "tuple[tuple[CostNode | CostByType, ...], ...]"
    fixed: Sum | None = None
    is_counted: bool = False

    def __post_init__(self) -> None:
        if all(place.fixed for places in self.kinds for place in places):
            self.fixed = self._most({})

    def requested(self, values: Values) -> Sum:
        """The most that any kind can come to."""
        return self.fixed or self._most(values)

    def _most(self, values: Values) -> Sum:
        sums = [[place.requested(values) for place in places] for places in self.kinds]
        totals = [_total(found) for found in sums]
        return Sum(*(max(numbers) for numbers in zip(*totals, strict=True))) if totals else _NOTHING

    def actual(self, _parent: Mapping[str, Value], values: Values) -> int:
        """The most again: the answer need not say which kind it is."""
        return self.requested(values).weight

    def lines(self, values: Values, times: int, path: str) -> Iterator[tuple[str, int, int]]:
        """The places of the heaviest kind."""
        heaviest = max(self.kinds, key=lambda places: sum(p.requested(values).weight for p in places), default=())
        for place in heaviest:
            yield from place.lines(values, times, path)


@dataclass(frozen=True, slots=True)
class _Added:
    """Places that stand together: the sum of those in which no variable has a say, and the others."""

    fixed: Sum
    open: "tuple[CostNode | CostByType, ...]"

    @staticmethod
    def of(places: "Sequence[CostNode | CostByType]") -> "_Added":
        """Add up what can be."""
        fixed = _total([place.fixed for place in places if place.fixed is not None])
        return _Added(fixed, tuple(place for place in places if place.fixed is None))

    def requested(self, values: Values) -> Sum:
        """The most that all of them can come to."""
        if not self.open:
            return self.fixed
        return _total([self.fixed, *[place.requested(values) for place in self.open]])


def _actual(places: Sequence[CostNode | CostByType], value: Mapping[str, Value], values: Values) -> int:
    weight = 0
    for place in places:  # a generator would take as long again, and this is done for every answer
        weight += place.actual(value, values)
    return weight


class OperationCost:
    """The costs of one operation of a document."""

    def __init__(self, places: Sequence[CostNode | CostByType]) -> None:
        self._places = tuple(places)
        self._all = _Added.of(self._places)

    def requested(self, values: Values) -> Sum:
        """The most that the operation may come to with these coerced variables."""
        return self._all.requested(values)

    def actual(self, data: Mapping[str, Value], values: Values, requested: Sum) -> int:
        """The points that it did cost: lists as long as they turned out to be, conditions whatever they found."""
        return points(_actual(self._places, data, values)) + condition_points(requested.conditions)

    def heaviest(self, values: Values, number: int, *, by_nodes: bool = False) -> tuple[CostLine, ...]:
        """The places with the most points, or nodes, of their own."""
        lines = [line for place in self._places for line in place.lines(values, 1, "")]
        weighed = [(nodes if by_nodes else points(weight), path) for path, weight, nodes in lines]
        weighed.sort(key=lambda line: -line[0])
        return tuple(CostLine(_cut(path), cost) for cost, path in weighed[:number] if cost)


_PATH_SHOWN = 160
_FILTER = "(filter)"
"""The name, behind a place's path, of its conditions and of what it skips."""


def _cut(path: str) -> str:
    return path if len(path) <= _PATH_SHOWN else f"{path[: _PATH_SHOWN - 1]}…"


def _total(sums: Sequence[Sum]) -> Sum:
    weight = nodes = conditions = 0
    for one in sums:
        weight += one.weight
        nodes += one.nodes
        conditions += one.conditions
    return Sum(weight, nodes, conditions)
