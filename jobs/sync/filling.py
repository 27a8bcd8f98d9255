"""Meetings that came before the contact of who takes part: they are linked by the next run (decision 1132)."""

from datetime import timedelta

from contract.integrations import IntegrationStatus
from jobs.sync.again import fill
from jobs.sync.events import synchronised
from jobs.sync.lifecycle import Begun
from jobs.sync.rules import rules_of
from jobs.work import Run
from storage.base import FIRST_ID, now
from storage.queries import integrations, sync
from storage.tables import Integration, SyncRun

_MARGIN = timedelta(minutes=10)
"""How long before the beginning of the latest run contacts count as new: clocks differ, and commits come late."""


async def fill_all(run: Run, begun: Begun, *, is_thorough: bool) -> bool:
    """Link the connection's meetings without a contact, if there are new contacts; whether any was changed."""
    before = begun.integration.last_synced_at
    if before is None:
        return False
    async with run.reading() as session:
        if not is_thorough:
            # What became a contact while the latest run was under way it may have passed by then (decision 1167).
            before = min(before, await integrations.latest_start(session, begun.integration.id) or before)
            if not await sync.has_new_contacts(session, before - _MARGIN):
                return False
    after: str | None = FIRST_ID
    has_changed = False
    while after is not None:  # a transaction for each batch
        async with run.writing() as session:
            policy = await sync.lock(session)
            integration = await session.find(Integration, id=begun.integration.id, lock=True)
            if integration is None or integration.status != IntegrationStatus.ACTIVE.value:
                break
            connection, rules = await rules_of(session, integration, policy, now())
            after, outcome = await fill(session, connection, rules, after, now())
            current = await session.find(SyncRun, id=begun.run.id)
            if current is not None and outcome.updated:
                await session.update(current, updated=current.updated + len(outcome.updated))
            await synchronised(session, integration, begun.run.id, outcome)
            has_changed = has_changed or bool(outcome.updated)
    return has_changed
