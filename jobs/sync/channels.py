"""The chat channels that could be linked to a record: streams that wait, so that a member finds them (decision 984)."""

from collections.abc import Sequence

from contract.integrations import IntegrationProvider, IntegrationStatus, IntegrationStreamKind
from jobs.sync.lifecycle import Begun
from jobs.sync.refresh import Renewal
from jobs.work import Run
from providers.accounts.chats import ChatChannel, Chats
from providers.accounts.ports import Told
from storage.new_rows import new_row
from storage.queries import sync
from storage.tables import Integration, SyncStream
from storage.tenancy.sessions import TenantSession

_KIND = IntegrationStreamKind.CHANNEL.value


async def look(run: Run, begun: Begun) -> int:
    """Note which channels the app has been invited to, where somebody asked for the run; the calls that it took.

    Raises AccountError.
    """
    provider = run.ports.accounts.providers.get(IntegrationProvider(begun.integration.provider))
    if not begun.was_asked or provider is None or not isinstance(provider, Chats):
        return 0
    renewal = Renewal(run.reading, run.apart, run.ports.pepper, provider.oauth, begun.integration.id)
    told = Told()
    there = await provider.channels(renewal.token, told)
    async with run.writing() as session:
        await sync.lock(session)
        integration = await session.find(Integration, id=begun.integration.id, lock=True)
        if integration is not None and integration.status == IntegrationStatus.ACTIVE.value:
            await _keep(session, integration.id, there)
    return told.calls


async def _keep(session: TenantSession, integration_id: str, there: Sequence[ChatChannel]) -> None:
    """Have a stream for each of these, and for no other that was never followed."""
    names = {each.id: each.name for each in there}
    streams = {each.external_id: each for each in await sync.streams(session, integration_id) if each.kind == _KIND}
    new = [
        new_row(SyncStream, integration_id=integration_id, kind=_KIND, external_id=key, name=name, enabled=False)
        for key, name in names.items()
        if key not in streams
    ]
    for row in new:  # seldom, and rows with bytes are inserted one at a time
        await session.insert(row)
    for key, each in streams.items():  # seldom, as above
        if each.name != names.get(key, each.name):
            await session.update(each, name=names[key])
    gone = [each.id for key, each in streams.items() if key not in names and not each.enabled and not each.synced_at]
    if gone:
        await sync.delete_each(session, SyncStream, gone)
