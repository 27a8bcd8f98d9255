"""Answers as JSON: the same bytes as when they are written whole, and given up early where they are too large."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from contract.errors import ResponseTooLarge
from transport.encoding import written

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = [{"id": i, "name": 'é"\n', "at": NOW, "none": None, "link": {"id": i}} for i in range(137)]


def _lists(depth: int) -> Any:
    return [_lists(depth - 1)] if depth else []


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        {"a": []},
        [[], [[]], {}],
        {
            "data": {"a": {"nodes": ROWS, "pageInfo": {"next": True}}, "b": [1, "x", None]},
            "extensions": {"c": {"d": 1}},
        },
        {"nodes": [{"id": 1, "below": {"nodes": ROWS}}, {"id": 2, "below": None}, None] * 70},
        {"nodes": [{"below": None}, {"below": {"nodes": ROWS}}] * 3},
        {'"é': [{"x": _lists(120)}]},
        {"data": orjson.Fragment(b"[1, 2]"), "list": [orjson.Fragment(b"1.50")]},
    ],
)
def test_the_bytes_are_those_of_the_whole(content: Any) -> None:
    whole = orjson.dumps(content, option=orjson.OPT_UTC_Z)
    assert written(content, len(whole)) == whole
    with pytest.raises(ResponseTooLarge):
        written(content, len(whole) - 1)


TEXT = "x" * 500_000
MANY = [{"text": TEXT}] * 1_000


@pytest.mark.parametrize(
    "data",
    [
        {"a": {"nodes": MANY}},
        {f"a{i}": {"nodes": MANY[:50]} for i in range(20)},
        {"nodes": [{"below": {"nodes": MANY[:6]}}] * 100},
        {f"a{i}": {"nodes": [{"below": MANY[:6]}]} for i in range(20)},
    ],
    ids=["rows", "roots", "rows below rows", "rows below roots"],
)
def test_a_large_answer_is_given_up_before_it_stands(data: dict[str, Any]) -> None:
    """Half a gigabyte, for which the limit and some rows are all that is taken (decision 126)."""
    content = {"data": data}
    tracemalloc.start()
    try:
        with pytest.raises(ResponseTooLarge):
            written(content, 5_000_000)
        assert tracemalloc.get_traced_memory()[1] < 80_000_000  # the encoder takes several times what it writes
    finally:
        tracemalloc.stop()
