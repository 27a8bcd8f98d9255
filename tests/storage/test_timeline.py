"""Timelines under writers, and what edits leave however they are written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.limits import CHANGE_TEXT_MAX
from contract.timeline import as_told, extended
from contract.vocabulary import TimelineKind
from resolvers.accounts import AccountUpdate, update_account
from resolvers.shared.inputs import parse
from storage.base import new_id
from storage.queries import timeline as feeds
from storage.queries.history import Told, tell
from storage.tables import Account, Activity, Deal, Event, StageChange
from tests.support.world import World, open_world

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
FEED = feeds.Feed("account", frozenset(TimelineKind), 3)


@pytest.fixture
async def world(database: Any) -> AsyncIterator[World]:
    async with open_world(database) as world:
        yield world


NAMES = st.sampled_from(["a", "b", "c"])
LONG = st.sampled_from(["a", "x" * CHANGE_TEXT_MAX, *("x" * CHANGE_TEXT_MAX + end for end in "ab")])
EDITS = st.lists(
    st.tuples(st.booleans(), st.fixed_dictionaries({}, optional={"name": NAMES, "industry": LONG, "domain": NAMES})),
    max_size=6,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=EDITS)
async def test_edits_leave_the_same_however_they_are_written(world: World, edits: list[Any]) -> None:
    """In one statement of PostgreSQL, step by step, and in a model that knows nothing of databases."""
    people = [await world.context(subject, world.one) for subject in ("admin@one", "member@one")]
    account = Account(name="a", created_at=NOON)
    await world.add(world.one, account)
    now = {"name": "a", "industry": None, "domain": None}
    rows: list[tuple[str, dict[str, list[Any]]]] = []
    for is_second, fields in edits:
        person = people[is_second]
        await update_account(person, account.id, parse(AccountUpdate, fields))
        told = {n: [as_told(now[n]), as_told(value)] for n, value in fields.items() if now[n] != value}
        now |= fields
        if not told:
            continue
        if rows and rows[-1][0] == person.caller.subject:
            rows[-1] = (rows[-1][0], extended(rows[-1][1], told))
        else:
            rows.append((person.caller.subject, told))
    async with world.database.reading(world.one.id) as session:
        page = await feeds.pages(session, feeds.Feed("account", FEED.kinds, 50), [account.id])
    found = [(row.actor, row.fields) for row in page[account.id].rows if row.type == "account_updated"]
    assert found == [row for row in reversed(rows) if row[1]]


async def test_a_long_text_that_changed_behind_the_cut_stays_told(world: World) -> None:
    """Of texts that begin alike nobody can say that the field came back (decision 232)."""
    person, begun = await world.context("admin@one", world.one), "x" * CHANGE_TEXT_MAX
    account = Account(name="a", industry=begun + "1", created_at=NOON)
    await world.add(world.one, account)
    for fields in ({"industry": begun + "2"}, {"name": "b"}, {"name": "a"}):
        await update_account(person, account.id, parse(AccountUpdate, fields))
    async with world.database.reading(world.one.id) as session:
        newest = (await feeds.pages(session, FEED, [account.id]))[account.id].rows[0]
    assert newest.fields == {"industry": [begun, begun]}


WRITES = st.lists(st.tuples(st.sampled_from(["change", "extend", "activity", "move", "read"]), st.integers(0, 2)))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=WRITES, size=st.integers(1, 4))
async def test_a_reader_sees_each_item_once_while_others_write(world: World, writes: list[Any], size: int) -> None:
    """What was there when the reader began and was not changed since comes once, in order; nothing comes twice."""
    account = Account(name="a", created_at=NOON)
    deal = Deal(name="d", account_id=account.id, created_at=NOON)
    await world.add(world.one, account, deal)
    moment, kept, dates = NOON, set[str](), {account.id: NOON}
    feed, after, seen = feeds.Feed("account", FEED.kinds, size), None, list[str]()
    has_begun = False

    async def read() -> bool:
        nonlocal after
        async with world.database.reading(world.one.id) as session:
            page = (await feeds.pages(session, feed, [account.id], after=after))[account.id]
        seen.extend(row.id for row in page.rows)
        after = feeds.cursor(page.rows[-1]) if page.rows else after
        return page.has_next

    last: str | None = None
    for kind, number in writes:
        moment += timedelta(seconds=1)
        if kind == "read":
            if not has_begun:
                kept, has_begun = set(dates), True
            await read()
            continue
        if kind == "activity":  # dated back, to among what was read
            record: Any = Activity(subject="s", due_at=NOON - timedelta(days=number), account_id=account.id)
        elif kind == "move":
            record = StageChange(deal_id=deal.id, account_id=account.id, at=moment)
        else:
            actor = "x" if kind == "extend" else new_id()
            fields = {f"f{moment.timestamp()}": [0, 1]}
            event = Event(sequence=0, type="t", area="crm", actor=actor, occurred_at=moment, data={})
            async with world.database.writing(world.one.id) as session:
                await tell(session, event, [Told("account", account.id, fields, alone=kind == "change")])
                [newest, *_] = (await feeds.pages(session, feed, [account.id]))[account.id].rows
            if newest.id == last:
                kept.discard(last)  # it is as new as its last edit
            last = newest.id if kind == "extend" else None
            dates[newest.id] = moment
            continue
        await world.add(world.one, record)
        dates[record.id] = getattr(record, "at", None) or record.due_at
    if not has_begun:
        kept = set(dates)
    while await read():
        pass
    assert len(seen) == len(set(seen))
    assert kept <= set(seen)
    assert [i for i in seen if i in kept] == sorted(kept, key=lambda i: (-dates[i].timestamp(), i))
