"""Calls to addresses that somebody else chose: safe against server-side request forgery, and bounded (decision 61).

A name is resolved here, all of its addresses are checked, and the connection goes to a checked address, so that a
second answer of the name service cannot lead elsewhere; Host and the name in the TLS handshake stay what the caller
wrote. Redirects are followed by hand, each through the same checks. Proxies of the environment play no part.

The messages of errors name nothing but the host that the caller wrote, and may be shown to clients.
"""

import asyncio
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address

from contract.limits import VERSION
from providers import wire
from providers.addresses import Resolve, is_allowed, system_resolve
from providers.calls import OK, Calls

USER_AGENT = f"crm-gateway/{VERSION}"
REDIRECTS_MAX = 5
URL_MAX = 4_000
_ADDRESSES_TRIED = 3
_MOVED = (301, 302, 303, 307, 308)
_PORTS = {"http": 80, "https": 443}
_PLAIN = ("identity", "")
_ZIPPED = {"gzip": zlib.MAX_WBITS | 32, "x-gzip": zlib.MAX_WBITS | 32, "deflate": zlib.MAX_WBITS | 32}
_ANYWHERE = {"accept", "accept-encoding", "accept-language", "user-agent"}
"""Headers that go along to another origin; what else the caller gave is meant for the first one."""


class OutboundError(Exception):
    """A call that gave no answer; the text is fit for clients."""


class NotAllowed(OutboundError):
    """The address is none that the service calls: another scheme, a credential in it, or not on the public internet."""


class Unreachable(OutboundError):
    """No such name, no connection, no valid certificate, or an answer that broke off or is none."""


class TooSlow(OutboundError):
    """A deadline passed."""


class TooLarge(OutboundError):
    """The body is over the limit, decoded."""


class TooManyRedirects(OutboundError):
    """More hops than allowed."""


class WrongType(OutboundError):
    """The content is of another type than asked for."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call: `seconds` over all of it, redirects included; the others per phase, or per body.

    `cut` drops what is over `body_bytes` where it would else be refused.
    """

    seconds: float = 15.0
    resolve_seconds: float = 5.0
    connect_seconds: float = 5.0
    read_seconds: float = 10.0
    body_bytes: int = 2_000_000
    redirects: int = REDIRECTS_MAX
    cut: bool = False


_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of the last hop, whose address is `url`. `seconds` went by until its headers were there."""

    url: str
    status: int
    headers: wire.Headers
    body: bytes
    seconds: float
    redirects: tuple[str, ...] = field(default=())

    @property
    def media_type(self) -> str:
        """The content type without its parameters, in lower case; empty where there is none."""
        return _media_type(self.headers)


class Outbound:
    """The client; one per process, used by any number of callers at the same time.

    `allow_loopback` lets this machine be called (for tests). `certificates` replaces the usual authorities.
    """

    def __init__(
        self,
        *,
        allow_loopback: bool = False,
        resolve: Resolve = system_resolve,
        certificates: ssl.SSLContext | None = None,
        calls: Calls | None = None,
    ) -> None:
        self._calls = calls or Calls()
        self._loopback = allow_loopback
        self._resolve = resolve
        # No connection is kept: two names at one address must never share one.
        self._transport = wire.LateTransport(
            certificates or True, trust_env=False, limits=wire.Limits(max_keepalive_connections=0)
        )

    @property
    def allows_loopback(self) -> bool:
        """Says whether this machine may be called, and nobody listens in."""
        return self._loopback

    async def check(self, url: str) -> None:
        """Raise NotAllowed where the address is one that is not called, as far as its name leads anywhere now."""
        target = _web_address(url)
        try:
            await self._checked(target, _LIMITS)
        except NotAllowed:
            raise
        except OutboundError:
            return

    async def close(self) -> None:
        await self._transport.aclose()

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        types: Collection[str] | None = None,
        limits: Limits = _LIMITS,
        before_redirect: Callable[[str], Awaitable[None]] | None = None,
    ) -> Answer:
        """Call the address. Any status is an answer; raises OutboundError where there is none.

        Redirects are followed for GET and HEAD only, else they are the answer; `before_redirect` is awaited with each
        address that one leads to, and raises to have it left alone. `types` are the media types of which a successful
        answer has to be one.
        """
        with self._calls.one("web") as call:
            answer = await self._request(method, url, headers or {}, content, types, limits, before_redirect)
            call.outcome = OK if 200 <= answer.status < 300 else f"{answer.status // 100}xx"
            return answer

    async def _request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes | None,
        types: Collection[str] | None,
        limits: Limits,
        before_redirect: Callable[[str], Awaitable[None]] | None,
    ) -> Answer:
        hops: list[str] = []
        target = _web_address(url)
        sent = {"user-agent": USER_AGENT, "accept": "*/*"} | {n.lower(): v for n, v in headers.items()}
        sent["accept-encoding"] = "gzip"
        try:
            async with asyncio.timeout(limits.seconds):
                while True:
                    async with self._sent(wire.Request(method, target, headers=sent, content=content), limits) as hop:
                        onward = _onward(method, target, hop.response)
                        if onward is None:
                            return await _answer(target, hop, hops, types, limits)
                    hops.append(str(target))
                    if len(hops) > limits.redirects:
                        raise TooManyRedirects(f"{_name(target)} redirects more than {limits.redirects} times")
                    if before_redirect is not None:
                        await before_redirect(str(onward))
                    if _origin(onward) != _origin(target):
                        sent = {name: value for name, value in sent.items() if name in _ANYWHERE}
                    target = onward
        except TimeoutError:
            raise TooSlow(f"{_name(target)} took longer than {limits.seconds:g} seconds") from None

    @asynccontextmanager
    async def _sent(self, request: wire.Request, limits: Limits) -> AsyncIterator["_Hop"]:
        """The response to one request, open: over the first of the name's addresses that takes the connection."""
        name = _name(request.url)
        try:
            response, seconds = await self._first(request, limits)
            try:
                yield _Hop(response, seconds)
            finally:
                await wire.end(response)
        except wire.TimeoutException:
            raise TooSlow(f"{name} does not answer in time") from None
        except (wire.TransportError, ssl.SSLError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            raise Unreachable(f"{name} cannot be reached") from None

    async def _first(self, request: wire.Request, limits: Limits) -> tuple[wire.Response, float]:
        addresses = await self._checked(request.url, limits)
        for position, address in enumerate(addresses):
            try:
                started = time.perf_counter()
                response = await self._transport.handle_async_request(_pinned(request, address, limits))
                return response, time.perf_counter() - started
            except (wire.ConnectError, wire.ConnectTimeout):
                if position == len(addresses) - 1:
                    raise
        raise Unreachable(f"{_name(request.url)} has no address")

    async def _checked(self, url: wire.URL, limits: Limits) -> list[str]:
        """The first addresses of the name, all of which may be called. Raises NotAllowed, Unreachable or TooSlow."""
        name = _name(url)
        try:
            async with asyncio.timeout(limits.resolve_seconds):
                found = await self._resolve(name, url.port or _PORTS[url.scheme])
        except TimeoutError:
            raise TooSlow(f"the name {name} is not resolved in time") from None
        except (OSError, UnicodeError):
            raise Unreachable(f"the name {name} cannot be resolved") from None
        for text in found:
            try:
                allowed = is_allowed(ip_address(text), loopback=self._loopback)
            except ValueError:
                allowed = False
            if not allowed:
                raise NotAllowed(f"{name} is not on the public internet")
        return found[:_ADDRESSES_TRIED]


@dataclass(frozen=True, slots=True)
class _Hop:
    response: wire.Response
    seconds: float


def retry_after(header: str | None) -> float | None:
    """Seconds of a Retry-After header; a date, or what is no number, says nothing that could be relied on."""
    if header is None or not header.strip().isdecimal():
        return None
    return float(header.strip()[:9])


def _web_address(url: str | wire.URL) -> wire.URL:
    """The address without its fragment. Raises NotAllowed where it is none that may be called."""
    if len(str(url)) > URL_MAX:
        raise NotAllowed(f"the address is longer than {URL_MAX} characters")
    try:
        address = wire.URL(url).copy_with(fragment=None)
    except (wire.InvalidURL, UnicodeError):
        raise NotAllowed("the address is not a valid one") from None
    if address.scheme not in _PORTS:
        raise NotAllowed("the address must start with http:// or https://")
    if not address.raw_host or "%" in _name(address):
        raise NotAllowed("the address names no host")
    if address.userinfo:
        raise NotAllowed("the address must not hold a credential")
    if address.port is not None and not 0 < address.port < 65_536:
        raise NotAllowed("the address names a port that is none")
    return address


def _name(url: wire.URL) -> str:
    """The host as it is resolved and sent: ASCII, an IPv6 address without brackets."""
    return url.raw_host.decode("ascii").strip("[]")


def _origin(url: wire.URL) -> tuple[str, str, int]:
    return url.scheme, _name(url), url.port or _PORTS[url.scheme]


def _pinned(request: wire.Request, address: str, limits: Limits) -> wire.Request:
    """The same request to the checked address: Host and the name of the TLS handshake stay those of the caller."""
    phases = {"connect": limits.connect_seconds, "read": limits.read_seconds}
    extensions = {
        "timeout": phases | {"write": limits.read_seconds, "pool": limits.connect_seconds},
        "sni_hostname": _name(request.url),
    }
    url = request.url.copy_with(host=address)
    return wire.Request(request.method, url, headers=request.headers, stream=request.stream, extensions=extensions)


def _onward(method: str, target: wire.URL, response: wire.Response) -> wire.URL | None:
    """Says where a redirect leads, checked like any address; None for an answer."""
    location = response.headers.get("location")
    if response.status_code not in _MOVED or location is None or method not in ("GET", "HEAD"):
        return None
    try:
        return _web_address(target.join(location))
    except (wire.InvalidURL, UnicodeError):
        raise NotAllowed(f"{_name(target)} redirects to an address that is not valid") from None


async def _answer(
    target: wire.URL, hop: _Hop, hops: list[str], types: Collection[str] | None, limits: Limits
) -> Answer:
    response = hop.response
    if types is not None and response.is_success and _media_type(response.headers) not in types:
        raise WrongType(f"{_name(target)} answers with another type of content")
    body = await _body(target, response, limits)
    return Answer(str(target), response.status_code, response.headers, body, hop.seconds, tuple(hops))


def _media_type(headers: wire.Headers) -> str:
    return str(headers.get("content-type", "")).partition(";")[0].strip().lower()


async def _body(target: wire.URL, response: wire.Response, limits: Limits) -> bytes:
    """The body, decoded piece by piece, so that nothing grows past the limit on the way."""
    coding = str(response.headers.get("content-encoding", "")).strip().lower()
    if coding not in _PLAIN and coding not in _ZIPPED:
        raise WrongType(f"{_name(target)} answers in an encoding that was not asked for")
    decoder = zlib.decompressobj(_ZIPPED[coding]) if coding in _ZIPPED else None
    body = bytearray()
    try:
        async for chunk in response.aiter_raw():
            room = limits.body_bytes + 1 - len(body)
            body += chunk[:room] if decoder is None else decoder.decompress(chunk, room)
            if len(body) > limits.body_bytes or (decoder is not None and decoder.eof):
                break  # the decoder would keep whatever comes behind the end
    except zlib.error:
        raise Unreachable(f"{_name(target)} answers with a damaged body") from None
    if len(body) > limits.body_bytes:
        if not limits.cut:
            raise TooLarge(f"the answer of {_name(target)} is larger than {limits.body_bytes} bytes")
        del body[limits.body_bytes :]
    elif decoder is not None and body and not decoder.eof:
        raise Unreachable(f"{_name(target)} answers with a damaged body")
    return bytes(body)
