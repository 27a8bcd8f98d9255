"""Questions that were once read as something else than what they say: they are declined, or answered as they are meant.

Decisions 275, 277, 830 to 832 and 1040.
"""

from __future__ import annotations

import pytest

from resolvers.questions.plans import Declined, Plan
from storage.tables import Account, Activity, PipelineStage
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
        ("Deals not won this year", "this year"),
        ("Leads disqualified this month", "this month"),
        ("Recipients who replied last month", "last month"),
        ("Accounts declining per month", "month"),
        ("Who closed the most deals this year?", "closed"),
        ("Leads not converted this year", "this year"),
        ("How much have we?", "how much"),
        ("How much did we close last month?", "how much"),
        ("How much of our deals are open?", "How"),
        ("Compare deals by owner", "compare"),
        ("Compare won deals this quarter", "compare"),
        ("How long do deals stay open?", "stay"),
        ("How long do deals by stage", "how long"),
        ("share of leads that convert by source", "share"),
        ("share of my leads that convert", "share"),
        ("Share of leads that convert this year", "Share"),
        ("share of converted leads", "share"),
        ("Do not disqualify leads", "disqualify"),
        ("Do convert leads", "convert"),
        ("Bounce recipients", "Bounce"),
        ("I want to close deals", "to close deals"),
        ("Deals with zero value", "zero"),
        ("Meetings with The member", "with"),
        ("Deals created by The member this month", "by"),
        ("How many deals did I create this month?", "create"),
        ("Which accounts did I meet last month?", "meet"),
        ("Which accounts did The member meet last month?", "meet"),
        ("Deals won between 1 and 15 October", "between"),
        ("Deals won over 5 May", "5"),
        ("Accounts met by The member last month", "by"),
        ("Accounts met by me", "me"),
        ("Accounts met by each rep last month", "rep"),
        ("How many accounts did each rep meet last month?", "meet"),
        ("Which owner met the most accounts last month?", "met"),
        ("Accounts with open deals owned by me", "owned"),
        ("Deals with meetings by The admin", "by"),
        ("Accounts without deals of mine", "mine"),
        ("Accounts met each month this year", "this year"),
        ("Accounts with deals won by month", "month"),
        ("Contacts with deals by quarter", "quarter"),
        ("Accounts without contacts per month", "month"),
        ("Average health this month", "this month"),
        ("Average health by month", "month"),
        ("Accounts with the worst health last quarter", "last quarter"),
        ("Accounts with health below 50 this month", "this month"),
        ("Reply rate by campaign this month", "this month"),
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


@pytest.mark.parametrize(
    ("question", "entity", "by", "fields"),
    [
        ("Accounts created each month with open deals", "accounts", ["created_at"], ["deals", "created_at"]),
        ("New accounts without contacts per month", "accounts", ["created_at"], ["contacts", "created_at"]),
        ("Average health of accounts created this year", "accounts", [], ["created_at", "created_at"]),
        ("Accounts we met last month by owner", "accounts", ["owner"], ["meetings"]),
        ("My deals without meetings", "deals", ["value", "close_date"], ["owner", "meetings"]),
        ("Average time in each stage by owner", "deals", ["stage", "owner"], []),
    ],
)
async def test_what_says_whose_and_when_is_read(
    one: Tenant, question: str, entity: str, by: list[str], fields: list[str]
) -> None:
    """Decision 1017."""
    query = (await planned(one, question)).query
    assert (query.entity, query.by, [condition.field for condition in query.where]) == (entity, by, fields)


async def test_linked_deals_that_are_closing_are_open(one: Tenant) -> None:
    """Decision 276: as deals that are asked for themselves."""
    ahead = (await planned(one, "Accounts with deals closing next month")).query.where[0].where or []
    assert [(c.field, c.value) for c in ahead] == [
        ("status", "open"),
        ("close_date", "2026-12-01"),
        ("close_date", "2027-01-01"),
    ]
    over = (await planned(one, "Accounts with deals closing last month")).query.where[0].where or []
    assert [c.field for c in over] == ["close_date", "close_date"]


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
        ("What sources do our meetings come from?", "Meetings by source"),
        ("Status of campaigns", "Campaigns by status"),
        ("Stage breakdown of my deals", "My deals by stage"),
        ("Owners by win rate", "Win rate by owner"),
        ("Which open deals have the highest value?", "Our largest open deals"),
        ("How many deals sit in each stage?", "How many deals by stage?"),
        ("How many days are deals in each stage on average?", "How long do deals stay in each stage?"),
        ("Contacts who have no e-mail addresses", "Contacts without an e-mail address"),
        ("Contacts whose email is missing", "Contacts without an e-mail address"),
        ("Meetings that belong to no deal", "Meetings without a deal"),
        ("Which sources do we lose deals from?", "Lost deals by source"),
        ("List the top ten open deals ranked by value", "Top 10 open deals by value"),
        ("Which 10 open deals are worth the most?", "Top 10 open deals by value"),
        ("10 highest-value open deals", "Top 10 open deals by value"),
        ("List open deals whose close date has passed", "Which open deals are overdue?"),
        ("Open deals with a closing date before today", "Which open deals are overdue?"),
        ("Deals due next month", "Deals closing next month"),
        ("Monthly wins this year", "Deals won per month this year"),
        ("Stage by stage pipeline value", "Pipeline value by stage"),
        ("Value of open deals per stage", "Pipeline value by stage"),
        ("How much has each rep won this year?", "Won amount by owner this year"),
        ("How much weighted pipeline is there per closing month?", "Weighted pipeline by month"),
        ("How does this quarter's won amount compare with last quarter's?", "Won amount this quarter vs last quarter"),
        ("Deals won from January to March 2025", "Deals won between January 2025 and March 2025"),
        ("Meetings with no deal attached", "Meetings without a deal"),
        ("Accounts with zero open deals", "Which accounts have no open deal?"),
        ("Accounts with no meeting in over 60 days", "Accounts we have not met for 60 days"),
        ("Which accounts are the least healthy?", "Accounts with the worst health"),
        ("Ten accounts in the worst health", "Accounts with the worst health"),
        ("Accounts trending down", "Which accounts are declining?"),
        ("How many deals haven't closed yet?", "How many open deals do we have?"),
        ("Mean meeting duration by owner", "Average meeting length by owner"),
        ("How long do meetings last on average per rep?", "Average meeting length by owner"),
        ("How long does it take each rep to win a deal?", "Sales cycle by owner"),
        ("Campaigns by reply rate", "Reply rate by campaign"),
        ("share of leads that convert", "lead conversion rate"),
        ("How many leads did we disqualify for each reason?", "Disqualified leads by reason"),
        ("Hi, how many open deals do we have? Thanks!", "How many open deals do we have?"),
        ("Deals over 5 million EUR", "Deals over 5,000,000 EUR"),
    ],
)
async def test_more_words_for_the_same(one: Tenant, question: str, same: str) -> None:
    assert (await planned(one, question)).query == (await planned(one, same)).query


async def test_names_are_read_whole_and_before_a_noun(one: Tenant) -> None:
    """A greeting is the beginning of a name unless a sign parts it; a state is a state where a stage is called so."""
    await one.add(Account(name="Hello Fresh", industry="Retail"), Account(name="Fresh"))
    await one.add(PipelineStage(name="Won", type="won", position=1))
    cases = {
        "Hello Fresh's deals": {"account": "Hello Fresh"},
        "Hello, deals at Hello Fresh": {"account": "Hello Fresh"},
        'Deals of "Hello Fresh", thanks': {"account": "Hello Fresh"},
        "Value of won deals at Fresh": {"status": "won", "account": "Fresh"},
        "Deals in Won at Fresh": {"stage": "Won", "account": "Fresh"},
        "Retail accounts": {"industry": "Retail"},
    }
    for question, expected in cases.items():
        found = (await planned(one, question)).query.where
        assert {condition.field: condition.value for condition in found} == expected, question
