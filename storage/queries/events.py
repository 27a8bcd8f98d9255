"""Statements on the change log: what came after a place in it, and how far it goes."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, Select, bindparam, select
from sqlmodel import col

from storage.prepared import ORGANIZATION
from storage.sessions import TenantSession
from storage.tables import Event, EventCounter

BATCH = 50
"""The number of events that are read at a time."""


async def after(session: TenantSession, sequence: int) -> Sequence[Any]:
    """The next events of the log, as far as one batch goes."""

    def build() -> Select[Any]:
        after = col(Event.sequence) > bindparam("after", type_=BigInteger)
        statement = select(
            col(Event.id),
            col(Event.sequence),
            col(Event.type),
            col(Event.area),
            col(Event.actor),
            col(Event.occurred_at),
            col(Event.request_id),
            col(Event.data),
        )
        return statement.where(col(Event.org_id) == ORGANIZATION, after).order_by(col(Event.sequence)).limit(BATCH)

    return await session.fetch("events_after", build, after=sequence)


async def last_sequence(session: TenantSession) -> int:
    """The sequence of the newest event."""
    found = await session.scalar(select(col(EventCounter.last)).where(col(EventCounter.org_id) == session.org_id))
    return found or 0
