"""The floor: rows of the driver, put into dicts and written by orjson. No GraphQL, no checks, no entities.

PostgreSQL through asyncpg's own pool as it comes, with its reset of a connection that is given back; on SQLite the
standard library's driver, called in the event loop itself, which saves the hop to a thread. One statement per list or
record: small lists below a record come as JSON that the database makes, which passes through unread as meetings'
metadata does; three statements in place of it took half as long again. Times stay what the driver gives.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from typing import Any, Protocol
from uuid import uuid4

import asyncpg
import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.baselines import floor_sql as sql

POOL = 10
"""Connections, as many as the gateway's default."""


Values = Mapping[str, Any]
Parameters = Callable[[Values], Sequence[Any]]
Answer = Callable[[str, Values], Awaitable[Any]]


class Driver(Protocol):
    """A database: statements with their parameters, each committed by itself."""

    async def open(self) -> None:
        """Connect."""

    async def fetch(self, statement: str, *parameters: Any) -> Sequence[Any]:
        """All rows of a statement."""

    async def fetch_each(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> list[Sequence[Any]]:
        """All rows of several selects, over one connection."""


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
        return self._connection.execute(statement, [_stored(p) for p in parameters]).fetchall()

    async def fetch_each(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> list[Sequence[Any]]:
        """One after the other."""
        return [await self.fetch(statement, *parameters) for statement, parameters in statements]


def _stored(value: Any) -> Any:
    """The forms in which the tables on SQLite hold amounts and times."""
    if isinstance(value, Decimal):
        return f"{value:020.4f}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")
    return value.isoformat() if isinstance(value, date) else value


_MEETING = (
    "id type subject body dueAt completedAt durationMinutes metadata? accountId dealId contactId ownerId source"
    " direction createdAt account { id name domain } deal { id name stageId } contact { id firstName lastName email }"
)
_REST_MEETING = (
    "id type subject body due_at completed_at duration_minutes metadata? account_id deal_id contact_id owner_id source"
    " direction created_at accounts { id name domain } deals { id name stage_id }"
    " contacts { id first_name last_name email }"
)
_BRIEF = "id subject dueAt durationMinutes accountId"
_DETAIL = (
    "id name value currency status closeDate notes createdAt"
    " account { id name domain industry health { id score trend snapshotAt factors* } } contacts*"
)
_NAMED_ACCOUNT, _NAMED_STAGE = "account { id name }", "stage { id name }"
_BOARD_DEAL = f"id name value currency {_NAMED_ACCOUNT} {_NAMED_STAGE}"
_DEAL = f"id name value currency status closeDate createdAt {_NAMED_ACCOUNT} {_NAMED_STAGE}"
_CREATED = "id name value currency accountId status"
_CHANGED = "id name value currency status account? stage?"


def making(fields: str) -> Callable[[Any], dict[str, Any]]:
    """A function that makes a record of a row, whose columns are in the order of the fields.

    `?` marks JSON, and `*` JSON that is an empty list where it is null; a record in braces is null where its first
    column is.
    """
    words, columns = fields.split(), count()

    def record() -> str:
        parts = []
        while words and (word := words.pop(0)) != "}":
            name, mark = word.rstrip("?*"), word[-1]
            if words and words[0] == "{":
                words.pop(0)
                inner = record()
                first = inner.partition("row[")[2].partition("]")[0]
                parts.append(f"{name!r}: None if row[{first}] is None else {inner}")
                continue
            value = f"row[{next(columns)}]"
            if mark in "?*":
                value = f"{'[]' if mark == '*' else None} if {value} is None else Fragment({value})"
            parts.append(f"{name!r}: {value}")
        return f"{{{', '.join(parts)}}}"

    made: Callable[[Any], dict[str, Any]] = eval(f"lambda row: {record()}", {"Fragment": orjson.Fragment})  # noqa: S307  # of the texts above
    return made


_KINDS = {1: "account", 2: "contact", 4: "deal"}


def _hit(row: Any) -> dict[str, Any]:
    kind = _KINDS[row[0]]
    node = {"id": row[1]} | ({"firstName": row[3], "lastName": row[4]} if kind == "contact" else {"name": row[2]})
    return {"type": kind, "node": node}


def _page(limit: int) -> Parameters:
    return lambda values: (int(values["offset"]), limit)


def _new(values: Values) -> Sequence[Any]:
    amount = Decimal(str(values["value"]))
    columns = (values["name"], values["account_id"], amount, values["currency"], datetime.now(UTC))
    return (str(uuid4()), *columns, values.get("stage_id"))


def _moved(values: Values) -> Sequence[Any]:
    return (values["id"], datetime.now(UTC), values["stage_id"])


def _updated(values: Values) -> Sequence[Any]:
    amount, day = Decimal(str(values["value"])), date.fromisoformat(values["close_date"])
    return (values["id"], datetime.now(UTC), amount, day, values["notes"])


class Floor:
    """The answers over one driver: what an organization gets for the values that it sends."""

    def __init__(self, driver: Driver, *, sqlite: bool) -> None:
        self._driver = driver
        self._say = sql.for_sqlite if sqlite else str
        self._search, self._sought = (sql.SEARCH_SQLITE, sql.sought_by_sqlite) if sqlite else (sql.SEARCH, sql.sought)

    def answers(self) -> dict[str, Answer]:
        """By the last part of the address."""
        return {
            "meetings_200": self._rows(sql.MEETINGS_200, _MEETING, _page(200)),
            "rest_meetings_200": self._rows(sql.MEETINGS_200, _REST_MEETING, _page(200)),
            "meetings_20": self._rows(sql.MEETINGS_20, _BRIEF, _page(20)),
            "deals_200": self._rows(sql.DEALS_200, _DEAL, _page(200)),
            "deals_200_owned": self._rows(sql.DEALS_200_OWNED, f"{_DEAL} owner {{ id name email }}", _page(200)),
            "meetings_before": self._rows(
                sql.MEETINGS_BEFORE, _BRIEF, lambda values: (datetime.fromisoformat(values["before"]),)
            ),
            "board": self._rows(sql.BOARD, "stage { id name } totals* deals*", lambda _: ()),
            "deal_detail": self._row(sql.DEAL_DETAIL, _DETAIL, lambda values: (values["id"],)),
            "deal_create": self._row(sql.DEAL_CREATE, _CREATED, _new),
            "rest_deal_create": self._row(sql.REST_DEAL_CREATE, "id", _new),
            "deal_create_staged": self._row(sql.DEAL_CREATE_STAGED, _CHANGED, _new),
            "deal_move": self._row(sql.DEAL_MOVE, f"{_CHANGED} closeDate notes", _moved),
            "deal_update": self._row(sql.DEAL_UPDATE, f"{_CHANGED} closeDate notes", _updated),
            "dashboard": self._dashboard(),
            "search": self._hits,
            "typename": self._typename,
        }

    def _rows(self, statement: str, fields: str, parameters: Parameters) -> Answer:
        text, make = self._say(statement), making(fields)

        async def answer(organization: str, values: Values) -> list[Any]:
            return [make(row) for row in await self._driver.fetch(text, organization, *parameters(values))]

        return answer

    def _row(self, statement: str, fields: str, parameters: Parameters) -> Answer:
        text, make = self._say(statement), making(fields)

        async def answer(organization: str, values: Values) -> Any:
            [row] = await self._driver.fetch(text, organization, *parameters(values))
            return make(row)

        return answer

    def _dashboard(self) -> Answer:
        lists = {
            "meetings": (sql.DASHBOARD_MEETINGS, 10, f"id subject dueAt {_NAMED_ACCOUNT}"),
            "deals": (sql.DASHBOARD_DEALS, 20, _BOARD_DEAL),
            "accounts": (sql.DASHBOARD_ACCOUNTS, 10, "id name domain industry"),
        }
        made = {
            name: (self._say(statement), limit, making(fields)) for name, (statement, limit, fields) in lists.items()
        }

        async def answer(organization: str, values: Values) -> Any:
            offset = int(values["offset"])
            found = await self._driver.fetch_each([(text, (organization, offset, n)) for text, n, _ in made.values()])
            return {
                name: [make(row) for row in rows]
                for (name, (_, _, make)), rows in zip(made.items(), found, strict=True)
            }

        return answer

    async def _hits(self, organization: str, values: Values) -> Any:
        query, found = values["query"], dict[str, Any]()
        for in_name in (True, False):
            if len(found) < sql.HITS:
                sought = self._sought(organization, query, in_name=in_name)
                for row in await self._driver.fetch(self._search, organization, sought, len(query)):
                    found.setdefault(row[1], _hit(row))
        return list(found.values())[: sql.HITS]

    async def _typename(self, _organization: str, _values: Values) -> Any:
        return {"__typename": "Query"}


def _endpoint(answer: Answer, status: int) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        values = orjson.loads(await request.body()) if request.method == "POST" else request.query_params
        said = await answer(request.headers.get("x-organization", ""), values)
        return Response(orjson.dumps(said), status, media_type="application/json")

    return serve


def create() -> Starlette:
    """The application."""
    url = os.environ["BENCH_DATABASE_URL"]
    sqlite = url.startswith("sqlite")
    driver: Driver = SQLite(url) if sqlite else PostgreSQL(url)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await driver.open()
        yield

    statuses = {"rest_deal_create": 201}
    answers = Floor(driver, sqlite=sqlite).answers()
    routes = [
        Route(f"/{name}", _endpoint(answer, statuses.get(name, 200)), methods=["GET", "POST"])
        for name, answer in answers.items()
    ]
    return Starlette(lifespan=lifespan, routes=routes)
