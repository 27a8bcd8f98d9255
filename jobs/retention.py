"""Forgets what is older than the operator has it kept: change log, stage and health history, outreach that is over."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from contract.retention import Retention
from storage.base import now
from storage.database import Database
from storage.expressions import AnyEntity
from storage.queries import retention
from storage.tables import Enrollment, HealthSnapshot, StageChange
from storage.tenancy.sessions import TenantSession

Find = Callable[[TenantSession, datetime], Awaitable[list[str]]]

_BY_ROW: Final[tuple[tuple[str, AnyEntity, Find], ...]] = (
    ("stage_changes", StageChange, retention.old_stage_changes),
    ("health", HealthSnapshot, retention.old_snapshots),
    ("outreach", Enrollment, retention.old_enrollments),
)


async def prune(database: Database, org_id: str, kept: Retention) -> bool:
    """Forget a batch of each kind that is kept for a time; whether there were any. Reads alone where there are none."""
    moment = now()
    found = [await _forget_events(database, org_id, moment - timedelta(days=kept.events))] if kept.events else []
    for name, model, find in _BY_ROW:  # three, each a table of its own
        if days := getattr(kept, name):
            found.append(await _forget(database, org_id, model, find, moment - timedelta(days=days)))
    return any(found)


async def _forget_events(database: Database, org_id: str, before: datetime) -> bool:
    async with database.reading(org_id) as session:
        last = await retention.old_events(session, before)
    if last is not None:
        async with database.writing(org_id) as session:
            await retention.forget_events(session, *last)
    return last is not None


async def _forget(database: Database, org_id: str, model: AnyEntity, find: Find, before: datetime) -> bool:
    async with database.reading(org_id) as session:
        ids = await find(session, before)
    if ids:
        async with database.writing(org_id) as session:
            await retention.forget(session, model, ids)
    return bool(ids)
