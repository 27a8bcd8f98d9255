"""Answers as JSON, written piece by piece: one that is too large is given up on the way, and never stands whole."""

from collections.abc import Callable
from typing import Any

import orjson

from contract.errors import ResponseTooLarge

_ROWS, _FIRST_ROWS = 50, 10
_AT_ONCE = 1_000_000
"""Rows that are written at once, and at first; fewer, down to one, where the ones before came to so many bytes."""
_DEPTH_MAX = 30
"""Levels below which nothing is divided; an answer's own lists stand above, and what is below is one JSON value's."""


def written(content: Any, most: int, default: Callable[[Any], Any] | None = None) -> bytes:
    """The content in UTF-8, times in UTC with a Z. Raises ResponseTooLarge beyond `most` bytes (decisions 87, 126)."""
    if not _holds_list(content, 0):
        whole = orjson.dumps(content, default=default, option=orjson.OPT_UTC_Z)
        if len(whole) > most:
            raise ResponseTooLarge()
        return whole
    writer = _Writer(most, default)
    writer.put(content, 0)
    return b"".join(writer.pieces)


class _Writer:
    """Collects the pieces of one answer."""

    __slots__ = ("_default", "_left", "pieces")

    def __init__(self, most: int, default: Callable[[Any], Any] | None) -> None:
        self.pieces: list[bytes | memoryview] = []
        self._left = most
        self._default = default

    def put(self, value: Any, depth: int) -> None:
        """Add a value. Raises ResponseTooLarge as soon as it is too much."""
        if type(value) is list and len(value) > 0 and depth < _DEPTH_MAX:
            self._list(value, depth + 1)
        elif type(value) is dict and _holds_list(value, depth):
            self._object(value, depth + 1)
        else:
            self._add(self._dumped(value))

    def _object(self, value: dict[str, Any], depth: int) -> None:
        between = b"{"
        for name, inner in value.items():
            self._add(between + orjson.dumps(name) + b":")
            self.put(inner, depth)
            between = b","
        self._add(b"}")

    def _list(self, values: list[Any], depth: int) -> None:
        between, start, count = b"[", 0, _FIRST_ROWS
        while rows := values[start : start + count]:
            start += count
            if _holds_list(rows[0], depth):  # what is selected is the same for all of them
                for row in rows:
                    self._add(between)
                    self.put(row, depth)
                    between = b","
            else:
                piece = self._dumped(rows)
                self._add(between)
                self._add(memoryview(piece)[1:-1])
                between = b","
                count = min(_ROWS, 1 + _AT_ONCE * len(rows) // len(piece))
        self._add(b"]")

    def _dumped(self, value: Any) -> bytes:
        return orjson.dumps(value, default=self._default, option=orjson.OPT_UTC_Z)

    def _add(self, piece: bytes | memoryview) -> None:
        self._left -= len(piece)
        if self._left < 0:
            raise ResponseTooLarge()
        self.pieces.append(piece)


def _holds_list(value: Any, depth: int) -> bool:
    """Whether the value is a list, or has one below the names of its objects."""
    if type(value) is list:
        return True
    if type(value) is not dict or depth >= _DEPTH_MAX:
        return False
    for inner in value.values():
        kind = type(inner)
        if kind is list or (kind is dict and _holds_list(inner, depth + 1)):
            return True
    return False
