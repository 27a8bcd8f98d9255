"""Measures the cost of the HTTP edge to a request: `python -m benchmarks.edge`, in microseconds.

A small request with the headers of a usual client goes through the server's own protocol and through the gateway's,
to an application that answers at once; and through the layers around the endpoints, with and without the places.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import uvloop
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from contract.vocabulary import CredentialKind
from gateway.middleware.load_shedding import LoadShedding
from gateway.middleware.security_headers import SecurityHeaders
from gateway.server.http_protocol import HttpServerProtocol
from identity.principal import Principal
from transport.places import Places
from transport.request_log import RequestLog

_ROUNDS = 25
_REQUESTS = 1_000
_BODY = b'{"query":"{ deals { totalCount } }"}'
_REQUEST = (
    b"POST /graphql HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\n"
    b"Connection: keep-alive\r\nUser-Agent: benchmark\r\nAuthorization: Bearer ak_0123456789abcdef.0123456789\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
)
_HEADERS = [(b"content-type", b"application/json"), (b"vary", b"Accept"), (b"content-length", b"2")]
_SECURITY = SecurityHeaders(None)
_CALLER = Principal("caller", CredentialKind.SESSION, frozenset(), None, ())

Begin = Callable[..., Any]


class _Transport:
    """Takes what is written."""

    def get_extra_info(self, _name: str) -> None:
        """Nothing is known of the peer."""

    def write(self, data: bytes) -> None:
        """Drop it."""

    def is_closing(self) -> bool:
        """Never."""
        return False


async def _plain(_scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": b"{}"})


async def _with_headers(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    scope["state"]["principal"] = _CALLER
    headers = _SECURITY.around(_HEADERS)
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})


_SHEDDING = LoadShedding(_with_headers, Places(256))


async def _with_places(scope: Scope, receive: Receive, send: Send) -> None:
    record = scope["state"]["record"] = RequestLog("", "graphql")

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            record.begin(message["status"])
        await send(message)

    await _SHEDDING(scope, receive, sending)


async def _time(protocol: Begin, app: ASGIApp) -> float:
    """Microseconds for a request."""
    config = Config(app, log_config=None, access_log=False, proxy_headers=False)
    connection = protocol(config, ServerState(), {}, asyncio.get_running_loop())
    connection.connection_made(_Transport())
    began = time.process_time()
    for _ in range(_REQUESTS):
        connection.data_received(_REQUEST)
        while not connection.cycle.response_complete:  # noqa: ASYNC110  # it is done by the second round of the loop
            await asyncio.sleep(0)
    took = time.process_time() - began
    connection._unset_keepalive_if_required()
    return took / _REQUESTS * 1e6


def _receiving(*arguments: Any) -> HttpServerProtocol:
    return HttpServerProtocol(*arguments, seconds=4, security=_SECURITY)


async def _main() -> None:
    ways: dict[str, tuple[Begin, ASGIApp]] = {
        "the server's own protocol": (HttpToolsProtocol, _plain),
        "with deadlines, limits and one reading": (_receiving, _plain),
        "and security headers": (_receiving, _with_headers),
        "and places": (_receiving, _with_places),
    }
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(_ROUNDS):
        for name, way in ways.items():
            best[name] = min(best[name], await _time(*way))
    for name, microseconds in best.items():
        print(f"{name:40} {microseconds:6.1f} µs")


if __name__ == "__main__":
    uvloop.run(_main())
