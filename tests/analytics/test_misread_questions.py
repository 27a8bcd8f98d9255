"""Questions that were once read as something else than what they say: they are declined, or answered as they are meant.

Decisions 275, 277 and 830 to 832.
"""

from __future__ import annotations

import pytest

from resolvers.questions.plans import Declined, Plan
from storage.tables import Account, Activity
from tests.analytics.test_questions import answer, asked, planned, refused
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("Deals over -5 EUR", "-5"),
        ("Top -5 deals", "-5"),
        ("Open deals between -10 and 20 EUR", "-10"),
        ("Deals below \N{MINUS SIGN}5 EUR", "\N{MINUS SIGN}5"),
        ("Deals over 10.000 EUR", "10.000"),
        ("Deals over 1.000.000 EUR", "1.000.000"),
        ("deals !won", "!"),
        ("Deals not won by The admin", "not"),
        ("Meetings not completed by me", "not"),
        ("Deals not lost by The member this year", "not"),
    ],
)
async def test_what_may_mean_two_things_is_declined_with_its_word(one: Tenant, question: str, word: str) -> None:
    assert word in (await refused(one, question)).unread


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Deals over 10,000 EUR", "10000"),
        ("Deals over 10.5 EUR", "10.5"),
        ("Deals over 0.125 EUR", "0.125"),
        ("Deals over 10.0000 EUR", "10.0000"),
        ("Deals over 1,234.500 EUR", "1234.500"),
    ],
)
async def test_numbers_that_mean_one_thing_are_read(one: Tenant, question: str, value: str) -> None:
    found = [condition.value for condition in (await planned(one, question)).query.where]
    assert found == [value, "EUR"]


async def test_signs_between_words_say_nothing(one: Tenant) -> None:
    expected = (await planned(one, "Open deals by stage")).query
    for question in ("Open deals - by stage", "Open deals \N{EN DASH} by stage!", "Open deals, by stage?!"):
        assert (await planned(one, question)).query == expected


async def test_which_one_has_the_most_is_never_none(one: Tenant) -> None:
    """Most meetings have no account; that is no account that could be the answer."""
    account = Account(name="Birch")
    await one.add(account)
    await one.add(Activity(type="meeting", subject="a", account_id=account.id))
    await one.add(*(Activity(type="meeting", subject="b") for _ in range(3)))
    for question in (
        "Which account has the most meetings?",
        "Accounts with the most meetings",
        "Account with most meetings",
    ):
        found = await asked(one, question)
        assert isinstance(found, Plan | Declined)
        if isinstance(found, Plan):
            assert [row[0] for row in (await answer(one, found)).rows] == ["Birch"], question
            assert "meetings without account are left out" in found.assumptions
    every = await planned(one, "Meetings by account")
    assert {row[0] for row in (await answer(one, every)).rows} == {"Birch", None}


@pytest.mark.parametrize(
    ("question", "same"),
    [
        ("Show me the ten most valuable open deals", "Top 10 open deals by value"),
        ("Which accounts haven't we met in 60 days?", "Accounts we have not met for 60 days"),
        ("How many meetings came from each source?", "Meetings by source"),
    ],
)
async def test_more_words_for_the_same(one: Tenant, question: str, same: str) -> None:
    assert (await planned(one, question)).query == (await planned(one, same)).query
