"""Answers as JSON, written piece by piece: one that is too large is given up on the way, and never stands whole."""

from collections.abc import Callable, Iterator

import orjson

from contract.errors import ResponseTooLarge

Default = Callable[[object], object]
"""Makes of a value that JSON does not know one that it does."""

_ROWS = 50
"""The most rows that are written at once, and of a small answer: beyond them its size is looked at on the way."""
_FIRST_ROWS = 10
_AT_ONCE = 1_000_000
"""No more rows are written at once than the ones before them let expect so many bytes of."""
_DEPTH_MAX = 5
"""Levels of objects below which no list is looked for: an answer's lists of rows stand above."""


def written(content: object, most: int, default: Default | None = None) -> bytes:
    """The content in UTF-8, times in UTC with a Z. Raises ResponseTooLarge beyond `most` bytes (decisions 87, 126)."""
    if _is_small(content):
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

    def __init__(self, most: int, default: Default | None) -> None:
        self.pieces: list[bytes | memoryview] = []
        self._left = most
        self._default = default

    def put(self, value: object, depth: int) -> None:
        """Add a value. Raises ResponseTooLarge as soon as it is too much."""
        if type(value) is list and value:
            self._list(value)
        elif type(value) is dict and _holds_list(value, depth):
            between = b"{"
            for name, inner in value.items():
                self._add(between + orjson.dumps(name) + b":")
                self.put(inner, depth + 1)
                between = b","
            self._add(b"}")
        else:
            self._add(self._dumped(value))

    def _list(self, values: list[object]) -> None:
        """Add a list of rows: a few, and ever more of them as long as they are short.

        A row is written whole, with the lists in it: what it holds was read whole, too. It is by many rows that an
        answer becomes many times as large as what was read for it.
        """
        start, count = 0, 1 if _holds_list(values[0], 0) else _FIRST_ROWS
        between = b"["
        while rows := values[start : start + count]:
            piece = self._dumped(rows)
            self._add(between)
            self._add(memoryview(piece)[1:-1])
            start, between = start + count, b","
            count = min(2 * count, _ROWS, 1 + _AT_ONCE * len(rows) // len(piece))
        self._add(b"]")

    def _dumped(self, value: object) -> bytes:
        return orjson.dumps(value, default=self._default, option=orjson.OPT_UTC_Z)

    def _add(self, piece: bytes | memoryview) -> None:
        self._left -= len(piece)
        if self._left < 0:
            raise ResponseTooLarge()
        self.pieces.append(piece)


def _is_small(content: object) -> bool:
    """Says whether there are few rows, and none that holds a list."""
    left = _ROWS
    for rows in _lists(content, 0):
        left -= len(rows)
        if left < 0 or (rows and _holds_list(rows[0], 0)):  # what is selected is the same for all of them
            return False
    return True


def _lists(value: object, depth: int) -> Iterator[list[object]]:
    """The lists that stand below objects alone."""
    if type(value) is list:
        yield value
    elif type(value) is dict and depth < _DEPTH_MAX:
        for inner in value.values():
            kind = type(inner)
            if kind is list or kind is dict:
                yield from _lists(inner, depth + 1)


def _holds_list(value: object, depth: int) -> bool:
    """Says whether the value is a list, or has one below objects alone."""
    if type(value) is list:
        return True
    if type(value) is not dict or depth >= _DEPTH_MAX:
        return False
    for inner in value.values():
        kind = type(inner)
        if kind is list or (kind is dict and _holds_list(inner, depth + 1)):
            return True
    return False
