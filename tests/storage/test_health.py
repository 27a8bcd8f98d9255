"""The facts of account health, counted alike by both databases as contract/health_facts.py defines them; snapshots."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.health_facts import AccountFacts, OutreachFacts, windows
from contract.vocabulary import HealthFactorKey
from storage.base import new_id
from storage.database import Database
from storage.queries import health
from storage.tables import Account, Activity, Campaign, Contact, Enrollment, HealthFactor, HealthSnapshot
from tests.resolvers.test_health_formula import block, condensed
from tests.support.health import new_organization, seed
from tests.support.statements import statements

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOTHING: dict[str, Any] = {
    "account": {"domain": None, "industry": None, "owner_id": None},
    "contacts": [],
    "meetings": [],
    "deals": [],
    "stage_changes": [],
}


@pytest.fixture
async def organization(database: Database) -> str:
    return await new_organization(database)


async def facts_of(database: Database, organization: str, account_id: str, now: datetime = NOW) -> AccountFacts:
    async with database.reading(organization) as session:
        return (await health.facts(session, [account_id], now))[account_id]


# ── facts ──


async def test_the_example_of_the_page(database: Database, organization: str) -> None:
    rows = block("rows")
    async with database.writing(organization) as session:
        account = await seed(session, rows)
    facts = await facts_of(database, organization, account.id, datetime.fromisoformat(rows["now"]))
    assert facts == condensed(rows, NOW)
    assert facts.meetings.held_by_week == tuple(block("facts")["meetings"]["held_by_week"])
    assert facts.meetings.last_held_at == datetime(2026, 11, 18, 9, tzinfo=UTC)
    assert facts.contacts.met == block("facts")["contacts"]["met"]


async def test_enrollments_count_by_the_accounts_contacts(database: Database, organization: str) -> None:
    """The last 180 days, the start excluded; those of nobody's contacts and of other accounts' stay out."""
    since = windows(NOW).enrolled_since
    accounts = [Account(name=name) for name in "AB"]
    contacts = [Contact(account_id=account.id) for account in accounts for _ in range(5)]
    campaigns = [Campaign(name="C", provider="local") for _ in range(2)]
    ages = (since, since + timedelta(microseconds=1), NOW, NOW - timedelta(days=1), NOW)
    statuses = ("replied", "replied", "pending", "replied", "bounced")
    enrollments = [
        Enrollment(campaign_id=campaign.id, contact_id=contact.id, email="x", email_key=contact.id, **values)
        for campaign in campaigns
        for contact, values in zip(
            contacts,
            [{"enrolled_at": at, "status": status} for at, status in zip(ages, statuses, strict=True)],
            strict=False,
        )
    ]
    enrollments.append(Enrollment(campaign_id=campaigns[0].id, email="y", email_key="y", enrolled_at=NOW))
    async with database.writing(organization) as session:
        for records in ((*accounts, *campaigns), contacts, enrollments):
            await session.insert(*records)
    assert (await facts_of(database, organization, accounts[0].id)).outreach == OutreachFacts(enrolled=8, replied=4)
    assert (await facts_of(database, organization, accounts[1].id)).outreach == OutreachFacts()


async def test_an_account_with_nothing_but_a_name(database: Database, organization: str) -> None:
    async with database.writing(organization) as session:
        account = await seed(session, NOTHING)
    assert await facts_of(database, organization, account.id) == AccountFacts()


async def test_rows_of_others_do_not_count(database: Database, organization: str) -> None:
    rows = block("rows")
    other = await new_organization(database)
    async with database.writing(other) as session:
        foreign = await seed(session, rows)
    async with database.writing(organization) as session:
        empty, neighbour = await seed(session, NOTHING), await seed(session, rows)
        person = Contact(account_id=empty.id)
        await session.insert(person, Contact(email="without@account.example"))
        # The person met, but at a meeting of another account, and at one of no account.
        await session.insert(
            *(Activity(account_id=i, contact_id=person.id, completed_at=NOW) for i in (neighbour.id, None))
        )
    facts = await facts_of(database, organization, empty.id)
    assert (facts.contacts.total, facts.contacts.filled, facts.contacts.met) == (1, 0, 0)
    assert (facts.meetings, facts.deals) == (AccountFacts().meetings, AccountFacts().deals)
    expected = condensed(rows, NOW)
    assert (await facts_of(database, organization, neighbour.id)).contacts == expected.contacts
    assert await facts_of(database, other, foreign.id) == expected
    async with database.reading(organization) as session:
        assert await health.facts(session, [foreign.id, new_id()], NOW) == {}


async def test_other_activities_are_no_meetings(database: Database, organization: str) -> None:
    rows = block("rows")
    async with database.writing(organization) as session:
        account = await seed(session, rows, type="call")
    assert await facts_of(database, organization, account.id) == condensed(rows | {"meetings": []}, NOW)


def made_up(chance: random.Random) -> dict[str, Any]:
    """Rows whose moments lie on, just before and just after the edges of the windows."""
    w = windows(NOW)
    edges = [NOW, *(since for since, _ in w.weeks), w.met_since, w.due_since, w.moved_since, w.closed_since]
    nudges = [timedelta(microseconds=n) for n in (-1, 0, 1)] + [timedelta(days=n) for n in (-3, 2)]

    def moment() -> str:
        return (chance.choice(edges) + chance.choice(nudges)).isoformat()

    def perhaps(value: str) -> str | None:
        return value if chance.random() < 0.8 else None

    def text() -> str | None:
        return perhaps(chance.choice(["", " ", "   ", "\t", " x ", "Zoë", "0"]))

    def several(most: int) -> range:
        return range(chance.randrange(most + 1))

    fields = ("first_name", "last_name", "email", "phone", "title")
    contacts: list[dict[str, Any]] = [{"id": f"c{i}", **{name: text() for name in fields}} for i in several(5)]
    people = [None, *(c["id"] for c in contacts)]
    deals = [
        {
            "id": f"d{i}",
            "status": chance.choice(["open", "open", "won", "lost"]),
            "champion_id": chance.choice(people),
            "close_date": perhaps((w.today + timedelta(days=chance.choice([-1, 0, 1]))).isoformat()),
            "created_at": moment(),
        }
        for i in several(6)
    ]
    return {
        "account": {name: text() for name in ("domain", "industry", "owner_id")},
        "contacts": contacts,
        "meetings": [
            {"due_at": perhaps(moment()), "completed_at": perhaps(moment()), "contact_id": chance.choice(people)}
            for _ in several(12)
        ],
        "deals": deals,
        "stage_changes": [{"deal_id": d["id"], "at": moment()} for d in deals for _ in several(3)],
    }


async def test_any_rows_count_as_defined(database: Database, organization: str) -> None:
    chance = random.Random(20261120)
    samples = [made_up(chance) for _ in range(80)]
    async with database.writing(organization) as session:
        accounts = [await seed(session, rows) for rows in samples]
    async with database.reading(organization) as session:
        with statements(database) as sent:
            found = await health.facts(session, [account.id for account in accounts], NOW)
    assert [found[account.id] for account in accounts] == [condensed(rows, NOW) for rows in samples]
    assert len(sent) == 5
    assert await facts_of(database, organization, accounts[0].id) == found[accounts[0].id]


async def test_a_naive_moment_is_refused(database: Database, organization: str) -> None:
    async with database.reading(organization) as session:
        with pytest.raises(ValueError, match="time zone"):
            await health.facts(session, [new_id()], datetime(2026, 11, 20))


# ── snapshots ──


def snapshot(account: Account, days: int, score: int, id: str | None = None) -> HealthSnapshot:
    moment = NOW - timedelta(days=days)
    return HealthSnapshot(
        id=id or new_id(), account_id=account.id, score=score, snapshot_at=moment, formula_version="1"
    )


async def test_latest(database: Database, organization: str) -> None:
    other = await new_organization(database)
    lower, higher = sorted((new_id(), new_id()))
    async with database.writing(organization) as session:
        scored, tied, unscored = [await seed(session, NOTHING) for _ in range(3)]
        await session.insert(
            *(snapshot(scored, days, score) for days, score in ((2, 20), (1, 10), (3, 30))),
            *(snapshot(tied, 1, score, id) for id, score in ((higher, 2), (lower, 1))),
        )
    async with database.writing(other) as session:
        foreign = await seed(session, NOTHING)
        await session.insert(snapshot(foreign, 0, 99))
    ids = [unscored.id, tied.id, scored.id, foreign.id, new_id()]
    async with database.reading(organization) as session:
        with statements(database) as sent:
            found = await health.latest(session, ids)
        assert len(sent) == 1
        assert {i: row.score for i, row in found.items()} == {scored.id: 10, tied.id: 2}
        assert found[tied.id].id == higher
        assert found[scored.id].snapshot_at == NOW - timedelta(days=1)
        assert (await health.latest(session, [scored.id]))[scored.id].score == 10
        for days, expected in ((1.5, {scored.id: 20}), (2, {scored.id: 20}), (2.5, {scored.id: 30}), (4, {})):
            before = await health.latest(session, ids, until=NOW - timedelta(days=days))
            assert {i: row.score for i, row in before.items()} == expected


async def test_factors_come_in_the_order_of_insertion(database: Database, organization: str) -> None:
    async with database.writing(organization) as session:
        account = await seed(session, NOTHING)
        first, second, bare = (snapshot(account, days, 50) for days in (1, 2, 3))
        await session.insert(first, second, bare)
        made = [
            HealthFactor(
                account_id=account.id,
                health_score_id=owner.id,
                snapshot_at=owner.snapshot_at,
                position=position,
                key=key,
                label="",
                score=50,
                weight=0.125,
                explanation="",
                sample_size=0,
            )
            for owner in (first, second)
            for position, key in enumerate(HealthFactorKey)
        ]
        random.Random(1).shuffle(made)
        await session.insert(*made)
    async with database.reading(organization) as session:
        with statements(database) as sent:
            found = await health.factors(session, [second.id, bare.id, first.id])
    assert len(sent) == 1
    assert {i: [row.key for row in rows] for i, rows in found.items()} == {
        second.id: list(HealthFactorKey),
        bare.id: [],
        first.id: list(HealthFactorKey),
    }
    assert {row.health_score_id for row in found[first.id]} == {first.id}
    other = await new_organization(database)
    async with database.reading(other) as session:
        assert await health.factors(session, [first.id]) == {first.id: []}
