"""Account health through the service: refreshing, the latest snapshot, its factors, the history."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from sqlalchemy import func, select
from sqlmodel import col

from contract.criteria import PageWindow
from contract.errors import Forbidden, NotFound, OrganizationRequired
from contract.limits import HEALTH_FACTORS
from contract.scopes import Scope, ScopeGroup
from contract.vocabulary import CredentialKind, HealthFactorKey
from identity.authenticate import Identity
from identity.principal import Organization, Principal
from providers.artifacts import Artifacts
from providers.notifications import Notifications
from resolvers import health
from resolvers.health_formula import Assessment, assess
from resolvers.shared.access import rule_of
from resolvers.shared.context import Context, Services
from storage.base import new_id
from storage.change_feed import ChangeFeed
from storage.database import Database
from storage.tables import Account, HealthFactor, HealthSnapshot
from tests.resolvers.test_health_formula import block, table
from tests.support.health import new_organization, seed
from tests.support.statements import BROKEN_RULES, statements

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
WEEK = timedelta(weeks=1)


def context(database: Database, organization: str | None, *scopes: Scope) -> Context:
    active = Organization(organization, organization, "Example") if organization else None
    principal = Principal("user-1", CredentialKind.SESSION, frozenset(scopes or Scope), active, ())
    # Health uses the database alone.
    return Context(
        Services(
            database, cast(Identity, None), cast(Notifications, None), cast(Artifacts, None), ChangeFeed(database)
        ),
        principal,
        "request-1",
    )


@pytest.fixture
async def ctx(database: Database) -> Context:
    return context(database, await new_organization(database))


async def add_account(ctx: Context, **fields: Any) -> Account:
    account = Account(name="Acme", **fields)
    async with ctx.writing() as session:
        await session.insert(account)
    return account


async def stored(ctx: Context) -> tuple[int, int]:
    """How many snapshots and factors the organization has."""
    async with ctx.reading() as session:
        counts = [
            await session.scalar(select(func.count()).select_from(model).where(col(model.org_id) == session.org_id))
            for model in (HealthSnapshot, HealthFactor)
        ]
    return counts[0], counts[1]


# ── refreshing ──


async def test_the_example_of_the_page(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "now", lambda: NOW)
    async with ctx.writing() as session:
        account = await seed(session, block("rows"))
    made = await health.refresh_health(ctx, account.id)
    latest = await health.latest_health(ctx, account.id)
    for snapshot in (made, latest):
        assert (snapshot.id, snapshot.org_id, snapshot.account_id) == (made.id, ctx.org_id, account.id)
        assert (snapshot.score, snapshot.trend, snapshot.data_points) == (69, "improving", HEALTH_FACTORS)
        assert (snapshot.snapshot_at, snapshot.formula_version) == (NOW, "1")
    factors = await health.factors_of(ctx, made.id)
    assert [
        [
            HealthFactorKey(f.key).name,
            "null" if f.value is None else f"{f.value:g}",
            str(f.sample_size),
            str(f.score),
            f"{f.weight * f.score:g}",
            f.explanation,
        ]
        for f in factors
    ] == table("Worked example")
    assert [f.label for f in factors] == [row[1] for row in table("The nine factors")]
    assert [f.position for f in factors] == list(range(HEALTH_FACTORS))
    shared = {(f.org_id, f.account_id, f.health_score_id, f.snapshot_at) for f in factors}
    assert shared == {(ctx.org_id, account.id, made.id, NOW)}
    assert len({f.id for f in factors}) == HEALTH_FACTORS


async def test_the_trend_follows_the_snapshot_before(ctx: Context) -> None:
    account = await add_account(ctx)
    scores = []
    for fields in ({}, {}, {"domain": "acme.example", "industry": "Steel", "owner_id": "user-1"}):
        async with ctx.writing() as session:
            changed = await session.find(Account, Account.id == account.id)
            assert changed is not None
            await session.update(changed, **fields)
        snapshot = await health.refresh_health(ctx, account.id)
        scores.append((snapshot.score, snapshot.trend))
    assert scores == [(47, None), (47, "stable"), (50, "stable")]


@pytest.mark.parametrize(("before", "trend"), [(42, "improving"), (43, "stable"), (51, "stable"), (52, "declining")])
async def test_five_points_make_a_trend(ctx: Context, before: int, trend: str) -> None:
    account = await add_account(ctx)
    async with ctx.writing() as session:
        await session.insert(HealthSnapshot(account_id=account.id, score=before, snapshot_at=NOW, formula_version="0"))
    [snapshot] = await health.refresh_many(ctx.services.database, ctx.org_id, [account.id], NOW)
    assert (snapshot.score, snapshot.trend) == (47, trend)


async def test_an_unknown_account_is_not_found(ctx: Context) -> None:
    other = context(ctx.services.database, await new_organization(ctx.services.database))
    foreign = await add_account(other)
    for account_id in (new_id(), foreign.id, "no-id", ""):
        with pytest.raises(NotFound) as refusal:
            await health.refresh_health(ctx, account_id)
        assert refusal.value.field == ("id",)
    assert await stored(ctx) == await stored(other) == (0, 0)


async def test_a_snapshot_is_written_whole_or_not_at_all(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    account = await add_account(ctx)
    await health.refresh_health(ctx, account.id)
    assert await stored(ctx) == (1, 9)

    def broken(*args: Any) -> Assessment:
        result = assess(*args)
        return replace(result, factors=(*result.factors[:8], replace(result.factors[8], score=101)))

    monkeypatch.setattr(health, "assess", broken)
    with pytest.raises(BROKEN_RULES, match="ck_health_factors_score"):
        await health.refresh_health(ctx, account.id)
    assert await stored(ctx) == (1, 9)
    monkeypatch.undo()
    await health.refresh_health(ctx, account.id)
    assert await stored(ctx) == (2, 18)


async def test_refreshes_of_one_account_run_one_after_the_other(ctx: Context) -> None:
    account = await add_account(ctx)
    made = await asyncio.gather(*(health.refresh_health(ctx, account.id) for _ in range(20)))
    assert await stored(ctx) == (20, 180)
    page = await health.health_history(ctx, account.id, PageWindow())
    assert {row.id for row in page.rows} == {snapshot.id for snapshot in made}
    # Each but the first saw the one before it.
    assert [row.trend for row in page.rows] == ["stable"] * 19 + [None]
    for row in page.rows:
        factors = await health.factors_of(ctx, row.id)
        assert [f.key for f in factors] == list(HealthFactorKey)
        assert {f.snapshot_at for f in factors} == {row.snapshot_at}


async def test_many_at_a_moment(ctx: Context) -> None:
    database, accounts = ctx.services.database, [await add_account(ctx) for _ in range(3)]
    ids = [account.id for account in accounts]
    [late] = await health.refresh_many(database, ctx.org_id, ids[:1], NOW)
    async with ctx.writing() as session:
        filled = await session.find(Account, Account.id == ids[0])
        assert filled is not None
        await session.update(filled, domain="acme.example")
    made = await health.refresh_many(database, ctx.org_id, [*ids, ids[0], new_id(), "no-id"], NOW - WEEK)
    assert sorted(snapshot.account_id for snapshot in made) == sorted(ids)
    # A snapshot of a later moment is no previous one.
    assert {(s.snapshot_at, s.trend, s.formula_version) for s in made} == {(NOW - WEEK, None, "1")}
    assert {s.account_id: s.score for s in made} == {ids[0]: 48, ids[1]: 47, ids[2]: 47}
    assert await stored(ctx) == (4, 36)
    assert (await health.latest_health(ctx, ids[0])).id == late.id
    assert await health.refresh_many(database, ctx.org_id, [], NOW) == []
    assert await health.refresh_many(database, ctx.org_id, [new_id()], NOW) == []


# ── reading ──


async def test_no_snapshot_and_no_account_look_alike(ctx: Context) -> None:
    other = context(ctx.services.database, await new_organization(ctx.services.database))
    foreign, bare = await add_account(other), await add_account(ctx)
    made = await health.refresh_health(other, foreign.id)
    for account_id in (bare.id, foreign.id, new_id(), "no-id"):
        assert await health.latest_health(ctx, account_id) is None
    for snapshot_id in (made.id, new_id(), "no-id"):
        assert await health.factors_of(ctx, snapshot_id) == []
    page = await health.health_history(ctx, foreign.id, PageWindow())
    assert (page.rows, page.has_next, await page.total()) == ([], False, 0)


async def test_neighbours_come_in_one_statement(ctx: Context) -> None:
    accounts = [await add_account(ctx) for _ in range(3)]
    made = [await health.refresh_health(ctx, account.id) for account in accounts[:2]]
    with statements(ctx.services.database) as sent:
        found = await asyncio.gather(*(health.latest_health(ctx, account.id) for account in accounts))
        assert [row and row.id for row in found] == [made[0].id, made[1].id, None]
        assert len(sent) == 1
        factors = await asyncio.gather(*(health.factors_of(ctx, snapshot.id) for snapshot in made))
        assert [{f.health_score_id for f in some} for some in factors] == [{made[0].id}, {made[1].id}]
        pages = await asyncio.gather(
            *(health.health_history(ctx, account.id, PageWindow(first=1)) for account in accounts)
        )
        assert [[row.id for row in page.rows] for page in pages] == [[made[0].id], [made[1].id], []]
        assert await asyncio.gather(*(page.total() for page in pages)) == [1, 1, 0]
        assert len(sent) == 4


async def test_a_refresh_is_seen_by_what_is_read_after_it(ctx: Context) -> None:
    account = await add_account(ctx)
    assert await health.latest_health(ctx, account.id) is None
    for _ in range(2):
        made = await health.refresh_health(ctx, account.id)
        assert (await health.latest_health(ctx, account.id)).id == made.id


async def test_history(ctx: Context) -> None:
    account, neighbour = await add_account(ctx), await add_account(ctx)
    moments = [NOW - WEEK * n for n in (2, 0, 1)]
    for moment in moments:
        await health.refresh_many(ctx.services.database, ctx.org_id, [account.id, neighbour.id], moment)
    first = await health.health_history(ctx, account.id, PageWindow(first=2))
    assert [row.snapshot_at for row in first.rows] == [NOW, NOW - WEEK]
    assert (first.has_next, first.has_previous, await first.total()) == (True, False, 3)
    rest = await health.health_history(ctx, account.id, PageWindow(first=2, after=first.cursor(first.rows[1])))
    assert [row.snapshot_at for row in rest.rows] == [NOW - 2 * WEEK]
    assert (rest.has_next, rest.has_previous, await rest.total()) == (False, True, 3)
    assert {row.account_id for row in (*first.rows, *rest.rows)} == {account.id}
    back = await health.health_history(ctx, account.id, PageWindow(last=2, before=rest.cursor(rest.rows[0])))
    assert [row.id for row in back.rows] == [row.id for row in first.rows]


# ── who may ──


async def test_scopes(ctx: Context) -> None:
    account = await add_account(ctx)
    reader = context(ctx.services.database, ctx.org_id, Scope.ACTIVITIES_READ)
    with pytest.raises(Forbidden):
        await health.refresh_health(reader, account.id)
    with pytest.raises(OrganizationRequired):
        await health.refresh_health(context(ctx.services.database, None), account.id)
    assert await stored(ctx) == (0, 0)
    assert await health.latest_health(reader, account.id) is None
    outsider = context(ctx.services.database, ctx.org_id, Scope.OUTREACH_MANAGE)
    for read in (health.latest_health, health.factors_of):
        with pytest.raises(Forbidden):
            await read(outsider, account.id)
    with pytest.raises(Forbidden):
        await health.health_history(outsider, account.id, PageWindow())
    assert rule_of(health.refresh_health).group is ScopeGroup.CRM_MANAGE
    reads = (health.latest_health, health.factors_of, health.health_history)
    assert {rule_of(read).group for read in reads} == {ScopeGroup.MEETINGS_READ}
