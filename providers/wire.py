"""The one way to httpx: who calls another service, or reads an answer of one, takes from here what is needed of it.

Its names are few, and those of version 0.28, which pyproject.toml bounds: another version, or another library with such
a client, is a change of this module (decision 875).
"""

import ssl
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING
from urllib.request import getproxies

import httpx
from httpx import (
    URL,
    AsyncBaseTransport,
    AsyncHTTPTransport,
    ByteStream,
    ConnectError,
    ConnectTimeout,
    DecodingError,
    Headers,
    HTTPError,
    InvalidURL,
    Limits,
    ReadError,
    ReadTimeout,
    RemoteProtocolError,
    Request,
    Response,
    Timeout,
    TimeoutException,
    TransportError,
)

from contract.tracing import TRACEPARENT
from contract.tracing import current as running_span

__all__ = [
    "URL",
    "AsyncClient",
    "AsyncHTTPTransport",
    "ConnectError",
    "ConnectTimeout",
    "DecodingError",
    "HTTPError",
    "Headers",
    "InvalidURL",
    "LateTransport",
    "Limits",
    "ReadError",
    "ReadTimeout",
    "RemoteProtocolError",
    "Request",
    "Response",
    "Timeout",
    "TimeoutException",
    "TransportError",
    "end",
]


async def end(response: Response) -> None:
    """Close an answer that came in pieces. The two of it and its stream, which has it, let go of each other.

    A ring of both would keep the connection's objects until garbage is looked for (decision 1170).
    """
    await response.aclose()
    response.stream = ByteStream(b"")


class LateTransport(AsyncBaseTransport):
    """A transport that is made when it is first needed: the certificates of all authorities take 4 MiB.

    `verify` is what to verify the others' certificates with: the usual authorities, or a context of one's own.
    """

    def __init__(self, verify: ssl.SSLContext | bool = True, *, trust_env: bool, limits: Limits | None = None) -> None:
        self._verify, self._trust_env, self._limits = verify, trust_env, limits or Limits()
        self._made: AsyncHTTPTransport | None = None

    async def handle_async_request(self, request: Request) -> Response:
        """Send a request."""
        if self._made is None:
            self._made = AsyncHTTPTransport(verify=self._verify, trust_env=self._trust_env, limits=self._limits)
        return await self._made.handle_async_request(request)

    async def aclose(self) -> None:
        """Close its connections."""
        if self._made is not None:
            await self._made.aclose()


async def _carry(request: Request) -> None:
    """Say within which span the process calls, where it traces."""
    span = running_span()
    if span is not None:
        request.headers[TRACEPARENT] = span.traceparent


if TYPE_CHECKING:
    AsyncClient = httpx.AsyncClient
else:

    class AsyncClient(httpx.AsyncClient):
        """The client of a service that the operator has named, which is told the span that it is called in.

        `AsyncHTTPTransport` alone, which calls what members have named, tells nothing of it (decision 882).
        """

        def __init__(self, *, trust_env: bool = True, **options: object) -> None:
            if not (trust_env and getproxies()):  # a client with a transport of its own would not look for proxies
                options.setdefault("transport", LateTransport(options.pop("verify", True), trust_env=trust_env))
            # Cookies that come with one account's answers would go with the calls for another.
            options.setdefault("cookies", CookieJar(DefaultCookiePolicy(allowed_domains=[])))
            super().__init__(**options, trust_env=trust_env, event_hooks={"request": [_carry]})
