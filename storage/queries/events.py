"""Statements on the change log: what came after a place in it, and how far it goes."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, ColumnElement, bindparam, func, select
from sqlmodel import col

from storage.expressions import AnyColumn, AnySelect
from storage.rows import EventRow
from storage.statements import ORG_PARAM
from storage.tables import Event, EventCounter
from storage.tenancy.sessions import TenantSession

BATCH = 50
"""The number of events that are read at a time."""


async def after(session: TenantSession, sequence: int) -> Sequence[EventRow]:
    """The next events of the log, as far as one batch goes."""

    def build() -> AnySelect:
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
        return statement.where(col(Event.org_id) == ORG_PARAM, after).order_by(col(Event.sequence)).limit(BATCH)

    return await session.fetch("events_after", build, after=sequence)


def position_of(org_id: AnyColumn) -> ColumnElement[int]:
    """How far the log of an organization goes, where the directory looks for who belongs to it; PostgreSQL's alone."""
    return func.crm_position(org_id, type_=BigInteger).label("position")


async def last_sequence(session: TenantSession) -> int:
    """The sequence of the newest event."""
    found = await session.scalar(select(col(EventCounter.last)).where(col(EventCounter.org_id) == session.org_id))
    return found or 0
