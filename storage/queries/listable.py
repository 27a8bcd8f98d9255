"""Says what it is to be listed: a source of rows, its columns, the orders that its lists know, and its links."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from sqlalchemy import ColumnElement, Text, and_, literal_column, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import SQLModel

from contract.criteria import Condition, Op, Order, Selection
from contract.vocabulary import SortDirection, TaggedKind
from storage import rows as r
from storage.base import Record
from storage.columns import SORT, columns_of, is_copy
from storage.expressions import AnyColumn, AnyEntity, AnySelect
from storage.queries.row_size_limit import is_long
from storage.statements import INSIDE


@dataclass(frozen=True, slots=True)
class Key:
    """One term of an order. `descending` is None for the term whose direction the caller chooses."""

    name: str
    descending: bool | None = None
    nullable: bool = False


Terms = Sequence[tuple[Key, bool]]
"""The terms of an order, each with whether it descends."""

RowT = TypeVar("RowT", covariant=True)

_CREATED = Key("created_at", descending=True)
ID = Key("id", descending=False)


_Links = frozenset[tuple[str, frozenset[str]]]
"""Links with the keys of the columns that are wanted of their rows."""

_Selected = tuple[frozenset[str], _Links]
"""The keys of columns, and links with the keys of theirs."""

_Join = tuple[AnyEntity, ColumnElement[bool], bool]
"""A joined entity, under which condition, and whether rows stay that it has nothing for."""


@dataclass(frozen=True, slots=True, eq=False)
class Listable(Generic[RowT]):
    """A source of rows of a class. It equals whatever has its name and selects the same: statements are kept by it.

    `orders` maps each sort field to its terms, the chosen one first and the tie-breaks after it; `links` maps the name
    of a to-one link to the column that holds it and the listable it leads to.
    """

    name: str
    entity: AnyEntity
    columns: tuple[AnyColumn, ...]
    orders: Mapping[str, tuple[Key, ...]]
    default: Order
    links: Mapping[str, tuple[str, "Listable[r.Row]"]] = field(default_factory=dict)
    fixed: tuple[ColumnElement[bool], ...] = ()
    joins: tuple[_Join, ...] = ()
    computed: Mapping[str, Callable[[Op, object], Condition]] = field(default_factory=dict)
    """The fields that no column holds, each with the condition that a comparison with it is."""
    tagged: TaggedKind | None = None
    """The kind of records that the tags of these are linked as, where they have some."""
    needs: AnyColumn | None = None
    """The column that names the group which reading a row needs, where rows of the source may need one of their own."""
    selected: _Selected | None = None
    """The columns that are wanted of it; everything unless given."""
    called: str | None = None
    """The clients' name for such a record, where that is not the name of its table's class."""
    is_shared: bool = False
    """Whether the rows of a page link to few of these, each of them often, as deals to their owners (decision 970)."""
    shared: _Links = frozenset()
    """The links that are selected of it whose rows a long page has in common."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listable) and (self.name, self.selected) == (other.name, other.selected)

    def __hash__(self) -> int:
        return hash((self.name, self.selected))

    @property
    def typename(self) -> str:
        """The clients' name for such a record: the name of its GraphQL type."""
        return self.called or str(self.entity.__name__)

    def select(
        self, organization: ColumnElement[str] | str, *columns: AnyColumn, beside: Sequence[AnyColumn] = ()
    ) -> AnySelect:
        """A select of its rows in the organization (a value or a parameter), with these columns alone, or else what
        is selected of it and some beside that.
        """
        columns, joins = (columns, self.joins) if columns else self._wanted()
        statement = select(*columns, *beside).select_from(self.entity)
        for target, condition, optional in joins:
            statement = statement.join(target, condition, isouter=optional)
        return statement.where(self.entity.org_id == organization, *self.fixed)

    def column(self, name: str) -> AnyColumn:
        """The column that a row shows under this name."""
        return next(c for c in self.columns if c.key == name)

    def terms(self, order: Order | None) -> Terms:
        """The terms of an order, each with whether it descends."""
        order = order or self.default
        chosen = order.direction is SortDirection.DESC
        return [(k, chosen if k.descending is None else k.descending) for k in self.orders[order.field]]

    def selecting(self, selection: Selection | None, order: Order | None = None) -> "Listable[RowT]":
        """The same source with the wanted columns, with those of the order where cursors are made, and wanted links."""
        if selection is None:
            return self
        field = (order or self.default).field
        known = selection.sources.get((self.name, field))
        if isinstance(known, Listable):
            return known
        of_cursors = (key.name for key in self.orders[field]) if selection.has_cursors else ()
        wanted = selection.columns.union(("id",), of_cursors)
        shared = frozenset(link for link in selection.links if self._has_in_common(*link))
        made = selection.sources[self.name, field] = replace(self, selected=(wanted, selection.links), shared=shared)
        return made

    def _has_in_common(self, link: str, wanted: frozenset[str]) -> bool:
        """Whether rows have the linked one in common: not with a long column, which is looked at by the byte."""
        target = self.links[link][1]
        return target.is_shared and not any(is_long(column) for column in target.columns if column.key in wanted)

    def read_by(self, groups: frozenset[str]) -> "Listable[RowT]":
        """The same source without the rows that need another group than these."""
        if self.needs is None:
            raise ValueError(f"{self.name} has no column that names a group")
        named = ", ".join(sorted(groups))
        held = [self.needs.is_(None)]
        held += [self.needs == literal_column(f"'{group}'", Text()) for group in sorted(groups)]
        return replace(self, name=f"{self.name} for {named}", fixed=(*self.fixed, or_(*held)))

    @property
    def is_joined(self) -> bool:
        """Whether its rows have something of other tables."""
        return bool(self._wanted()[1])

    def has_link(self, name: str) -> bool:
        """Says whether the row that the link leads to is joined in."""
        return self.selected is not None and any(name == link for link, _ in self.selected[1])

    def _wanted(self) -> tuple[tuple[AnyColumn, ...], tuple[_Join, ...]]:
        """The columns of a row, and the joins that they come from."""
        if self.selected is None:
            return self.columns, self.joins
        wanted, links = self.selected
        columns = [c for c in self.columns if c.key in wanted]
        joins = list(self.joins)
        for name, linked in sorted(links, key=lambda link: link[0]):
            local, target = self.links[name]
            other = aliased(target.entity)
            columns += [
                getattr(other, c.key).label(f"{name}{INSIDE}{c.key}")
                for c in target.columns
                if c.key in linked | {"id"}
            ]
            joins.append(linked_by(other, self.entity.org_id, self.column(local)))
        return tuple(columns), tuple(joins)


def shown_columns(model: type[SQLModel]) -> tuple[AnyColumn, ...]:
    """All columns of a table but folded copies, each under its name in the database."""
    attributes = model.__mapper__.column_attrs  # type: ignore[attr-defined]  # which every table class has
    stored = {a.key: a.columns[0].name for a in attributes if not is_copy(a.columns[0])}
    return tuple(getattr(model, a).label(n) if a != n else getattr(model, a) for a, n in stored.items())


def _orders_of(model: type[Record]) -> dict[str, tuple[Key, ...]]:
    """The orders of a record type: each column that lists are sorted by, then the newest first, then the id."""
    orders: dict[str, tuple[Key, ...]] = {
        f.name: (Key(f.name, nullable=f.nullable), _CREATED, ID) for f in columns_of(model) if SORT in f.uses
    }
    orders["created_at"] = (Key("created_at"), ID)
    return orders


BY_CREATION: Mapping[str, tuple[Key, ...]] = {"created_at": (Key("created_at"), ID)}


def linked_by(model: AnyEntity, org_id: AnyColumn, column: AnyColumn, *, optional: bool = True) -> _Join:
    """Joins a table by the identifier that a column holds, within the organization."""
    return model, and_(model.org_id == org_id, model.id == column), optional


def prefixed(prefix: str, *columns: AnyColumn) -> tuple[AnyColumn, ...]:
    """Names columns with a prefix, as an embedded summary has them."""
    return tuple(c.label(f"{prefix}_{c.key}") for c in columns)


NEWEST = Order("created_at")


def record_listable(model: type[Record], **links: Listable[r.Row]) -> Listable[RowT]:
    """A record type that is listed as its table says: all columns, its own orders, the newest first.

    Each link is a to-one link by the column `<link>_id`, with what it leads to. One that no other leads to may
    stand beside its resolvers.
    """
    from storage.tables.tags import TAGGED  # with the tables of tags, which who only imports this need not have

    to_one = {name: (f"{name}_id", listable) for name, listable in links.items()}
    name = str(model.__tablename__)
    kind = TaggedKind(TAGGED[name]) if name in TAGGED else None
    return Listable(name, model, shown_columns(model), _orders_of(model), NEWEST, links=to_one, tagged=kind)


def in_order_of(
    field: str, name: str, model: type[SQLModel], *, key: str | None = None, called: str | None = None
) -> Listable[RowT]:
    """All rows of a table in one order, the first of it first unless clients ask for the last; `key` is its column."""
    orders = {field: (Key(key or field), ID)}
    return Listable(name, model, shown_columns(model), orders, Order(field, SortDirection.ASC), called=called)
