"""Forgets logins: browsers' sessions with all that was given in them, and links, a day after their end."""

from datetime import timedelta

from storage.base import now
from storage.database import Database
from storage.queries import logins

KEPT = timedelta(days=1)
"""So long a code or a refresh token that comes again is still known to have been used."""


async def forget(database: Database) -> bool:
    """Forget a batch; whether there was anything. A read alone where there is nothing."""
    async with database.directory() as session:
        sessions, links = await logins.over(session, now() - KEPT)
    if sessions or links:
        async with database.directory(writing=True) as session:
            await logins.forget(session, sessions, links)
    return bool(sessions or links)
