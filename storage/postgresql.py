"""PostgreSQL's side of a session: its organization is set in the message that begins the transaction (wall 5)."""

import asyncio
from typing import Any

import asyncpg

from storage.adapters.asyncpg import cancellations

SETTING = "crm.org_id"
"""The setting that the row-level policies compare org_id with."""

SOUGHT_SETTING = "crm.search"
"""The setting that the policy of the search's entries asks their words; empty or unset for all of them."""

_ROLLBACK_SECONDS = 1.0


class _TenantTransaction:
    """A transaction of the driver that carries the organization: no round trip of its own."""

    def __init__(self, connection: "TenantConnection", *, readonly: bool) -> None:
        self._connection = connection
        self._readonly = readonly

    async def start(self) -> None:
        organization = self._connection.organization or ""
        mode = "READ ONLY" if self._readonly else "READ WRITE"
        await self._connection.execute(f"BEGIN {mode}; SET LOCAL {SETTING} = '{organization}'{self._connection.local}")

    async def commit(self) -> None:
        await self._connection.execute("COMMIT")

    async def rollback(self) -> None:
        await self._connection.roll_back()


class TenantConnection(asyncpg.Connection):  # type: ignore[misc]  # the driver ships no types
    """A driver connection that knows for which organization its next transaction is.

    `organization` is always a canonical UUID or None, so it can stand in the statement's text.
    """

    organization: str | None = None
    readonly: bool = False
    local: str = ""
    """The SQL that sets what else each transaction sets for itself."""

    def transaction(self, **_: Any) -> _TenantTransaction:
        """The transaction that SQLAlchemy begins, with the organization in it."""
        return _TenantTransaction(self, readonly=self.readonly)

    async def end_statement(self) -> None:
        """Have the server end what it still does for a caller who has gone: the end of a connection tells it nothing.

        The driver has a message on its way for that, which it would drop with the connection (decision 135).
        """
        if on_their_way := cancellations(self):
            await asyncio.wait(on_their_way, timeout=_ROLLBACK_SECONDS)

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


async def connect(*args: Any, local: str = "", **kwargs: Any) -> TenantConnection:
    """A connection whose identifiers come as canonical text, as from SQLite. Raises OSError, where it is late too."""
    try:
        connection: TenantConnection = await asyncpg.connect(*args, connection_class=TenantConnection, **kwargs)
    except TimeoutError:
        raise ConnectionError("the server does not answer") from None
    connection.local = local
    await connection.set_type_codec("uuid", schema="pg_catalog", encoder=str, decoder=str, format="text")
    return connection
