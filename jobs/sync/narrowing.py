"""Shows less of what is stored, at once, where the owner or the policy says so, of connections that rest too."""

from collections.abc import Sequence

from contract.integrations import COMPLETE, VISIBILITY_WIDTH, IntegrationStreamKind, SyncVisibility, narrower, wider
from jobs.sync.again import narrow
from jobs.sync.events import synchronised
from jobs.sync.kept import narrow_kept
from jobs.sync.mail_leaving import narrow_mail
from jobs.sync.rules import effective, rules_of
from jobs.work import Run
from storage.base import FIRST_ID, now
from storage.queries import integrations, sync
from storage.tables import Integration, SyncStream


async def narrow_unread(run: Run, integration_id: str) -> None:
    """Show less of a connection that is not read now, or not yet (decision 1130)."""
    async with run.reading() as session:
        integration = await session.find(Integration, id=integration_id)
        if integration is None or integration.status not in COMPLETE:
            return
        visibility = effective(integration, await integrations.policy(session))
        streams = await sync.streams(session, integration_id)
    await narrow_all(run, integration, streams, visibility, run.job_id)


async def narrow_all(
    run: Run, integration: Integration, streams: Sequence[SyncStream], visibility: SyncVisibility, request_id: str
) -> None:
    """Keep no more of what the streams brought than the visibility allows, in batches; nothing where that holds."""
    if VISIBILITY_WIDTH[SyncVisibility(integration.shown)] <= VISIBILITY_WIDTH[visibility]:
        return
    widest = visibility
    for stream in streams:
        after: str | None = FIRST_ID
        while after is not None:  # a transaction for each batch
            after, shown = await _batch(run, integration.id, stream, after, request_id)
            # Who allowed more meanwhile has part of it be shown as before (decision 1166).
            widest = wider(widest, shown)
    widest = wider(widest, await narrow_kept(run, integration.id, request_id))
    async with run.writing() as session:
        current = await session.find(Integration, id=integration.id, lock=True)
        if current is not None and current.status in COMPLETE:
            await session.update(current, shown=narrower(SyncVisibility(current.shown), widest).value)


async def _batch(
    run: Run, integration_id: str, stream: SyncStream, after: str, request_id: str
) -> tuple[str | None, SyncVisibility]:
    """The last item of a batch behind this one, and what it shows by now; none where the connection is being removed.

    Without a last item there was none, either.
    """
    async with run.writing() as session:
        policy = await sync.lock(session)
        integration = await session.find(Integration, id=integration_id, lock=True)
        if integration is None or integration.status not in COMPLETE:
            return None, SyncVisibility.NOTHING
        connection, rules = await rules_of(session, integration, policy, now())
        if stream.kind == IntegrationStreamKind.MAIL:
            last, outcome = await narrow_mail(session, connection, stream.id, after, now())
        else:
            last, outcome = await narrow(session, connection, rules, stream.id, after, now())
        await synchronised(session, integration, request_id, outcome, kind=stream.kind)
        return last, connection.visibility
