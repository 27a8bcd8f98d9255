"""Says what an entity of the catalogue is in the database: its dimensions, measures, joins and links."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import ColumnElement, and_
from sqlalchemy.orm import aliased

from contract.catalog import ColumnKind
from storage.expressions import AnyColumn, AnyEntity, AnyType
from storage.queries.aggregates import Dimension, Part, RolledUp, Source
from storage.queries.analytics_measures import (
    Measure,
)
from storage.queries.listable import Listable
from storage.rows import Row
from storage.tables import (
    Account,
    Campaign,
    Deal,
)

Join = tuple[AnyEntity, ColumnElement[bool]]
"""A joined entity, and the condition under which it is joined."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A dimension: its value, the joins that it comes from, and, of records that have a name, identifier and order."""

    column: AnyColumn
    joins: tuple[str, ...] = ()
    id: AnyColumn = None
    order: AnyColumn = None
    is_day: bool = False
    """Whether it is a day in UTC, where the catalogue has a moment."""

    @property
    def type(self) -> AnyType:
        """The type of its value."""
        kind: AnyType = self.column.type
        return kind


@dataclass(frozen=True, slots=True)
class Link:
    """The way to an entity: the condition on its rows, and the table between, with what leads on from there."""

    entity: str
    condition: ColumnElement[bool]
    through: tuple[AnyEntity, ColumnElement[bool]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """An entity in the database."""

    listable: Listable[Row]
    dimensions: Mapping[str, Fact]
    measures: Mapping[str, Measure]
    parts: Mapping[str, Part]
    joins: Mapping[str, Join]
    links: Mapping[str, Link] = field(default_factory=dict)
    currency: AnyColumn = None
    repeats: frozenset[str] = frozenset()
    """The joins that make several rows of one record."""
    number: AnyColumn = None
    """The number of records that a row stands for, where that is not one."""
    rolled_up: RolledUp | None = None
    """The roll-up that it is made of."""
    among: Mapping[str, Callable[[ColumnElement[bool]], ColumnElement[bool]]] = field(default_factory=dict)
    """Dimensions of which a record has several, each with what makes of a comparison whether one of them meets it."""

    @property
    def id(self) -> AnyColumn:
        """The identifier of its records."""
        return self.listable.entity.id


def named_facts(source: Source) -> tuple[dict[str, Fact], dict[str, Join]]:
    """The dimensions of a source as facts, with its joins and those of the records that dimensions name."""
    entity = source.listable.entity
    facts, joins = {}, dict(source.joins)
    for name, dimension in source.dimensions.items():
        facts[name] = _fact(name, dimension, entity, joins)
    return facts, joins


def _fact(name: str, dimension: Dimension, entity: AnyEntity, joins: dict[str, Join]) -> Fact:
    if dimension.named_by is None:
        return Fact(dimension.column, dimension.joins, is_day=dimension.kind is ColumnKind.DATE)
    other, order = dimension.named_by
    other, _ = joins.setdefault(name, (other, and_(other.org_id == entity.org_id, other.id == dimension.column)))
    return Fact(other.name, (*dimension.joins, name), dimension.column, getattr(other, order))


_NAMING: Final[Mapping[str, AnyEntity]] = {
    name: aliased(model) for name, model in (("account", Account), ("deal", Deal), ("campaign", Campaign))
}


def reference_fact(name: str, column: AnyColumn, entity: AnyEntity) -> tuple[Fact, dict[str, Join]]:
    """Makes a dimension of a record that a column names, with the join to its name."""
    joins: dict[str, Join] = {}
    return _fact(name, Dimension(column, named_by=(_NAMING[name], "name")), entity, joins), joins


def plain_facts(*columns: AnyColumn) -> dict[str, Fact]:
    """Makes dimensions of columns, by their names."""
    return {column.key: Fact(column) for column in columns}


def facts_of(
    source: Source,
    dimensions: Mapping[str, Fact],
    joins: Mapping[str, Join],
    **more: Any,  # Any: of each field its own
) -> Facts:
    """Makes an entity of an aggregate's source; `more` are the fields that it says nothing of."""
    parts = source.parts
    return Facts(source.listable, dimensions, parts=parts, joins=joins, repeats=source.repeats, **more)
