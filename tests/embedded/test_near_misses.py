"""Questions that are nearly ones of the grammar: declined, or read in full (decision 606)."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from providers.embedded.reading import read
from providers.embedded.steps import Asked, Request
from providers.embedded.words import words_of

NOW = datetime(2026, 11, 24, 9, tzinfo=UTC)
"""A Tuesday."""


def asked(text: str) -> Asked:
    return Asked(text, words_of(text), "me", NOW, ZoneInfo("UTC"))


def first(text: str) -> Request | None:
    """The first call that the question leads to; None where it is declined."""
    plan = read(asked(text)).plan
    return None if plan is None else next(plan).requests[0]


@pytest.mark.parametrize(
    "text",
    [
        *("my deals not in Berlin", "meetings without Acme", "won deals of nobody", "deals with no one"),
        *("nobody's deals", "everyone's deals", "deals with somebody", "health of nobody", "move nothing to Won"),
        *(
            "show nothing",
            "leads from nobody",
            "my team's deals",
            "my colleague's open deals",
            "contacts of my accounts",
        ),
        *("deals created this week closing this week", "deals created this week updated this week"),
        *("deals over 100k over 50k", "deals under -5", "deals over -50k", "top -5 deals", "new qualified leads"),
        *("meetings every Monday", "meetings on Mondays", "what changed on Mondays", "whose deals are open"),
        *("who did meetings", "leads we want", "accounts we would like"),
        *("deals won tomorrow", "deals won next month", "deals updated next week", "new leads next week"),
        *("what changed tomorrow", "completed meetings tomorrow", "leads created since December"),
        *("don't mark Acme renewal as won", "never move Acme renewal to Won", "my open deals and my meetings"),
        *("deals with Acme and Beta", "deals with Acme but not won", "deals in Negotiation or Won"),
        *("who is not Jo Ito?", "what changed except deals since Monday", "deals I don't own", "won or not lost deals"),
        *(
            "deals over 50%",
            "deals over 1e6",
            "open deals except Acme",
            "unassigned deals",
            "deals over 50k and under 1k",
        ),
    ],
)
def test_a_near_miss_is_declined(text: str) -> None:
    assert first(text) is None


@pytest.mark.parametrize(
    ("text", "field", "days"),
    [
        ("deals won on Monday", "closedAt", ("2026-11-23", "2026-11-24")),
        ("deals won on Friday", "closedAt", ("2026-11-20", "2026-11-21")),
        ("deals lost in December", "closedAt", ("2025-12-01", "2026-01-01")),
        ("deals closed in Q4", "closedAt", ("2026-10-01", "2027-01-01")),
        ("deals created on Tuesday", "createdAt", ("2026-11-24", "2026-11-25")),
        ("leads created in December", "createdAt", ("2025-12-01", "2026-01-01")),
        ("completed meetings on Friday", "occurredAt", ("2026-11-20", "2026-11-21")),
        ("meetings on Friday", "occurredAt", ("2026-11-27", "2026-11-28")),
        ("deals closing in December", "closeDate", ("2026-12-01", "2027-01-01")),
    ],
)
def test_a_day_is_one_that_was_where_it_has_to_be(text: str, field: str, days: tuple[str, str]) -> None:
    request = first(text)
    assert request is not None
    condition: dict[str, Any] = request.arguments["where"][field]
    assert (condition["gte"][:10], condition["lt"][:10]) == days


def test_changes_of_a_day_are_those_that_were() -> None:
    request = first("What changed on Friday?")
    assert request is not None
    assert (request.arguments["since"], request.arguments["until"]) == ("2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z")


@pytest.mark.parametrize(
    "part", ["«", "log a note on ", "'s ", "deals with ", "1,000,", '"', ":", "İ", "﷽", "\u0345", "٣ ", "x" * 50]
)
def test_the_time_is_that_of_the_length(part: str) -> None:
    began = time.monotonic()
    for text in (part * (8_000 // len(part)), f"log a note on Acme {part * (7_900 // len(part))}"):
        read(asked(text))
    assert time.monotonic() - began < 1
