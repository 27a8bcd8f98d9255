"""The chat channels of a connection: each is linked to the account or the deal that it is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final

from pydantic import AfterValidator, ConfigDict

from contract.errors import InvalidState, NotFound, Path, Problem, Problems, ProviderFailed
from contract.integrations import (
    BY_PROVIDER,
    CHANNELS_MAX,
    COMPLETE,
    IntegrationProvider,
    IntegrationStatus,
    IntegrationStreamKind,
)
from contract.scopes import ScopeGroup
from jobs.queue import hasten
from jobs.sync import sources
from jobs.sync.notices import KIND
from jobs.sync.refresh import Renewal
from providers.accounts.calls import Refused
from providers.accounts.chats import ChatChannel, Chats
from providers.accounts.ports import AccountError
from resolvers.integrations import own_to_change, queue_run
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, bounded, having_all, storable
from resolvers.shared.told_at_once import leading, to_record
from storage.base import Record, as_uuid
from storage.new_rows import new_row
from storage.queries import channels, notices, sync
from storage.tables import Account, Deal, Integration, StreamLink, SyncStream
from storage.tenancy.sessions import TenantSession

CHANNEL: Final = IntegrationStreamKind.CHANNEL.value
CHANNEL_ID_MAX: Final = 100
_TARGETS: Final[Mapping[str, type[Record]]] = {"account_id": Account, "deal_id": Deal}
RecordId = Annotated[str, bounded(100, 1), AfterValidator(storable)]


@leading({(name,): to_record(model) for name, model in _TARGETS.items()})
class ChannelLink(Input):
    """The record that a channel is about: exactly one of an account and a deal."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [having_all("account_id"), having_all("deal_id")]})

    account_id: RecordId | None = None
    deal_id: RecordId | None = None


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel that is linked to a record."""

    channel_id: str
    name: str
    account_id: str | None
    deal_id: str | None


@requires(ScopeGroup.CRM_READ)
async def channels_of_integration(ctx: Context, integration_id: str) -> Sequence[Channel]:
    """List the channels that are linked to a record, by name."""

    async def load(ids: list[str]) -> list[list[Channel]]:
        async with ctx.reading() as session:
            rows = await channels.linked(session, ids)
        found: dict[str, list[Channel]] = {i: [] for i in ids}
        for row in rows:
            shown = Channel(row.external_id, row.name, row.account_id, row.deal_id)
            found[row.integration_id].append(shown)
        return [found[i] for i in ids]

    return await ctx.loader("integration_channels", load).load(integration_id)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def link_channel(ctx: Context, integration_id: str, channel_id: str, input: ChannelLink) -> Integration:
    """Say which account or deal a channel is about, and have its huddles read.

    Raises Problems, NotFound for a channel that the connection does not see, InvalidState, Forbidden, ProviderFailed.
    """
    if (input.account_id is None) == (input.deal_id is None):
        raise Problems([Problem(("input",), "needs exactly one of", "missing", ("account_id", "deal_id"))])
    async with ctx.writing() as session:  # which lets nobody wait who may not link, or names what is not there
        integration = await _own_chat(ctx, session, integration_id)
        await _target(session, input)
        channel_id = await _named(session, integration, channel_id)
    await ctx.commit()
    channel = await _seen(ctx, integration, channel_id)
    async with ctx.writing() as session:
        await hasten(session, KIND, integration.id)
        await sync.lock(session)
        integration = await _own_chat(ctx, session, integration_id)
        target = await _target(session, input)
        if await _linked(session, integration, channel, target):
            told = {"integration_id": integration.id, "provider": integration.provider, "changed": ["channels"]}
            integration = await session.update(integration, **changes.next_version(integration))
            await changes.append_event(ctx, session, "integration_updated", told)
            if integration.status == IntegrationStatus.ACTIVE.value:
                await queue_run(session, integration.id)
    ctx.forget()
    return integration


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def unlink_channel(ctx: Context, integration_id: str, channel_id: str) -> Integration:
    """Follow a channel no more; its meetings stay. Raises NotFound or Forbidden."""
    async with ctx.writing() as session:
        integration = await own_to_change(ctx, session, integration_id, ("integration_id",))
        name = await _named(session, integration, channel_id)
        stream = await notices.stream_named(session, integration.id, CHANNEL, name)
        link = None if stream is None else await session.find(StreamLink, stream_id=stream.id)
        if stream is not None and link is not None:
            await session.delete(link)
            await session.update(stream, enabled=False)
            integration = await session.update(integration, **changes.next_version(integration))
            told = {"integration_id": integration.id, "provider": integration.provider, "changed": ["channels"]}
            await changes.append_event(ctx, session, "integration_updated", told)
    ctx.forget()
    return integration


async def _own_chat(ctx: Context, session: TenantSession, integration_id: str) -> Integration:
    """The connection, locked, of a provider of chats. Raises NotFound, Forbidden or InvalidState."""
    at: Path = ("input", "integration_id")
    integration = await own_to_change(ctx, session, integration_id, at)
    info = BY_PROVIDER[IntegrationProvider(integration.provider)]
    if IntegrationStreamKind.CHANNEL not in info.kinds:
        raise InvalidState(f"{info.name} has no chat channels", field=at)
    if integration.status not in COMPLETE:
        raise InvalidState("The connection is not complete, or is being removed", field=at)
    return integration


async def _named(session: TenantSession, integration: Integration, channel_id: str) -> str:
    """What the provider calls the channel, also where it is named by the stream that waits for it (decision 984)."""
    stream_id = as_uuid(channel_id)
    waiting = stream_id and await session.find(SyncStream, id=stream_id, integration_id=integration.id, kind=CHANNEL)
    return waiting.external_id if waiting else channel_id


async def _target(session: TenantSession, input: ChannelLink) -> dict[str, str | None]:
    """The record that the channel is about. Raises Problems for one that is not there."""
    fields = {name: value for name, value in (("account_id", input.account_id), ("deal_id", input.deal_id)) if value}
    led = await changes.check_references(session, fields, _TARGETS)
    found = {name: as_uuid(led.get(name, value)) for name, value in fields.items()}
    return {"account_id": None, "deal_id": None, **found}


async def _seen(ctx: Context, integration: Integration, channel_id: str) -> ChatChannel:
    """The channel, as the provider shows it now. Raises NotFound, InvalidState or ProviderFailed."""
    at: Path = ("input", "channel_id")
    info, services = BY_PROVIDER[IntegrationProvider(integration.provider)], ctx.services
    provider = services.accounts.providers.get(info.provider)
    if provider is None or not isinstance(provider, Chats):
        raise InvalidState(f"{info.name} is not set up here any more", field=("id",))
    if not 0 < len(channel_id) <= CHANNEL_ID_MAX or not channel_id.isascii() or not channel_id.isalnum():
        raise NotFound(field=at)
    pepper, org_id = services.identity.pepper, ctx.org_id
    reading, writing = (partial(each, org_id) for each in (services.database.reading, services.database.writing))
    renewal = Renewal(reading, writing, pepper, provider.oauth, integration.id)
    try:
        sources.opened_secret(pepper, integration.id, integration.sealed)
        token = await renewal.token()
        try:
            found = await provider.channel(token, channel_id)
        except Refused as error:
            if error.status != 401:
                raise
            found = await provider.channel(await renewal.token(token), channel_id)
    except AccountError as error:
        raise ProviderFailed(f"{info.name} did not show the channel. {error.words}", field=at) from None
    if found is None:
        raise NotFound(field=at)
    return found


async def _linked(
    session: TenantSession, integration: Integration, channel: ChatChannel, target: dict[str, str | None]
) -> bool:
    """Link the channel; whether it was not linked so before. Raises InvalidState where there are too many."""
    stream = await notices.stream_named(session, integration.id, CHANNEL, channel.id)
    if stream is None:
        if len(await channels.linked(session, [integration.id])) >= CHANNELS_MAX:
            words = f"A connection has at most {CHANNELS_MAX} linked channels: unlink one first"
            raise InvalidState(words, field=("input", "channel_id"))
        made = new_row(
            SyncStream, integration_id=integration.id, kind=CHANNEL, external_id=channel.id, name=channel.name
        )
        [stream] = await session.insert(made)
    link = await session.find(StreamLink, stream_id=stream.id, lock=True)
    is_same = link is not None and (link.account_id, link.deal_id) == (target["account_id"], target["deal_id"])
    if is_same and stream.enabled and stream.name == channel.name:
        return False
    if not stream.enabled or stream.name != channel.name:
        await session.update(stream, enabled=True, name=channel.name, wants_full=True)
    if link is None:
        await session.insert(new_row(StreamLink, org_id=session.org_id, stream_id=stream.id, **target))
    elif not is_same:
        await session.update(link, **target)
    return True
