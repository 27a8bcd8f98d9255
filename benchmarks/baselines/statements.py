"""Builds the statements of both SQLModel contestants: entities with links to one joined, to many by a second select."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy import Select, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import joinedload, selectinload
from sqlmodel import col

from benchmarks.baselines.entities import (
    ORGANIZATION,
    Account,
    Activity,
    Deal,
    Event,
    EventCounter,
    HealthSnapshot,
)


def meetings(limit: int, offset: int, links: Sequence[str]) -> Select[Any]:
    """A page of the meetings, latest first, those without a time last."""
    return (
        select(Activity)
        .where(col(Activity.org_id) == ORGANIZATION, col(Activity.type) == "meeting")
        .order_by(col(Activity.due_at).desc().nulls_last(), col(Activity.created_at).desc(), col(Activity.id))
        .limit(limit)
        .offset(offset)
        .options(*(joinedload(getattr(Activity, link)) for link in links))
    )


def deals(limit: int, offset: int, links: Sequence[str]) -> Select[Any]:
    """A page of the deals, newest first."""
    return _newest(Deal, limit, offset).options(*(joinedload(getattr(Deal, link)) for link in links))


def accounts(limit: int, offset: int) -> Select[Any]:
    """A page of the accounts, newest first."""
    return _newest(Account, limit, offset)


def _newest(entity: Any, limit: int, offset: int) -> Select[Any]:
    return (
        select(entity)
        .where(entity.org_id == ORGANIZATION)
        .order_by(entity.created_at.desc(), entity.id)
        .limit(limit)
        .offset(offset)
    )


def deal(identifier: str) -> Select[Any]:
    """A deal with its account and its contacts."""
    return (
        select(Deal)
        .where(col(Deal.org_id) == ORGANIZATION, col(Deal.id) == identifier)
        .options(joinedload(Deal.account), selectinload(Deal.contacts))  # type: ignore[arg-type]  # attributes of the class
    )


def latest_health(account_id: str) -> Select[Any]:
    """The most recent snapshot of an account, with its factors."""
    return (
        select(HealthSnapshot)
        .where(col(HealthSnapshot.org_id) == ORGANIZATION, col(HealthSnapshot.account_id) == account_id)
        .order_by(col(HealthSnapshot.snapshot_at).desc(), col(HealthSnapshot.id).desc())
        .limit(1)
        .options(selectinload(HealthSnapshot.factors))  # type: ignore[arg-type]  # an attribute of the class
    )


async def create_deal(
    session: AsyncSession, name: str, value: Decimal | None, currency: str, account_id: str | None
) -> Deal:
    """The deal and its event (specification 4.4), in one transaction. No check of the reference but the foreign key."""
    made = Deal(name=name, value=value, currency=currency, account_id=account_id, owner_id="baseline")
    last = await session.scalar(
        update(EventCounter)
        .where(col(EventCounter.org_id) == ORGANIZATION)
        .values(last=col(EventCounter.last) + 1)
        .returning(col(EventCounter.last))
        .execution_options(synchronize_session=False)
    )
    data = {"deal_id": made.id, "name": name, "value": str(value), "currency": currency, "account_id": account_id}
    session.add(made)
    session.add(Event(sequence=last or 1, type="deal_created", area="crm", actor="baseline", data=data))
    await session.commit()
    return made
