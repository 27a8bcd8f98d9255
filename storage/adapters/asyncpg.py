"""asyncpg below its documented surface: what it does for statements whose callers have gone."""

import asyncio

import asyncpg


def cancellations(connection: asyncpg.Connection) -> list["asyncio.Task[None]"]:
    """The messages on their way that tell the server to end a statement; the end of the connection drops them."""
    return [*connection._cancellations]
