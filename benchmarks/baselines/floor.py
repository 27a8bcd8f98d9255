"""The floor: rows of the driver, put into dicts and written by orjson. No GraphQL, no checks, no entities.

PostgreSQL through asyncpg's own pool as it comes, with its reset of a connection that is given back; on SQLite the
standard library's driver, called in the event loop itself, which saves the hop to a thread. One statement per list or
record: small lists below a record come as JSON that the database makes, which passes through unread as meetings'
metadata does; three statements in place of it took half as long again. Times stay what the driver gives.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Protocol
from uuid import uuid4

import asyncpg
import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.baselines import floor_sql as sql

ORGANIZATION = os.environ["BENCH_ORGANIZATION"]
POOL = 10
"""Connections, as many as the gateway's default."""


class Driver(Protocol):
    """A database: statements with their parameters."""

    async def open(self) -> None:
        """Connect."""

    async def fetch(self, statement: str, *parameters: Any) -> Sequence[Any]:
        """All rows of a select."""

    async def fetch_each(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> list[Sequence[Any]]:
        """All rows of several selects, over one connection."""

    async def insert(self, statement: str, *parameters: Any) -> None:
        """One insert, committed."""


class PostgreSQL:
    """asyncpg's pool; identifiers and amounts come as text."""

    def __init__(self, url: str) -> None:
        self._url = url.replace("postgresql+asyncpg", "postgresql")
        self._pool: Any = None

    async def open(self) -> None:
        """Connect, and prepare each connection once."""
        self._pool = await asyncpg.create_pool(self._url, min_size=POOL, max_size=POOL, init=self._prepare)

    async def _prepare(self, connection: Any) -> None:
        for kind in ("uuid", "numeric"):
            await connection.set_type_codec(kind, schema="pg_catalog", encoder=str, decoder=str, format="text")

    async def fetch(self, statement: str, *parameters: Any) -> Sequence[Any]:
        """The driver's records."""
        rows: Sequence[Any] = await self._pool.fetch(statement, *parameters)
        return rows

    async def fetch_each(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> list[Sequence[Any]]:
        """One after the other: a connection carries one statement at a time."""
        async with self._pool.acquire() as connection:
            return [await connection.fetch(statement, *parameters) for statement, parameters in statements]

    async def insert(self, statement: str, *parameters: Any) -> None:
        """The driver commits by itself."""
        await self._pool.execute(statement, *parameters)


class SQLite:
    """The standard library's connection, as durable as the gateway's."""

    def __init__(self, url: str) -> None:
        self._connection = sqlite3.connect(url.partition("///")[2], isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=5000"):
            self._connection.execute(f"PRAGMA {pragma}")

    async def open(self) -> None:
        """It is open."""

    async def fetch(self, statement: str, *parameters: Any) -> Sequence[Any]:
        """Tuples of what the file holds."""
        return self._connection.execute(statement, parameters).fetchall()

    async def fetch_each(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> list[Sequence[Any]]:
        """One after the other."""
        return [await self.fetch(statement, *parameters) for statement, parameters in statements]

    async def insert(self, statement: str, *parameters: Any) -> None:
        """Each statement is a transaction."""
        self._connection.execute(statement, [_stored(p) for p in parameters])


def _stored(value: Any) -> Any:
    """The forms in which the tables on SQLite hold amounts and times."""
    if isinstance(value, Decimal):
        return f"{value:020.4f}"
    return value.strftime("%Y-%m-%d %H:%M:%S.%f") if isinstance(value, datetime) else value


_MEETING = (
    *("id", "type", "subject", "body", "dueAt", "completedAt", "durationMinutes", "metadata", "accountId", "dealId"),
    *("contactId", "ownerId", "source", "direction", "createdAt"),
)
_REST_MEETING = (
    *("id", "type", "subject", "body", "due_at", "completed_at", "duration_minutes", "metadata"),
    *("account_id", "deal_id", "contact_id", "owner_id", "source", "direction", "created_at"),
)
_BRIEF = ("id", "subject", "dueAt", "durationMinutes", "accountId")
_DEAL = ("id", "name", "value", "currency", "status", "closeDate", "notes", "createdAt")
_METADATA, _ACCOUNT_ID, _DEAL_ID, _CONTACT_ID = 7, 8, 9, 10


def _meeting(row: Any) -> dict[str, Any]:
    made: dict[str, Any] = dict(zip(_MEETING, row, strict=False))
    if row[_METADATA] is not None:
        made["metadata"] = orjson.Fragment(row[_METADATA])
    account, deal, contact = row[_ACCOUNT_ID], row[_DEAL_ID], row[_CONTACT_ID]
    made["account"] = None if account is None else {"id": account, "name": row[15], "domain": row[16]}
    made["deal"] = None if deal is None else {"id": deal, "name": row[17], "stageId": row[18]}
    made["contact"] = (
        None if contact is None else {"id": contact, "firstName": row[19], "lastName": row[20], "email": row[21]}
    )
    return made


def _rest_meeting(row: Any) -> dict[str, Any]:
    made: dict[str, Any] = dict(zip(_REST_MEETING, row, strict=False))
    if row[_METADATA] is not None:
        made["metadata"] = orjson.Fragment(row[_METADATA])
    account, deal, contact = row[_ACCOUNT_ID], row[_DEAL_ID], row[_CONTACT_ID]
    made["accounts"] = None if account is None else {"id": account, "name": row[15], "domain": row[16]}
    made["deals"] = None if deal is None else {"id": deal, "name": row[17], "stage_id": row[18]}
    made["contacts"] = (
        None if contact is None else {"id": contact, "first_name": row[19], "last_name": row[20], "email": row[21]}
    )
    return made


def _named(identifier: str | None, name: str | None) -> dict[str, Any] | None:
    return None if identifier is None else {"id": identifier, "name": name}


def _list(text: str | None) -> Any:
    return [] if text is None else orjson.Fragment(text)


class Floor:
    """The endpoints over one driver."""

    def __init__(self, driver: Driver, *, sqlite: bool) -> None:
        self._driver = driver
        say = sql.for_sqlite if sqlite else str
        self._meetings_200, self._meetings_20 = say(sql.MEETINGS_200), say(sql.MEETINGS_20)
        self._deal_detail, self._deal_create = say(sql.DEAL_DETAIL), say(sql.DEAL_CREATE)
        lists = (sql.DASHBOARD_MEETINGS, sql.DASHBOARD_DEALS, sql.DASHBOARD_ACCOUNTS)
        self._dashboard = tuple(zip(map(say, lists), (10, 20, 10), strict=True))

    async def meetings_200(self, request: Request) -> Any:
        rows = await self._driver.fetch(self._meetings_200, ORGANIZATION, int(request.query_params["offset"]), 200)
        return [_meeting(row) for row in rows]

    async def rest_meetings_200(self, request: Request) -> Any:
        rows = await self._driver.fetch(self._meetings_200, ORGANIZATION, int(request.query_params["offset"]), 200)
        return [_rest_meeting(row) for row in rows]

    async def meetings_20(self, request: Request) -> Any:
        rows = await self._driver.fetch(self._meetings_20, ORGANIZATION, int(request.query_params["offset"]), 20)
        return [dict(zip(_BRIEF, row, strict=True)) for row in rows]

    async def deal_detail(self, request: Request) -> Any:
        [row] = await self._driver.fetch(self._deal_detail, ORGANIZATION, request.query_params["id"])
        made: dict[str, Any] = dict(zip(_DEAL, row, strict=False))
        health = {"id": row[12], "score": row[13], "trend": row[14], "snapshotAt": row[15], "factors": _list(row[16])}
        made["account"] = {"id": row[8], "name": row[9], "domain": row[10], "industry": row[11], "health": health}
        made["contacts"] = _list(row[17])
        return made

    async def dashboard(self, request: Request) -> Any:
        offset = int(request.query_params["offset"])
        meetings, deals, accounts = await self._driver.fetch_each(
            [(statement, (ORGANIZATION, offset, limit)) for statement, limit in self._dashboard]
        )
        return {
            "meetings": [
                {"id": row[0], "subject": row[1], "dueAt": row[2], "account": _named(row[3], row[4])}
                for row in meetings
            ],
            "deals": [
                {
                    "id": row[0],
                    "name": row[1],
                    "value": row[2],
                    "currency": row[3],
                    "account": _named(row[4], row[5]),
                    "stage": _named(row[6], row[7]),
                }
                for row in deals
            ],
            "accounts": [{"id": row[0], "name": row[1], "domain": row[2], "industry": row[3]} for row in accounts],
        }

    async def deal_create(self, request: Request) -> Any:
        body = orjson.loads(await request.body())
        identifier = await self._insert(body)
        return {
            "id": identifier,
            "name": body["name"],
            "value": str(body["value"]),
            "currency": body["currency"],
            "accountId": body["account_id"],
            "status": "open",
        }

    async def rest_deal_create(self, request: Request) -> Any:
        return {"id": await self._insert(orjson.loads(await request.body()))}

    async def _insert(self, body: dict[str, Any]) -> str:
        identifier, value = str(uuid4()), Decimal(str(body["value"]))
        moment = datetime.now(UTC)
        await self._driver.insert(
            self._deal_create,
            *(ORGANIZATION, identifier, body["name"], body["account_id"], value, body["currency"], moment),
        )
        return identifier


def _endpoint(answer: Callable[[Request], Awaitable[Any]], status: int = 200) -> Callable[..., Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return Response(orjson.dumps(await answer(request)), status, media_type="application/json")

    return serve


def create() -> Starlette:
    """The application."""
    url = os.environ["BENCH_DATABASE_URL"]
    sqlite = url.startswith("sqlite")
    driver: Driver = SQLite(url) if sqlite else PostgreSQL(url)
    floor = Floor(driver, sqlite=sqlite)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await driver.open()
        yield

    reads = (floor.meetings_200, floor.meetings_20, floor.deal_detail, floor.dashboard, floor.rest_meetings_200)
    return Starlette(
        lifespan=lifespan,
        routes=[
            *(Route(f"/{answer.__name__}", _endpoint(answer)) for answer in reads),
            Route("/deal_create", _endpoint(floor.deal_create), methods=["POST"]),
            Route("/rest_deal_create", _endpoint(floor.rest_deal_create, 201), methods=["POST"]),
        ],
    )
