"""Functions that each database writes its own way."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from sqlalchemy import BindParameter, ColumnElement, Integer, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from storage.adapters.sqlalchemy import DefaultDialect, SQLCompiler
from storage.expressions import AnyColumn

T = TypeVar("T")
AnyParameter = Any
"""A parameter in an expression. Any: to the type checker a function of a parameter has another type than itself."""


class AdHoc(DefaultDialect):
    """Writes statements as ad-hoc SQL has them that a database's callers write (docs/analytics.md)."""

    supports_native_boolean = True

    def __init__(self, database: str) -> None:
        super().__init__(paramstyle="named")
        self.database = database


class Dialectal(FunctionElement[T]):
    """A function by its templates, by dialect, with a place for each argument.

    `ad_hoc` has those that callers write otherwise: an amount is one number to them, a period has no offsets.
    """

    inherit_cache = True
    templates: ClassVar[Mapping[str, str]]
    ad_hoc: ClassVar[Mapping[str, str]] = {}


@compiles(Dialectal)
def _written(element: FunctionElement[object], compiler: SQLCompiler, **kw: object) -> str:
    parts = (compiler.process(part, **kw) for part in element.clauses)
    dialect, templates = compiler.dialect, element.templates
    if isinstance(dialect, AdHoc):
        return str({**templates, **element.ad_hoc}[dialect.database].format(*parts))
    return str(templates[dialect.name].format(*parts))


class _unseen(Dialectal[object]):
    inherit_cache = True
    name = "unseen"
    templates: ClassVar = {"postgresql": "(SELECT {0})", "sqlite": "{0}"}


def unseen(parameter: BindParameter[object]) -> AnyParameter:
    """The parameter, of whose value PostgreSQL's planner learns nothing, so that it keeps one plan for all values.

    For a value that it sees it may find that a plan of its own is cheaper, each time anew, and planning takes longer
    than what is planned. It is for shapes that have one good plan, whatever the value (decision 197).
    """
    hidden = _unseen(parameter)
    hidden.type = parameter.type
    return hidden


def literal_number(number: int) -> AnyColumn:
    """The number as a part of the statement's text: a planner knows it, and it is no parameter."""
    return literal_column(str(number), Integer)


class _in_index_order(Dialectal[int]):
    inherit_cache = True
    name = "in_index_order"
    type = Integer()
    templates: ClassVar = {"postgresql": "{0}", "sqlite": "{0} + 0"}


def in_index_order(limit: ColumnElement[int]) -> ColumnElement[int]:
    """The limit of a page that the index of its order leads to.

    SQLite takes a limit that it knows for a cheap sort, and not for an early end: where nearly all rows are of one
    organization it would read and sort the whole table for a page (decision 1144). PostgreSQL has to know the limit.
    """
    return _in_index_order(limit)


class _unsought(Dialectal[object]):
    inherit_cache = True
    name = "unsought"
    templates: ClassVar = {"postgresql": "{0}", "sqlite": "+({0})"}


def unsought(column: AnyColumn) -> AnyColumn:
    """The column as a value that SQLite looks for by no index, and that it finds in the order of none."""
    hidden = _unsought(column)
    hidden.type = column.type
    return hidden
