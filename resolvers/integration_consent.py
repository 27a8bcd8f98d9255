"""Connecting an account by the member's consent at its provider: begun, and completed by the member who began it.

What comes back from the provider connects nothing by itself (resolvers/integration_callback.py): who gets somebody else
to follow a consent link that they began never sees the code that completes it.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from contract.errors import (
    Conflict,
    Duplicate,
    Forbidden,
    InvalidState,
    NotFound,
    Path,
    Problem,
    Problems,
    ProviderFailed,
)
from contract.integrations import (
    BY_PROVIDER,
    CONSENT_SECONDS,
    NAMED_IN_NOTICES,
    IntegrationOwnership,
    IntegrationProvider,
    IntegrationStatus,
    IntegrationStreamKind,
    ProviderInfo,
)
from contract.scopes import ScopeGroup
from contract.web_address import origin_of_address
from identity.secrets import matches, stored
from jobs.queue import hasten
from jobs.sync import sources, waits
from jobs.sync.notices import KIND
from jobs.sync.sources import Account, Secret
from providers.accounts.consents import AccountProvider, CalendarInfo, Who
from providers.accounts.oauth import Tokens, new_verifier
from providers.accounts.ports import AccountError
from resolvers.integration_feeds import check_room, chosen_settings, start
from resolvers.integrations import Name, Settings, check_visibility, is_administrator, own_to_change
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.consents import Grant, new_state, opened_grant, sealed_grant
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, bounded, storable
from storage.base import as_uuid, new_id, now
from storage.new_rows import new_row
from storage.queries import integrations as statements
from storage.queries import notices, sync
from storage.tables import Integration, SyncStream
from storage.tenancy.sessions import TenantSession

_ADDRESS_MAX: Final = 2_000
_CODE_MAX: Final = 200
_PENDING: Final = IntegrationStatus.PENDING.value
_WRONG: Final = "The completion code is not valid, was used, or has expired: begin the connection again"
ReturnTo = Annotated[str, bounded(_ADDRESS_MAX, 1), AfterValidator(storable)]


class IntegrationConnect(Input):
    """A connection to begin: its provider, kinds of streams, name and settings, and where the consent leads back to."""

    provider: IntegrationProvider
    kinds: Annotated[list[IntegrationStreamKind], Field(min_length=1, max_length=4)] | None = None
    name: Name | None = None
    settings: Settings | None = None
    return_to: ReturnTo | None = None


class IntegrationReconnect(Input):
    """A renewal of a consent, with the address that it leads back to."""

    return_to: ReturnTo | None = None


class IntegrationComplete(Input):
    """The code that finishes a connection."""

    completion_code: Annotated[str, bounded(_CODE_MAX, 1)]


@dataclass(frozen=True, slots=True)
class Consent:
    """A connection whose consent is under way, and the provider's page for it."""

    integration: Integration
    authorization_url: str = field(repr=False)
    expires_at: datetime


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def connect_integration(ctx: Context, input: IntegrationConnect) -> Consent:
    """Begin a connection: a pending one, and the provider's page to send the member to.

    Raises Problems, Forbidden for what is the organization's, and InvalidState where the provider cannot be connected,
    the policy does not allow it, or there are too many.
    """
    info = BY_PROVIDER[input.provider]
    provider = _provider(ctx, info)
    _check_kinds(info, input.kinds)
    _check_return(ctx, input.return_to, ("input", "return_to"))
    async with ctx.writing() as session:
        policy = await sync.lock(session)
        check_visibility(policy, input.settings)
        if info.provider.value not in policy.allowed_providers:
            raise InvalidState(f"The organization's policy does not allow {info.name}", field=("input", "provider"))
        await statements.forget_begun(session, ctx.caller.subject, now())
        await check_room(ctx, session)
        integration_id = new_id()
        drafted = new_row(
            Integration,
            org_id=ctx.org_id,
            id=integration_id,
            provider=info.provider.value,
            owner_id=None if info.ownership is IntegrationOwnership.ORGANIZATION else ctx.caller.subject,
            name=input.name or info.name,
            account_key=integration_id,  # whose account it will be is not known yet
            status=_PENDING,
            poll_seconds=ctx.services.accounts.poll_seconds,
            **chosen_settings(policy, input.settings),
        )
        [integration] = await session.insert(drafted)
        begun = await _asked(ctx, session, integration, provider, input.return_to, info.usual(input.kinds))
    ctx.forget()
    return begun


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def reconnect_integration(ctx: Context, integration_id: str, return_to: str | None = None) -> Consent:
    """Begin a new consent for the caller's own connection, which goes on as it is meanwhile.

    Raises NotFound, Problems, or InvalidState for a feed and for what is being removed.
    """
    _check_return(ctx, return_to, ("return_to",))
    async with ctx.writing() as session:
        integration = await own_to_change(ctx, session, integration_id)
        if integration.provider == IntegrationProvider.ICAL.value:
            raise InvalidState("A feed needs no consent: connect its address anew", field=("id",))
        if integration.status == IntegrationStatus.DISCONNECTING.value:
            raise InvalidState("The connection is being removed", field=("id",))
        info = BY_PROVIDER[IntegrationProvider(integration.provider)]
        provider = _provider(ctx, info)
        kinds = info.usual(await _followed_kinds(ctx, session, integration))
        begun = await _asked(ctx, session, integration, provider, return_to, kinds)
    ctx.forget()
    return begun


async def _followed_kinds(
    ctx: Context, session: TenantSession, integration: Integration
) -> list[IntegrationStreamKind]:
    """The kinds of streams that the connection has, or that were to be followed where none are there yet."""
    found = [IntegrationStreamKind(each.kind) for each in await sync.streams(session, integration.id)]
    if found or integration.grant_sealed is None:
        return found
    grant = opened_grant(ctx.services.identity.pepper, integration.id, integration.grant_sealed)
    return [IntegrationStreamKind(each) for each in grant.kinds]


def _provider(ctx: Context, info: ProviderInfo) -> AccountProvider:
    """The provider as it is set up. Raises Problems, Forbidden or InvalidState."""
    at: Path = ("input", "provider")
    if info.provider is IntegrationProvider.ICAL:
        raise Problems([Problem(at, "is connected by its address or its content, as a feed", "value_error")])
    if info.ownership is IntegrationOwnership.ORGANIZATION and not is_administrator(ctx):
        raise Forbidden(ScopeGroup.ORG_ADMIN, ctx.caller.scopes)
    found = ctx.services.accounts.providers.get(info.provider)
    if found is None:
        missing = ", ".join(name for name in info.settings if name in ctx.services.accounts.missing)
        raise InvalidState(f"{info.name} is not set up here: the operator has to set {missing}", field=at)
    return found


def _check_kinds(info: ProviderInfo, kinds: Sequence[IntegrationStreamKind] | None) -> None:
    """Raise Problems for what the provider does not bring here."""
    problems = [
        Problem(("input", "kinds", place), f"is nothing that {info.name} brings here", "value_error")
        for place, kind in enumerate(kinds or ())
        if kind not in info.kinds
    ]
    if problems:
        raise Problems(problems)


def _check_return(ctx: Context, return_to: str | None, at: Path) -> None:
    """Raise Problems for an address to which no browser is sent from here."""
    if return_to is None:
        return
    if origin_of_address(return_to) not in ctx.services.accounts.origins or "#" in return_to:
        words = "must be an address of this service, or of an origin of CRM_CORS_ORIGINS, without a fragment"
        raise Problems([Problem(at, words, "url")])


async def _asked(
    ctx: Context,
    session: TenantSession,
    integration: Integration,
    provider: AccountProvider,
    return_to: str | None,
    kinds: Sequence[IntegrationStreamKind],
) -> Consent:
    """The consent that is under way from now on; one before it is no longer."""
    pepper, verifier, nonce = ctx.services.identity.pepper, new_verifier(), secrets.token_urlsafe(32)
    expires_at = now() + timedelta(seconds=CONSENT_SECONDS)
    integration = await session.update(
        integration,
        grant_sealed=sealed_grant(
            pepper, integration.id, Grant(verifier, return_to, kinds=kinds, subject=ctx.caller.subject)
        ),
        grant_state=stored(nonce, pepper),
        grant_code=None,
        grant_expires_at=expires_at,
        **changes.next_version(integration),
    )
    told = {"integration_id": integration.id, "provider": integration.provider, "changed": ["consent"]}
    await changes.append_event(ctx, session, "integration_updated", told)
    which = IntegrationProvider(integration.provider)
    state = new_state(pepper, ctx.org_id, integration.id, which, nonce)
    redirect = ctx.services.accounts.redirect(which)
    scopes = BY_PROVIDER[which].asked_for(kinds)
    return Consent(integration, provider.oauth.address(redirect, state, verifier, scopes), expires_at)


@dataclass(frozen=True, slots=True)
class _Given:
    """The tokens, the account and its calendars that the provider gave for the code."""

    tokens: Tokens
    who: Who
    calendars: Sequence[CalendarInfo]


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def complete_integration(ctx: Context, integration_id: str, input: IntegrationComplete) -> Integration:
    """Finish the caller's own connection with the code that the callback gave, and have it read.

    Raises NotFound, InvalidState for a code that is not good and for a permission that was not given, ProviderFailed,
    Duplicate for an account that the caller has connected already, and Conflict for another one than before.
    """
    pepper = ctx.services.identity.pepper
    async with ctx.writing() as session:
        integration = await own_to_change(ctx, session, integration_id)
        kept = integration.grant_sealed
        grant = None if kept is None else opened_grant(pepper, integration.id, kept)
        if grant is not None and grant.subject not in ("", ctx.caller.subject):
            raise NotFound(field=("id",))  # another administrator began what is the organization's
        expires = integration.grant_expires_at
        is_good = matches(input.completion_code, integration.grant_code, pepper)
        if not is_good or expires is None or expires < now() or grant is None:
            raise InvalidState(_WRONG, field=("input", "completion_code"))
        values = {"grant_sealed": None, "grant_state": None, "grant_code": None, "grant_expires_at": None}
        integration = await session.update(integration, **values)
    await ctx.commit()  # the code is used up, whatever comes of it (decision 571)
    info = BY_PROVIDER[IntegrationProvider(integration.provider)]
    try:
        given = await _exchanged(ctx, info, grant)
    except AccountError as error:
        await _give_up(ctx, integration)
        words = f"{info.name} did not complete the consent: begin again. {error.words}"
        raise ProviderFailed(words, field=("input", "completion_code")) from None
    try:
        completed = await _kept(ctx, integration.id, info, given, _needed(ctx, info, grant))
    except (Duplicate, Conflict, InvalidState):
        await _give_up(ctx, integration)
        raise
    ctx.forget()
    return completed


async def _exchanged(ctx: Context, info: ProviderInfo, grant: Grant) -> _Given:
    """Exchange the code for what it stands for: tokens alone, where a permission is missing. Raises AccountError."""
    provider = _provider(ctx, info)
    redirect = ctx.services.accounts.redirect(info.provider)
    tokens = await provider.oauth.exchanged(grant.code, grant.verifier, redirect, now())
    if not _needed(ctx, info, grant) <= tokens.scopes:
        return _Given(tokens, Who("", ""), ())
    who = await provider.who(tokens.access)
    is_mail_alone = set(grant.kinds) == {IntegrationStreamKind.MAIL}
    found = [] if is_mail_alone else await provider.calendars(tokens.access)
    mail = IntegrationStreamKind.MAIL
    if mail in grant.kinds:
        found += [CalendarInfo(key, name, is_primary=True, kind=mail) for key, name in info.folders]
    return _Given(tokens, who, found)


def _needed(ctx: Context, info: ProviderInfo, grant: Grant) -> frozenset[str]:
    """The permissions without which what is to be followed cannot be read."""
    own = frozenset(permission for kind, permission in info.of_kind.items() if kind in grant.kinds)
    return own or _provider(ctx, info).needed


async def _give_up(ctx: Context, integration: Integration) -> None:
    """Forget a connection that was only begun; one that was there goes on as it was."""
    async with ctx.writing() as session:
        found = await session.find(Integration, id=integration.id, lock=True)
        if found is not None and found.status == _PENDING:
            await session.delete(found)
            told = {"integration_id": found.id, "provider": found.provider, "deleted": False}
            await changes.append_event(ctx, session, "integration_disconnected", told)
    await ctx.commit()
    ctx.forget()


async def _kept(
    ctx: Context, integration_id: str, info: ProviderInfo, given: _Given, needed: frozenset[str]
) -> Integration:
    """The connection with its tokens, to be read at once. Raises NotFound, InvalidState, Duplicate or Conflict.

    A permission that was not ticked connects nothing (decision 572).
    """
    pepper = ctx.services.identity.pepper
    if missing := sorted(needed - given.tokens.scopes):
        words = f"{info.name} was not permitted to show what is read: connect again, and tick {', '.join(missing)}"
        raise InvalidState(words, field=("input", "completion_code"))
    async with ctx.writing() as session:
        await hasten(session, KIND, as_uuid(integration_id) or "")
        await sync.lock(session)
        integration = await own_to_change(ctx, session, integration_id)
        keys = sources.account_keys(pepper, info.provider.value, given.who.id)
        is_new = integration.status == _PENDING and integration.sealed is None
        await _check_account(ctx, session, integration, keys, is_new=is_new)
        former = None if is_new else sources.opened_secret(pepper, integration.id, integration.sealed).account
        refresh = given.tokens.refresh or (former and former.refresh)
        if not refresh and not given.tokens.is_lasting:
            words = f"{info.name} gave nothing to go on with: remove this service from the account there, and try again"
            raise InvalidState(words, field=("input", "completion_code"))
        streams = await _followed(session, pepper, integration.id, given.calendars)
        account = Account(given.who.label, given.tokens.access, refresh or "", given.tokens.expires_at, streams)
        is_held_up = integration.status in (_PENDING, IntegrationStatus.ACTION_REQUIRED.value)
        status = IntegrationStatus.ACTIVE.value if is_held_up else integration.status
        values = {
            "sealed": sources.sealed_secret(pepper, integration.id, Secret(account=account)),
            "token_version": integration.token_version + 1,
            "refreshing_until": None,
            "account_key": keys[0],
            "status": status,
            **await waits.due(session, integration, info.name, keys),
        }
        if status != IntegrationStatus.ACTIVE.value:
            values["next_sync_at"] = None
        integration = await session.update(integration, **values, **changes.next_version(integration))
        if info.provider in NAMED_IN_NOTICES:
            await notices.remember_account(session, integration, keys[0])
        if status == IntegrationStatus.ACTIVE.value:
            await start(session, integration, is_full=is_new)
        told = {"integration_id": integration.id, "provider": integration.provider}
        type, more = ("integration_connected", {}) if is_new else ("integration_updated", {"changed": ["account"]})
        await changes.append_event(ctx, session, type, told | more)
    return integration


async def _check_account(
    ctx: Context, session: TenantSession, integration: Integration, keys: Sequence[str], *, is_new: bool
) -> None:
    """Raise Conflict for another account than before, and Duplicate for one that the caller has connected already."""
    if not is_new:
        if integration.account_key not in keys:
            words = "This is another account than before: give the consent with the same one, or connect it by itself"
            raise Conflict(words, field=("input", "completion_code"))
        return
    if await statements.has_account(session, integration.provider, keys, integration.owner_id):
        raise Duplicate("You have connected this account already", field=("input", "completion_code"))


async def _followed(
    session: TenantSession, pepper: bytes, integration_id: str, calendars: Sequence[CalendarInfo]
) -> dict[str, str]:
    """The calendars' identifiers by what streams call them; the primary one is followed, the others could be.

    A calendar's identifier is often an address, so that what stands in a stream is a keyed hash (decision 576).
    """
    there = {(stream.kind, stream.external_id) for stream in await sync.streams(session, integration_id)}
    named = {each.id if each.is_primary else stored(each.id, bytes(pepper)): each for each in calendars}
    new = [
        new_row(
            SyncStream,
            integration_id=integration_id,
            kind=each.kind.value,
            external_id=key,
            name=each.name,
            enabled=each.is_primary,
        )
        for key, each in named.items()
        if (each.kind.value, key) not in there
    ]
    for row in new:  # a few, and rows with bytes are inserted one at a time
        await session.insert(row)
    return {key: each.id for key, each in named.items()}
