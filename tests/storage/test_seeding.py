"""Seeding: exact numbers, the same rows everywhere and every time, each organization whole or not at all."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlmodel import SQLModel, col

from contract.scopes import Role
from contract.vocabulary import MANUAL_METADATA_KEYS, ActivitySource, StageType
from resolvers import deals as deal_resolvers
from resolvers.health import refresh_many
from storage.base import as_uuid, with_copies
from storage.columns import is_copy
from storage.database import Database
from storage.seeding import Plan, Summary, bulk, demo, seed, seed_demo
from storage.seeding.activities import activities
from storage.seeding.generate import STAGES, Rows, records
from storage.seeding.plan import EPOCH, Blueprint, Ids, blueprints
from storage.tables import (
    Account,
    Activity,
    Competitor,
    Contact,
    Deal,
    DealContact,
    Event,
    EventCounter,
    HealthFactor,
    HealthSnapshot,
    Lead,
    Member,
    Membership,
    Organization,
    PipelineStage,
    StageChange,
)

SMALL = Plan(organizations=2, accounts=13, contacts=40, deals=41, meetings=301, seed=7)
TENANT_TABLES = (PipelineStage, Account, Contact, Deal, StageChange, DealContact, Activity, Event, Lead, Competitor)
NOW = datetime(2026, 11, 20, 15, 42, 7, 123456, tzinfo=UTC)


def generated(blueprint: Blueprint) -> list[Rows]:
    """All rows of an organization, in memory."""
    some, reachable = records(blueprint)
    return [replace(r, rows=list(r.rows)) for r in (*some, *activities(blueprint, reachable))]


def of(all_rows: Sequence[Rows], model: type[SQLModel]) -> list[dict[str, Any]]:
    """The generated rows of one table, by column."""
    mine = [r for r in all_rows if r.model is model]
    return [with_copies(model, dict(zip(r.columns, row, strict=True))) for r in mine for row in r.rows]


async def stored(database: Database, organization: str, model: type[Any]) -> list[dict[str, Any]]:
    """The stored rows of one table, by column, without the organization."""
    table = model.__table__
    async with database.reading(organization) as session:
        rows = await session.rows(select(*table.columns).where(table.c.org_id == organization))
    names = [column.name for column in table.columns]
    return [{n: v for n, v in zip(names, row, strict=True) if n != "org_id"} for row in rows]


async def numbers(database: Database, organization: str) -> dict[str, int]:
    """How many rows an organization has in each table."""
    found = {}
    async with database.reading(organization) as session:
        for model in (*TENANT_TABLES, EventCounter, HealthSnapshot, HealthFactor):
            statement = select(func.count()).select_from(model).where(col(model.org_id) == organization)
            found[str(model.__tablename__)] = await session.scalar(statement)
    return found


async def directory(database: Database, model: type[SQLModel]) -> int:
    async with database.directory() as session:
        return int(await session.scalar(select(func.count()).select_from(model)))


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (str(row.get("id", "")), str(row.get("deal_id")), str(row.get("contact_id"))))


async def test_every_number_is_exact(database: Database) -> None:
    summary = await seed(database, SMALL)

    assert summary.written == 2
    assert summary.organizations == tuple(b.id for b in blueprints(SMALL))
    first, second = [await numbers(database, organization) for organization in summary.organizations]
    # Of the odd totals the first organization has one more; for every fifty meetings there is one other activity.
    assert (first["accounts"], first["contacts"], first["deals"], first["activities"]) == (7, 20, 21, 151 + 4)
    assert (second["accounts"], second["contacts"], second["deals"], second["activities"]) == (6, 20, 20, 150 + 3)
    assert (first["pipeline_stages"], first["event_counters"], first["events"]) == (6, 1, 0)
    assert [await directory(database, model) for model in (Organization, Member, Membership)] == [2, 16, 16]
    assert summary.rows == dict(Counter(first) + Counter(second)) | {
        "organizations": 2,
        "members": 16,
        "memberships": 16,
        "people": 16,
    }


async def test_what_is_stored_is_what_was_generated(database: Database) -> None:
    """Money, times, dates and documents included, on both databases: so two dumps of one plan are equal."""
    await seed(database, SMALL)

    for blueprint in blueprints(SMALL):
        expected = generated(replace(blueprint, logged=False))
        for model in TENANT_TABLES:
            wanted = in_order(of(expected, model))
            names = {name for row in wanted for name in row}  # the database has defaults for others
            found = in_order(await stored(database, blueprint.id, model))
            rows = [{name: value for name, value in row.items() if name in names} for row in found]
            assert rows == wanted, model
            # Equality of mappings does not see an order of keys, and a client does.
            assert repr([r.get("metadata") for r in rows]) == repr(
                [r.get("metadata") for r in in_order(of(expected, model))]
            )


async def test_every_column_is_given() -> None:
    """What a generator leaves out would be null or refused: the tables' defaults are Python's."""
    given = {r.model: set(r.columns) for r in generated(next(blueprints(SMALL)))}
    stored = {m: [c for c in m.__table__.columns if not is_copy(c) and c.computed is None] for m in TENANT_TABLES}  # type: ignore[attr-defined]
    by_itself = {m: {c.name for c in columns if c.server_default is not None} for m, columns in stored.items()}
    wanted = {m: {c.name for c in columns} - {"org_id"} for m, columns in stored.items()}
    assert {m: given[m] | by_itself[m] for m in given} == wanted


_DIGEST = """
from hashlib import sha256
from storage.seeding import Plan
from storage.seeding.activities import activities
from storage.seeding.generate import records
from storage.seeding.plan import blueprints
for blueprint in blueprints(Plan(organizations=2, accounts=13, contacts=40, deals=41, meetings=301, seed=7)):
    some, reachable = records(blueprint)
    print(sha256(repr([list(r.rows) for r in (*some, *activities(blueprint, reachable))]).encode()).hexdigest())
"""


def test_another_process_in_another_zone_generates_the_same() -> None:
    environment = os.environ | {"PYTHONHASHSEED": "4711", "TZ": "Pacific/Auckland", "PYTHONPATH": os.getcwd()}
    other = subprocess.run([sys.executable, "-c", _DIGEST], env=environment, capture_output=True, check=True, text=True)
    ours = [sha256(repr([r.rows for r in generated(b)]).encode()).hexdigest() for b in blueprints(SMALL)]
    assert other.stdout.split() == ours


def test_another_seed_or_another_size_is_other_data() -> None:
    plans = (SMALL, replace(SMALL, seed=8), replace(SMALL, meetings=303))
    ids = [r["id"] for p in plans for b in blueprints(p) for m in TENANT_TABLES[:4] for r in of(generated(b), m)]
    assert len(set(ids)) == len(ids)


async def test_a_second_run_changes_nothing_and_says_so(database: Database) -> None:
    first = await seed(database, SMALL)
    before = [await stored(database, o, m) for o in first.organizations for m in TENANT_TABLES]
    told: dict[str, tuple[int, int]] = {}

    second = await seed(database, SMALL, lambda noun, done, total: told.update({noun: (done, total)}))

    assert second == Summary(first.organizations, 0, {})
    assert [await stored(database, o, m) for o in first.organizations for m in TENANT_TABLES] == before
    assert told == {
        "organizations": (2, 2),
        "accounts": (13, 13),
        "contacts": (40, 40),
        "deals": (41, 41),
        "meetings": (301, 301),
    }


async def test_progress_counts_up_to_the_total(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.seeding.load.BATCH", 100)
    told: list[tuple[str, int, int]] = []
    await seed(database, SMALL, lambda *step: told.append(step))

    assert [step for step in told if step[0] == "meetings"] == [
        ("meetings", done, 301) for done in (100, 151, 251, 301)
    ]
    assert [step for step in told if step[0] == "organizations"] == [("organizations", 1, 2), ("organizations", 2, 2)]


async def test_an_interrupted_run_leaves_nothing_and_the_next_one_finishes(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(bulk, "activities", broken)
        with pytest.raises(KeyboardInterrupt):
            await seed(database, SMALL)
    first = next(blueprints(SMALL)).id
    assert set((await numbers(database, first)).values()) == {0}
    assert await directory(database, Membership) == 0

    summary = await seed(database, SMALL)

    assert summary.written == 2
    assert (await numbers(database, first))["activities"] == 155
    assert await directory(database, Membership) == 16


async def test_two_processes_at_once_write_each_row_once(open_database: Callable[[], Database]) -> None:
    one, other = open_database(), open_database()
    summaries = await asyncio.gather(seed(one, SMALL), seed(other, SMALL))

    together: Counter[str] = Counter()
    for summary in summaries:
        together += Counter(summary.rows)
    assert (together["organizations"], together["activities"], together["memberships"]) == (2, 308, 16)
    assert (await numbers(one, summaries[0].organizations[1]))["activities"] == 153


@pytest.mark.parametrize("nothing", ["accounts", "contacts", "deals", "meetings"])
async def test_a_plan_may_leave_a_noun_out(database: Database, nothing: str) -> None:
    summary = await seed(database, replace(SMALL, **{nothing: 0}))

    table = "activities" if nothing == "meetings" else nothing
    assert [(await numbers(database, o))[table] for o in summary.organizations] == [0, 0]


async def test_an_empty_organization(database: Database) -> None:
    summary = await seed(database, Plan(accounts=0, contacts=0, deals=0, meetings=0))

    assert Counter(summary.rows) == {
        "organizations": 1,
        "event_counters": 1,
        "pipeline_stages": 6,
        "members": 8,
        "memberships": 8,
        "people": 8,
    }


def test_shares() -> None:
    plan = Plan(organizations=20, accounts=45, contacts=0, deals=20, meetings=390_001, largest_meetings=200_000)
    sizes = list(plan.sizes())
    assert [s.meetings for s in sizes] == [200_000, 10_001] + [10_000] * 18
    assert [s.accounts for s in sizes] == [3] * 5 + [2] * 15
    assert sum(s.deals for s in sizes) == 20


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"organizations": 0}, "organizations must be at least 1"),
        ({"deals": -1}, "a number of rows cannot be negative"),
        ({"organizations": 2, "largest_meetings": 5_001}, "the largest organization's meetings must be among all"),
        ({"largest_meetings": 4_999}, "a single organization has all meetings"),
    ],
)
def test_a_plan_that_cannot_be(fields: dict[str, int], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Plan(**fields)


async def test_members_and_their_scopes(database: Database) -> None:
    await seed(database, Plan(accounts=1, contacts=1, deals=1, meetings=1, seed=3))

    async with database.directory() as session:
        rows = await session.rows(select(col(Membership.subject), col(Membership.role), col(Membership.scopes)))
    scopes = {role.value: sorted(role.scopes) for role in Role}
    assert {r.subject: r.role for r in rows} == {
        "user_seed3_1_admin": "admin",
        "user_seed3_1_viewer": "viewer",
        "user_seed3_1_member": "member",
        **{f"user_seed3_1_member{n}": "member" for n in range(2, 7)},
    }
    assert all(r.scopes == scopes[r.role] for r in rows)


BIG = generated(next(blueprints(Plan(accounts=60, contacts=240, deals=400, meetings=16 * 15 * 11))))


def test_meetings_of_every_source_and_state() -> None:
    def state(row: dict[str, Any]) -> str:
        if row["completed_at"] is not None:
            return "completed" if row["due_at"] else "completed without a due time"
        if row["due_at"] is None:
            return "unscheduled"
        return "scheduled" if row["due_at"] > EPOCH else "overdue"

    meetings = [row for row in of(BIG, Activity) if row["type"] == "meeting"]
    states = ("completed", "completed without a due time", "unscheduled", "scheduled", "overdue")
    assert {(row["source"], state(row)) for row in meetings} == {(s.value, t) for s in ActivitySource for t in states}
    assert all(row["created_at"] < EPOCH and (row["completed_at"] or row["created_at"]) < EPOCH for row in meetings)
    assert {row["type"] for row in of(BIG, Activity)} == {"meeting", "email", "call"}


def test_metadata_is_what_the_source_may_write() -> None:
    keys: dict[str, set[Any]] = {}
    for row in of(BIG, Activity):
        keys.setdefault(row["source"], set()).add(row["metadata"] and tuple(row["metadata"]))
    synced = {None, ("provider", "attendees"), ("provider", "attendees", "started_at", "ended_at")}
    assert keys == {s.value: synced for s in ActivitySource} | {
        "manual": {None, MANUAL_METADATA_KEYS},
        "import": {None},
    }


def test_links_belong_together() -> None:
    accounts_of_contacts = {row["id"]: row["account_id"] for row in of(BIG, Contact)}
    accounts_of_deals = {row["id"]: row["account_id"] for row in of(BIG, Deal)}
    kinds = set()
    for row in of(BIG, Activity):
        links = account, deal, contact = row["account_id"], row["deal_id"], row["contact_id"]
        kinds.add(tuple(link is not None for link in links))
        assert deal is None or accounts_of_deals[deal] == account
        assert None in (account, contact) or accounts_of_contacts[contact] == account
    assert {(True, True, True), (True, False, True), (True, False, False), (False, False, True)} <= kinds
    assert (False, False, False) in kinds


def test_deals_agree_with_their_history() -> None:
    changes: dict[str, list[dict[str, Any]]] = {}
    for change in of(BIG, StageChange):
        changes.setdefault(change["deal_id"], []).append(change)
    stages = {row["id"]: row for row in of(BIG, PipelineStage)}
    accounts_of_contacts = {row["id"]: row["account_id"] for row in of(BIG, Contact)}
    primary = Counter(row["deal_id"] for row in of(BIG, DealContact) if row["is_primary"])
    deals = of(BIG, Deal)
    for deal in deals:
        history = changes.get(deal["id"], [])
        assert [c["from_stage_id"] for c in history] == [None, *(c["to_stage_id"] for c in history)][: len(history)]
        assert [c["at"] for c in history] == sorted(c["at"] for c in history)
        if history:
            assert (history[0]["at"], history[-1]["at"]) == (deal["created_at"], deal["updated_at"])
            assert history[-1]["to_stage_id"] == deal["stage_id"]
            assert deal["status"] == stages[deal["stage_id"]]["type"]
            assert deal["version"] == len(history)
        else:
            assert (deal["stage_id"], deal["status"], deal["version"]) == (None, "open", 1)
        assert deal["updated_at"] < EPOCH
        assert deal["champion_id"] is None or accounts_of_contacts[deal["champion_id"]] == deal["account_id"]
        assert primary[deal["id"]] <= 1
    assert {d["stage_id"] for d in deals} == {None, *stages}
    assert {kind for _, kind, _ in STAGES} == set(StageType)
    assert {d["currency"] for d in deals} == {"USD", "EUR", "GBP", "CHF", "JPY"}
    assert {d["geo_scope"] for d in deals} == {None, "local", "regional", "international"}
    exponents = {d["value"].as_tuple().exponent for d in deals if d["value"]}
    assert exponents == {0, -2}  # decision 902
    assert {d["value"].as_tuple().exponent for d in deals if d["value"] and d["currency"] == "JPY"} == {0}
    assert {Decimal(0), None} < {d["value"] for d in deals}
    assert any(d["parent_deal_id"] for d in deals)
    assert any(d["close_date"] is None for d in deals)


def test_identifiers_grow_and_are_canonical() -> None:
    ids = Ids("some key", "account")
    made = [ids(index) for index in (0, 1, 2, 70_000)]
    assert made == sorted(made)
    assert made == [as_uuid(i) for i in made]
    assert made[0] == "01a19467-e800-8960-af6d-26dbee54848c"


async def test_the_demo(database: Database) -> None:
    made = await seed_demo(database, now=NOW)

    assert made.created
    sales, partners = await numbers(database, demo.SALES), await numbers(database, demo.PARTNERS)
    assert [sales[t] for t in ("accounts", "contacts", "deals", "activities", "events")] == [40, 120, 60, 432, 60]
    assert [partners[t] for t in ("accounts", "contacts", "deals", "activities", "events")] == [6, 15, 8, 57, 8]
    assert sales["health_snapshots"] == 0
    async with database.directory() as session:
        organizations = await session.rows(
            select(col(Organization.id), col(Organization.external_id), col(Organization.name))
        )
        memberships = await session.rows(select(col(Membership.org_id), col(Membership.subject), col(Membership.role)))
    assert set(organizations) == {
        (demo.SALES, demo.SALES, "Demo Sales"),
        (demo.PARTNERS, demo.PARTNERS, "Demo Partners"),
    }
    assert set(memberships) == {
        (demo.SALES, "user_demo_admin", "admin"),
        (demo.SALES, "user_demo_member", "member"),
        (demo.SALES, "user_demo_viewer", "viewer"),
        (demo.PARTNERS, "user_demo_admin", "admin"),
        (demo.PARTNERS, "user_demo_member", "member"),
    }


async def test_the_demo_is_made_once(database: Database) -> None:
    await seed_demo(database, now=NOW)
    before = [await stored(database, demo.SALES, model) for model in TENANT_TABLES]

    async def score(*_: Any) -> None:
        raise AssertionError("a second start scores nothing")

    again = await seed_demo(database, now=NOW + timedelta(days=3), score=score)

    assert not again.created
    assert [await stored(database, demo.SALES, model) for model in TENANT_TABLES] == before


async def test_the_demo_log_tells_of_every_deal_in_order(database: Database) -> None:
    await seed_demo(database, now=NOW)

    events = sorted(await stored(database, demo.SALES, Event), key=lambda row: row["sequence"])
    deals = {row["id"]: row for row in await stored(database, demo.SALES, Deal)}
    assert [e["sequence"] for e in events] == list(range(1, 61))
    assert await stored(database, demo.SALES, EventCounter) == [{"last": 60, "forgotten": None, "forgotten_at": None}]
    assert [e["occurred_at"] for e in events] == sorted(e["occurred_at"] for e in events)
    assert {e["data"]["deal_id"] for e in events} == set(deals)
    for event in events:
        deal = deals[event["data"]["deal_id"]]
        # What the service itself would say of the deal, but for the stage, which was its first one then.
        said = deal_resolvers.deal_event(Deal(**deal))
        assert list(event["data"]) == list(said)
        assert event["data"] | {"stage_id": deal["stage_id"]} == said
        assert (event["type"], event["area"], event["actor"]) == ("deal_created", "crm", deal["owner_id"])
        assert event["occurred_at"] == deal["created_at"]


async def test_the_demo_has_leads_in_every_state(database: Database) -> None:
    await seed_demo(database, now=NOW)

    leads = await stored(database, demo.SALES, Lead)
    assert Counter(lead["status"] for lead in leads) == {
        "new": 9,
        "working": 6,
        "qualified": 3,
        "converted": 3,
        "disqualified": 3,
    }
    assert len(await stored(database, demo.PARTNERS, Lead)) == 4
    contacts = {row["id"]: row for row in await stored(database, demo.SALES, Contact)}
    for lead in leads:
        converted = lead["status"] == "converted"
        assert (lead["converted_at"] is not None) == (lead["account_id"] is not None) == converted
        assert (lead["disqualified_reason"] is not None) == (lead["status"] == "disqualified")
        assert not converted or contacts[lead["contact_id"]]["account_id"] == lead["account_id"]
        assert NOW - timedelta(days=10) <= lead["created_at"] <= lead["updated_at"] <= NOW
    emails = {row["email"] for row in contacts.values()}
    assert [lead for lead in leads if lead["status"] != "converted" and lead["email"] in emails]


async def test_the_demo_has_a_health_history(database: Database) -> None:
    async def score(organization: str, accounts: Sequence[str], moment: datetime) -> None:
        await refresh_many(database, organization, accounts, moment)

    await seed_demo(database, now=NOW, score=score)

    snapshots = await stored(database, demo.SALES, HealthSnapshot)
    assert Counter(Counter(s["account_id"] for s in snapshots).values()) == {4: 36}
    assert {s["snapshot_at"] for s in snapshots} == {NOW - timedelta(days=d) for d in (90, 60, 30, 1)}
    assert {s["trend"] for s in snapshots} == {None, "improving", "declining", "stable"}
    factors = await stored(database, demo.SALES, HealthFactor)
    assert Counter(Counter(f["health_score_id"] for f in factors).values()) == {9: 144}


@pytest.mark.parametrize("day", range(7))
@pytest.mark.parametrize("hour", [0, 23])
def test_the_demo_looks_alive_whatever_the_day(day: int, hour: int) -> None:
    now = datetime(2027, 2, 25, hour, 59, 59, tzinfo=UTC) + timedelta(days=day)
    sales, _ = demo._blueprints(now)
    rows = generated(sales)
    meetings = [row for row in of(rows, Activity) if row["type"] == "meeting"]
    week = timedelta(days=7)
    open_ones = [m["due_at"] for m in meetings if m["due_at"] and not m["completed_at"]]
    assert [due for due in open_ones if now < due < now + week]
    assert [due for due in open_ones if now - 4 * week < due < now]
    assert [m for m in meetings if m["completed_at"] and now - week < m["completed_at"] <= now]
    assert [d for d in of(rows, Deal) if d["status"] == "won" and now - week < d["updated_at"] <= now]
    assert [d for d in of(rows, Deal) if d["status"] == "open" and d["close_date"] and d["close_date"] < now.date()]
    assert not [m for m in meetings if (m["completed_at"] or m["created_at"]) > now]
