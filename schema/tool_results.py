"""Cuts what a tool gave to what a model can read: rows at the end go first, then the ends of long texts."""

from collections.abc import Iterator

import orjson

from contract.canonical_json import Json
from contract.tools import TOOL_RESULT_BYTES, TOOL_TEXT


def size_of(data: Json) -> int:
    """Its bytes as compact JSON."""
    return len(orjson.dumps(data, option=orjson.OPT_UTC_Z))


def rows_that_fit(data: Json) -> int | None:
    """Says how many of the page's rows fit, one at least; None where all do, or where it is no page."""
    rows = data.get("nodes") if isinstance(data, dict) and "pageInfo" in data else None
    if not rows or size_of(data) <= TOOL_RESULT_BYTES:
        return None
    left = TOOL_RESULT_BYTES - size_of(data | {"nodes": []})
    for number, row in enumerate(rows):
        left -= size_of(row) + 1
        if left < 0:
            return max(number, 1)
    return None


def cut(data: Json) -> bool:
    """Leave out rows of the longest lists, and ends of long texts, until the rest fits; whether anything was."""
    if size_of(data) <= TOOL_RESULT_BYTES:
        return False
    _shorten(data)
    while size_of(data) > TOOL_RESULT_BYTES:
        longest = max(_lists(data), key=size_of, default=None)
        if not longest:
            break
        del longest[-max(1, len(longest) // 8) :]
    return True


def _shorten(value: Json) -> None:
    places = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for place, inner in list(places):
        if isinstance(inner, str) and len(inner) > TOOL_TEXT:
            value[place] = f"{inner[:TOOL_TEXT]}…"
        else:
            _shorten(inner)


def _lists(value: Json) -> Iterator[list[Json]]:
    if isinstance(value, list):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _lists(inner)
