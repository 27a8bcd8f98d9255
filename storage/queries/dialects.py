"""Functions that each database writes its own way."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

T = TypeVar("T")


class Dialectal(FunctionElement[T]):
    """A function by its templates, by dialect, with a place for each argument."""

    inherit_cache = True
    templates: ClassVar[Mapping[str, str]]


@compiles(Dialectal)
def _written(element: Any, compiler: Any, **kw: Any) -> str:
    parts = (compiler.process(part, **kw) for part in element.clauses)
    return str(element.templates[compiler.dialect.name].format(*parts))
