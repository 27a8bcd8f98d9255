"""iCalendar feeds: connected by an address or with content, which is read as soon as it is there."""

from datetime import timedelta
from typing import Annotated
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator, ConfigDict, Field, StrictStr

from contract.errors import Duplicate, InvalidState, Path, Problem, Problems
from contract.integrations import (
    FEED_BYTES_MAX,
    FEED_CONTENT_MAX,
    FEED_PATTERN,
    FEED_POLL_SECONDS,
    INTEGRATIONS_MAX,
    INTEGRATIONS_OF_A_MEMBER_MAX,
    IntegrationProvider,
    IntegrationStatus,
    SyncVisibility,
    narrower,
)
from contract.scopes import ScopeGroup
from jobs.queue import hasten, schedule
from jobs.sync import held, sources, waits
from jobs.sync.notices import KIND
from jobs.sync.sources import Secret
from providers.accounts.ical_reading import READING, wrong_with
from providers.children.errors import ChildError
from providers.outbound import NotAllowed
from resolvers.integrations import Name, Settings, check_visibility, own_to_change, queue_run
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, Input, bounded, having_all, storable
from storage.base import as_uuid, new_id
from storage.new_rows import new_row
from storage.queries import integrations as statements
from storage.queries import sync
from storage.tables import FeedContent, Integration, IntegrationPolicy, SyncStream
from storage.tenancy.sessions import TenantSession

_URL_MAX = 4_000


class FeedConnect(Input):
    """A feed to be connected: exactly one of `url` and `content`."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [having_all("url"), having_all("content")]})

    name: Name
    url: Annotated[str, bounded(_URL_MAX, 1), AfterValidator(storable)] | None = None
    content: (
        Annotated[StrictStr, Field(max_length=FEED_CONTENT_MAX, json_schema_extra={"pattern": FEED_PATTERN})] | None
    ) = None
    settings: Settings | None = None


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def connect_feed(ctx: Context, input: FeedConnect) -> Integration:
    """Connect a feed for the caller, and read it at once.

    Raises Problems, InvalidState where there are too many or the policy does not allow feeds, and Duplicate for an
    address that the caller has connected already.
    """
    if (input.url is None) == (input.content is None):
        raise Problems([Problem(("input",), "needs either a url or a content", "missing")])
    content = None
    if input.content is not None:
        content = await _checked(ctx, input.content.encode("utf-8", "replace"), ("input", "content"))
    url = None if input.url is None else await _address(ctx, input.url)
    secret = Secret(url=url, is_upload=url is None)
    async with ctx.writing() as session:
        policy = await sync.lock(session)
        check_visibility(policy, input.settings)
        if IntegrationProvider.ICAL.value not in policy.allowed_providers:
            raise InvalidState("The organization's policy does not allow iCalendar feeds", field=("input",))
        await check_room(ctx, session)
        pepper, integration_id = ctx.services.identity.pepper, new_id()
        key = sources.account_key(pepper, secret, integration_id)
        if await session.find(Integration, provider="ical", account_key=key, owner_id=ctx.caller.subject):
            raise Duplicate("You have connected this address already", field=("input", "url"))
        integration = await connect(
            session,
            new_row(
                Integration,
                org_id=ctx.org_id,
                id=integration_id,
                provider=IntegrationProvider.ICAL.value,
                owner_id=ctx.caller.subject,
                name=input.name,
                account_key=key,
                sealed=sources.sealed_secret(pepper, integration_id, secret),
                poll_seconds=FEED_POLL_SECONDS,
                **chosen_settings(policy, input.settings),
            ),
            None if content is None else (pepper, content),
        )
        told = {"integration_id": integration.id, "provider": integration.provider}
        await changes.append_event(ctx, session, "integration_connected", told)
    ctx.forget()
    return integration


async def connect(
    session: TenantSession, integration: Integration, content: tuple[bytes, bytes] | None = None
) -> Integration:
    """Insert a connection to a feed with its stream, and have it read; `content` is the pepper and an upload."""
    due = await waits.due(session, integration, "The feed's server", [integration.account_key])
    drafted = integration._replace(**due)  # type: ignore[attr-defined]  # a named tuple
    [made] = await session.insert(drafted)
    [stream] = await session.insert(new_row(SyncStream, integration_id=made.id, name=made.name))
    if content is not None:
        sealed = sources.sealed_content(content[0], stream.id, content[1])
        await session.insert(new_row(FeedContent, stream_id=stream.id, sealed=sealed))
    await start(session, made)
    found: Integration = made
    return found


async def start(session: TenantSession, integration: Integration, *, is_full: bool = True) -> None:
    """Have the connection read now, all of it or what changed, and again and again."""
    await queue_run(session, integration.id, full=is_full)
    every = timedelta(seconds=integration.poll_seconds)
    await schedule(session, KIND, {"integration_id": integration.id}, every=every, key=integration.id)
    await schedule(session, held.KIND, {}, every=timedelta(seconds=held.EVERY))


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def replace_feed(ctx: Context, integration_id: str, content: bytes, field: Path = ("content",)) -> Integration:
    """Replace the content of the caller's own uploaded feed, and read it. Raises NotFound, InvalidState or Problems."""
    checked = await _checked(ctx, content, field)
    async with ctx.writing() as session:
        await hasten(session, KIND, as_uuid(integration_id) or "")
        await sync.lock(session)
        integration = await own_to_change(ctx, session, integration_id)
        streams = await sync.streams(session, integration.id)
        kept = await session.find(FeedContent, stream_id=streams[0].id, lock=True) if streams else None
        if kept is None or integration.status == IntegrationStatus.DISCONNECTING.value:
            raise InvalidState("The connection is no uploaded feed", field=("id",))
        pepper = ctx.services.identity.pepper
        await session.update(kept, sealed=sources.sealed_content(pepper, streams[0].id, checked))
        integration = await session.update(integration, **changes.next_version(integration))
        if integration.status == IntegrationStatus.ACTIVE.value:
            await queue_run(session, integration.id)
        told = {"integration_id": integration.id, "provider": integration.provider, "changed": ["content"]}
        await changes.append_event(ctx, session, "integration_updated", told)
    ctx.forget()
    return integration


async def _checked(ctx: Context, content: bytes, at: Path) -> bytes:
    """The content, if it is an iCalendar text. Raises Problems."""
    if len(content) > FEED_BYTES_MAX:
        raise Problems([Problem(at, f"must not be larger than {FEED_BYTES_MAX // 1024 // 1024} MiB", "too_long")])
    try:
        wrong = await ctx.services.children.run(READING, wrong_with, content)
    except ChildError as error:
        wrong = f"the text {error}"
    if wrong is not None:
        raise Problems([Problem(at, f"must be iCalendar text: {wrong}", "value_error")])
    return content


async def _address(ctx: Context, text: str) -> str:
    """The address as it is called: `webcal` is read as https. Raises Problems for one that may not be called."""
    at = ("input", "url")
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        raise Problems([Problem(at, "the address is not a valid one", "url")]) from None
    if parts.scheme.lower() in ("webcal", "webcals"):
        parts = parts._replace(scheme="https")
    url = urlunsplit(parts)
    try:
        await ctx.services.outbound.check(url)
    except NotAllowed as error:
        raise Problems([Problem(at, str(error), "url")]) from None
    return url


async def check_room(ctx: Context, session: TenantSession) -> None:
    """Raise InvalidState where the caller or the organization has as many connections as can be."""
    if await statements.number(session, ctx.caller.subject) >= INTEGRATIONS_OF_A_MEMBER_MAX:
        words = f"A member has at most {INTEGRATIONS_OF_A_MEMBER_MAX} connections: disconnect one first"
        raise InvalidState(words, field=("input",))
    if await statements.number(session) >= INTEGRATIONS_MAX:
        raise InvalidState(f"An organization has at most {INTEGRATIONS_MAX} connections", field=("input",))


def chosen_settings(policy: IntegrationPolicy, given: Settings | None) -> Given:
    """Choose the settings of a new connection: those given, else the policy's defaults, within its bounds."""
    chosen = given or Settings()
    usual = narrower(SyncVisibility(policy.default_visibility), SyncVisibility(policy.widest_visibility))
    visibility = chosen.visibility or usual
    create, internal = chosen.auto_create_contacts, chosen.take_internal
    return {
        "visibility": visibility.value,
        "shown": visibility.value,
        "auto_create": policy.default_auto_create if create is None else create,
        "take_internal": policy.default_take_internal if internal is None else internal,
    }
