"""Decides who is let in when more comes than can be served (decision 107).

A request is in flight from its head to the beginning of its answer, but for the time that its body is waited for: so
streams, and clients that send or read slowly, hold no place. Each is counted under a path of groups: under its
organization where the credential is known; else among unauthenticated callers, under its address, and under the
credential (transport/places.py). An operation on a WebSocket is counted like a request.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contract.errors import Overloaded, Unauthenticated
from gateway.middleware.error_responses import refused
from gateway.server.http_protocol import WHOLE
from identity.principal import Principal
from storage.bounded_cache import BoundedCache
from transport.headers import address_of, headers_of
from transport.places import Group, Path, Places, group_of, path_of

_NEVER_REFUSED = frozenset({"/health", "/ready", "/metrics"})
_KNOWN_MAX = 10_000


class LoadShedding:
    """Refuses what finds no place, before anything of it is read but its head.

    Which organization a credential stands for is known from the answers that it had; the credential is kept as a hash.
    """

    def __init__(self, app: ASGIApp, places: Places) -> None:
        self.app = app
        self.places = places
        self._known: BoundedCache[int, Group] = BoundedCache(entries=_KNOWN_MAX)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _NEVER_REFUSED:
            await self.app(scope, receive, send)
            return
        credential = _credential(scope)
        path = self._path(scope, credential)
        if not self.places.take(path):
            await refused(Overloaded(), scope["path"], scope["state"]["request_id"])(scope, receive, send)
            return
        holding = True
        record = scope["state"]["record"]

        async def receiving() -> Message:
            nonlocal holding
            if record.status or WHOLE in scope["state"]:
                return await receive()
            self.places.leave(path)
            holding = False
            message = await receive()
            if message["type"] != "http.disconnect":
                if not self.places.take(path):
                    raise Overloaded()
                holding = True
            return message

        def beginning(status: int) -> None:
            nonlocal holding
            if holding:
                self.places.leave(path)
                holding = False
            if credential is not None:
                self._learn(credential, scope["state"].get("principal"), status)

        record.on_begin = beginning
        try:
            # Most often the whole request is there by now, and nobody will be waited for.
            await self.app(scope, receive if WHOLE in scope["state"] else receiving, send)
        finally:
            record.on_begin = None  # which refers to the request, and it to the record: garbage for the collector
            if holding:
                self.places.leave(path)

    def _path(self, scope: Scope, credential: int | None) -> Path:
        known = None if credential is None else self._known.get(credential)
        return path_of(known, address_of(scope), credential)

    def _learn(self, credential: int, principal: Principal | None, status: int) -> None:
        if principal is None:
            if status == Unauthenticated.status:
                self._known.pop(credential)
        elif self._known.peek(credential) is None:
            self._known.put(credential, group_of(principal))


def _credential(scope: Scope) -> int | None:
    """Makes a number by which this credential, in the organization that it is to act in, differs from others."""
    headers = headers_of(scope)
    authorization = headers.get(b"authorization")
    return hash((authorization, headers.get(b"x-service-org"))) if authorization else None
