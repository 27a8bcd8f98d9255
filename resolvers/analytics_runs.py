"""Questions: asked, followed, read again, cancelled and forgotten, each by who asked it (decisions 285 to 290).

A run and its conversation are their subject's alone: to everybody else they are not there.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from typing import Annotated

from pydantic import AfterValidator, StrictBool

from contract.analytics_events import AnalyticsRunStatus, EventType, last_step
from contract.analytics_results import Chart, ChartKind, Result, ResultColumn, Statement, Value
from contract.catalog import ColumnKind
from contract.costs import ANALYZED, points
from contract.criteria import All, Compare, ListQuery, Op, PageWindow
from contract.errors import Gone, NotFound, Path, Problem, Problems, ResponseTooLarge, TooManyRuns
from contract.limits import (
    ANALYTICS_BYTES_MAX,
    ANALYTICS_ROWS_MAX,
    QUESTION_MAX,
    RESPONSE_MAX_BYTES,
    RUN_LEASE_SECONDS,
    RUN_SECONDS,
    RUNS_MAX,
    RUNS_PER_CALLER,
    RUNS_PER_ORGANIZATION,
    STATEMENT_SECONDS,
)
from contract.scopes import ScopeGroup
from resolvers.analytics_work import Work
from resolvers.outreach_inputs import TimeZone
from resolvers.shared.access import requires
from resolvers.shared.context import Context, Key
from resolvers.shared.followed import Log, LogState, Moves, followed, moves_of
from resolvers.shared.idempotency import HEADER, digest
from resolvers.shared.inputs import Input, Reference, shown, storable, trimmed
from resolvers.shared.lists import PageResult, page_of
from resolvers.shared.told_at_once import leading
from storage.base import JsonDict, as_uuid, new_id, now
from storage.change_feed import Channel
from storage.new_rows import new_row
from storage.queries import analytics_runs as statements
from storage.queries import listables
from storage.queries.records import lock_organization
from storage.queries.watches import watch
from storage.rows import AnalyticsEventRow, AnalyticsRunRow
from storage.tables import AnalyticsConversation, AnalyticsEvent, AnalyticsRun, AnalyticsWatch
from storage.tenancy.sessions import TenantSession

_LEASE = timedelta(seconds=RUN_LEASE_SECONDS)
_TITLE = 200
_CANCEL_SECONDS = 2.0
_LOOK_SECONDS = 0.05
_NOT_YOURS = "is no conversation of yours"
LIMITS: JsonDict = {
    "rows": ANALYTICS_ROWS_MAX,
    "bytes": ANALYTICS_BYTES_MAX,
    "statement_seconds": STATEMENT_SECONDS,
    "run_seconds": RUN_SECONDS,
}
"""The bounds of an answer, as its first step tells them."""

QuestionText = Annotated[
    str,
    trimmed(QUESTION_MAX),
    AfterValidator(storable),
    AfterValidator(shown),
    AfterValidator(lambda text: " ".join(text.split())),
]


Asked = AnalyticsRun | AnalyticsRunRow
"""A question as it was read, alone or in a list."""
Followed = AnalyticsEvent | AnalyticsEventRow
"""A step of an answer: one that is stored, or the end of one that is stored no more."""


async def _to_own(ctx: Context, session: TenantSession, identifiers: Sequence[str]) -> Mapping[str, str]:
    """The look for conversations of the caller."""
    lost = {}
    for each in identifiers:  # one
        found = await session.find(AnalyticsConversation, id=as_uuid(each), subject=ctx.caller.subject)
        if found is None:
            lost[each] = _NOT_YOURS
    return lost


@leading({("conversation_id",): _to_own})
class AnalyticsAsk(Input):
    """A question, of a conversation that goes on or of a new one."""

    question: QuestionText
    conversation_id: Reference | None = None
    time_zone: TimeZone = "UTC"
    model: StrictBool = True


@requires(ScopeGroup.DATA_ACCESS)
async def ask(ctx: Context, input: AnalyticsAsk, key: Key | None = None) -> AnalyticsRun:
    """Begins to answer a question; the run that was begun under the key, where there is one.

    Raises Problems for a conversation that is none of the caller's and for a key that another question has, and
    TooManyRuns.
    """
    marks = _marks(ctx, input, key)
    if key is not None:
        async with ctx.reading() as session:
            found = await _attached(ctx, session, marks, key)
        if found is not None:
            return found
    await ctx.services.budget.charge(ctx.caller, points(ANALYZED))
    async with ctx.writing() as session:
        await lock_organization(session)
        if key is not None and (found := await _attached(ctx, session, marks, key, frees=True)) is not None:
            return found
        mine, everybodys = await statements.running(session, ctx.caller.subject)
        if mine >= RUNS_PER_CALLER or everybodys >= RUNS_PER_ORGANIZATION:
            raise TooManyRuns()
        run = await _begun(ctx, session, input, marks)
    ctx.services.runs.start(Work(ctx, run, input).run(), "analytics run")
    return run


_Marks = tuple[str | None, str]
"""The digests that stand for a key, and for the question under it."""


def _marks(ctx: Context, input: AnalyticsAsk, key: Key | None) -> _Marks:
    pepper = ctx.services.identity.pepper
    kept = None if key is None else digest(pepper, ["analytics", ctx.org_id, ctx.caller.subject, key.text])
    return kept, digest(pepper, input.model_dump(mode="json"))


async def _attached(
    ctx: Context, session: TenantSession, marks: _Marks, key: Key, *, frees: bool = False
) -> AnalyticsRun | None:
    """The run that the key began within its day. Raises Problems where that was another question."""
    key_hash, fingerprint = marks
    found = await session.find(AnalyticsRun, subject=ctx.caller.subject, key_hash=key_hash)
    if found is None:
        return None
    if found.created_at <= now() - statements.EVENTS_KEPT:
        if frees:
            await statements.free_key(session, found)
        return None
    if found.fingerprint != fingerprint:
        words = f"{HEADER} was used before, with another question"
        raise Problems([Problem(key.at, words, "idempotency_key_reused")])
    return found


async def _begun(ctx: Context, session: TenantSession, input: AnalyticsAsk, marks: _Marks) -> AnalyticsRun:
    moment, subject = now(), ctx.caller.subject
    conversation = as_uuid(input.conversation_id) if input.conversation_id is not None else None
    if input.conversation_id is None:
        conversation = new_id()
        title = input.question[:_TITLE]
        await session.insert(new_row(AnalyticsConversation, id=conversation, subject=subject, title=title))
    elif conversation is None or not await statements.touch_conversation(session, subject, conversation, moment):
        raise Problems([Problem(("input", "conversation_id"), _NOT_YOURS, "reference")])
    draft = new_row(
        AnalyticsRun,
        conversation_id=conversation,
        subject=subject,
        key_hash=marks[0],
        fingerprint=marks[1],
        question=input.question,
        holder=new_id(),
        leased_until=moment + _LEASE,
        created_at=moment,
    )
    [run] = await session.insert(draft)
    started = {"run_id": run.id, "conversation_id": conversation, "question": run.question, "limits": LIMITS}
    await statements.append(session, run.id, 1, [(EventType.RUN_STARTED, started)])
    await watch(session, AnalyticsWatch, run.leased_until)
    return run


@requires(ScopeGroup.DATA_ACCESS)
async def get_run(ctx: Context, identifier: str) -> AnalyticsRun | None:
    """A question of the caller; None where it is missing, a colleague's or another organization's."""
    canonical = as_uuid(identifier)
    if canonical is None:
        return None

    async def load(ids: list[str]) -> list[AnalyticsRun | None]:
        found = {run.id: run for run in await runs_of(ctx, ids)}
        return [found.get(i) for i in ids]

    return await ctx.loader("analytics_runs", load).load(canonical)


async def runs_of(ctx: Context, run_ids: Sequence[str]) -> Sequence[AnalyticsRun]:
    """Those of these questions that the caller has asked."""
    async with ctx.reading() as session:
        return await statements.runs_of(session, ctx.caller.subject, run_ids)


@requires(ScopeGroup.DATA_ACCESS)
async def list_runs(ctx: Context, conversation_id: str | None, page: PageWindow) -> PageResult[AnalyticsRunRow]:
    """The caller's own questions, the newest first; those of a conversation where one is named. Raises Problems."""
    if page.size > RUNS_MAX:
        raise Problems([Problem(("first",), f"must lie between 0 and {RUNS_MAX}", "page_size")])
    conditions = [Compare("subject", Op.EQ, ctx.caller.subject)]
    if conversation_id is not None:
        conditions.append(Compare("conversation_id", Op.EQ, conversation_id))
    return await page_of(ctx, listables.ANALYTICS_RUNS, ListQuery(All(tuple(conditions)), None, page))


async def result_of(ctx: Context, run: Asked) -> Result | None:
    """The answer to a question; None until there is one, and once its rows are forgotten.

    Those of several questions come together. Raises ResponseTooLarge where they are more than an answer may have.
    """
    if run.columns is None or run.sql is None or run.chart is None:
        return None

    async def load(ids: list[str]) -> list[list[list[Value]] | None]:
        async with ctx.reading() as session:
            if await statements.rows_bytes(session, ctx.caller.subject, ids) > RESPONSE_MAX_BYTES:
                raise ResponseTooLarge()
            found = await statements.rows_of(session, ctx.caller.subject, ids)
        return [found.get(i) for i in ids]

    is_kept = run.finished_at is not None and run.finished_at > now() - statements.EVENTS_KEPT
    rows = await ctx.loader("analytics_rows", load).load(run.id) if run.row_count else ([] if is_kept else None)
    if rows is None:
        return None
    columns = [ResultColumn(**column | {"kind": ColumnKind(column["kind"])}) for column in run.columns]
    statement = Statement(**run.sql, parameters=run.parameters or ())
    chart = Chart(ChartKind(run.chart["kind"]), run.chart["spec"])
    return Result(columns, rows, run.truncated, statement, chart, run.statement_ms or 0)


@requires(ScopeGroup.DATA_ACCESS)
async def watch_run(ctx: Context, identifier: str, after: int = 0) -> AsyncIterator[Followed]:
    """The steps of an answer behind a number, and then what comes, until its end.

    Raises NotFound, Problems for a number that the answer has not, and Gone once its steps are forgotten.
    """
    return await steps_of(ctx, await _own(ctx, identifier), after)


async def steps_of(ctx: Context, run: AnalyticsRun, after: int = 0) -> AsyncIterator[Followed]:
    """The same of a question of the caller that was just read or asked."""
    last = None
    if run.finished_at is not None:
        async with ctx.reading() as session:
            last = await statements.last_sequence(session, run.id)
        if not last or run.finished_at <= now() - statements.EVENTS_KEPT:
            raise Gone("The steps of this answer are kept no longer", f"/analytics/runs/{run.id}")
    if after < 0 or (last is not None and after > last):
        raise Problems([Problem(("after",), "is no number of a step of this answer", "range")])
    return _followed(ctx, run.id, after)


def _followed(ctx: Context, run_id: str, sequence: int) -> AsyncIterator[Followed]:
    """The steps behind a number as they come; of an answer that is deleted meanwhile its end alone."""
    subject = ctx.caller.subject

    async def behind(session: TenantSession, number: int) -> Sequence[Followed]:
        return await statements.events_after(session, subject, run_id, number)

    async def state(session: TenantSession) -> LogState:
        run = await session.find(AnalyticsRun, id=run_id, subject=subject)
        if run is None:
            return LogState.GONE
        return LogState.GOING if run.finished_at is None else LogState.OVER

    def moves(channel: Channel) -> AbstractContextManager[Moves]:
        return moves_of(channel.analytics_runs, run_id, lambda head: head.last)

    gone, last = partial(_deleted, run_id), EventType.RUN_FINISHED.value
    return followed(ctx, Log(behind, statements.BATCH, state, gone, last, moves, gives_way=True), sequence)


def _deleted(run_id: str, sequence: int) -> AnalyticsEvent:
    data = last_step(AnalyticsRunStatus.CANCELLED, 0)
    return new_row(AnalyticsEvent, run_id=run_id, sequence=sequence, type=EventType.RUN_FINISHED.value, data=data)


async def finished(ctx: Context, run: AnalyticsRun) -> AnalyticsRun:
    """The question once it has come to its end. Raises NotFound where it was deleted meanwhile."""
    with ctx.services.pacing.aside():
        async for _ in _followed(ctx, run.id, 0):
            pass
    return await _own(ctx, run.id)


@requires(ScopeGroup.DATA_ACCESS, writes=True)
async def cancel_run(ctx: Context, identifier: str) -> AnalyticsRun:
    """Asks the process that works on a question to end it; one that has ended stays as it is. Raises NotFound."""
    run = await _own(ctx, identifier)
    async with ctx.writing() as session:
        if await statements.ask_to_cancel(session, ctx.caller.subject, now(), run_id=run.id):
            run = await session.find(AnalyticsRun, id=run.id, subject=ctx.caller.subject) or run
    return run


@requires(ScopeGroup.DATA_ACCESS, writes=True)
async def delete_conversation(ctx: Context, identifier: str) -> str:
    """Forgets a conversation with its questions and answers; one that is worked on is cancelled before.

    Raises NotFound.
    """
    canonical, subject = as_uuid(identifier), ctx.caller.subject
    if canonical is None:
        raise NotFound(field=("id",))
    async with ctx.writing() as session:
        runs = await statements.ask_to_cancel(session, subject, now(), conversation_id=canonical)
    if runs:
        await ctx.commit()
        await _ended(ctx, canonical)
    async with ctx.writing() as session:
        if not await statements.forget_conversation(session, subject, canonical):
            raise NotFound(field=("id",))
    return canonical


async def _ended(ctx: Context, conversation_id: str) -> None:
    """Wait until no question of the conversation is worked on, a moment at most."""
    until = asyncio.get_running_loop().time() + _CANCEL_SECONDS
    while asyncio.get_running_loop().time() < until:
        async with ctx.reading() as session:
            running = await session.find(
                AnalyticsRun,
                subject=ctx.caller.subject,
                conversation_id=conversation_id,
                status=AnalyticsRunStatus.RUNNING.value,
            )
        if running is None:
            return
        await asyncio.sleep(_LOOK_SECONDS)


async def _own(ctx: Context, identifier: str, at: Path = ("id",)) -> AnalyticsRun:
    canonical = as_uuid(identifier)
    if canonical is not None:
        async with ctx.reading() as session:
            run = await session.find(AnalyticsRun, id=canonical, subject=ctx.caller.subject)
        if run is not None:
            return run
    raise NotFound(field=at)
