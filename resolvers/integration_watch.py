"""A connection as it changes, for who follows it."""

import asyncio
from collections.abc import AsyncIterator

from contract.errors import NotFound
from contract.scopes import ScopeGroup
from resolvers.integrations import get_integration
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from storage.queries import events as log
from storage.statements import parsed
from storage.tables import Integration

_PAUSE_SECONDS = 1.0


@requires(ScopeGroup.CRM_READ)
async def watch_integration(ctx: Context, integration_id: str) -> AsyncIterator[Integration]:
    """The connection as it is, and again whenever the change log tells of it, until it is gone. Raises NotFound."""
    async with ctx.reading() as session:
        sequence = await log.last_sequence(session)
    integration = await get_integration(ctx, integration_id)
    if integration is None:
        raise NotFound(field=("id",))
    return _watched(ctx, integration, sequence)


async def _watched(ctx: Context, integration: Integration, sequence: int) -> AsyncIterator[Integration]:
    yield integration
    with ctx.services.feed.channel(ctx.org_id) as channel:
        while True:
            is_told = False
            for event in await channel.after(sequence):
                sequence = event.sequence
                data = parsed(event.data)
                is_told |= isinstance(data, dict) and data.get("integration_id") == integration.id
            if not is_told:
                continue
            ctx.forget()
            found = await get_integration(ctx, integration.id)
            if found is None:
                return
            yield found
            await asyncio.sleep(_PAUSE_SECONDS)
