"""The one way to httpx: who calls another service, or reads an answer of one, takes from here what is needed of it.

Its names are few, and those of version 0.28, which pyproject.toml bounds: another version, or another library with such
a client, is a change of this module (decision 875).
"""

from typing import TYPE_CHECKING

import httpx
from httpx import (
    URL,
    AsyncHTTPTransport,
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
    create_ssl_context,
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
    "Limits",
    "ReadError",
    "ReadTimeout",
    "RemoteProtocolError",
    "Request",
    "Response",
    "Timeout",
    "TimeoutException",
    "TransportError",
    "create_ssl_context",
]


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

        def __init__(self, **options: object) -> None:
            super().__init__(**options, event_hooks={"request": [_carry]})
