"""Functions that each database writes its own way."""

from collections.abc import Mapping
from typing import ClassVar, TypeVar

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from storage.adapters.sqlalchemy import SQLCompiler

T = TypeVar("T")


class Dialectal(FunctionElement[T]):
    """A function by its templates, by dialect, with a place for each argument."""

    inherit_cache = True
    templates: ClassVar[Mapping[str, str]]


@compiles(Dialectal)
def _written(element: FunctionElement[object], compiler: SQLCompiler, **kw: object) -> str:
    parts = (compiler.process(part, **kw) for part in element.clauses)
    return str(element.templates[compiler.dialect.name].format(*parts))
