"""Tells of edits to the demo's deals, so that their timelines have something to show."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlmodel import col

from contract.timeline import as_told
from storage.new_rows import new_row
from storage.tables import Deal, RecordChange
from storage.tenancy.sessions import TenantSession

_SHARE_BEFORE = 2
"""The value that a deal is told to have had before was its present one, divided by this."""


async def add_history(session: TenantSession, present: datetime, owners: Sequence[str]) -> None:
    """Tell of every second deal that its value was raised and its closing day put off, between its making and now."""
    wanted = select(col(Deal.id), col(Deal.value), col(Deal.close_date), col(Deal.created_at), col(Deal.updated_at))
    rows = await session.rows(wanted.where(col(Deal.org_id) == session.org_id).order_by(col(Deal.id)))
    told = [row for row in rows[::2] if row.value is not None and row.close_date is not None]
    changes = [
        new_row(
            RecordChange,
            subject_kind="deal",
            subject_id=row.id,
            at=min(row.created_at + (row.updated_at - row.created_at) / 2, present),
            actor=owners[number % len(owners)],
            type="deal_updated",
            fields={
                "value": [as_told(row.value / _SHARE_BEFORE), as_told(row.value)],
                "close_date": [as_told(row.close_date - timedelta(days=14)), as_told(row.close_date)],
            },
        )
        for number, row in enumerate(told)
    ]
    if changes:
        await session.insert(*changes)
