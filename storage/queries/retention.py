"""Statements on what is kept for a time: the beginning of the change log, and what newer rows took the place of."""

from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile

from sqlalchemy import and_, delete, func, or_, select, true
from sqlalchemy.orm import aliased
from sqlmodel import col

from contract.outreach_vocabulary import CampaignStatus, EnrollmentStatus
from storage.base import first_id_at
from storage.expressions import AnyColumn, AnyEntity
from storage.tables import Campaign, Enrollment, Event, EventCounter, HealthSnapshot, StageChange, Webhook
from storage.tenancy.sessions import TenantSession

_BATCH = 1_000
_OVER = (CampaignStatus.COMPLETED.value, CampaignStatus.ARCHIVED.value)
_DONE = (EnrollmentStatus.COMPLETED.value, EnrollmentStatus.REPLIED.value, EnrollmentStatus.FAILED.value)
"""Who bounced or unsubscribed stays known: nobody is to write there again (decision 1007)."""


async def forgotten(session: TenantSession) -> EventCounter | None:
    """The counter of the log, whose `forgotten` says how much of the beginning is there no more."""
    return await session.find(EventCounter)


async def old_events(session: TenantSession, moment: datetime) -> tuple[int, datetime] | None:
    """The last number of a batch from the log's beginning that are older, and when the newest was; None for no batch.

    What an active webhook has still to tell stays, however old it is.
    """
    active = col(Webhook.org_id) == session.org_id, col(Webhook.active) == true()
    first = select(func.min(col(Webhook.cursor))).where(*active).scalar_subquery()
    told = or_(first.is_(None), col(Event.sequence) <= first)
    statement = select(col(Event.sequence), col(Event.occurred_at)).where(col(Event.org_id) == session.org_id, told)
    rows = await session.rows(statement.order_by(col(Event.sequence)).limit(_BATCH))
    old = list(takewhile(lambda row: row.occurred_at < moment, rows))
    return (old[-1].sequence, max(row.occurred_at for row in old)) if old else None


async def forget_events(session: TenantSession, last: int, moment: datetime) -> None:
    """Delete the log up to an event, and keep in mind how far, and until when, that is."""
    counter = await session.find(EventCounter, lock=True)
    if counter is None:
        return
    await session.execute(delete(Event).where(col(Event.org_id) == session.org_id, col(Event.sequence) <= last))
    until = max(moment, counter.forgotten_at or moment)
    await session.update(counter, forgotten=max(last, counter.forgotten or 0), forgotten_at=until)


async def old_stage_changes(session: TenantSession, moment: datetime) -> list[str]:
    """A batch of the moves that are older, but for each deal's last one, which says since when it stands there."""
    return await _superseded(session, StageChange, "deal_id", "at", moment)


async def old_snapshots(session: TenantSession, moment: datetime) -> list[str]:
    """A batch of the snapshots that are older, but for each account's last one, which is its health."""
    return await _superseded(session, HealthSnapshot, "account_id", "snapshot_at", moment)


async def _superseded(session: TenantSession, model: AnyEntity, parent: str, at: str, moment: datetime) -> list[str]:
    newer: AnyEntity = aliased(model)
    mine, its = getattr(model, at), getattr(newer, at)
    same = and_(newer.org_id == session.org_id, getattr(newer, parent) == getattr(model, parent))
    later = or_(its > mine, and_(its == mine, newer.id > model.id))
    return await _older(session, model, mine, moment, select(newer.id).where(same, later).exists())


async def old_enrollments(session: TenantSession, moment: datetime) -> list[str]:
    """A batch of the recipients who are done with, in campaigns that have been over since then."""
    its = col(Campaign.org_id) == session.org_id, col(Campaign.id) == col(Enrollment.campaign_id)
    over = select(col(Campaign.id)).where(*its, col(Campaign.status).in_(_OVER), col(Campaign.updated_at) < moment)
    is_done = col(Enrollment.status).in_(_DONE)
    return await _older(session, Enrollment, col(Enrollment.enrolled_at), moment, is_done, over.exists())


async def _older(
    session: TenantSession, model: AnyEntity, at: AnyColumn, moment: datetime, *conditions: AnyColumn
) -> list[str]:
    """A batch of the rows that were made before a moment, found by the age in their identifiers."""
    old = model.org_id == session.org_id, model.id < first_id_at(moment), at < moment
    rows = await session.rows(select(model.id).where(*old, *conditions).order_by(model.id).limit(_BATCH))
    return [row.id for row in rows]


async def forget(session: TenantSession, model: AnyEntity, ids: Sequence[str]) -> None:
    """Delete these rows with what belongs to them."""
    await session.execute(delete(model).where(model.org_id == session.org_id, model.id.in_(ids)))
