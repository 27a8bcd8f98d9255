"""PostgreSQL's side of a session: the message that begins a transaction sets its organization (isolation layer 5)."""

import asyncio
from collections.abc import Mapping
from typing import Any

import asyncpg

from storage.adapters.asyncpg import cancellations

SETTING = "crm.org_id"
"""The setting that the row-level policies compare org_id with."""

SEARCH_SETTING = "crm.search"
"""The setting that the policy of the search's entries asks their words; empty or unset for all of them."""

_ROLLBACK_SECONDS = 1.0


class TenantConnection(asyncpg.Connection):  # type: ignore[misc]  # the driver ships no types
    """A driver's connection, with an end for what does not end by itself."""

    async def end_statement(self) -> None:
        """Have the server end what it still does for a caller who has gone: the end of a connection tells it nothing.

        The driver has a message on its way for that, which it would drop with the connection (decision 135).
        """
        if on_their_way := cancellations(self):
            await asyncio.wait(on_their_way, timeout=_ROLLBACK_SECONDS)

    async def commit(self) -> None:
        """Commit the transaction."""
        await self.execute("COMMIT")

    async def roll_back(self) -> None:
        """End the transaction; a server that does not even do that in time loses the connection (decision 115)."""
        try:
            async with asyncio.timeout(_ROLLBACK_SECONDS):
                await self.execute("ROLLBACK")
        except BaseException:
            self.terminate()
            raise


def local_timeout(seconds: float | None) -> str:
    """Makes the SQL by which a transaction that has begun ends its statements in time; to be appended to its BEGIN."""
    return f"; SET LOCAL statement_timeout = {round(seconds * 1000)}" if seconds else ""


_OF_SQLALCHEMY = frozenset({"prepared_statement_cache_size", "prepared_statement_name_func", "async_creator_fn"})
"""Options of an address that are not the driver's."""

Options = dict[str, Any]
"""Keyword arguments of the driver's `connect`. Any: the driver ships no types."""


def driver_options(address: Mapping[str, object]) -> Options:
    """Those options of an address that the driver knows."""
    return {name: value for name, value in address.items() if name not in _OF_SQLALCHEMY}


def options(
    address: Mapping[str, object],
    *,
    connection_seconds: float,
    statement_seconds: float | None,
    answer_seconds: float,
    cache: bool,
) -> Options:
    """The options of a connection that ends its statements in time.

    A pooler takes no settings at the connection's beginning, so that without a cache each transaction makes its own.
    """
    made = {**driver_options(address), "timeout": connection_seconds}
    if statement_seconds:
        made["command_timeout"] = statement_seconds + answer_seconds
    if not cache:
        made["statement_cache_size"] = 0
    elif statement_seconds:
        made["server_settings"] = {"statement_timeout": str(round(statement_seconds * 1000))}
    return made


async def connect(**options: object) -> TenantConnection:
    """A connection whose identifiers come as canonical text, as from SQLite. Raises OSError, where it is late too."""
    try:
        connection: TenantConnection = await asyncpg.connect(connection_class=TenantConnection, **options)
    except TimeoutError:
        raise ConnectionError("the server does not answer") from None
    try:
        await connection.set_type_codec("uuid", schema="pg_catalog", encoder=str, decoder=str, format="text")
    except BaseException:  # its caller has gone, say: nobody else knows of it
        connection.terminate()
        raise
    return connection
