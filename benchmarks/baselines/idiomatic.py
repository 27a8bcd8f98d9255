"""Idiomatic Strawberry + SQLModel: entities, relationships loaded where they are selected, the library's own view.

Of the usual ways the faster ones, by measurement: types built from the entities (returning the entities themselves
took a fifth longer, because every field then goes through SQLAlchemy's attributes); joined loads for links to one
(a select each took a fifth longer), a second select for links to many; a session for each resolver, so that the lists
of one request are read side by side; the parser and validation caches; orjson writes the answer.
"""

from collections.abc import Container
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import orjson
import strawberry
from starlette.applications import Starlette
from starlette.routing import Route
from strawberry.asgi import GraphQL
from strawberry.extensions import ParserCache, ValidationCache
from strawberry.scalars import JSON
from strawberry.types.nodes import SelectedField

from benchmarks.baselines import entities, statements

Info = strawberry.Info[Any, Any]


@strawberry.type
class HealthFactor:
    key: str
    label: str
    score: int
    weight: float
    value: float | None
    explanation: str
    sample_size: int


@strawberry.type
class HealthSnapshot:
    id: strawberry.ID
    score: int
    trend: str | None
    snapshot_at: datetime
    factors: list[HealthFactor]

    @classmethod
    def of(cls, entity: entities.HealthSnapshot) -> "HealthSnapshot":
        """Built from the entity."""
        return cls(
            id=strawberry.ID(entity.id),
            score=entity.score,
            trend=entity.trend,
            snapshot_at=entity.snapshot_at,
            factors=[
                HealthFactor(
                    key=factor.key,
                    label=factor.label,
                    score=factor.score,
                    weight=factor.weight,
                    value=factor.value,
                    explanation=factor.explanation,
                    sample_size=factor.sample_size,
                )
                for factor in entity.factors
            ],
        )


@strawberry.type
class Account:
    id: strawberry.ID
    name: str
    domain: str | None
    industry: str | None

    @strawberry.field
    async def health(self) -> HealthSnapshot | None:
        async with entities.sessions() as session:
            found = await session.scalar(statements.latest_health(self.id))
        return None if found is None else HealthSnapshot.of(found)

    @classmethod
    def of(cls, entity: entities.Account | None) -> "Account | None":
        """Built from the entity."""
        if entity is None:
            return None
        return cls(id=strawberry.ID(entity.id), name=entity.name, domain=entity.domain, industry=entity.industry)


@strawberry.type
class Contact:
    id: strawberry.ID
    first_name: str | None
    last_name: str | None
    email: str | None
    title: str | None

    @classmethod
    def of(cls, entity: entities.Contact | None) -> "Contact | None":
        """Built from the entity."""
        if entity is None:
            return None
        return cls(
            id=strawberry.ID(entity.id),
            first_name=entity.first_name,
            last_name=entity.last_name,
            email=entity.email,
            title=entity.title,
        )


@strawberry.type
class Stage:
    id: strawberry.ID
    name: str

    @classmethod
    def of(cls, entity: entities.PipelineStage | None) -> "Stage | None":
        """Built from the entity."""
        return None if entity is None else cls(id=strawberry.ID(entity.id), name=entity.name)


@strawberry.type
class Deal:
    id: strawberry.ID
    name: str
    value: Decimal | None
    currency: str
    account_id: strawberry.ID | None
    stage_id: strawberry.ID | None
    status: str
    close_date: date | None
    notes: str | None
    created_at: datetime
    account: Account | None
    stage: Stage | None
    contacts: list[Contact]

    @classmethod
    def of(cls, entity: entities.Deal | None, links: Container[str] = ()) -> "Deal | None":
        """Built from the entity, with those of its links that were loaded."""
        if entity is None:
            return None
        return cls(
            id=strawberry.ID(entity.id),
            name=entity.name,
            value=entity.value,
            currency=entity.currency,
            account_id=_id(entity.account_id),
            stage_id=_id(entity.stage_id),
            status=entity.status,
            close_date=entity.close_date,
            notes=entity.notes,
            created_at=entity.created_at,
            account=Account.of(entity.account) if "account" in links else None,
            stage=Stage.of(entity.stage) if "stage" in links else None,
            contacts=[c for e in entity.contacts if (c := Contact.of(e))] if "contacts" in links else [],
        )


@strawberry.type
class Meeting:
    id: strawberry.ID
    type: str
    subject: str | None
    body: str | None
    due_at: datetime | None
    completed_at: datetime | None
    duration_minutes: int | None
    metadata: JSON | None
    account_id: strawberry.ID | None
    deal_id: strawberry.ID | None
    contact_id: strawberry.ID | None
    owner_id: str | None
    source: str
    direction: str | None
    created_at: datetime
    account: Account | None
    deal: Deal | None
    contact: Contact | None

    @classmethod
    def of(cls, entity: entities.Activity, links: Container[str]) -> "Meeting":
        """Built from the entity, with those of its links that were loaded."""
        return cls(
            id=strawberry.ID(entity.id),
            type=entity.type,
            subject=entity.subject,
            body=entity.body,
            due_at=entity.due_at,
            completed_at=entity.completed_at,
            duration_minutes=entity.duration_minutes,
            metadata=None if entity.details is None else JSON(entity.details),
            account_id=_id(entity.account_id),
            deal_id=_id(entity.deal_id),
            contact_id=_id(entity.contact_id),
            owner_id=entity.owner_id,
            source=entity.source,
            direction=entity.direction,
            created_at=entity.created_at,
            account=Account.of(entity.account) if "account" in links else None,
            deal=Deal.of(entity.deal) if "deal" in links else None,
            contact=Contact.of(entity.contact) if "contact" in links else None,
        )


@strawberry.input
class DealCreateInput:
    name: str
    value: Decimal | None = None
    currency: str = "USD"
    account_id: strawberry.ID | None = None


def _id(text: str | None) -> strawberry.ID | None:
    return None if text is None else strawberry.ID(text)


def _links(info: Info, *names: str) -> list[str]:
    """The relationships among these that the request selects."""
    selected = {s.name for field in info.selected_fields for s in field.selections if isinstance(s, SelectedField)}
    return [name for name in names if name in selected]


@strawberry.type
class Query:
    @strawberry.field
    async def meetings(self, info: Info, limit: int = 50, offset: int = 0) -> list[Meeting]:
        links = _links(info, "account", "deal", "contact")
        async with entities.sessions() as session:
            found = await session.scalars(statements.meetings(limit, offset, links))
        return [Meeting.of(entity, links) for entity in found]

    @strawberry.field
    async def deals(self, info: Info, limit: int = 50, offset: int = 0) -> list[Deal]:
        links = _links(info, "account", "stage")
        async with entities.sessions() as session:
            found = await session.scalars(statements.deals(limit, offset, links))
        return [deal for entity in found if (deal := Deal.of(entity, links))]

    @strawberry.field
    async def accounts(self, limit: int = 50, offset: int = 0) -> list[Account]:
        async with entities.sessions() as session:
            found = await session.scalars(statements.accounts(limit, offset))
        return [account for entity in found if (account := Account.of(entity))]

    @strawberry.field
    async def deal(self, id: strawberry.ID) -> Deal | None:
        async with entities.sessions() as session:
            return Deal.of(await session.scalar(statements.deal(id)), ("account", "contacts"))


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def deal_create(self, input: DealCreateInput) -> Deal:
        async with entities.sessions() as session:
            made = await statements.create_deal(session, input.name, input.value, input.currency, input.account_id)
        deal = Deal.of(made)
        assert deal is not None  # noqa: S101  # it was just made
        return deal


class _View(GraphQL[Any, Any]):
    def encode_json(self, data: object) -> bytes:
        """Written by the fast library."""
        return orjson.dumps(data)


def create() -> Starlette:
    """The application."""
    schema = strawberry.Schema(Query, Mutation, extensions=[ParserCache, ValidationCache])
    return Starlette(routes=[Route("/graphql", _View(schema, graphql_ide=None))])
