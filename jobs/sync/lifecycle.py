"""The beginning and the end of a run: whether the connection may go on, and what is said of how it went."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from contract.integrations import (
    WATCHED_POLL_SECONDS,
    IntegrationProblemCode,
    IntegrationRunMode,
    IntegrationRunStatus,
    IntegrationStatus,
    SyncVisibility,
)
from contract.scopes import ScopeGroup
from jobs.sync import waits
from jobs.sync.events import happened
from jobs.sync.problems import NO_PROBLEM, problem
from jobs.sync.rules import effective
from jobs.sync.turns import in_turn, is_thorough, is_unread, too_early
from jobs.work import NotYet, Run, finish
from providers.accounts.ports import AccountError
from storage.base import now
from storage.new_rows import new_row
from storage.queries import integrations, jobs, members, sync
from storage.tables import Integration, SyncRun, SyncStream
from storage.tenancy.sessions import TenantSession

_FIRST_WAIT, _LONGEST_WAIT = 2.0, 600.0
_SOON = frozenset({IntegrationProblemCode.RATE_LIMITED, IntegrationProblemCode.PROVIDER_UNAVAILABLE})
"""Problems that pass by themselves, after which it is tried again soon."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that is under way: the connection and its streams as they were, and what it shows."""

    integration: Integration
    streams: Sequence[SyncStream]
    run: SyncRun
    visibility: SyncVisibility
    was_asked: bool


async def begin(run: Run, integration_id: str) -> Begun | None:
    """Note that a run begins; None where the connection is not to be read. Raises NotYet where it is too early.

    Raises NoPlace where everything is to be read and too much of that kind is under way (decision 1030).
    """
    async with run.writing() as session:
        integration = await session.find(Integration, id=integration_id, lock=True)
        if integration is None:
            return None
        integration = await _as_its_owner_may(session, integration, run.job_id)
        if integration.status != IntegrationStatus.ACTIVE.value:
            await integrations.cancel_runs(session, integration.id)
            return None
        streams = await sync.streams(session, integration.id)
        policy = await integrations.policy(session)
        queued = await integrations.unfinished_run(session, integration.id)
        was_asked = queued is not None
        if (wait := too_early(run.ports.accounts, integration, now(), was_asked=was_asked)) is not None:
            raise NotYet(wait)
        if queued is None:
            first = any(is_unread(stream) for stream in streams if stream.enabled)
            mode = IntegrationRunMode.FULL if first else IntegrationRunMode.INCREMENTAL
            queued = new_row(SyncRun, integration_id=integration.id, mode=mode.value)
            [queued] = await session.insert(queued)
        followed, _ = in_turn(run.ports.accounts, integration, streams)
        if any(is_thorough(stream, queued.mode, now()) for stream in followed):
            run.takes_long()
        running = IntegrationRunStatus.RUNNING.value
        queued = await session.update(queued, status=running, started_at=queued.started_at or now())
        return Begun(integration, streams, queued, effective(integration, policy), was_asked)


async def _as_its_owner_may(session: TenantSession, integration: Integration, request_id: str) -> Integration:
    """The connection, paused while its owner may not write, and going on once the owner may again."""
    if integration.owner_id is None:
        return integration
    found = await members.membership(session, integration.owner_id)
    may = found is not None and found.ended_at is None and ScopeGroup.CRM_MANAGE.passes(frozenset(found.scopes))
    active, paused = IntegrationStatus.ACTIVE.value, IntegrationStatus.PAUSED.value
    if integration.status == active and not may:
        integration = await session.update(integration, status=paused, is_suspended=True, next_sync_at=None)
        await happened(session, integration, "integration_paused", request_id)
    elif integration.status == paused and integration.is_suspended and may:
        integration = await session.update(integration, status=active, is_suspended=False)
        await happened(session, integration, "integration_resumed", request_id)
    return integration


async def end_where_gone(run: Run, integration_id: str) -> None:
    """End the job of a connection that is there no more, which else would be repeated for ever."""
    async with run.writing() as session:
        job = await jobs.find(session, run.job_id, lock=True)
        if job is not None and await session.find(Integration, id=integration_id) is None:
            await finish(session, job)
            run.is_finished = True


@dataclass(frozen=True, slots=True)
class Done:
    """A run that was read to its end: its calls, whether anything changed, and when to look again unless as usual.

    `is_told` is whether the provider tells of changes, None where it is never asked to.
    """

    calls: int
    has_changed: bool
    wait: float | None
    is_told: bool | None


async def succeeded(run: Run, begun: Begun, done: Done) -> bool:
    """The run was read to its end; whether another one waits."""
    async with run.writing() as session:
        integration = await session.find(Integration, id=begun.integration.id, lock=True)
        current = await session.find(SyncRun, id=begun.run.id)
        if integration is None or current is None:
            return False
        moment = now()
        status = IntegrationRunStatus.SUCCEEDED.value
        current = await session.update(current, status=status, finished_at=moment, calls=current.calls + done.calls)
        if integration.status != IntegrationStatus.ACTIVE.value:  # stopped after the last page: it says so (1168)
            await integrations.cancel_runs(session, integration.id)
            return False
        pace = await _paced(run, session, integration, is_told=done.is_told)
        await session.update(
            integration,
            last_synced_at=moment,
            next_sync_at=moment + timedelta(seconds=pace if done.wait is None else done.wait),
            failures=0,
            **NO_PROBLEM,
        )
        await integrations.forget_runs(session, integration.id)
        if done.has_changed or begun.was_asked or current.mode == IntegrationRunMode.FULL.value:
            counts = {name: getattr(current, name) for name in ("created", "updated", "removed", "skipped")}
            await happened(session, integration, "integration_synced", current.id, mode=current.mode, **counts)
        return await integrations.queued_run(session, integration.id) is not None


async def _paced(run: Run, session: TenantSession, integration: Integration, *, is_told: bool | None) -> int:
    """The seconds between two looks, which the job keeps from now on: more where the provider tells of changes."""
    if is_told is None:
        return integration.poll_seconds
    pace = max(integration.poll_seconds, WATCHED_POLL_SECONDS) if is_told else integration.poll_seconds
    job = await jobs.find(session, run.job_id, lock=True)
    if job is not None and job.repeat_seconds != pace:
        await session.update(job, repeat_seconds=pace)
    return pace


async def failed(run: Run, begun: Begun, error: AccountError, calls: int) -> timedelta:
    """The run ended early; how long to wait for the next one."""
    async with run.writing() as session:
        integration = await session.find(Integration, id=begun.integration.id, lock=True)
        current = await session.find(SyncRun, id=begun.run.id)
        if integration is None or current is None or integration.status != IntegrationStatus.ACTIVE.value:
            await integrations.cancel_runs(session, begun.integration.id)
            if error.code is IntegrationProblemCode.RATE_LIMITED:
                await _remember(session, begun, integration, error)
            return timedelta(seconds=begun.integration.poll_seconds)
        moment = now()
        ended = IntegrationRunStatus.FAILED.value
        await session.update(
            current, status=ended, finished_at=moment, problem=error.code.value, calls=current.calls + calls
        )
        wait = _wait(integration, error)
        is_new = integration.problem_code != error.code.value
        integration = await session.update(
            integration,
            failures=integration.failures + 1,
            status=(IntegrationStatus.ACTION_REQUIRED if error.is_final else IntegrationStatus.ACTIVE).value,
            **problem(integration, error, moment, None if error.is_final else moment + wait),
        )
        await integrations.forget_runs(session, integration.id)
        if is_new:
            await happened(session, integration, "integration_failed", current.id, problem=error.code.value)
        return wait


async def _remember(session: TenantSession, begun: Begun, integration: Integration | None, error: AccountError) -> None:
    """Keep what the provider asked of a connection that was stopped meanwhile (decisions 1014 and 1173)."""
    moment = now()
    until = moment + _wait(begun.integration, error)
    if integration is not None and integration.status == IntegrationStatus.PAUSED and integration.sealed is not None:
        held_up = {**problem(integration, error, moment, until), "next_sync_at": None}
        await session.update(integration, **held_up)
    else:
        await waits.keep(session, begun.integration.account_key, until)


def _wait(integration: Integration, error: AccountError) -> timedelta:
    if error.code in _SOON:  # a server that asks for no pause at all gets the usual one
        usual = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(integration.failures, 20))
        return timedelta(seconds=max(usual, error.retry_after or 0.0))
    if error.retry_after is not None:
        return timedelta(seconds=error.retry_after)
    return timedelta(seconds=integration.poll_seconds)
