"""Questions that are nearly ones of the grammar: declined, or read in full (decisions 606 and 1121)."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from providers.embedded.reading import read
from providers.embedded.steps import Asked, Request
from providers.embedded.words import words_of
from tests.embedded.corpus import eq, listed, sought
from tests.embedded.world import ME as ME_ID
from tests.embedded.world import World

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
        *(
            "schedule a meeting with Acme tomorrow",
            "please schedule meetings next week",
            "can you schedule the meeting",
        ),
        *("open a deal with Acme", "open an opportunity with Acme", "open the deals with Acme", "open my deals"),
        *("which deals can we win?", "which deals did we not win?", "deals we will win", "which leads did we win?"),
        *("last meetings", "when is Acme?", "when is the last deal?", "when are my deals"),
        *("what closes", "what should close this week?", "what did we win with", "deals I won or", "what can we win?"),
        *("is Acme a customer?", "who works at", "who works at our customers?", "history of deals", "history"),
    ],
)
def test_a_near_miss_is_declined(text: str) -> None:
    assert first(text) is None


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Which deals did we win with Acme?", "Won deals with Acme"),
        ("Which deals did we lose last month?", "Deals lost last month"),
        ("Open deals in the negotiation stage with Acme", "Open deals with Acme in Negotiation"),
        ("When is my next meeting with Acme?", "My next meeting with Acme"),
        ("When was my last meeting with Acme?", "My previous meeting with Acme"),
        ("Health score for Acme", "Health of Acme"),
        ("Is Acme healthy?", "Health of Acme"),
        ("Who works at Acme?", "Contacts at Acme"),
        ("People we know at the account Acme", "Contacts at Acme"),
        ("What's changed since Monday?", "What changed since Monday?"),
        ("Has anything changed since Monday?", "What changed since Monday?"),
        ("History of Acme", "What changed on Acme?"),
        ("What's in our pipeline right now?", "Show the pipeline"),
        ("Which deals are in negotiation right now?", "Deals in Negotiation"),
        ("Deals with Acme at the moment", "Deals with Acme"),
        ("Deals with a value over 50k", "Deals over 50k"),
        ("Open deals of more than 10000 dollars", "Open deals over $10k"),
        ("Show me the Acme renewal deal", "Show the deal Acme renewal"),
        ("Move the Acme renewal deal to Negotiation", "Move the deal Acme renewal to Negotiation"),
        ("Show deals that have been won", "Won deals"),
        ("Can I see my open deals?", "My open deals"),
        ("What closes this week?", "Deals closing this week"),
        ("What did we win this month?", "Deals won this month"),
        ("What have we lost this quarter?", "Deals lost this quarter"),
        ("Which deals have I won?", "My won deals"),
        ("Deals I lost this year", "My deals lost this year"),
        ("What's happened with Acme this month?", "What changed on Acme this month?"),
    ],
)
async def test_other_words_make_the_same_calls(text: str, same: str) -> None:
    one, other = World(), World()
    assert "I cannot answer that" not in await one.ask(text)
    await other.ask(same)
    assert one.steps == other.steps


async def test_a_name_may_have_the_words_for_now() -> None:
    world = World()
    await world.ask("Deals with Right Now")
    assert world.steps[0] == [sought("Right Now", "ACCOUNT")]


async def test_the_last_meetings_are_those_that_were_held() -> None:
    world = World()
    await world.ask("My last 2 meetings")
    assert world.steps == [[listed("meeting", {"ownerId": eq(ME_ID), "state": eq("COMPLETED")}, "OCCURRED_AT DESC", 2)]]


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
