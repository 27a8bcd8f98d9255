"""The one way to httpx: who calls another service, or reads an answer of one, takes from here what is needed of it.

Its names are few, and those of version 0.28, which pyproject.toml bounds: another version, or another library with such
a client, is a change of this module (decision 875).
"""

from httpx import (
    URL,
    AsyncClient,
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
