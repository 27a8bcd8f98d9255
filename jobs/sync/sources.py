"""What is secret of a connection, sealed: a feed's address or content, and where a stream goes on from."""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import orjson
from cryptography.exceptions import InvalidTag

from contract.integrations import IntegrationProblemCode
from identity.encryption import opened, seal
from identity.secrets import peppers
from providers.accounts.ical import FeedReader, Source
from providers.accounts.ports import AccountError, Reader
from providers.ports import Ports
from storage.base import JsonDict

_LOST = "What is secret of the connection cannot be opened any more. Disconnect it, and connect it again."


@dataclass(frozen=True, slots=True)
class Secret:
    """What a connection is read with: an address, content of its own, or a calendar that this process makes."""

    url: str | None = None
    is_upload: bool = False
    local: str | None = None


def sealed_secret(pepper: bytes, integration_id: str, secret: Secret) -> bytes:
    """The secret as the connection keeps it."""
    plain: JsonDict = {"url": secret.url, "upload": secret.is_upload, "local": secret.local}
    return seal(pepper, _name(integration_id), orjson.dumps(plain))


def opened_secret(pepper: bytes, integration_id: str, sealed: bytes | None) -> Secret:
    """The secret. Raises AccountError where there is none any more, or it was sealed under a pepper that is lost."""
    try:
        if sealed is None:
            raise InvalidTag
        plain = orjson.loads(opened(peppers(pepper), _name(integration_id), sealed))
    except InvalidTag:
        raise AccountError(IntegrationProblemCode.REAUTHORIZE, _LOST, is_final=True) from None
    return Secret(plain["url"], plain["upload"], plain["local"])


def host_of(secret: Secret) -> str | None:
    """What a feed is known by: the host of its address, which says nothing of what is secret in it."""
    return None if secret.url is None else urlsplit(secret.url).hostname


def account_key(pepper: bytes, secret: Secret, otherwise: str) -> str:
    """What stands for the account, so that it is connected once by each member (decision 365)."""
    named = secret.url or secret.local
    return otherwise if named is None else hmac.digest(pepper, f"account:{named}".encode(), "sha256").hex()


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
    """Where a stream goes on from, as it is kept."""
    return seal(pepper, f"cursor:{stream_id}", cursor.encode())


def opened_cursor(pepper: bytes, stream_id: str, sealed: bytes | None) -> str | None:
    """Where a stream goes on from; None where it begins anew."""
    try:
        return None if sealed is None else opened(peppers(pepper), f"cursor:{stream_id}", sealed).decode()
    except InvalidTag:
        return None


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
