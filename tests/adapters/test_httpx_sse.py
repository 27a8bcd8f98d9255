"""What is relied on of httpx-sse below its documented surface (providers/adapters/httpx_sse.py)."""

from __future__ import annotations

import pytest

from providers.adapters.httpx_sse import EventData


def data(*pieces: str) -> list[str]:
    events = EventData()
    return [one for piece in pieces for one in events.feed(piece)] + [*events.end()]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_end_in_each_of_the_three_ways_however_they_are_cut(ending: str) -> None:
    text = ending.join(["event: x", "data: a", "data: b", "", ": comment", "", "data:c", "", "id: 1", "", "data: last"])
    assert data(text) == data(*text) == ["a\nb", "c", "last"]


def test_other_separators_are_text() -> None:
    assert data("data: a\u2028b\u0085c\x0bd\n\n") == ["a\u2028b\u0085c\x0bd"]


def test_what_is_no_event_gives_none() -> None:
    assert data("<html>\n\nretry: 5\n\n", "") == []
