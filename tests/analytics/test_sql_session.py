"""The connections of ad-hoc SQL: what they stop by themselves, how long they let a statement run, and who waits."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

import pytest

from contract.analytics_results import ResultColumn
from contract.catalog import ColumnKind
from contract.errors import AnalyticsFailed, AnalyticsRefused, TimedOut, TooManyRuns
from resolvers.shared.places import Places
from storage.analytics.grants import faults
from storage.analytics.guard import Guarded, guard
from storage.analytics.postgresql_runner import PostgresqlRunner
from storage.analytics.sqlite_runner import SqliteRunner
from storage.analytics.values import Answer, Runner
from storage.tables import Account
from tests.analytics.crm import fill
from tests.analytics.sql_statements import ANSWERED, FUNCTIONS, OWN
from tests.analytics.test_sql_guard import ALL
from tests.support.sql_login import login_url, superuser
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")
ONE = (ResultColumn("x", "X", ColumnKind.TEXT),)
CARTESIAN = "SELECT COUNT(*) FROM accounts a, accounts b, accounts c, accounts d, accounts e"


def runner(tenant: Tenant) -> Runner:
    found = tenant.gateway.runtime.services.sql
    assert found is not None
    return found


async def sent(tenant: Tenant, sql: str, parameters: int = 0) -> list[Any]:
    """Past the guard: what the connection alone makes of a text."""
    answer = Answer(ONE, 1000)
    await runner(tenant).run(Guarded(sql, parameters, ONE, (), False), tenant.id, answer)
    return answer.rows


_STOPPED = {
    "sqlite": (
        *("ATTACH 'evil.db' AS e", "PRAGMA query_only = 0", "PRAGMA table_info('accounts')", "VACUUM INTO 'evil.db'"),
        *("DELETE FROM accounts", "CREATE TEMP TABLE x (y)", "SELECT name FROM sqlite_master", "BEGIN IMMEDIATE"),
        *("SELECT secret_hash FROM credentials", "SELECT COUNT(*) FROM organizations", "SELECT notes FROM deals"),
        *("SELECT load_extension('x')", "SELECT printf('%.*c', 900000000, 'x')", "SELECT zeroblob(1000000000)"),
        *("SELECT name FROM pragma_table_info('credentials')", "SELECT randomblob(9)", "SELECT hex('x')"),
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t LIMIT 5",
        "SELECT rowid FROM search_words",
    ),
    "postgresql": (
        *("SELECT secret_hash FROM credentials", "SELECT COUNT(*) FROM organizations", "SELECT notes FROM deals"),
        "SELECT set_config('crm.org_id', '22222222-2222-4222-8222-222222222222', true)",
        *(
            "DELETE FROM accounts",
            "INSERT INTO accounts(id) VALUES ('x')",
            "CREATE TABLE x (y int)",
            "LOCK TABLE deals",
        ),
        *("SELECT query_to_xml('SELECT * FROM credentials', true, false, '')", "COPY accounts TO PROGRAM 'id'"),
        *("SELECT pg_read_file('/etc/passwd')", "SELECT * FROM accounts", "CREATE TEMP TABLE x (y int)"),
    ),
}


async def test_the_connection_alone_stops_what_the_guard_would(one: Tenant) -> None:
    await one.add(Account(name="A"))
    for sql in _STOPPED[runner(one).dialect]:
        with pytest.raises((AnalyticsRefused, AnalyticsFailed)) as raised:
            await sent(one, sql)
        assert "secret" not in str(raised.value)
        assert await sent(one, f"SELECT name FROM accounts WHERE org_id = {_place(one)}", 1) == [["A"]]


def _place(tenant: Tenant) -> str:
    return "?" if runner(tenant).dialect == "sqlite" else "$1"


async def test_row_level_policies_stand_below_the_rewriting(one: Tenant, two: Tenant) -> None:
    await one.add(Account(name="Ours"))
    await two.add(Account(name="Theirs"))
    if runner(one).dialect == "sqlite":
        pytest.skip("SQLite has none: there the rewriting and the tenancy's reading of it are the wall")
    assert await sent(one, "SELECT name FROM accounts") == [["Ours"]]
    assert await sent(two, "SELECT name FROM accounts") == [["Theirs"]]


async def test_everything_that_may_be_asked_is_answered(one: Tenant) -> None:
    await fill(one)
    found = runner(one)
    calls = [f"SELECT {call} AS x FROM deals" for call in FUNCTIONS.values()]
    for text in (*ANSWERED, *OWN[found.dialect], *calls):
        try:
            guarded = guard(text, found.dialect, ALL)
        except AnalyticsRefused:
            assert text in calls  # of the other dialect
            continue
        answer = Answer(guarded.columns, 1000)
        await found.run(guarded, one.id, answer)
        assert answer.rows, text


@pytest.mark.parametrize(
    ("sqlite", "postgresql", "told"),
    [
        ("SELECT crm_quotient(1, 0)", "SELECT 1 / 0", "A division by zero"),
        ("SELECT crm_whole('x')", "SELECT 'x'::int FROM (SELECT 1) AS t", "is no number"),
        ("SELECT nothing", "SELECT nothing", "The database does not take the statement"),
    ],
)
async def test_what_cannot_be_computed_is_told_from_what_is_not_taken(
    one: Tenant, sqlite: str, postgresql: str, told: str
) -> None:
    with pytest.raises(AnalyticsFailed) as raised:
        await sent(one, {"sqlite": sqlite, "postgresql": postgresql}[runner(one).dialect])
    assert told in str(raised.value)
    assert await sent(one, "SELECT 'well'") == [["well"]]


async def test_a_statement_without_an_end_is_ended(one: Tenant) -> None:
    await one.add(*(Account(name=f"A{n}") for n in range(120)))
    services, seconds = one.gateway.runtime.services, 0.5
    url = one.gateway.world.database.url
    if services.database.dialect == "sqlite":
        short: Any = SqliteRunner(str(url.database), seconds=seconds)
    else:
        address = login_url(url)
        short = PostgresqlRunner(address, seconds=seconds, cost_max=1e30)
    endless = Guarded(CARTESIAN, 0, (ResultColumn("x", "X", ColumnKind.INTEGER),), (), False)
    try:
        with pytest.raises(TimedOut):
            await short.run(endless, one.id, Answer(endless.columns, 10))
        answer = Answer(ONE, 10)
        await short.run(Guarded("SELECT 'well'", 0, ONE, (), False), one.id, answer)
        assert answer.rows == [["well"]]
        task = asyncio.create_task(short.run(endless, one.id, Answer(endless.columns, 10)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await short.run(Guarded("SELECT 'well'", 0, ONE, (), False), one.id, Answer(ONE, 10))
    finally:
        await short.close()


async def test_what_would_read_too_much_is_refused_before_it_runs(one: Tenant) -> None:
    found = runner(one)
    if not isinstance(found, PostgresqlRunner):
        pytest.skip("SQLite says nothing of costs")
    address = login_url(one.gateway.world.database.url)
    cheap = PostgresqlRunner(address, cost_max=0.001)
    with pytest.raises(AnalyticsRefused) as raised:
        await cheap.run(guard("SELECT name FROM accounts", "postgresql", ALL), one.id, Answer(ONE, 10))
    await cheap.close()
    assert raised.value.layer.value == "session"


async def test_the_printed_login_may_do_what_the_catalogue_says(one: Tenant) -> None:
    found = runner(one)
    if not isinstance(found, PostgresqlRunner):
        pytest.skip("SQLite has no logins")
    assert await found.examined(faults) == []
    connection = await superuser(one.gateway.world.database.url)
    try:
        await connection.execute("GRANT SELECT ON credentials TO crm_analytics; GRANT INSERT ON deals TO crm_analytics")
        await connection.execute("GRANT EXECUTE ON FUNCTION set_config(text, text, boolean) TO crm_analytics")
        await connection.execute("REVOKE SELECT (name) ON deals FROM crm_analytics")
        wrong = "; ".join(await found.examined(faults))
    finally:
        await connection.execute(
            "REVOKE ALL ON credentials FROM crm_analytics; REVOKE INSERT ON deals FROM crm_analytics"
        )
        await connection.execute("REVOKE EXECUTE ON FUNCTION set_config(text, text, boolean) FROM crm_analytics")
        await connection.execute("GRANT SELECT (name) ON deals TO crm_analytics")
        await connection.close()
    for words in ("may read credentials.", "may not read deals.name", "may write to deals", "set_config"):
        assert words in wrong
    assert await found.examined(faults) == []


async def test_two_run_and_few_wait() -> None:
    places, free = Places(seconds=5), asyncio.Event()

    async def hold(organization: str) -> str:
        async with places.one(organization):
            await free.wait()
        return organization

    tasks = [asyncio.create_task(hold(name)) for name in ("a", "a", "a", "a", "a", "b", "c", "d", "e", "f")]
    await asyncio.sleep(0)
    assert dict(places.running) == {"a": 1, "b": 1}
    assert len(places.waiting) == 8
    with pytest.raises(TooManyRuns):
        await hold("g")
    free.set()
    assert sorted(await asyncio.gather(*tasks)) == ["a", "a", "a", "a", "a", "b", "c", "d", "e", "f"]
    assert places.running.total() == 0
    assert places.waiting == []


async def test_an_organization_does_not_take_all_places() -> None:
    places, free = Places(seconds=5), asyncio.Event()

    async def hold() -> None:
        async with places.one("a"):
            await free.wait()

    tasks = [asyncio.create_task(hold()) for _ in range(5)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyRuns):
        await hold()
    async with places.one("b"):
        assert dict(places.running) == {"a": 1, "b": 1}
    tasks[1].cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(places.waiting) == 3
    free.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert places.running.total() == 0


async def test_who_waits_too_long_is_sent_away() -> None:
    places, free = Places(seconds=0.01), asyncio.Event()

    async def hold() -> None:
        async with places.one("a"):
            await free.wait()

    task = asyncio.create_task(hold())
    await asyncio.sleep(0)
    began = monotonic()
    with pytest.raises(TooManyRuns):
        async with places.one("a"):
            pass
    assert monotonic() - began >= 0.005
    free.set()
    await task
    assert places.running.total() == 0
