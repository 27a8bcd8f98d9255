"""Pages as connections: nodes, edges with cursors, and a count that runs only when it is asked for."""

from collections.abc import Sequence
from typing import Annotated, Any, Generic, TypeVar

import strawberry
from graphql import GraphQLNamedType
from strawberry import UNSET

from contract.criteria import EVERYTHING, Condition, ListQuery, Order, PageWindow
from resolvers.shared.lists import PageResult
from resolvers.shared.node_lookup import NodeResult
from schema.adapters.strawberry import class_of
from schema.declare import argument, computed_field, field
from storage.rows import Row

T = TypeVar("T")
RowT = TypeVar("RowT", bound=Row)

First = Annotated[int | None, argument("At most this many rows, counted from the start; 50 unless told, at most 500.")]
After = Annotated[str | None, argument("Only rows behind this cursor.")]
Last = Annotated[int | None, argument("At most this many rows, counted from the end; at most 500.")]
Before = Annotated[str | None, argument("Only rows before this cursor.")]
Offset = Annotated[int | None, argument("Rows to skip from the start; a cursor costs less, the deeper the page.")]


@strawberry.interface(description="A record that can be found again by its identifier.")
class Node:
    id: strawberry.ID = field("The record's identifier, the same as on the REST paths.")

    @classmethod
    def is_type_of(cls, _obj: object, _info: object) -> bool:
        """Rows carry no type of their own: a field's declared type is right, and resolve_type says it for `node`."""
        return True

    @classmethod
    def resolve_type(cls, obj: NodeResult, _info: object, _abstract: object) -> str:
        """Says what kind of record `node` found."""
        return obj.typename


def named_by_its_rows(interface: type[T]) -> type[T]:
    """An interface of which, as of `Node`, each row says by its `typename` which type it is of."""
    for name in ("is_type_of", "resolve_type"):
        setattr(interface, name, Node.__dict__[name])
    return interface


class EdgeOf(Generic[RowT]):
    """A row of a page beside its cursor, which is made only when asked for."""

    __slots__ = ("node", "page")

    def __init__(self, page: PageResult[RowT], node: RowT) -> None:
        self.page = page
        self.node = node

    @property
    def cursor(self) -> str:
        return self.page.cursor(self.node)


@strawberry.type(description="Whether and where the list goes on around a page.")
class PageInfo:
    has_next_page: bool = field("Whether rows follow the page.")
    has_previous_page: bool = field("Whether rows precede the page.")
    start_cursor: str | None = field("The cursor of the page's first row.")
    end_cursor: str | None = field("The cursor of the page's last row.")


class PageInfoOf:
    """The page as its PageInfo."""

    __slots__ = ("page",)

    def __init__(self, page: PageResult[Row]) -> None:
        self.page = page

    @property
    def has_next_page(self) -> bool:
        return self.page.has_next

    @property
    def has_previous_page(self) -> bool:
        return self.page.has_previous

    @property
    def start_cursor(self) -> str | None:
        return self.page.cursor(self.page.rows[0]) if self.page.rows else None

    @property
    def end_cursor(self) -> str | None:
        return self.page.cursor(self.page.rows[-1]) if self.page.rows else None


def edges_of(page: PageResult[RowT]) -> list[EdgeOf[RowT]]:
    """The rows of a page with their cursors."""
    return [EdgeOf(page, row) for row in page.rows]


def nodes_of(page: PageResult[RowT]) -> Sequence[RowT]:
    """The rows of a page."""
    return page.rows


def page_info_of(page: PageResult[Row]) -> PageInfoOf:
    """Says where the page stands in its list."""
    return PageInfoOf(page)


class RowOfPage:
    """Marks the types of a page's rows with their cursors."""


class PageOfRows:
    """Marks the types that are pages of a list, whose rows stand below their `nodes` and `edges`."""


def is_page(kind: GraphQLNamedType) -> bool:
    """Says whether the type is a page of a list."""
    return issubclass(class_of(kind), PageOfRows)


def is_inside_page(kind: GraphQLNamedType) -> bool:
    """Says whether the type is a page or one of its edges."""
    return issubclass(class_of(kind), PageOfRows | RowOfPage)


@strawberry.type(description="A row of a page, with its cursor.")
class Edge(RowOfPage, Generic[T]):
    cursor: str = field("Names the row's place in this list, for `after` and `before`.")
    node: T = field("The record.")


@strawberry.type(description="A page of a list.")
class Connection(PageOfRows, Generic[T]):
    @computed_field("The records of the page, each with its cursor.")
    def edges(root: strawberry.Parent[PageResult[Row]]) -> list[Edge[T]]:
        return edges_of(root)

    @computed_field("The records of the page.")
    def nodes(root: strawberry.Parent[PageResult[Row]]) -> list[T]:
        return nodes_of(root)

    @computed_field("Whether and where the list goes on.")
    def page_info(root: strawberry.Parent[PageResult[Row]]) -> PageInfo:
        return page_info_of(root)

    @computed_field("How many records the whole list has; counted only when selected.")
    async def total_count(root: strawberry.Parent[PageResult[Row]]) -> int:
        return await root.total()


def listing(
    condition: Condition = EVERYTHING,
    order: Order | None = None,
    *,
    first: int | None = UNSET,
    after: str | None = UNSET,
    last: int | None = UNSET,
    before: str | None = UNSET,
    offset: int | None = UNSET,
) -> ListQuery:
    """The question that a connection's arguments ask (decision 13).

    Raises Problems naming the argument that is out of range.
    """
    window = {"first": first, "after": after, "last": last, "before": before, "offset": offset}
    page: dict[str, Any] = {  # Any: each is of its argument's type
        name: value for name, value in window.items() if value is not UNSET
    }
    return ListQuery(condition, order, PageWindow(**page))
