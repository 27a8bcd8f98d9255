"""The login of ad-hoc SQL in tests: on PostgreSQL the one that `crm-gateway analytics role` prints."""

from __future__ import annotations

import asyncpg
from sqlalchemy.engine import URL

from storage.analytics.grants import statements
from tests.support.postgresql import OWNER

ROLE = "crm_analytics"


async def superuser(url: URL) -> asyncpg.Connection:
    """A connection that may do everything, to the database of the address."""
    return await asyncpg.connect(host=url.query["host"], user="postgres", database=url.database)


async def make_login(url: URL) -> str:
    """Run what the command prints; gives the address by that login."""
    connection = await superuser(url)
    try:
        await connection.execute("\n".join(statements(ROLE, OWNER)))
    finally:
        await connection.close()
    return login_url(url)


def login_url(url: URL) -> str:
    """The address by that login."""
    return url.set(username=ROLE).render_as_string(hide_password=False)
