"""Statements on connections, their runs, and what the organization allows."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, bindparam, case, delete, func, or_, select, update
from sqlmodel import col

from contract.integrations import (
    COMPLETE,
    RUNS_KEPT,
    IntegrationProblemCode,
    IntegrationProvider,
    IntegrationRunStatus,
    IntegrationStatus,
)
from contract.vocabulary import SYSTEM_ACTOR
from storage.base import Identifier, JsonDict, now
from storage.expressions import AnyColumn, AnySelect
from storage.new_rows import new_row
from storage.queries.list_conditions import among
from storage.queries.records import append_events
from storage.statements import ORG_PARAM, AnyRow
from storage.tables import (
    Event,
    FeedContent,
    Integration,
    IntegrationAccount,
    IntegrationPolicy,
    Person,
    SyncOccurrence,
    SyncRun,
    SyncStream,
)
from storage.tenancy.sessions import TenantSession

_UNFINISHED = (IntegrationRunStatus.QUEUED.value, IntegrationRunStatus.RUNNING.value)


async def policy(session: TenantSession) -> IntegrationPolicy:
    """Return the policy of the organization; the usual one where nothing was said yet."""
    found = await session.find(IntegrationPolicy)
    every = [provider.value for provider in IntegrationProvider]
    return found or new_row(IntegrationPolicy, org_id=session.org_id, allowed_providers=every)


async def addresses(session: TenantSession) -> dict[str, str]:
    """The addresses of the members who are there, by subject."""
    own = col(Person.org_id) == session.org_id, col(Person.state) != "left", col(Person.email).is_not(None)
    rows = await session.rows(select(col(Person.id), col(Person.folded_email)).where(*own))
    return {row.id: row.folded_email for row in rows}


async def visible(session: TenantSession, subject: str | None, ids: Sequence[str]) -> Sequence[Integration]:
    """Those of these connections that are the subject's or the organization's; all of them without a subject."""
    own = select(Integration).where(col(Integration.org_id) == session.org_id, among(col(Integration.id), ids))
    if subject is not None:
        own = own.where(or_(col(Integration.owner_id) == subject, col(Integration.owner_id).is_(None)))
    return await session.find_all(own)


async def number(session: TenantSession, subject: str | None = None) -> int:
    """Says how many connections there are, or how many the subject has."""
    own: list[AnyColumn] = [col(Integration.org_id) == session.org_id]
    if subject is not None:
        own.append(col(Integration.owner_id) == subject)
    counted: int = await session.scalar(select(func.count()).select_from(Integration).where(*own))
    return counted


async def streams(session: TenantSession, ids: Sequence[str]) -> dict[str, list[SyncStream]]:
    """The streams of each connection, in the order in which they were made."""
    own = col(SyncStream.org_id) == session.org_id, among(col(SyncStream.integration_id), ids)
    found: dict[str, list[SyncStream]] = {i: [] for i in ids}
    for stream in await session.find_all(select(SyncStream).where(*own).order_by(col(SyncStream.id))):
        found[stream.integration_id].append(stream)
    return found


async def unfinished_run(session: TenantSession, integration_id: str) -> SyncRun | None:
    """The run that is under way, or else the one that is queued."""
    own = col(SyncRun.org_id) == session.org_id, col(SyncRun.integration_id) == integration_id
    unfinished = select(SyncRun).where(*own, col(SyncRun.status).in_(_UNFINISHED))
    rows = await session.find_all(unfinished.order_by(col(SyncRun.status).desc(), col(SyncRun.queued_at)).limit(1))
    return rows[0] if rows else None


async def queued_run(session: TenantSession, integration_id: str) -> SyncRun | None:
    """The run that waits for its turn."""
    own = col(SyncRun.org_id) == session.org_id, col(SyncRun.integration_id) == integration_id
    waiting = select(SyncRun).where(*own, col(SyncRun.status) == IntegrationRunStatus.QUEUED.value)
    rows = await session.find_all(waiting.order_by(col(SyncRun.queued_at)).limit(1))
    return rows[0] if rows else None


async def latest_start(session: TenantSession, integration_id: str) -> datetime | None:
    """Say when the latest run that was read to its end began."""
    own = col(SyncRun.org_id) == session.org_id, col(SyncRun.integration_id) == integration_id
    ended = select(SyncRun).where(*own, col(SyncRun.status) == IntegrationRunStatus.SUCCEEDED.value)
    rows = await session.find_all(ended.order_by(col(SyncRun.queued_at).desc()).limit(1))
    return rows[0].started_at if rows else None


async def running(session: TenantSession, ids: Sequence[str]) -> dict[str, SyncRun]:
    """The runs of these connections that are under way."""
    own = col(SyncRun.org_id) == session.org_id, among(col(SyncRun.integration_id), ids)
    under_way = select(SyncRun).where(*own, col(SyncRun.status) == IntegrationRunStatus.RUNNING.value)
    return {run.integration_id: run for run in await session.find_all(under_way)}


async def lease_renewal(
    session: TenantSession, integration_id: str, version: int, present: datetime, until: datetime
) -> bool:
    """Let the caller alone renew the tokens of this version until then; False where another does, or has."""
    own = col(Integration.org_id) == session.org_id, col(Integration.id) == integration_id
    lease = col(Integration.refreshing_until)
    free = or_(lease.is_(None), lease < present)
    leased = update(Integration).where(*own, col(Integration.token_version) == version, free)
    return await session.execute(leased.values(refreshing_until=until)) == 1


async def forget_begun(session: TenantSession, subject: str, present: datetime) -> None:
    """Forget the connections that the subject began, and whose consent did not come in time (decision 573).

    Those that were begun for the organization go with anybody's.
    """
    whose = or_(col(Integration.owner_id) == subject, col(Integration.owner_id).is_(None))
    own = col(Integration.org_id) == session.org_id, whose
    begun = col(Integration.status) == IntegrationStatus.PENDING.value
    late = or_(col(Integration.grant_expires_at).is_(None), col(Integration.grant_expires_at) < present)
    await session.execute(delete(Integration).where(*own, begun, late))


async def has_account(session: TenantSession, provider: str, keys: Sequence[str], subject: str | None) -> bool:
    """Says whether the subject, or the organization, has connected an account that one of these keys stands for."""
    owner = col(Integration.owner_id)
    own = col(Integration.org_id) == session.org_id, owner.is_(None) if subject is None else owner == subject
    same = col(Integration.provider) == provider, among(col(Integration.account_key), keys)
    return bool(await session.rows(select(col(Integration.id)).where(*own, *same).limit(1)))


async def cancel_runs(session: TenantSession, integration_id: str) -> None:
    """The runs that wait or are under way are given up."""
    own = col(SyncRun.org_id) == session.org_id, col(SyncRun.integration_id) == integration_id
    cancelled = IntegrationRunStatus.CANCELLED.value
    await session.execute(
        update(SyncRun).where(*own, col(SyncRun.status).in_(_UNFINISHED)).values(status=cancelled, finished_at=now())
    )


async def cancel_queued(session: TenantSession, integration_id: str) -> None:
    """The run that waits for its turn is given up."""
    waiting = await queued_run(session, integration_id)
    if waiting is not None:
        await session.update(waiting, status=IntegrationRunStatus.CANCELLED.value, finished_at=now())


async def forget_content(session: TenantSession, integration_id: str) -> None:
    """The content of an uploaded feed is not kept any more."""
    for stream in (await streams(session, [integration_id]))[integration_id]:  # of a feed there is one
        found = await session.find(FeedContent, stream_id=stream.id)
        if found is not None:
            await session.delete(found)


async def runs(session: TenantSession, ids: Sequence[str], size: int) -> dict[str, list[SyncRun]]:
    """The latest runs of each connection, the newest first."""
    place = func.row_number().over(
        partition_by=col(SyncRun.integration_id), order_by=(col(SyncRun.queued_at).desc(), col(SyncRun.id))
    )
    own = col(SyncRun.org_id) == session.org_id, among(col(SyncRun.integration_id), ids)
    ranked = select(col(SyncRun.id), place.label("place")).where(*own).subquery("ranked")
    newest = select(ranked.c.id).where(ranked.c.place <= size)
    found: dict[str, list[SyncRun]] = {i: [] for i in ids}
    wanted = select(SyncRun).where(*own, col(SyncRun.id).in_(newest))
    for run in await session.find_all(wanted.order_by(col(SyncRun.queued_at).desc(), col(SyncRun.id))):
        found[run.integration_id].append(run)
    return found


async def forget_runs(session: TenantSession, integration_id: str) -> None:
    """Keep the latest runs alone."""

    def build() -> AnySelect:
        of_it = col(SyncRun.integration_id) == bindparam("integration_id", type_=Identifier)
        own = select(col(SyncRun.id)).where(col(SyncRun.org_id) == ORG_PARAM, of_it)
        return own.order_by(col(SyncRun.queued_at).desc(), col(SyncRun.id)).offset(RUNS_KEPT).limit(RUNS_KEPT)

    old = [row.id for row in await session.fetch("old_runs", build, integration_id=integration_id)]
    if old:
        await session.execute(delete(SyncRun).where(col(SyncRun.org_id) == session.org_id, among(col(SyncRun.id), old)))


async def counts(session: TenantSession, ids: Collection[str]) -> Sequence[AnyRow]:
    """Says how many occurrences each connection has of each outcome and reason, and of how many there is a meeting."""
    columns = (
        *(col(SyncOccurrence.integration_id), col(SyncOccurrence.kind)),
        *(col(SyncOccurrence.outcome), col(SyncOccurrence.reason)),
    )
    own = col(SyncOccurrence.org_id) == session.org_id, among(col(SyncOccurrence.integration_id), ids)
    counted = select(*columns, func.count().label("items"), func.count(col(SyncOccurrence.meeting_id)).label("shown"))
    return await session.rows(counted.where(*own).group_by(*columns))


async def content(session: TenantSession, stream_id: str) -> bytes | None:
    """The sealed content of an uploaded feed."""
    found = await session.find(FeedContent, stream_id=stream_id)
    return None if found is None else found.sealed


async def end_of_owner(session: TenantSession, subject: str) -> None:
    """Stop the connections of a member who left, and forget what is secret of them; what they brought stays.

    The log is told of those that were not stopped before (decision 1013). What a provider asked to wait stays: it holds
    for the account, whoever connects it (decision 1173).
    """
    words = "The member whose account it is has left."
    own = col(Integration.org_id) == session.org_id, col(Integration.owner_id) == subject
    going = col(Integration.status) != IntegrationStatus.DISCONNECTING.value
    moment: datetime = now()
    columns = col(Integration.id), col(Integration.status), col(Integration.provider)
    rows = await session.rows(select(*columns).where(*own, going).order_by(col(Integration.id)))
    ids = [row.id for row in rows]
    if not ids:
        return
    await session.execute(
        update(Integration)
        .where(*own, going)
        .values(
            status=IntegrationStatus.PAUSED.value,
            is_suspended=False,  # which would let it go on once the member is back, without what it is read with
            sealed=None,
            grant_sealed=None,
            problem_code=IntegrationProblemCode.FORBIDDEN.value,
            problem_message=words,
            problem_since=moment,
            next_sync_at=None,
            retry_at=case((_asked_to_wait(), col(Integration.retry_at))),
            version=col(Integration.version) + 1,
            updated_at=moment,
        )
    )
    leads = col(IntegrationAccount.org_id) == session.org_id
    await session.execute(delete(IntegrationAccount).where(leads, among(col(IntegrationAccount.integration_id), ids)))
    streams = select(col(SyncStream.id)).where(
        col(SyncStream.org_id) == session.org_id, among(col(SyncStream.integration_id), ids)
    )
    await session.execute(
        delete(FeedContent).where(col(FeedContent.org_id) == session.org_id, col(FeedContent.stream_id).in_(streams))
    )
    stopped = [row for row in rows if row.status != IntegrationStatus.PAUSED.value]
    if stopped:
        told = [{"integration_id": row.id, "provider": row.provider} for row in stopped]
        await append_events(session, [_stopped(each) for each in told])


def _stopped(told: JsonDict) -> Event:
    """Make the event of a connection that stops because its owner has left."""
    return new_row(
        Event, sequence=0, type="integration_paused", area="crm", actor=SYSTEM_ACTOR, request_id=None, data=told
    )


async def complete_ids(session: TenantSession) -> list[str]:
    """The connections that brought something, read now or not, in the order in which whoever needs several takes them.

    One that is paused, or waits for its member, is shown less of all the same (decision 1130).
    """
    own = col(Integration.org_id) == session.org_id, col(Integration.status).in_([each.value for each in COMPLETE])
    rows = await session.rows(select(col(Integration.id)).where(*own).order_by(col(Integration.id)))
    return [row.id for row in rows]


async def want_all(session: TenantSession) -> None:
    """Have every stream of the organization read anew, by other rules."""
    own = col(SyncStream.org_id) == session.org_id
    await session.execute(update(SyncStream).where(own).values(wants_full=True))


def _asked_to_wait() -> ColumnElement[bool]:
    """Says whose `retry_at` is the provider's word: also of a connection whose owner has left, which keeps no other."""
    limited = col(Integration.problem_code) == IntegrationProblemCode.RATE_LIMITED.value
    return or_(limited, col(Integration.sealed).is_(None))


async def asked_until(session: TenantSession, provider: str, keys: Sequence[str], present: datetime) -> datetime | None:
    """Until when the provider asked those connections to wait that are to an account with one of these keys."""
    same = col(Integration.provider) == provider, among(col(Integration.account_key), keys)
    own = col(Integration.org_id) == session.org_id, *same, _asked_to_wait()
    latest = select(func.max(col(Integration.retry_at))).where(*own, col(Integration.retry_at) > present)
    found: datetime | None = await session.scalar(latest)
    return found
