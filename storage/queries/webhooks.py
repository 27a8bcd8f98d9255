"""Statements on webhooks: who has to be told what, and what came of it."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, Select, bindparam, delete, func, select, true
from sqlmodel import col

from contract.limits import DELIVERIES_KEPT
from storage.base import Identifier, as_uuid
from storage.prepared import ORGANIZATION
from storage.sessions import TenantSession
from storage.tables import EventCounter, Webhook, WebhookDelivery, WebhookWatch


async def organizations(session: TenantSession) -> Sequence[str]:
    """The organizations with an active webhook (a session of the directory)."""
    rows = await session.fetch("webhook_organizations", lambda: select(col(WebhookWatch.org_id)).distinct())
    return [row.org_id for row in rows]


async def behind(session: TenantSession) -> list[str]:
    """The active webhooks that the organization's log has gone past."""
    rows = await session.fetch("webhooks_behind", _behind)
    return [row.id for row in rows]


def _behind() -> Select[Any]:
    return (
        select(col(Webhook.id))
        .join(EventCounter, col(EventCounter.org_id) == col(Webhook.org_id))
        .where(
            col(Webhook.org_id) == ORGANIZATION,
            col(Webhook.active) == true(),
            col(Webhook.cursor) < col(EventCounter.last),
        )
    )


async def find(session: TenantSession, webhook_id: str, *, lock: bool = False) -> Webhook | None:
    """The webhook; None where the organization has none such."""
    canonical = as_uuid(webhook_id)
    return None if canonical is None else await session.find(Webhook, col(Webhook.id) == canonical, lock=lock)


async def number(session: TenantSession) -> int:
    """How many webhooks the organization has."""
    counted: int = await session.scalar(
        select(func.count()).select_from(Webhook).where(col(Webhook.org_id) == session.org_id)
    )
    return counted


async def unwatch(session: TenantSession, webhook_id: str) -> None:
    """The webhook is not active any more."""
    await session.execute(
        delete(WebhookWatch)
        .where(col(WebhookWatch.org_id) == session.org_id, col(WebhookWatch.webhook_id) == webhook_id)
        .execution_options(synchronize_session=False)
    )


async def log(session: TenantSession, delivery: WebhookDelivery) -> None:
    """Keep what came of an attempt, and of the webhook's attempts the latest only."""
    await session.insert(delivery)
    own = (col(WebhookDelivery.org_id) == session.org_id, col(WebhookDelivery.webhook_id) == delivery.webhook_id)
    newest_first = select(col(WebhookDelivery.id)).where(*own).order_by(col(WebhookDelivery.id).desc())
    first_too_many = await session.scalar(newest_first.offset(DELIVERIES_KEPT).limit(1))
    if first_too_many is not None:
        await session.execute(
            delete(WebhookDelivery)
            .where(*own, col(WebhookDelivery.id) <= first_too_many)
            .execution_options(synchronize_session=False)
        )


async def deliveries(session: TenantSession, webhook_id: str, first: int) -> Sequence[Any]:
    """The latest attempts, newest first."""

    def build() -> Select[Any]:
        sought = col(WebhookDelivery.webhook_id) == bindparam("webhook", type_=Identifier)
        columns: list[Any] = [
            col(WebhookDelivery.id),
            col(WebhookDelivery.event_id),
            col(WebhookDelivery.attempt),
            col(WebhookDelivery.status_code),
            col(WebhookDelivery.error),
            col(WebhookDelivery.at),
            col(WebhookDelivery.delivered),
        ]
        statement = select(*columns).where(col(WebhookDelivery.org_id) == ORGANIZATION, sought)
        return statement.order_by(col(WebhookDelivery.id).desc()).limit(bindparam("size", type_=BigInteger))

    return await session.fetch("webhook_deliveries", build, webhook=webhook_id, size=first)
