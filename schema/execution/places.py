"""Places of an answer, and the errors of its fields in them, as the GraphQL specification has it (6.4.4).

An error makes its field null. Where that may not be, what the field stands in becomes null in its place, and so on; of
several errors that lead to the same null, the first is the one that is reported (decision 189).
"""

from collections.abc import Iterator
from typing import Any

from graphql import GraphQLError, located_error

from schema.execution.rows import Data
from schema.execution.tree import Field

Place = tuple["Place | None", str | int, bool]
"""The place around this one, its name or its index there, and whether it may be null."""
_Path = tuple[str | int, ...]


class FieldErrors:
    """The errors of one run, in the order in which they were raised."""

    __slots__ = ("_nulled", "errors")

    def __init__(self) -> None:
        self.errors: list[GraphQLError] = []
        self._nulled: dict[_Path, None] = {}

    @property
    def is_nothing_left(self) -> bool:
        """Says whether the answer has no data at all."""
        return () in self._nulled

    def add(self, error: Exception, field: Field, around: Place | None) -> None:
        """Adds what a field in a place raised."""
        nulled: Place | None = (around, field.key, field.is_nullable)
        path = _path(nulled)
        while nulled is not None and not nulled[2]:
            nulled = nulled[0]
        null = path[: len(_path(nulled))]
        if null not in self._nulled:
            self._nulled[null] = None
            self.errors.append(located_error(error, list(field.nodes), list(path)))

    def left_of(self, data: Data) -> Data | None:
        """Returns the data with null where the errors have led to it."""
        if self.is_nothing_left:
            return None
        for path in self._nulled:
            _put_null(data, path)
        return data


def _path(place: Place | None) -> _Path:
    return tuple(reversed(list(_keys(place))))


def _keys(place: Place | None) -> Iterator[str | int]:
    while place is not None:
        yield place[1]
        place = place[0]


def _put_null(data: Data, path: _Path) -> None:
    *around, last = path
    inside: Any = data  # an object, a list, or null
    for key in around:
        inside = inside[key]
        if inside is None:
            return
    inside[last] = None
