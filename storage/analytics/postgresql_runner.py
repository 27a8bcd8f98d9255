"""Runs statements of callers on PostgreSQL: a login of its own, read-only transactions, a look at their cost first."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import asyncpg
import orjson
from sqlalchemy.engine import make_url

from contract.errors import AnalyticsFailed, AnalyticsRefused, NotConfigured, TimedOut, Unavailable
from contract.guard_layers import GuardLayer
from contract.limits import CONNECTION_SECONDS, SQL_SECONDS
from storage.analytics.guard import Guarded
from storage.analytics.values import BATCH, OUT_OF_RANGE, Answer
from storage.base import as_uuid
from storage.postgres.tenant_connection import SETTING, TenantConnection, connect, driver_options

COST_MAX: Final = 5_000_000.0
"""The most that the planner may expect of a statement: some hundred times as much as reading 200,000 deals."""
_LATE_SECONDS: Final = 0.4
_CLOSING_SECONDS: Final = 1.0
_SETTINGS: Final = {
    "lock_timeout": "500ms",
    "idle_in_transaction_session_timeout": "10s",
    "work_mem": "16MB",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "TimeZone": "UTC",
    "DateStyle": "ISO",
}
_WORDS: Final = {
    "22012": "A division by zero",
    "22P02": "A text is no number, no day or no identifier",
    "22007": "A text is no day or no moment",
    "22008": "A day or a moment is out of range",
    "22003": OUT_OF_RANGE,
    "21000": "A query that stands for a value has several rows",
    "53400": "It needs more room than a statement may have",
}
FIT = """SELECT NOT (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication)
  AND NOT EXISTS (SELECT FROM pg_class WHERE relowner = r.oid)
  AND NOT EXISTS (SELECT FROM pg_auth_members WHERE member = r.oid)
  AND NOT has_table_privilege('credentials', 'select') AND NOT has_any_column_privilege('credentials', 'select')
  FROM pg_roles r WHERE rolname = current_user"""
"""Whether a login is fit for text of callers: it is above nothing, owns nothing, reads no directory (decision 278)."""


class PostgresqlRunner:
    """Runs statements by the login of one address."""

    dialect = "postgresql"

    def __init__(self, url: str, *, seconds: float = SQL_SECONDS, cost_max: float = COST_MAX) -> None:
        address = make_url(url)
        _, found = address.get_dialect()().create_connect_args(address)
        self._options = {**driver_options(found), "timeout": CONNECTION_SECONDS, "statement_cache_size": 0}
        self._seconds = seconds
        self._cost_max = cost_max
        self._idle: list[TenantConnection] = []

    async def run(self, guarded: Guarded, organization: str, answer: Answer) -> None:
        """Fill the answer. Raises AnalyticsFailed, AnalyticsRefused (SESSION), NotConfigured, TimedOut, Unavailable."""
        if as_uuid(organization) != organization:
            raise ValueError("no organization")
        driver = await self._take()
        try:
            async with asyncio.timeout(self._seconds + _LATE_SECONDS):
                await driver.execute(self._begin(organization))
                await self._send(driver, guarded, organization, answer)
        except TimeoutError:
            await self._give_up(driver)
            raise TimedOut from None
        except asyncpg.PostgresError as error:
            await self._give_back(driver)
            raise _explained(error) from None
        except (OSError, asyncpg.InterfaceError):
            await self._give_up(driver)
            raise Unavailable from None
        except (AnalyticsRefused, AnalyticsFailed):
            await self._give_back(driver)
            raise
        except BaseException:
            await self._give_up(driver)
            raise
        await self._give_back(driver)

    def _begin(self, organization: str) -> str:
        settings = {SETTING: organization, "statement_timeout": f"{round(self._seconds * 1000)}ms", **_SETTINGS}
        return "BEGIN READ ONLY; " + "; ".join(f"SET LOCAL {name} = '{value}'" for name, value in settings.items())

    async def _send(self, driver: TenantConnection, guarded: Guarded, organization: str, answer: Answer) -> None:
        given = [organization] * guarded.parameters
        plan = orjson.loads(await driver.fetchval(f"EXPLAIN (FORMAT JSON) {guarded.sql}", *given))
        if plan[0]["Plan"]["Total Cost"] > self._cost_max:
            raise AnalyticsRefused(GuardLayer.SESSION, "it would read too much: narrow what it reads or joins", 1, 1)
        cursor = await driver.cursor(guarded.sql, *given)
        while found := await cursor.fetch(BATCH):
            if not answer.take(found):
                return

    async def _take(self) -> TenantConnection:
        while self._idle:
            driver = self._idle.pop()
            if not driver.is_closed():
                return driver
        try:
            driver = await connect(**self._options)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            raise Unavailable from None
        try:
            is_fit = await driver.fetchval(FIT)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            driver.terminate()
            raise Unavailable from None
        except BaseException:
            driver.terminate()
            raise
        if not is_fit:
            driver.terminate()
            raise NotConfigured("The login of ad-hoc SQL may do more than it should: see `crm-gateway doctor`")
        return driver

    async def _give_back(self, driver: TenantConnection) -> None:
        """Keep a connection that is as it was at first; any other is ended."""
        try:
            async with asyncio.timeout(_CLOSING_SECONDS):
                await driver.execute("ROLLBACK")
                await driver.execute("DISCARD ALL")
        except BaseException as error:
            driver.terminate()
            if not isinstance(error, Exception):
                raise
        else:
            self._idle.append(driver)

    @staticmethod
    async def _give_up(driver: TenantConnection) -> None:
        """End a connection, and what the server still does for it."""
        try:
            await driver.end_statement()
        finally:
            driver.terminate()

    async def examined(self, ask: Callable[[TenantConnection], Awaitable[Any]]) -> Any:  # Any: what is asked for
        """Ask by the login itself what it may do. Raises Unavailable."""
        try:
            driver = await connect(**self._options)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            raise Unavailable from None
        try:
            return await ask(driver)
        finally:
            driver.terminate()

    async def close(self) -> None:
        """Close every connection."""
        while self._idle:
            await self._idle.pop().close(timeout=_CLOSING_SECONDS)


def _explained(error: asyncpg.PostgresError) -> Exception:
    """The error as callers are told it: the database's own words may quote values."""
    state = str(error.sqlstate or "")
    if state in ("57014", "55P03"):
        return TimedOut()
    if state == "42501":
        return AnalyticsRefused(GuardLayer.SESSION, "the login may not do this", 1, 1)
    if state.startswith(("08", "57P")):
        return Unavailable()
    return AnalyticsFailed(_WORDS.get(state, "The database does not take the statement"))
