"""asyncpg below its documented surface: statements of callers who have gone, and those that are sent again and again.

tests/adapters/test_asyncpg.py names every member that is relied on, with its purpose and what it has to look like.
"""

import asyncio
from collections.abc import Sequence

import asyncpg
from asyncpg.exceptions import InvalidCachedStatementError, OutdatedSchemaCacheError


def cancellations(connection: asyncpg.Connection) -> list["asyncio.Task[None]"]:
    """The messages on their way that tell the server to end a statement; the end of the connection drops them."""
    return [*connection._cancellations]


async def fetch(connection: asyncpg.Connection, text: str, parameters: Sequence[object]) -> Sequence[asyncpg.Record]:
    """The records of a statement, as `Connection.fetch` gives them.

    One that is prepared already is sent at once, past eight calls that find out the same again for each: what time is
    left, whether anybody logs, which class records have. The protocol itself refuses a connection that is busy.
    """
    records: Sequence[asyncpg.Record]
    protocol = connection._protocol
    prepared = protocol and connection._stmt_cache.get((text, protocol.get_record_class(), False))
    try:
        if prepared is None:  # or the connection has ended, which the library says
            records = await connection.fetch(text, *parameters)
        else:
            records = await protocol.bind_execute(prepared, parameters, "", 0, False, None)
    except InvalidCachedStatementError:  # a migration has changed what it gives
        if connection.is_in_transaction():
            connection._drop_global_statement_cache()
            raise
        records = await connection.fetch(text, *parameters)
    except OutdatedSchemaCacheError:
        await connection.reload_schema_state()
        raise
    return records
