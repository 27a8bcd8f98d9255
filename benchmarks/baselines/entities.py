"""The tables of the seeded database as plain SQLModel entities with relationships, and sessions on them."""

import os
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

import orjson
from sqlalchemy import BigInteger, Column, DateTime, Numeric, String, TypeDecorator, event
from sqlalchemy.dialects.postgresql import UUID
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.types import JSON
from sqlmodel import Field, Relationship, SQLModel

ORGANIZATION = os.environ["BENCH_ORGANIZATION"]
POOL = 10
"""Connections of each contestant, the gateway's default."""

Id = UUID(as_uuid=False).with_variant(String(36), "sqlite")
Time = DateTime(timezone=True)


class _Text(TypeDecorator[Decimal]):
    """An amount as SQLite keeps it."""

    impl = String(20)
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> str | None:
        """Text of fixed width."""
        return None if value is None else f"{value:020.4f}"


Money = Numeric(19, 4).with_variant(_Text(), "sqlite")


def new_id() -> str:
    return str(uuid4())


def now() -> datetime:
    return datetime.now(UTC)


def _to_one(local: str, target: str) -> Any:
    """A link to the record of the same organization that the column names."""
    owner = local.partition(".")[0]
    condition = f"and_({owner}.org_id == {target}.org_id, foreign({local}) == {target}.id)"
    return {"primaryjoin": condition, "viewonly": True, "lazy": "raise"}


class Account(SQLModel, table=True):
    __tablename__ = "accounts"

    org_id: str = Field(default=ORGANIZATION, sa_type=Id, primary_key=True)
    id: str = Field(default_factory=new_id, sa_type=Id, primary_key=True)
    name: str
    domain: str | None = None
    industry: str | None = None
    owner_id: str | None = None
    created_at: datetime = Field(default_factory=now, sa_type=Time)


class PipelineStage(SQLModel, table=True):
    __tablename__ = "pipeline_stages"

    org_id: str = Field(default=ORGANIZATION, sa_type=Id, primary_key=True)
    id: str = Field(default_factory=new_id, sa_type=Id, primary_key=True)
    name: str


class DealContact(SQLModel, table=True):
    __tablename__ = "deal_contacts"

    org_id: str = Field(default=ORGANIZATION, sa_type=Id, primary_key=True)
    deal_id: str = Field(sa_type=Id, primary_key=True)
    contact_id: str = Field(sa_type=Id, primary_key=True)
    linked_at: datetime = Field(default_factory=now, sa_type=Time)


class Contact(SQLModel, table=True):
    __tablename__ = "contacts"

    org_id: str = Field(default=ORGANIZATION, sa_type=Id, primary_key=True)
    id: str = Field(default_factory=new_id, sa_type=Id, primary_key=True)
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    title: str | None = None


class Deal(SQLModel, table=True):
    __tablename__ = "deals"

    org_id: str = Field(default=ORGANIZATION, sa_type=Id, primary_key=True)
    id: str = Field(default_factory=new_id, sa_type=Id, primary_key=True)
    name: str
    account_id: str | None = Field(default=None, sa_type=Id)
    value: Decimal | None = Field(default=None, sa_type=Money)
    currency: str = "USD"
    stage_id: str | None = Field(default=None, sa_type=Id)
    status: str = "open"
    close_date: date | None = None
    geo_scope: str | None = None
    notes: str | None = None
    competitors: list[Any] = Field(default_factory=list, sa_type=JSON)
    owner_id: str | None = None
    created_at: datetime = Field(default_factory=now, sa_type=Time)
    updated_at: datetime = Field(default_factory=now, sa_type=Time)
    version: int = 1

    account: Account | None = Relationship(sa_relationship_kwargs=_to_one("Deal.account_id", "Account"))
    stage: PipelineStage | None = Relationship(sa_relationship_kwargs=_to_one("Deal.stage_id", "PipelineStage"))
    contacts: list[Contact] = Relationship(
        sa_relationship_kwargs={
            "secondary": "deal_contacts",
            "primaryjoin": "and_(Deal.org_id == DealContact.org_id, Deal.id == foreign(DealContact.deal_id))",
            "secondaryjoin": "and_(DealContact.org_id == Contact.org_id, "
            "foreign(DealContact.contact_id) == Contact.id)",
            "order_by": "(DealContact.linked_at, Contact.id)",
            "viewonly": True,
            "lazy": "raise",
        }
    )


class Activity(SQLModel, table=True):
    __tablename__ = "activities"

    org_id: str = Field(default=ORGANIZATION, sa_type=Id, primary_key=True)
    id: str = Field(default_factory=new_id, sa_type=Id, primary_key=True)
    type: str
    subject: str | None = None
    body: str | None = None
    due_at: datetime | None = Field(default=None, sa_type=Time)
    completed_at: datetime | None = Field(default=None, sa_type=Time)
    duration_minutes: int | None = None
    details: dict[str, Any] | None = Field(default=None, sa_column=Column("metadata", JSON))
    account_id: str | None = Field(default=None, sa_type=Id)
    deal_id: str | None = Field(default=None, sa_type=Id)
    contact_id: str | None = Field(default=None, sa_type=Id)
    owner_id: str | None = None
    source: str
    direction: str | None = None
    created_at: datetime = Field(default_factory=now, sa_type=Time)

    account: Account | None = Relationship(sa_relationship_kwargs=_to_one("Activity.account_id", "Account"))
    deal: Deal | None = Relationship(sa_relationship_kwargs=_to_one("Activity.deal_id", "Deal"))
    contact: Contact | None = Relationship(sa_relationship_kwargs=_to_one("Activity.contact_id", "Contact"))


class HealthFactor(SQLModel, table=True):
    __tablename__ = "health_factors"

    org_id: str = Field(default=ORGANIZATION, sa_type=Id, primary_key=True)
    id: str = Field(default_factory=new_id, sa_type=Id, primary_key=True)
    health_score_id: str = Field(sa_type=Id)
    position: int
    key: str
    label: str
    score: int
    weight: float
    value: float | None = None
    explanation: str
    sample_size: int


class HealthSnapshot(SQLModel, table=True):
    __tablename__ = "health_snapshots"

    org_id: str = Field(default=ORGANIZATION, sa_type=Id, primary_key=True)
    id: str = Field(default_factory=new_id, sa_type=Id, primary_key=True)
    account_id: str = Field(sa_type=Id)
    score: int
    trend: str | None = None
    snapshot_at: datetime = Field(default_factory=now, sa_type=Time)

    factors: list[HealthFactor] = Relationship(
        sa_relationship_kwargs={
            "primaryjoin": "and_(HealthSnapshot.org_id == HealthFactor.org_id, "
            "HealthSnapshot.id == foreign(HealthFactor.health_score_id))",
            "order_by": "HealthFactor.position",
            "viewonly": True,
            "lazy": "raise",
        }
    )


class Event(SQLModel, table=True):
    __tablename__ = "events"

    org_id: str = Field(default=ORGANIZATION, sa_type=Id, primary_key=True)
    id: str = Field(default_factory=new_id, sa_type=Id, primary_key=True)
    sequence: int = Field(sa_type=BigInteger)
    type: str
    area: str
    actor: str
    occurred_at: datetime = Field(default_factory=now, sa_type=Time)
    data: dict[str, Any] = Field(sa_type=JSON)


class EventCounter(SQLModel, table=True):
    __tablename__ = "event_counters"

    org_id: str = Field(default=ORGANIZATION, sa_type=Id, primary_key=True)
    last: int = Field(default=0, sa_type=BigInteger)


def _engine() -> AsyncEngine:
    """An engine with the fast JSON library, and on SQLite with the gateway's durability."""
    url = os.environ["BENCH_DATABASE_URL"]
    made = create_async_engine(
        url,
        pool_size=POOL,
        max_overflow=0,
        json_serializer=lambda value: orjson.dumps(value).decode(),
        json_deserializer=orjson.loads,
    )
    if url.startswith("sqlite"):

        @event.listens_for(made.sync_engine, "connect")
        def _connect(connection: Any, _record: Any) -> None:
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=5000"):
                connection.execute(f"PRAGMA {pragma}")

    return made


sessions: async_sessionmaker[AsyncSession] = async_sessionmaker(_engine(), expire_on_commit=False)
