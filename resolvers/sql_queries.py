"""Ad-hoc SQL: one SELECT of the caller's own over the organization's data (docs/analytics.md, decisions 266 to 271)."""

import asyncio
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic
from typing import Annotated

from pydantic import Field, StrictInt, StrictStr

from contract.analytics_results import Result, Statement
from contract.catalog_tables import sql_tables_for
from contract.errors import (
    AnalyticsFailed,
    AnalyticsRefused,
    GatewayError,
    NotConfigured,
    TimedOut,
    TooManyRuns,
)
from contract.limits import ANALYTICS_ROWS_MAX
from contract.scopes import ScopeGroup
from resolvers.charts import chart_of
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input
from storage.analytics import guard
from storage.analytics.guard import Guarded
from storage.analytics.values import Answer, Runner
from storage.base import JsonDict


class SqlQuery(Input):
    """A statement of the caller's own."""

    sql: StrictStr
    first: Annotated[StrictInt, Field(ge=0, le=ANALYTICS_ROWS_MAX)] | None = ANALYTICS_ROWS_MAX


@dataclass(slots=True)
class _Attempt:
    """An attempt at a statement as the change log is told of it: never its text."""

    digest: str
    guarded: Guarded | None = None
    rows: int = 0
    duration: int = 0
    outcome: str = "failed"
    layer: str | None = None

    @property
    def data(self) -> JsonDict:
        """The event's data."""
        tables = [] if self.guarded is None else list(self.guarded.tables)
        return {
            "digest": self.digest,
            "tables": tables,
            "rows": self.rows,
            "milliseconds": self.duration,
            "outcome": self.outcome,
            "layer": self.layer,
        }


@requires(ScopeGroup.DATA_ACCESS)
async def run_sql(ctx: Context, query: SqlQuery) -> Result:
    """The rows of a statement.

    Raises AnalyticsRefused, AnalyticsFailed, NotConfigured, TimedOut and TooManyRuns. Every attempt is in the change
    log, but where nothing is set up that could run it.
    """
    runner = ctx.sql
    if runner is None:
        raise NotConfigured("Ad-hoc SQL is not set up here")
    attempt = _Attempt(_digest(query.sql))
    try:
        result = await _ran(ctx, runner, query, attempt)
        attempt.outcome = "succeeded"
        return result
    except AnalyticsRefused as error:
        attempt.outcome, attempt.layer = "refused", error.layer.value
        raise
    except (GatewayError, asyncio.CancelledError) as error:
        attempt.outcome = _OUTCOMES.get(type(error), "failed")
        raise
    finally:
        ctx.services.count_statement(attempt.outcome, attempt.layer or "none")
        await asyncio.shield(_recorded(ctx, attempt))


_OUTCOMES: dict[type[BaseException], str] = {
    AnalyticsFailed: "failed",
    TimedOut: "timed_out",
    TooManyRuns: "too_many",
    asyncio.CancelledError: "cancelled",
}


async def _ran(ctx: Context, runner: Runner, query: SqlQuery, attempt: _Attempt) -> Result:
    guarded = attempt.guarded = await read_statement(ctx, query.sql)
    answer = Answer(guarded.columns, ANALYTICS_ROWS_MAX if query.first is None else query.first)
    async with ctx.services.places.one(ctx.org_id):
        began = monotonic()
        try:
            await runner.run(guarded, ctx.org_id, answer)
        finally:
            attempt.duration = int((monotonic() - began) * 1000)
    attempt.rows = len(answer.rows)
    statement = _told(query.sql, runner.dialect, guarded)
    chart = chart_of(guarded.columns, answer.rows, is_list=not guarded.groups)
    return Result([*guarded.columns], answer.rows, answer.truncated, statement, chart, attempt.duration)


def _told(sql: str, dialect: str, guarded: Guarded) -> Statement:
    return Statement(sql, [], dialect, [*guarded.tables], [], _digest(sql))


def _digest(sql: str) -> str:
    return sha256(sql.encode(errors="surrogatepass")).hexdigest()


async def statement_of(ctx: Context, sql: str) -> Statement:
    """A statement as answers tell it. Raises AnalyticsRefused."""
    return _told(sql, ctx.services.database.dialect, await read_statement(ctx, sql))


async def read_statement(ctx: Context, sql: str) -> Guarded:
    """A statement as the guard lets it through for the caller; a new one is read aside. Raises AnalyticsRefused."""
    tables, dialect = frozenset(sql_tables_for(frozenset(ctx.caller.scopes))), ctx.services.database.dialect
    guarded = guard.known(sql, dialect, tables)
    return await asyncio.to_thread(guard.guard, sql, dialect, tables) if guarded is None else guarded


async def _recorded(ctx: Context, attempt: _Attempt) -> None:
    async with ctx.writing() as session:
        await changes.append_event(ctx, session, "sql_query_run", attempt.data, area="admin")
