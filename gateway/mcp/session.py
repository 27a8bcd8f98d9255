"""Answers messages but calls of tools with the protocol's library, which is imported for the first of them.

A process that nobody asks neither imports it nor grows: it takes a second and more, and as much memory as the rest of
the service (decision 318). One manager serves the process and holds no caller, who travels in the request's scope.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Protocol

from starlette.types import Receive, Scope, Send

from contract.errors import Unavailable
from resolvers.shared.context import Context
from transport.request_log import RequestLog

_IMPORT_SECONDS: Final = 30.0


@dataclass(slots=True)
class Exchange:
    """One message: who sent it, through which of the doors, and what became of it."""

    ctx: Context
    record: RequestLog
    reading: bool
    refused: Exception | None = None
    """Why the whole request is refused, or what broke, where something did."""


class _Manager(Protocol):
    def run(self) -> Any: ...  # Any: an asynchronous context manager

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class Sdk:
    """The library, once somebody needs it."""

    def __init__(self) -> None:
        self._manager: _Manager | None = None
        self._starting: asyncio.Task[_Manager] | None = None
        self._holding: asyncio.Task[None] | None = None
        self._end = asyncio.Event()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the library answer a request. Raises Unavailable while the service ends."""
        manager = self._manager or await self._started()
        await manager.handle_request(scope, receive, send)

    async def _started(self) -> _Manager:
        if self._end.is_set():
            raise Unavailable()
        if self._starting is None or (self._starting.done() and self._manager is None):
            self._starting = asyncio.create_task(self._start())
        try:
            async with asyncio.timeout(_IMPORT_SECONDS):
                return await asyncio.shield(self._starting)
        except TimeoutError:
            raise Unavailable() from None

    async def _start(self) -> _Manager:
        # Off the event loop: other requests are answered meanwhile.
        server = await asyncio.to_thread(import_module, "gateway.mcp.server")
        manager: _Manager = server.manager()
        ready = asyncio.Event()
        self._holding = asyncio.create_task(self._hold(manager, ready))
        await ready.wait()
        self._manager = manager
        return manager

    async def _hold(self, manager: _Manager, ready: asyncio.Event) -> None:
        async with manager.run():
            ready.set()
            await self._end.wait()

    async def close(self) -> None:
        """End what was begun."""
        self._end.set()
        for task in (self._starting, self._holding):
            if task is not None:
                with suppress(Exception):
                    await task
        self._manager = None
