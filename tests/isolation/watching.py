"""What goes on in the database and in a stream while somebody else acts."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

from sqlalchemy import LargeBinary, make_url

from tests.isolation.canaries import Side, tables_of_organizations
from tests.support.gateway import Gateway
from tests.support.postgresql import Server
from tests.support.streams import PROTOCOL
from tests.support.world import Headers

TABLES = sorted(str(model.__tablename__) for model in tables_of_organizations())
_USE = "last_used_at"  # of credentials, noted beside the requests


class Rows:
    """The rows of each organization, read past every isolation layer."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def of(self, side: Side) -> dict[str, list[str]]:
        """Every row of the organization as text, by its table."""
        return {table: await self._read(table, side.organization.id) for table in TABLES}

    async def state(self, side: Side) -> str:
        """A hash of all of them, which changes when anything does."""
        return sha256(repr(await self.of(side)).encode()).hexdigest()

    async def columns(self, side: Side) -> dict[tuple[str, str], str]:
        """What each column of each table holds of the organization, as text."""
        found = {}
        for model in tables_of_organizations():
            for column in model.__table__.columns:
                is_hex = isinstance(column.type, LargeBinary) and isinstance(self._connection, sqlite3.Connection)
                shown = f"hex({column.name})" if is_hex else f"CAST({column.name} AS text)"
                query = f"SELECT {shown} FROM {model.__tablename__} WHERE org_id = "
                found[model.__tablename__, column.name] = repr(await self._fetch(query, side.organization.id))
        return found

    async def _fetch(self, query: str, org_id: str) -> list[tuple[Any, ...]]:
        if isinstance(self._connection, sqlite3.Connection):
            return self._connection.execute(f"{query} ?", (org_id,)).fetchall()
        return [tuple(row) for row in await self._connection.fetch(f"{query} $1", org_id)]

    async def _read(self, table: str, org_id: str) -> list[str]:
        if isinstance(self._connection, sqlite3.Connection):
            cursor = self._connection.execute(f"SELECT * FROM {table} WHERE org_id = ?", (org_id,))
            names = [column[0] for column in cursor.description]
            rows = [repr([v for n, v in zip(names, row, strict=True) if n != _USE]) for row in cursor]
        else:
            query = f"SELECT CAST(to_jsonb(t) - '{_USE}' AS text) FROM {table} t WHERE org_id = $1"
            rows = [row[0] for row in await self._connection.fetch(query, org_id)]
        return sorted(rows)


@asynccontextmanager
async def rows_of(database_url: str, server: Server | None) -> AsyncIterator[Rows]:
    """A connection past the service's own, and on PostgreSQL as a superuser."""
    name = make_url(database_url).database
    assert name is not None
    if server is None:
        with sqlite3.connect(name, isolation_level=None) as file:
            yield Rows(file)
        file.close()
    else:
        connection = await server.connect(name, role="postgres")
        yield Rows(connection)
        await connection.close()


class Stream:
    """A subscription to the change log, as the application is handed it by a server; `heard` is what it was told."""

    def __init__(self, gateway: Gateway, headers: Headers, document: str, variables: dict[str, Any]) -> None:
        self.heard = b""
        self._gateway = gateway
        self._headers = headers
        self._payload = {"query": document, "variables": variables}
        self._news = asyncio.Condition()
        self._said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def told_of(self, text: str) -> None:
        """Wait until the stream has told this."""
        async with asyncio.timeout(60), self._news:
            await self._news.wait_for(lambda: text.encode() in self.heard)

    async def _send(self, message: dict[str, Any]) -> None:
        heads = b"".join(b"%b: %b\n" % pair for pair in message.get("headers", ()))
        async with self._news:
            self.heard += heads + message.get("body", b"") + message.get("text", "").encode()
            self._news.notify_all()

    @asynccontextmanager
    async def over_events(self) -> AsyncIterator[Stream]:
        """While it runs as server-sent events."""
        sent = {"accept": "text/event-stream", "content-type": "application/json", **self._headers}
        scope = {"type": "http", "method": "POST", "path": "/graphql", "query_string": b"", "headers": _raw(sent)}
        self._said.put_nowait({"type": "http.request", "body": json.dumps(self._payload).encode()})
        async with self._running(scope, {"type": "http.disconnect"}):
            yield self

    @asynccontextmanager
    async def over_a_socket(self) -> AsyncIterator[Stream]:
        """While it runs over a WebSocket."""
        scope = {"type": "websocket", "path": "/graphql", "headers": [], "subprotocols": [PROTOCOL]}
        self._said.put_nowait({"type": "websocket.connect"})
        for message in (
            {"type": "connection_init", "payload": self._headers},
            {"type": "subscribe", "id": "1", "payload": self._payload},
        ):
            self._said.put_nowait({"type": "websocket.receive", "text": json.dumps(message)})
        async with self._running(scope, {"type": "websocket.disconnect", "code": 1000}):
            yield self

    @asynccontextmanager
    async def _running(self, scope: dict[str, Any], end: dict[str, Any]) -> AsyncIterator[None]:
        task = asyncio.create_task(self._gateway.app(scope, self._said.get, self._send))
        try:
            yield
        finally:
            self._said.put_nowait(end)
            async with asyncio.timeout(60):
                await task


def _raw(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]
