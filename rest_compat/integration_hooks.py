"""Answers providers that tell of changes; outside of the table, since no client calls it, and no credential is read."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contract.errors import GatewayError
from contract.integrations import HOOK_BYTES_MAX, HOOKS_A_SECOND
from identity.auth_failures import origin
from resolvers.integration_hooks import Notice, NotProven, take_notice
from resolvers.shared.context import Services
from transport.errors import code_of
from transport.headers import address_of

PATH: Final = "/integrations/hooks/{provider}"
_SECONDS: Final = 1.0
ADDRESSES_MAX: Final = 10_000
"""The addresses whose notices are counted; they are forgotten at the end of each second."""


class Counter:
    """Counts the notices of each address, of IPv6 of each network, within a second."""

    def __init__(self) -> None:
        self._second = 0
        self._counts: dict[str, int] = {}

    def admits(self, address: str, moment: float) -> bool:
        """Says whether this one is not too many."""
        second = int(moment)
        if second != self._second or len(self._counts) >= ADDRESSES_MAX:
            self._second = second
            self._counts.clear()
        self._counts[address] = count = self._counts.get(address, 0) + 1
        return count <= HOOKS_A_SECOND


def hook_route(services: Services) -> Route:
    """The route of providers' notices."""
    counter = Counter()

    async def answer(request: Request) -> Response:
        if not counter.admits(origin(address_of(request.scope)), time.monotonic()):
            return Response(status_code=429, headers={"Retry-After": "1"})
        body = await _body(request)
        if body is None:
            return Response(status_code=413)
        headers = {name: request.headers.getlist(name) for name in request.headers}
        query = {name: request.query_params.getlist(name) for name in request.query_params}
        try:
            async with asyncio.timeout(_SECONDS):  # what takes longer is told again by the provider
                shaken = await take_notice(services, request.path_params["provider"], Notice(headers, query, body))
        except NotProven:
            return Response(status_code=401)
        except (GatewayError, TimeoutError) as error:
            record = getattr(request.state, "record", None)
            if record is not None:
                record.code = code_of(error)
            return Response(status_code=503, headers={"Retry-After": "1"})
        if shaken is None:
            return Response(status_code=204)
        if shaken.text is not None:
            return Response(shaken.text, media_type="text/plain")
        return Response(orjson.dumps(shaken.document), media_type="application/json")

    return Route(PATH, answer, methods=["POST"])


async def _body(request: Request) -> bytes | None:
    """The body as it came, which is what was signed; None for one that is too large."""
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > HOOK_BYTES_MAX:
            return None
    return bytes(found)
