"""Meetings that stay though no calendar shows them any more, as a member worked on them: they show less, too, at once.

Nothing says any more which connection brought one (decision 1165): what a member's settings narrow is found by whose
connection was the last to show it and by its source, and what the organization's policy narrows is all of them.
"""

from contract.integrations import COMPLETE, VISIBILITY_WIDTH, SyncVisibility, wider
from contract.vocabulary import SYSTEM_ACTOR
from jobs.sync.events import synchronised
from jobs.sync.kept_back import keep_less
from jobs.sync.rules import effective, source_of
from jobs.sync.writing import Outcome
from jobs.work import Run, work
from storage.base import FIRST_ID, now
from storage.new_rows import new_row
from storage.queries import sync
from storage.queries.records import append_events
from storage.tables import Event, Integration

KIND = "meetings_kept"


async def narrow_kept(run: Run, integration_id: str, request_id: str) -> SyncVisibility:
    """Keep less of the meetings that stay of a connection whose owner shows less by now, in batches.

    Returns the most that was allowed meanwhile (decision 1166).
    """
    widest = SyncVisibility.NOTHING
    after: str | None = FIRST_ID
    while after is not None:  # a transaction for each batch
        async with run.writing() as session:
            policy = await sync.lock(session)
            integration = await session.find(Integration, id=integration_id, lock=True)
            if integration is None or integration.status not in COMPLETE:
                return widest
            widest = wider(widest, effective(integration, policy))
            chosen = SyncVisibility(integration.visibility)
            if VISIBILITY_WIDTH[chosen] >= VISIBILITY_WIDTH[SyncVisibility(integration.shown)]:
                return widest  # it is the policy that says so, and all of them are narrowed by it
            source = source_of(integration.provider).value
            known = await sync.kept(session, after, source=source, owner_id=integration.owner_id)
            ids = await keep_less(session, known, chosen, now()) if known else []
            await synchronised(session, integration, request_id, Outcome(updated=ids))
            after = known[-1].id if known else None
    return widest


@work(KIND)
async def narrow_by_policy(run: Run) -> None:
    """Keep of every meeting that stays no more than the organization's policy allows."""
    after: str | None = FIRST_ID
    while after is not None:  # a transaction for each batch
        async with run.writing() as session:
            policy = await sync.lock(session)
            known = await sync.kept(session, after)
            widest = SyncVisibility(policy.widest_visibility)
            ids = await keep_less(session, known, widest, now()) if known else []
            if ids:
                await append_events(session, [_told(each, run.job_id) for each in ids])
            after = known[-1].id if known else None


def _told(meeting_id: str, request_id: str) -> Event:
    data = {"meeting_id": meeting_id, "changed": ["sync"]}
    return new_row(
        Event, sequence=0, type="meeting_updated", area="crm", actor=SYSTEM_ACTOR, request_id=request_id, data=data
    )
