"""GraphQL over WebSocket: who may connect (decisions 81 and 107)."""

from collections.abc import Iterable, Mapping

from starlette.types import Receive, Scope, Send

from contract.errors import Overloaded
from gateway.graphql.ws_connection import Connection, Shared
from gateway.middleware.error_responses import refused
from gateway.server.websocket_protocol import RECEIVED, WebSocketServerProtocol
from transport.headers import address_of, is_from, text_headers_of
from transport.places import path_of
from transport.streams import STREAM

PROTOCOL = "graphql-transport-ws"


class WebSocketEndpoint:
    """Takes the connections of one process; `origins` are those of other hosts whose pages may connect."""

    def __init__(self, shared: Shared, origins: Iterable[str]) -> None:
        self.shared = shared
        self.origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["record"].surface = STREAM
        await receive()  # the upgrade
        headers = text_headers_of(scope)
        if not self._admits(headers):
            await send({"type": "websocket.close", "code": 1008, "reason": "Origin not allowed"})
            return
        address = address_of(scope)
        received: WebSocketServerProtocol | None = scope.get("extensions", {}).get(RECEIVED)
        if received is not None:
            received.belong_to(address)
        path = path_of(None, address)
        if not self.shared.sockets.take(path):
            await refused(Overloaded(), scope["path"], scope["state"]["request_id"])(scope, receive, send)
            return
        connection = Connection(self.shared, scope, headers, receive, send, path)
        try:
            spoken = PROTOCOL in scope["subprotocols"]
            await send({"type": "websocket.accept", "subprotocol": PROTOCOL if spoken else None})
            if not spoken:
                await send({"type": "websocket.close", "code": 4406, "reason": "Subprotocol not acceptable"})
                return
            await connection.serve()
        finally:
            self.shared.sockets.leave(connection.path)

    def _admits(self, headers: Mapping[str, str]) -> bool:
        """Pages of this host and of the listed origins may connect, and clients that are no page and name no origin."""
        origin = headers.get("origin")
        if origin is None or "*" in self.origins or origin in self.origins:
            return True
        return is_from(origin, headers.get("host", "").lower())
