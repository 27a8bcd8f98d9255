"""SQLAlchemy below its documented surface: what it makes of a statement, and how one statement is known again.

tests/adapters/test_sqlalchemy.py says what each of these has to look like.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Executable, MetaData
from sqlalchemy.engine import Dialect
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TupleType, TypeDecorator

from storage.expressions import AnyType

__all__ = [
    "Compiled",
    "DefaultDialect",
    "SQLCompiler",
    "Structure",
    "bind_processor",
    "plain_type",
    "share_types",
    "structure_of",
]


class Structure(NamedTuple):
    """A statement without its values, by which it is known again, and the values in it, in one order."""

    key: Hashable
    values: Sequence[Any]  # Any: of the parameters' types


def structure_of(statement: Executable) -> Structure | None:
    """Return the structure of a statement; None for one that cannot be known again."""
    found = statement._generate_cache_key()  # type: ignore[attr-defined]  # every statement has it
    if found is None:
        return None
    values = [bound.effective_value for bound in found.bindparams]
    lengths = tuple(
        len(value) if bound.expanding else -1 for bound, value in zip(found.bindparams, values, strict=True)
    )
    return Structure((found.key, lengths), found.bindparams)


class Compiled:
    """The text of a statement for one driver, with the parameters in the order that this takes them.

    `known` is the statement that it was made of, whose structure others are found by: the order of its values may be
    another, so that parameters find theirs by name.
    """

    def __init__(self, statement: Any, dialect: Dialect, known: Any) -> None:  # Any: of every kind
        key = known._generate_cache_key()
        made = statement.compile(dialect=dialect, cache_key=key, compile_kwargs={"render_postcompile": True})
        self.text = str(made)
        self.names: Sequence[str] = made.positiontup or ()
        state = made._post_compile_expanded_state
        self._items: Mapping[str, _Item] = {
            name: item
            for base, names in (state.parameter_expansion.items() if state is not None else ())
            for name, item in zip(names, _items_of(base, made.binds[base].type, len(names)), strict=True)
        }
        self.types: Mapping[str, AnyType] = {
            name: self._items[name].type if name in self._items else made.binds[name].type for name in self.names
        }
        self._own: Mapping[str, object] = made.construct_params(_check=False, _no_postcompile=True)
        places = [_Place(number) for number in range(len(key.bindparams if key is not None else ()))]
        found = made.construct_params(extracted_parameters=places, _check=False, _no_postcompile=True)
        self._places = {name: place.number for name, place in found.items() if isinstance(place, _Place)}
        """Where each value is among those of a statement of this structure.

        With it nothing is kept of the statement and of what compiled it, which weigh a hundred times as much.
        """

    def values(self, extracted: Sequence[Any] | None = None) -> Mapping[str, Any]:  # Any: of the parameters' types
        """The values of the parameters by their names, or those that another statement of this structure has."""
        found = self._own
        if extracted is not None:
            found = {**found, **{name: extracted[place].effective_value for name, place in self._places.items()}}
        return {name: self._items[name].of(found) if name in self._items else found.get(name) for name in self.names}


class _Place:
    """Stands for a value of a statement where the compiler asks for it, and so tells which one it is."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    @property
    def value(self) -> "_Place":
        """Gives what the compiler takes for the value."""
        return self

    effective_value = value


class _Item(NamedTuple):
    """The place of the value of one parameter that stands for an item of a list, or for a part of an item."""

    list_name: str
    place: int
    part: int | None
    type: AnyType

    def of(self, values: Mapping[str, Any]) -> Any:  # Any: of the parameters' types
        item = values[self.list_name][self.place]
        return item if self.part is None else item[self.part]


def _items_of(list_name: str, kind: AnyType, count: int) -> list[_Item]:
    """The parameters of a list, in their order: the parts of a tuple follow each other."""
    if not isinstance(kind, TupleType):
        return [_Item(list_name, place, None, kind) for place in range(count)]
    parts = kind.types
    return [_Item(list_name, n // len(parts), n % len(parts), parts[n % len(parts)]) for n in range(count)]


def plain_type(kind: AnyType) -> AnyType:
    """The type that a type of our own wraps; any other as it is."""
    return kind.impl_instance if isinstance(kind, TypeDecorator) else kind


def bind_processor(kind: AnyType, dialect: Dialect) -> Callable[[object], object] | None:
    """Finds what makes of a value what the driver takes; None where that is the value itself."""
    return kind.dialect_impl(dialect).bind_processor(dialect)


def share_types(metadata: MetaData) -> None:
    """Give columns of equal types one type: each of ours brings a class of its own and what dialects note of it."""
    known: dict[Hashable, AnyType] = {}
    for table in metadata.tables.values():
        for column in table.columns:
            key = column.type._static_cache_key
            if isinstance(key, tuple):  # else it cannot be told from others
                column.type = known.setdefault(key, column.type)
