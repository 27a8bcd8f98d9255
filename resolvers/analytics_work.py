"""Works on one question in this process, step by step, under a lease (decisions 285 and 286).

Each step is written before the next begins: whoever follows the answer, in whichever process, reads the steps from the
table. What ends the work early is looked for beside it: the caller's word, another holder, a credential that holds no
more, the end of the process.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Protocol

import orjson

from contract.analytics_events import AnalyticsPlanner, AnalyticsRunStatus, EventType, last_step
from contract.analytics_results import Result, Statement, Value
from contract.costs import ANALYZED, points
from contract.error_origin import origin_of
from contract.errors import AnalyticsRefused, GatewayError, TimedOut, Unauthenticated, Unavailable
from contract.limits import RUN_EVENT_BYTES_MAX, RUN_EVENT_ROWS_MAX, RUN_LEASE_SECONDS, RUN_SECONDS
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.analytics_planners import plan_of
from resolvers.analytics_queries import answer, prepare
from resolvers.explanations import explain, explain_statement
from resolvers.questions.plans import Declined, Plan, Question, Written
from resolvers.shared.context import Context
from resolvers.sql_queries import SqlQuery, run_sql, statement_of
from storage.base import JsonDict, now
from storage.connection_pool import giving_way
from storage.queries import analytics_runs as statements
from storage.quiet_commits import quietly
from storage.statements import AnyValue, compact_json
from storage.tables import AnalyticsEvent, AnalyticsRun

LEASE = timedelta(seconds=RUN_LEASE_SECONDS)
_RENEW_SECONDS = 3.0
_LOOK_SECONDS = 0.4
_CREDENTIAL_SECONDS = 2.0
_AGAIN_SECONDS = 1.0
_RETRYABLE = frozenset({"TIMEOUT", "UNAVAILABLE", "TOO_MANY_RUNS", "RATE_LIMITED"})

Step = tuple[EventType, JsonDict]


def _notice(code: str, words: str) -> Step:
    return EventType.NOTICE, {"code": code, "message": words}


_MODEL_AWAY = _notice("model_unavailable", "The model could not be asked; the question was read without it")
_WRITTEN_BY_MODEL = _notice("written_by_model", "A model wrote this statement: see whether it asks what was meant")

_log = logging.getLogger(__name__)


class Options(Protocol):
    """The options that were given beside the question."""

    conversation_id: str | None
    """That of a conversation that goes on."""
    time_zone: str
    model: bool


class _Lost(Exception):
    """The run is another's by now, has ended, or was deleted: nothing more is to be written."""


@dataclass(frozen=True, slots=True)
class _Ending:
    """Says how a run ends, the steps before its last one, and what is kept of it."""

    status: AnalyticsRunStatus
    steps: Sequence[Step] = ()
    values: Mapping[str, AnyValue] = field(default_factory=dict)


class Work:
    """One run, from the step behind `run_started` to its last."""

    def __init__(self, ctx: Context, run: AnalyticsRun, options: Options) -> None:
        self._ctx = replace(ctx, key=None)
        self._ctx.forget()
        self._run = run
        self._options = options
        self._began = monotonic()
        self._sequence: int | None = 1
        """The number of the last step; None where it is not known whether the last write was committed."""

    async def run(self) -> None:
        """Work until there is an end, whichever comes first, and write it."""
        try:
            ending = await self._ending()
        except _Lost:
            return
        except asyncio.CancelledError:  # the process ends
            ending = _Ending(AnalyticsRunStatus.INTERRUPTED)
        await self._finish(ending)

    async def _ending(self) -> _Ending:
        answering = asyncio.create_task(self._ctx.services.pacing.paced(self._answered))
        looking = asyncio.create_task(self._look())
        tasks = {answering, looking}
        try:
            done, _ = await asyncio.wait(tasks, timeout=RUN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if not done:
            return _failed(TimedOut())
        try:
            return (answering if answering in done else looking).result()
        except GatewayError as error:
            return _failed(error)
        except _Lost:
            raise
        except Exception as error:
            line = "internal error request_id=%s type=%s at=%s"
            _log.error(line, self._ctx.request_id, type(error).__name__, origin_of(error))
            return _failed(GatewayError())

    async def _answered(self) -> _Ending:
        """Plan, tell the statement, run it, and give what there is to tell of its rows."""
        ctx, run = self._ctx, self._run
        present = ctx.services.clock()
        last = None
        if self._options.conversation_id is not None:
            async with ctx.reading() as session:
                last = await statements.last_plan(session, run.subject, run.conversation_id)
        previous = None if last is None else AnalyticsQuery.model_validate(last.plan)
        question = Question(run.question, self._options.time_zone, present, previous, self._options.model)
        planned = await plan_of(ctx, question)
        match planned.by, planned.reading:
            case AnalyticsPlanner() as planner, Plan() as plan:
                follows = last.id if plan.follows and last is not None else None
                return await self._ran_query(planner, plan, follows, present)
            case AnalyticsPlanner() as planner, Written() as written:
                return await self._ran_statement(planner, written)
            case _, Declined() as declined:
                values = {"unread": list(declined.unread), "suggestions": list(declined.suggestions)}
                steps = [_MODEL_AWAY] if planned.is_model_away else []
                return _Ending(AnalyticsRunStatus.DECLINED, steps, values)
        raise TypeError(f"no reading: {planned}")

    async def _ran_query(
        self, planner: AnalyticsPlanner, plan: Plan, follows: str | None, present: datetime
    ) -> _Ending:
        ctx = self._ctx
        prepared = prepare(plan.query, frozenset(ctx.caller.scopes), present)
        statement = prepared.statement(ctx.services.database.dialect)
        await self._tell_plan(planner, statement, plan.query.plan, plan.assumptions, follows)
        async with ctx.reads(points(ANALYZED)), ctx.reading() as session:
            with giving_way(True):
                result = await answer(prepared, session, statement, plan.chart)
        return _succeeded(result, explain(plan.query, result))

    async def _ran_statement(self, planner: AnalyticsPlanner, written: Written) -> _Ending:
        """Run what a model wrote as the asker's own statements are run."""
        ctx = self._ctx
        statement = await statement_of(ctx, written.sql)
        await self._tell_plan(planner, statement, None, (), None, _WRITTEN_BY_MODEL)
        async with ctx.reads(points(ANALYZED)):
            result = await run_sql(ctx, SqlQuery(sql=written.sql))
        return _succeeded(result, explain_statement(result))

    async def _tell_plan(
        self,
        planner: AnalyticsPlanner,
        statement: Statement,
        query: JsonDict | None,
        assumptions: Sequence[str],
        follows: str | None,
        *notices: Step,
    ) -> None:
        """Tell the plan and the statement, before it is run. Raises _Lost."""
        planned = {"planner": planner.value, "query": query, "assumptions": [*assumptions], "follows_run_id": follows}
        told = asdict(statement)
        values: dict[str, AnyValue] = {name: planned[name] for name in ("planner", "assumptions", "follows_run_id")}
        values |= {"plan": query, "parameters": told["parameters"]}
        values["sql"] = {name: value for name, value in told.items() if name != "parameters"}
        values["leased_until"] = now() + LEASE
        await self._write(values, [(EventType.PLAN, planned), *notices, (EventType.SQL, told)])

    async def _look(self) -> _Ending:
        """Keep the lease, and give the end that comes from elsewhere. Raises _Lost, or what became of the caller."""
        renewed = looked = monotonic()
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                if await self._is_cancelled():
                    return _Ending(AnalyticsRunStatus.CANCELLED)
                if monotonic() - renewed >= _RENEW_SECONDS:
                    renewed = monotonic()
                    await self._renew()
                if monotonic() - looked >= _CREDENTIAL_SECONDS:
                    looked = monotonic()
                    await self._look_at_caller()
            except Unavailable:  # a database that is away ends nothing; the lease does, if it is away for long
                continue

    async def _is_cancelled(self) -> bool:
        async with self._ctx.reading() as session:
            run = await session.find(AnalyticsRun, id=self._run.id, subject=self._run.subject)
        if run is None or run.holder != self._run.holder or run.finished_at is not None:
            raise _Lost
        return run.cancel_requested_at is not None

    async def _renew(self) -> None:
        async with self._ctx.writing() as session:
            if not await statements.advance(session, self._run, {"leased_until": now() + LEASE}):
                raise _Lost

    async def _look_at_caller(self) -> None:
        """Raises what the credential is refused with by now, and Unauthenticated for one that may less than it did."""
        if self._ctx.look is None:
            return
        began, found = self._ctx.caller, await self._ctx.look()
        if not began.scopes <= found.scopes or began.organization != found.organization:
            raise Unauthenticated("The caller's scopes have changed")

    async def _finish(self, ending: _Ending) -> None:
        """Write the end; a database that is away is waited for as long as the lease may hold."""
        until = monotonic() + RUN_LEASE_SECONDS
        while True:
            try:
                await self._ctx.services.pacing.paced(partial(self._end, ending))
                return
            except Unavailable:
                if monotonic() >= until:
                    return
                await asyncio.sleep(_AGAIN_SECONDS)
            except Exception as error:
                line = "no end of run=%s could be written type=%s at=%s"
                _log.error(line, self._run.id, type(error).__name__, origin_of(error))
                return

    async def _end(self, ending: _Ending) -> None:
        values = {**ending.values, "status": ending.status.value, "finished_at": now()}
        finished = (EventType.RUN_FINISHED, last_step(ending.status, int((monotonic() - self._began) * 1000), values))
        with suppress(_Lost):
            await self._write(values, [*ending.steps, finished])

    async def _write(self, values: Mapping[str, AnyValue], steps: Sequence[Step]) -> None:
        """Change the run, and append steps, each with the next number. Raises _Lost.

        Those who follow the answer in this process are handed them (decision 1205), unless they are many.
        """
        known, self._sequence = self._sequence, None
        is_handed = known is not None and len(steps) <= statements.BATCH
        with quietly() if is_handed else nullcontext():
            async with self._ctx.writing() as session:
                if not await statements.advance(session, self._run, values):
                    raise _Lost
                last = await statements.last_sequence(session, self._run.id) if known is None else known
                stored = await statements.append(session, self._run.id, last + 1, steps)
        self._sequence = last + len(steps)
        if is_handed and (channel := self._ctx.services.feed.followed(self._ctx.org_id)) is not None:
            channel.analytics_runs.advance(self._run.id, list(map(_as_read, stored)))


def _as_read(step: AnalyticsEvent) -> AnalyticsEvent:
    """The step as it is read: its values as JSON has them."""
    return step._replace(data=orjson.loads(compact_json(step.data)))  # type: ignore[attr-defined,no-any-return]  # a named tuple


def _failed(error: GatewayError) -> _Ending:
    layer = error.layer.value if isinstance(error, AnalyticsRefused) else None
    told: JsonDict = {"code": error.code.lower(), "message": error.message, "layer": layer}
    step = {"code": told["code"], "message": error.message, "retryable": error.code in _RETRYABLE, "layer": layer}
    status = AnalyticsRunStatus.TIMED_OUT if isinstance(error, TimedOut) else AnalyticsRunStatus.FAILED
    return _Ending(status, [(EventType.ERROR, step)], {"error_code": told["code"], "error": told})


def _succeeded(result: Result, text: str) -> _Ending:
    columns, chart = [asdict(column) for column in result.columns], asdict(result.chart)
    steps: list[Step] = [(EventType.COLUMNS, {"columns": columns}), *_rows(result.rows)]
    if result.truncated:
        words = f"The answer has more than the {result.row_count} rows that are told"
        steps.append(_notice("truncated", words))
    steps += [(EventType.CHART, chart), (EventType.EXPLANATION, {"text": text})]
    values = {
        "columns": columns,
        "chart": chart,
        "explanation": text,
        "row_count": result.row_count,
        "truncated": result.truncated,
        "statement_ms": result.duration_ms,
    }
    return _Ending(AnalyticsRunStatus.SUCCEEDED, steps, values)


def _rows(rows: Sequence[Sequence[Value]]) -> list[Step]:
    """The rows in steps of at most so many and so many bytes; none where there are none."""
    steps: list[Step] = []
    piece: list[Sequence[Value]] = []
    size = 0
    for index, row in enumerate(rows):
        more = len(orjson.dumps(row)) + 1
        if piece and (len(piece) == RUN_EVENT_ROWS_MAX or size + more > RUN_EVENT_BYTES_MAX):
            steps.append((EventType.ROWS, {"offset": index - len(piece), "rows": piece}))
            piece, size = [], 0
        piece.append(row)
        size += more
    if piece:
        steps.append((EventType.ROWS, {"offset": len(rows) - len(piece), "rows": piece}))
    return steps
