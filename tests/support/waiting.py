"""Requests that meet a writer who is not done yet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from storage.tenancy.sessions import TenantSession
from tests.support.tenants import Tenant

T = TypeVar("T")
Part = Callable[[TenantSession], Awaitable[object]]
MEETS_SECONDS = 0.4
"""In so many a request comes to where it waits for another's lock."""


async def meets_writer(tenant: Tenant, first: Part, then: Part, request: Coroutine[Any, Any, T]) -> T:
    """Make a request between the two parts of another's transaction; its answer.

    Where each waits for what the other has, PostgreSQL gives one of them up after a second.
    """
    async with tenant.gateway.world.database.writing(tenant.id) as session:
        await first(session)
        asked = asyncio.create_task(request)
        await asyncio.wait({asked}, timeout=MEETS_SECONDS)
        await then(session)
    return await asked
