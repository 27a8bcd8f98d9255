"""FastAPI + SQLModel: entities with joined loads, and response models that pydantic validates and writes as JSON."""

from collections.abc import AsyncIterator
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

from fastapi import Depends, FastAPI
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.ext.asyncio import AsyncSession

from benchmarks.baselines import entities, statements

_LINKS = ("account", "deal", "contact")


class _Model(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class AccountSummary(_Model):
    id: str
    name: str
    domain: str | None


class DealSummary(_Model):
    id: str
    name: str
    stage_id: str | None


class ContactSummary(_Model):
    id: str
    first_name: str | None
    last_name: str | None
    email: str | None


class Meeting(_Model):
    id: str
    type: str
    subject: str | None
    body: str | None
    due_at: datetime | None
    completed_at: datetime | None
    duration_minutes: int | None
    metadata: dict[str, Any] | None = Field(validation_alias="details")
    account_id: str | None
    deal_id: str | None
    contact_id: str | None
    owner_id: str | None
    source: str
    direction: str | None
    created_at: datetime
    accounts: AccountSummary | None = Field(validation_alias="account")
    deals: DealSummary | None = Field(validation_alias="deal")
    contacts: ContactSummary | None = Field(validation_alias="contact")


class DealCreate(BaseModel):
    name: str = Field(min_length=1)
    account_id: str | None = None
    value: Decimal | None = Field(default=None, ge=0)
    stage_id: str | None = None
    close_date: date | None = None
    currency: str = "USD"
    geo_scope: str | None = None


class DealCreated(_Model):
    id: str


async def _session() -> AsyncIterator[AsyncSession]:
    async with entities.sessions() as session:
        yield session


Session = Annotated[AsyncSession, Depends(_session)]


def create() -> FastAPI:
    """The application."""
    application = FastAPI()

    @application.get("/activities/meetings", response_model=list[Meeting])
    async def meetings(session: Session, limit: int = 200, offset: int = 0) -> Any:
        return (await session.scalars(statements.meetings(limit, offset, _LINKS))).all()

    @application.post("/deals", response_model=DealCreated, status_code=201)
    async def create_deal(session: Session, body: DealCreate) -> Any:
        return await statements.create_deal(session, body.name, body.value, body.currency, body.account_id)

    return application
