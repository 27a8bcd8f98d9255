"""Statements on activities: the message that is there already, and the reminders that are due."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select, update
from sqlmodel import col

from storage.base import now
from storage.expressions import AnySelect
from storage.rows import ActivityRow
from storage.tables import Activity
from storage.tenancy.sessions import TenantSession

_IS_OPEN = (col(Activity.remind_at).is_not(None), col(Activity.completed_at).is_(None))
"""As the partial index has it."""


async def of_message(session: TenantSession, message_id: str) -> str | None:
    """The identifier of the activity with this Message-ID, which is kept from being deleted meanwhile."""
    own = col(Activity.org_id) == session.org_id, col(Activity.message_id) == message_id
    found: str | None = await session.scalar(select(col(Activity.id)).where(*own).with_for_update(read=True))
    return found


async def take_due(session: TenantSession, moment: datetime, size: int) -> Sequence[ActivityRow]:
    """So many of the open tasks whose reminders are due, the earliest first; from now on they have none."""
    own = col(Activity.org_id) == session.org_id
    wanted: AnySelect = (
        select(col(Activity.id), col(Activity.owner_id), col(Activity.remind_at))
        .add_columns(col(Activity.account_id), col(Activity.deal_id), col(Activity.contact_id), col(Activity.lead_id))
        .where(own, *_IS_OPEN, col(Activity.remind_at) <= moment)
        .order_by(col(Activity.remind_at), col(Activity.id))
        .limit(size)
        .with_for_update()
    )
    rows = await session.rows(wanted)
    if rows:
        await session.execute(
            update(Activity)
            .where(own, col(Activity.id).in_([row.id for row in rows]))
            .values(remind_at=None, version=col(Activity.version) + 1, updated_at=now())
        )
    return rows


async def next_reminder(session: TenantSession) -> datetime | None:
    """Says when the organization's next reminder is due; None where there is none."""
    own = col(Activity.org_id) == session.org_id
    earliest: datetime | None = await session.scalar(select(func.min(col(Activity.remind_at))).where(own, *_IS_OPEN))
    return earliest
