"""Meetings that came before the contact of who takes part: they are linked by the next run (decision 1132)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256

from contract.integrations import IntegrationStatus
from jobs.sync.again import fill
from jobs.sync.events import synchronised
from jobs.sync.lifecycle import Begun
from jobs.sync.rules import rules_of
from jobs.work import Run
from storage.base import FIRST_ID, now
from storage.bounded_cache import BoundedCache
from storage.queries import integrations, sync
from storage.tables import Integration, SyncRun
from storage.tenancy.sessions import TenantSession

_MARGIN = timedelta(minutes=10)
"""How long before the beginning of the latest run contacts count as new: clocks differ, and commits come late."""
_MANY = 500
"""Of more new contacts than that it is not remembered that meetings were matched with them."""
_looked: BoundedCache[str, tuple[datetime, bytes]] = BoundedCache(entries=10_000)
"""The contacts with which all of a connection's meetings were matched last: those since then, digested (1174)."""


async def look_first(run: Run, begun: Begun) -> None:
    """Note who is new as the very first run begins, which matches all that it makes with them (decision 1174)."""
    since = (begun.run.started_at or now()) - _MARGIN
    async with run.reading() as session:
        if await sync.has_items(session, begun.integration.id):  # it goes on from what another one has kept
            _looked.pop(begun.integration.id)
            return
        new = await sync.new_contacts(session, since, _MANY + 1)
    if len(new) <= _MANY:
        _looked.put(begun.integration.id, (since, _digest(new)))


async def fill_all(run: Run, begun: Begun, *, is_thorough: bool) -> bool:
    """Link the connection's meetings without a contact, if there are new contacts; whether any was changed."""
    mine, before = begun.integration.id, begun.integration.last_synced_at
    if before is None:
        if _looked.peek(mine) is not None:
            return False
        before, is_thorough = begun.run.started_at or now(), True  # an earlier try matched with whom there was then
    async with run.reading() as session:
        if not is_thorough:
            # What became a contact while the latest run was under way it may have passed by then (decision 1167).
            before = min(before, await integrations.latest_start(session, mine) or before)
        since = before - _MARGIN
        new = await sync.new_contacts(session, since, _MANY + 1)
        if not is_thorough and (not new or await _has_looked(session, mine, since)):
            return False
    is_whole, has_changed = await _fill(run, begun)
    if is_whole and len(new) <= _MANY:
        _looked.put(mine, (since, _digest(new)))
    return has_changed


async def _has_looked(session: TenantSession, integration_id: str, since: datetime) -> bool:
    """Says whether the meetings were matched with all that are new by now, and in the state in which they are."""
    known = _looked.get(integration_id)
    if known is None or known[0] > since:
        return False
    new = await sync.new_contacts(session, known[0], _MANY + 1)
    return len(new) <= _MANY and _digest(new) == known[1]


def _digest(contacts: Sequence[tuple[str, datetime]]) -> bytes:
    return sha256("".join(f"{contact_id}{moment.timestamp()}" for contact_id, moment in contacts).encode()).digest()


async def _fill(run: Run, begun: Begun) -> tuple[bool, bool]:
    """Link in batches; whether all meetings were looked at, and whether any was changed."""
    after: str | None = FIRST_ID
    has_changed = False
    while after is not None:  # a transaction for each batch
        async with run.writing() as session:
            policy = await sync.lock(session)
            integration = await session.find(Integration, id=begun.integration.id, lock=True)
            if integration is None or integration.status != IntegrationStatus.ACTIVE.value:
                return False, has_changed
            connection, rules = await rules_of(session, integration, policy, now())
            after, outcome = await fill(session, connection, rules, after, now())
            current = await session.find(SyncRun, id=begun.run.id)
            if current is not None and outcome.updated:
                await session.update(current, updated=current.updated + len(outcome.updated))
            await synchronised(session, integration, begun.run.id, outcome)
            has_changed = has_changed or bool(outcome.updated)
    return True, has_changed
