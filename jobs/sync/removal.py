"""Removing a connection that was disconnected: its items in batches, and what it brought where that is wanted."""

import asyncio
from contextlib import suppress

from cryptography.exceptions import InvalidTag

from contract.integrations import IntegrationProvider, IntegrationStreamKind
from jobs.sync.events import synchronised
from jobs.sync.mail_leaving import let_go
from jobs.sync.meetings import Meetings
from jobs.sync.recordings import keep_as_own
from jobs.sync.rules import rules_of
from jobs.sync.sources import opened_revocation
from jobs.sync.watches import stop_at_the_end
from jobs.work import Run, work
from providers.accounts.calls import Refused
from providers.accounts.ports import AccountError
from storage.base import FIRST_ID, now
from storage.queries import jobs, sync
from storage.tables import Integration, SyncItem, SyncStream

KIND = "integration_removal"
_TRIES, _PAUSE = 3, 0.5


@work(KIND, seconds=3_600.0)
async def remove(
    run: Run, integration_id: str, delete_synced: bool = False, provider: str = "", revoking: str | None = None
) -> None:
    """Delete the connection with all that it followed; its meetings stay, or go with `delete_synced`.

    `revoking` is the token with which the provider is told to forget the consent, sealed, and gone when the job ends.
    """
    if revoking is not None:
        await _revoke(run, integration_id, provider, revoking)
    async with run.reading() as session:
        streams = await sync.streams(session, integration_id)
    for stream in streams:
        while await _batch(run, integration_id, stream, delete_synced=delete_synced):
            pass
    async with run.finishing() as session:
        await sync.lock(session)
        integration = await session.find(Integration, id=integration_id, lock=True)
        if integration is not None:
            await session.delete(integration)
        job = await jobs.find(session, run.job_id, lock=True)
        if job is not None and revoking is not None:
            await session.update(job, arguments={**job.arguments, "revoking": None})


async def _revoke(run: Run, integration_id: str, provider: str, revoking: str) -> None:
    """Tell the provider, in three tries: what it does not take back ends by itself there (decision 579)."""
    account = run.ports.accounts.providers.get(IntegrationProvider(provider))
    try:
        token = opened_revocation(run.ports.pepper, integration_id, revoking)
    except InvalidTag:
        return
    if account is None:
        return
    with suppress(AccountError):
        token = await stop_at_the_end(run, account, integration_id, token)
    for number in range(1, _TRIES + 1):
        try:
            await account.oauth.revoked(token)
        except Refused:
            return  # it is not accepted any more as it is
        except AccountError:
            await asyncio.sleep(_PAUSE * number)
        else:
            return


async def _batch(run: Run, integration_id: str, stream: SyncStream, *, delete_synced: bool) -> bool:
    """A batch in a transaction; whether there was any. What another connection shows goes on with that one."""
    async with run.writing() as session:
        policy = await sync.lock(session)
        integration = await session.find(Integration, id=integration_id, lock=True)
        items = await sync.items_behind(session, stream.id, FIRST_ID)
        if integration is None or not items:
            return False
        ids = [item.id for item in items]
        rows = await sync.occurrences(session, "item_id", ids)
        if stream.kind == IntegrationStreamKind.MAIL:
            outcome = await let_go(session, rows, deletes=delete_synced)
            await sync.delete_each(session, SyncItem, ids)
            await synchronised(session, integration, run.job_id, outcome, kind=stream.kind)
            return True
        connection, rules = await rules_of(session, integration, policy, now())
        if stream.kind == IntegrationStreamKind.RECORDINGS and not delete_synced:
            await keep_as_own(session, [r.meeting_id for r in rows if r.meeting_id])
        shared = await sync.shown_elsewhere(session, integration_id, [r.meeting_id for r in rows if r.meeting_id])
        kept = {each.meeting_id for each in await sync.worked_on(session, [r.meeting_id for r in rows if r.meeting_id])}
        lost = [row for row in rows if row.meeting_id in shared or (delete_synced and row.meeting_id not in kept)]
        meetings = Meetings(session, connection, rules, now())
        await meetings.find([], lost)
        outcome = await meetings.settle([], lost)
        await sync.delete_each(session, SyncItem, ids)
        await synchronised(session, integration, run.job_id, outcome)
        return True
