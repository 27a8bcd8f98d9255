"""Statements on webhooks: who has to be told what, and what came of it."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import BigInteger, bindparam, delete, func, select, true
from sqlmodel import col

from contract.event_types import WebhookEnd
from contract.limits import DELIVERIES_KEPT
from contract.vocabulary import SYSTEM_ACTOR
from storage.base import as_uuid
from storage.database import Database
from storage.expressions import AnyColumn, AnySelect
from storage.queries.filtering import in_list
from storage.queries.records import append_event
from storage.rows import WebhookDeliveryRow
from storage.statements import ORG_PARAM
from storage.tables import Event, EventCounter, Webhook, WebhookDelivery, WebhookWatch
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
        select(col(Webhook.id))
        .join(EventCounter, col(EventCounter.org_id) == col(Webhook.org_id))
        .where(
            col(Webhook.org_id) == ORG_PARAM,
            col(Webhook.active) == true(),
            col(Webhook.cursor) < col(EventCounter.last),
        )
    )


async def undelivered_since(session: TenantSession) -> datetime | None:
    """Says when the first event happened that an active webhook has not got yet; None where each has all."""
    rows = await session.fetch("webhooks_undelivered", _undelivered)
    return next((row.first for row in rows), None)


def _undelivered() -> AnySelect:
    """The sequence of an organization has no gaps, so that the next event of each is found by its number."""
    is_next = col(Event.sequence) == col(Webhook.cursor) + 1
    return (
        select(func.min(col(Event.occurred_at)).label("first"))
        .select_from(Webhook)
        .join(Event, (col(Event.org_id) == col(Webhook.org_id)) & is_next)
        .where(col(Webhook.org_id) == ORG_PARAM, col(Webhook.active) == true())
    )


async def find(session: TenantSession, webhook_id: str, *, lock: bool = False) -> Webhook | None:
    """The webhook; None where the organization has none such."""
    canonical = as_uuid(webhook_id)
    return None if canonical is None else await session.find(Webhook, id=canonical, lock=lock)


async def number(session: TenantSession) -> int:
    """Counts the webhooks that the organization has."""
    counted: int = await session.scalar(
        select(func.count()).select_from(Webhook).where(col(Webhook.org_id) == session.org_id)
    )
    return counted


async def switch_off(session: TenantSession, webhook: Webhook, reason: WebhookEnd, **details: object) -> None:
    """Tell the receiver nothing more, for good, and say so in the change log; the webhook is locked."""
    await session.update(webhook, active=False)
    await session.execute(
        delete(WebhookWatch).where(
            col(WebhookWatch.org_id) == session.org_id, col(WebhookWatch.webhook_id) == webhook.id
        )
    )
    data = {"webhook_id": webhook.id, "reason": reason.value, **details}
    await append_event(session, type="webhook_disabled", area="admin", actor=SYSTEM_ACTOR, request_id=None, data=data)


async def end_of_maker(session: TenantSession, subject: str, reason: WebhookEnd) -> None:
    """Switch off the webhooks that the member made in the organization (decision 155)."""
    for webhook in await _active(session, col(Webhook.created_by) == subject):
        await switch_off(session, webhook, reason)


async def end_before(database: Database, org_id: str, moment: datetime, *, dry: bool) -> int:
    """Switch off the organization's webhooks that were made before then; how many. A `dry` run only counts."""
    async with database.writing(org_id) as session:
        found = await _active(session, col(Webhook.created_at) < moment)
        for webhook in () if dry else found:
            await switch_off(session, webhook, WebhookEnd.RESTORED)
    return len(found)


async def _active(session: TenantSession, condition: AnyColumn) -> Sequence[Webhook]:
    """Reads the active ones, 20 at most (WEBHOOKS_MAX); locked, each after the one before it."""
    statement = select(Webhook).where(col(Webhook.org_id) == session.org_id, col(Webhook.active) == true(), condition)
    return await session.find_all(statement.order_by(col(Webhook.id)).with_for_update())


async def log(session: TenantSession, delivery: WebhookDelivery) -> None:
    """Keep what came of an attempt, and of the webhook's attempts the latest only."""
    await session.insert(delivery)
    own = (col(WebhookDelivery.org_id) == session.org_id, col(WebhookDelivery.webhook_id) == delivery.webhook_id)
    newest_first = select(col(WebhookDelivery.id)).where(*own).order_by(col(WebhookDelivery.id).desc())
    first_too_many = await session.scalar(newest_first.offset(DELIVERIES_KEPT).limit(1))
    if first_too_many is not None:
        await session.execute(delete(WebhookDelivery).where(*own, col(WebhookDelivery.id) <= first_too_many))


async def deliveries(
    session: TenantSession, webhook_ids: Sequence[str], first: int
) -> dict[str, list[WebhookDeliveryRow]]:
    """The latest attempts of each webhook, newest first."""

    def build() -> AnySelect:
        newest_first = col(WebhookDelivery.id).desc()
        rank = func.row_number().over(partition_by=col(WebhookDelivery.webhook_id), order_by=newest_first)
        columns: list[AnyColumn] = [
            col(WebhookDelivery.webhook_id),
            col(WebhookDelivery.id),
            col(WebhookDelivery.event_id),
            col(WebhookDelivery.attempt),
            col(WebhookDelivery.status_code),
            col(WebhookDelivery.error),
            col(WebhookDelivery.at),
            col(WebhookDelivery.delivered),
            rank.label("rank"),
        ]
        own = select(*columns).where(col(WebhookDelivery.org_id) == ORG_PARAM)
        ranked = own.where(in_list(col(WebhookDelivery.webhook_id), "ids")).subquery()
        return select(ranked).where(ranked.c.rank <= bindparam("size", type_=BigInteger)).order_by(ranked.c.rank)

    found: dict[str, list[WebhookDeliveryRow]] = {i: [] for i in webhook_ids}
    for row in await session.fetch("webhook_deliveries", build, ids=list(webhook_ids), size=first):
        found[row.webhook_id].append(row)
    return found
