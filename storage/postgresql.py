"""PostgreSQL's side of a session: its organization is set in the message that begins the transaction (wall 5)."""

from typing import Any

import asyncpg

SETTING = "crm.org_id"
"""The setting that the row-level policies compare org_id with."""

SOUGHT_SETTING = "crm.search"
"""The setting that the policy of the search's entries asks their words; empty or unset for all of them."""


class _TenantTransaction:
    """A transaction of the driver that carries the organization: no round trip of its own."""

    def __init__(self, connection: "TenantConnection", *, readonly: bool) -> None:
        self._connection = connection
        self._readonly = readonly

    async def start(self) -> None:
        organization = self._connection.organization or ""
        mode = "READ ONLY" if self._readonly else "READ WRITE"
        await self._connection.execute(f"BEGIN {mode}; SET LOCAL {SETTING} = '{organization}'")

    async def commit(self) -> None:
        await self._connection.execute("COMMIT")

    async def rollback(self) -> None:
        await self._connection.execute("ROLLBACK")


class TenantConnection(asyncpg.Connection):  # type: ignore[misc]  # the driver ships no types
    """A driver connection that knows for which organization its next transaction is.

    `organization` is always a canonical UUID or None, so it can stand in the statement's text.
    """

    organization: str | None = None
    readonly: bool = False

    def transaction(self, **_: Any) -> _TenantTransaction:
        """The transaction that SQLAlchemy begins, with the organization in it."""
        return _TenantTransaction(self, readonly=self.readonly)


async def connect(*args: Any, **kwargs: Any) -> TenantConnection:
    """A connection whose identifiers come as canonical text, as from SQLite. Raises OSError, where it is late too."""
    try:
        connection: TenantConnection = await asyncpg.connect(*args, connection_class=TenantConnection, **kwargs)
    except TimeoutError:
        raise ConnectionError("the server does not answer") from None
    await connection.set_type_codec("uuid", schema="pg_catalog", encoder=str, decoder=str, format="text")
    return connection
