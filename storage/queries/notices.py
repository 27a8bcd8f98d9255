"""Statements on providers' notices: whose they are, what they are about, and the channels that they come by."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select, update
from sqlmodel import col

from contract.integrations import IntegrationStatus
from storage.base import as_uuid
from storage.new_rows import new_row
from storage.queries.list_conditions import among
from storage.tables import Integration, IntegrationAccount, QueuedJob, StreamWatch, SyncStream
from storage.tenancy.sessions import TenantSession


@dataclass(frozen=True, slots=True)
class Lead:
    """A connection of an account that a notice names."""

    org_id: str
    integration_id: str


async def leads(session: TenantSession, provider: str, keys: Collection[str]) -> list[Lead]:
    """The connections of the account that one of these keys stands for, in all organizations."""
    own = col(IntegrationAccount.provider) == provider, col(IntegrationAccount.account_key).in_(keys)
    columns = col(IntegrationAccount.org_id), col(IntegrationAccount.integration_id)
    rows = await session.rows(select(*columns).where(*own).order_by(*columns))
    return [Lead(row.org_id, row.integration_id) for row in rows]


async def remember_account(session: TenantSession, integration: Integration, key: str) -> None:
    """Have notices about the account lead to this connection."""
    await forget_account(session, integration.id)
    await session.insert(
        new_row(
            IntegrationAccount,
            org_id=session.org_id,
            integration_id=integration.id,
            provider=integration.provider,
            account_key=key,
        )
    )


async def forget_account(session: TenantSession, integration_id: str) -> None:
    """Have notices lead to this connection no more."""
    own = col(IntegrationAccount.org_id) == session.org_id, col(IntegrationAccount.integration_id) == integration_id
    await session.execute(delete(IntegrationAccount).where(*own))


async def watch(session: TenantSession, watch_id: str) -> StreamWatch | None:
    """The channel that a provider calls so."""
    canonical = as_uuid(watch_id)
    return None if canonical is None else await session.find(StreamWatch, id=canonical)


async def watches(session: TenantSession, integration_id: str) -> Sequence[StreamWatch]:
    """The channels of a connection, the oldest first."""
    own = col(StreamWatch.org_id) == session.org_id, col(StreamWatch.integration_id) == integration_id
    return await session.find_all(select(StreamWatch).where(*own).order_by(col(StreamWatch.id)))


async def watched(session: TenantSession, ids: Collection[str], present: datetime) -> set[str]:
    """Those of the connections that are read, of which a provider tells by a channel that holds."""
    active = select(col(Integration.id)).where(
        col(Integration.org_id) == session.org_id, col(Integration.status) == IntegrationStatus.ACTIVE.value
    )
    own = col(StreamWatch.org_id) == session.org_id, among(col(StreamWatch.integration_id), ids)
    holds = col(StreamWatch.sealed).is_not(None), col(StreamWatch.expires_at) > present
    read = col(StreamWatch.integration_id).in_(active)
    rows = await session.rows(select(col(StreamWatch.integration_id)).where(*own, *holds, read).distinct())
    return {row.integration_id for row in rows}


async def active_of(session: TenantSession, ids: Collection[str], providers: Collection[str]) -> set[str]:
    """Those of the connections that are to these providers, and read."""
    if not providers:
        return set()
    own = col(Integration.org_id) == session.org_id, among(col(Integration.id), ids)
    read = col(Integration.status) == IntegrationStatus.ACTIVE.value, among(col(Integration.provider), providers)
    return {row.id for row in await session.rows(select(col(Integration.id)).where(*own, *read))}


async def replace_watches(session: TenantSession, ids: Collection[str], moment: datetime) -> None:
    """Have these channels end then, since another one has taken their place."""
    own = col(StreamWatch.org_id) == session.org_id, among(col(StreamWatch.id), ids)
    await session.execute(update(StreamWatch).where(*own, col(StreamWatch.ends_at).is_(None)).values(ends_at=moment))


async def stream_named(session: TenantSession, integration_id: str, kind: str, name: str) -> SyncStream | None:
    """The stream of a connection that the provider calls so."""
    return await session.find(SyncStream, integration_id=integration_id, kind=kind, external_id=name)


async def streams_of_kind(session: TenantSession, integration_id: str, kind: str) -> Sequence[SyncStream]:
    """The streams of a kind that a connection follows."""
    own = col(SyncStream.org_id) == session.org_id, col(SyncStream.integration_id) == integration_id
    followed = col(SyncStream.kind) == kind, col(SyncStream.enabled).is_(True)
    return await session.find_all(select(SyncStream).where(*own, *followed).order_by(col(SyncStream.id)))


async def note(session: TenantSession, stream_ids: Collection[str], moment: datetime) -> None:
    """The provider told of changes to these streams."""
    own = col(SyncStream.org_id) == session.org_id, among(col(SyncStream.id), stream_ids)
    await session.execute(update(SyncStream).where(*own).values(noticed_at=moment))


async def taken_up(session: TenantSession, stream: SyncStream) -> None:
    """The stream was read since the provider told of a change, unless it has told of another one meanwhile."""
    own = col(SyncStream.org_id) == session.org_id, col(SyncStream.id) == stream.id
    await session.execute(
        update(SyncStream).where(*own, col(SyncStream.noticed_at) == stream.noticed_at).values(noticed_at=None)
    )


async def is_due(session: TenantSession, job_id: str, present: datetime) -> bool:
    """Says whether the job runs from now on in any case: it is due and nobody has it, or runs once more."""
    queued = await session.find(QueuedJob, job_id=job_id)
    if queued is None:
        return False
    return queued.again or (queued.holder is None and queued.due_at <= present)
