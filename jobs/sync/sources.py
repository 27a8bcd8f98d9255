"""Seals the secrets of a connection: an account's tokens, a feed's address or content, where a stream goes on."""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from urllib.parse import urlsplit

import orjson
from cryptography.exceptions import InvalidTag

from contract.integrations import IntegrationProblemCode, IntegrationProvider, IntegrationStreamKind
from identity.encryption import opened, seal
from identity.secrets import peppers
from providers.accounts.consents import Access, AccountProvider, Accounts, Mailing
from providers.accounts.ical import FeedReader, Source
from providers.accounts.ports import AccountError, Reader
from providers.ports import Ports
from storage.base import JsonDict
from storage.tables import Integration, SyncStream

_AWAY_SECONDS = 3_600.0
_LOST = "What is secret of the connection cannot be opened any more. Disconnect it, and connect it again."


@dataclass(frozen=True, slots=True)
class Account:
    """An account connected by consent. `calendars` has the calendars' identifiers by what streams call them."""

    label: str = field(repr=False)
    access: str = field(repr=False)
    refresh: str = field(repr=False)
    expires_at: datetime
    calendars: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Secret:
    """The source of a connection: an account, an address, content of its own, or a calendar of this process."""

    url: str | None = None
    is_upload: bool = False
    local: str | None = None
    account: Account | None = None


def sealed_secret(pepper: bytes, integration_id: str, secret: Secret) -> bytes:
    """The secret as the connection keeps it."""
    plain: JsonDict = {"url": secret.url, "upload": secret.is_upload, "local": secret.local}
    if secret.account is not None:
        plain["account"] = asdict(secret.account)
    return seal(pepper, _name(integration_id), orjson.dumps(plain))


def opened_secret(pepper: bytes, integration_id: str, sealed: bytes | None) -> Secret:
    """The secret. Raises AccountError where there is none any more, or it was sealed under a pepper that is lost."""
    try:
        if sealed is None:
            raise InvalidTag
        plain = orjson.loads(opened(peppers(pepper), _name(integration_id), sealed))
    except InvalidTag:
        raise AccountError(IntegrationProblemCode.REAUTHORIZE, _LOST, is_final=True) from None
    told = plain.get("account")
    account = told and Account(**{**told, "expires_at": datetime.fromisoformat(told["expires_at"])})
    return Secret(plain["url"], plain["upload"], plain["local"], account)


def label_of(secret: Secret) -> str | None:
    """Name a connection by its account, or the host of a feed, which says nothing of what is secret in it."""
    if secret.account is not None:
        return secret.account.label or None
    return None if secret.url is None else urlsplit(secret.url).hostname


def account_keys(pepper: bytes, provider: str, account: str) -> list[str]:
    """Digest the account's name under the pepper, and under those before it."""
    named = f"account:{provider}:{account}".encode()
    return [hmac.digest(bytes(one), named, "sha256").hex() for one in peppers(pepper)]


def account_key(pepper: bytes, secret: Secret, otherwise: str) -> str:
    """Return the key of the account, so that it is connected once by each member (decision 365)."""
    named = secret.url or secret.local
    return otherwise if named is None else hmac.digest(pepper, f"account:{named}".encode(), "sha256").hex()


def revocation_of(pepper: bytes, integration: Integration, accounts: Accounts) -> dict[str, str]:
    """The arguments with which a job takes the consent back: the token, sealed for it; none for a feed."""
    try:
        account = opened_secret(pepper, integration.id, integration.sealed).account
    except AccountError:
        return {}
    provider = accounts.providers.get(IntegrationProvider(integration.provider))
    if account is None or provider is None:
        return {}
    token = provider.oauth.to_revoke(account.access, account.refresh)
    sealed = seal(pepper, f"revoke:{integration.id}", token.encode())
    return {"provider": integration.provider, "revoking": b64encode(sealed).decode()}


def opened_revocation(pepper: bytes, integration_id: str, sealed: str) -> str:
    """The token. Raises InvalidTag."""
    return opened(peppers(pepper), f"revoke:{integration_id}", b64decode(sealed)).decode()


def sealed_content(pepper: bytes, stream_id: str, content: bytes) -> bytes:
    """An uploaded feed as it is kept."""
    return seal(pepper, f"feed:{stream_id}", content)


def opened_content(pepper: bytes, stream_id: str, sealed: bytes) -> bytes:
    """The uploaded feed. Raises AccountError."""
    try:
        return opened(peppers(pepper), f"feed:{stream_id}", sealed)
    except InvalidTag:
        raise AccountError(IntegrationProblemCode.REAUTHORIZE, _LOST, is_final=True) from None


def sealed_cursor(pepper: bytes, stream_id: str, cursor: str) -> bytes:
    """Seal the cursor from which a stream goes on."""
    return seal(pepper, f"cursor:{stream_id}", cursor.encode())


def opened_cursor(pepper: bytes, stream_id: str, sealed: bytes | None) -> str | None:
    """Open the cursor from which a stream goes on; None where it begins anew."""
    try:
        return None if sealed is None else opened(peppers(pepper), f"cursor:{stream_id}", sealed).decode()
    except InvalidTag:
        return None


def provider_of(ports: Ports, name: str) -> AccountProvider:
    """The provider of an account. Raises AccountError where the operator has taken it away."""
    found = ports.accounts.providers.get(IntegrationProvider(name))
    if found is None:
        words = "The provider is not set up here any more: ask the operator, or disconnect."
        raise AccountError(IntegrationProblemCode.PROVIDER_UNAVAILABLE, words, retry_after=_AWAY_SECONDS)
    return found


def account_reader(provider: AccountProvider, account: Account, stream: SyncStream, access: Access) -> Reader:
    """The reader of a stream of an account. Raises AccountError for a calendar that it has no more."""
    if stream.kind == IntegrationStreamKind.MAIL and isinstance(provider, Mailing):
        return provider.mail(stream.external_id, account.label, access)
    is_named = stream.kind == IntegrationStreamKind.CHANNEL  # by its own identifier, which is nobody's address
    calendar = stream.external_id if is_named else account.calendars.get(stream.external_id)
    if calendar is None:
        words = "The calendar is not there any more: follow another one, or reconnect."
        raise AccountError(IntegrationProblemCode.FORBIDDEN, words, is_final=True)
    return provider.reader(calendar, account.label, access)


def reader_of(
    ports: Ports, secret: Secret, content: Callable[[], Awaitable[bytes]], present: Callable[[], datetime]
) -> Reader:
    """The reader of a feed. Raises AccountError for a calendar that this process does not make."""
    if secret.local is not None:
        name, _, asked = secret.local.partition("?")
        made = ports.feeds.get(name)
        if made is None:
            words = "The calendar is one of the demo, and is there with `serve --demo` alone."
            raise AccountError(IntegrationProblemCode.FEED_UNREACHABLE, words)

        async def local() -> bytes:
            return made(asked, present())

        return FeedReader(Source(content=local), ports.outbound, ports.children)
    if secret.is_upload:
        return FeedReader(Source(content=content, is_upload=True), ports.outbound, ports.children)
    return FeedReader(Source(url=secret.url), ports.outbound, ports.children)


def _name(integration_id: str) -> str:
    return f"integration:{integration_id}"
