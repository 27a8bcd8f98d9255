"""Statements on webhooks: who has to be told what, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import BigInteger, bindparam, delete, func, select, true
from sqlmodel import col

from contract.event_types import WebhookEnd
from contract.limits import DELIVERIES_KEPT
from contract.vocabulary import SYSTEM_ACTOR
from storage import tables as t  # each is loaded when a statement is made of it (decision 1183)
from storage.base import as_uuid
from storage.database import Database
from storage.expressions import AnyColumn, AnySelect
from storage.queries.filtering import in_list
from storage.queries.records import append_event
from storage.rows import WebhookDeliveryRow
from storage.statements import ORG_PARAM
from storage.tables import Event, EventCounter, WebhookWatch
from storage.tenancy.sessions import TenantSession


async def organizations(session: TenantSession) -> Sequence[str]:
    """The organizations with an active webhook (a session of the directory)."""
    rows = await session.fetch("webhook_organizations", lambda: select(col(WebhookWatch.org_id)).distinct())
    return [row.org_id for row in rows]


async def behind(session: TenantSession) -> list[str]:
    """The active webhooks that the organization's log has gone past."""
    rows = await session.fetch("webhooks_behind", _behind)
    return [row.id for row in rows]


def _behind() -> AnySelect:
    return (
        select(col(t.Webhook.id))
        .join(EventCounter, col(EventCounter.org_id) == col(t.Webhook.org_id))
        .where(
            col(t.Webhook.org_id) == ORG_PARAM,
            col(t.Webhook.active) == true(),
            col(t.Webhook.cursor) < col(EventCounter.last),
        )
    )


async def undelivered_since(session: TenantSession) -> datetime | None:
    """Says when the first event happened that an active webhook has not got yet; None where each has all."""
    rows = await session.fetch("webhooks_undelivered", _undelivered)
    return next((row.first for row in rows), None)


def _undelivered() -> AnySelect:
    """The sequence of an organization has no gaps, so that the next event of each is found by its number."""
    is_next = col(Event.sequence) == col(t.Webhook.cursor) + 1
    return (
        select(func.min(col(Event.occurred_at)).label("first"))
        .select_from(t.Webhook)
        .join(Event, (col(Event.org_id) == col(t.Webhook.org_id)) & is_next)
        .where(col(t.Webhook.org_id) == ORG_PARAM, col(t.Webhook.active) == true())
    )


async def find(session: TenantSession, webhook_id: str, *, lock: bool = False) -> t.Webhook | None:
    """The webhook; None where the organization has none such."""
    canonical = as_uuid(webhook_id)
    return None if canonical is None else await session.find(t.Webhook, id=canonical, lock=lock)


async def number(session: TenantSession) -> int:
    """Counts the webhooks that the organization has."""
    counted: int = await session.scalar(
        select(func.count()).select_from(t.Webhook).where(col(t.Webhook.org_id) == session.org_id)
    )
    return counted


async def switch_off(session: TenantSession, webhook: t.Webhook, reason: WebhookEnd, **details: object) -> None:
    """Tell the receiver nothing more, for good, and say so in the change log; the webhook is locked."""
    await session.update(webhook, active=False)
    await session.execute(
        delete(WebhookWatch).where(
            col(WebhookWatch.org_id) == session.org_id, col(WebhookWatch.webhook_id) == webhook.id
        )
    )
    data = {"webhook_id": webhook.id, "reason": reason.value, **details}
    await append_event(session, type="webhook_disabled", area="admin", actor=SYSTEM_ACTOR, request_id=None, data=data)


async def lock_of_maker(session: TenantSession, subject: str) -> Sequence[t.Webhook]:
    """The active webhooks that the member made, locked: before any event is told, as every write does (1200)."""
    return await _active(session, col(t.Webhook.created_by) == subject)


async def end_of_maker(session: TenantSession, webhooks: Sequence[t.Webhook], reason: WebhookEnd) -> None:
    """Switch off the webhooks of a member, which are locked (decision 155)."""
    for webhook in webhooks:
        await switch_off(session, webhook, reason)


async def end_before(database: Database, org_id: str, moment: datetime, *, dry: bool) -> int:
    """Switch off the organization's webhooks that were made before then; how many. A `dry` run only counts."""
    async with database.writing(org_id) as session:
        found = await _active(session, col(t.Webhook.created_at) < moment)
        for webhook in () if dry else found:
            await switch_off(session, webhook, WebhookEnd.RESTORED)
    return len(found)


async def _active(session: TenantSession, condition: AnyColumn) -> Sequence[t.Webhook]:
    """Reads the active ones, 20 at most (WEBHOOKS_MAX); locked, each after the one before it."""
    statement = select(t.Webhook).where(
        col(t.Webhook.org_id) == session.org_id, col(t.Webhook.active) == true(), condition
    )
    return await session.find_all(statement.order_by(col(t.Webhook.id)).with_for_update())


async def log(session: TenantSession, delivery: t.WebhookDelivery) -> None:
    """Keep what came of an attempt, and of the webhook's attempts the latest only."""
    await session.insert(delivery)
    own = (col(t.WebhookDelivery.org_id) == session.org_id, col(t.WebhookDelivery.webhook_id) == delivery.webhook_id)
    newest_first = select(col(t.WebhookDelivery.id)).where(*own).order_by(col(t.WebhookDelivery.id).desc())
    first_too_many = await session.scalar(newest_first.offset(DELIVERIES_KEPT).limit(1))
    if first_too_many is not None:
        await session.execute(delete(t.WebhookDelivery).where(*own, col(t.WebhookDelivery.id) <= first_too_many))


async def deliveries(
    session: TenantSession, webhook_ids: Sequence[str], first: int
) -> dict[str, list[WebhookDeliveryRow]]:
    """The latest attempts of each webhook, newest first."""

    def build() -> AnySelect:
        newest_first = col(t.WebhookDelivery.id).desc()
        rank = func.row_number().over(partition_by=col(t.WebhookDelivery.webhook_id), order_by=newest_first)
        columns: list[AnyColumn] = [
            col(t.WebhookDelivery.webhook_id),
            col(t.WebhookDelivery.id),
            col(t.WebhookDelivery.event_id),
            col(t.WebhookDelivery.attempt),
            col(t.WebhookDelivery.status_code),
            col(t.WebhookDelivery.error),
            col(t.WebhookDelivery.at),
            col(t.WebhookDelivery.delivered),
            rank.label("rank"),
        ]
        own = select(*columns).where(col(t.WebhookDelivery.org_id) == ORG_PARAM)
        ranked = own.where(in_list(col(t.WebhookDelivery.webhook_id), "ids")).subquery()
        return select(ranked).where(ranked.c.rank <= bindparam("size", type_=BigInteger)).order_by(ranked.c.rank)

    found: dict[str, list[WebhookDeliveryRow]] = {i: [] for i in webhook_ids}
    for row in await session.fetch("webhook_deliveries", build, ids=list(webhook_ids), size=first):
        found[row.webhook_id].append(row)
    return found
