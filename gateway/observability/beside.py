"""Runs work beside the answers: once at a time, and not again before some time is over."""

import asyncio
from collections.abc import Awaitable, Callable


class Beside:
    """Runs one piece of work while nobody has to wait for it."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._ended: float | None = None
        self._running: asyncio.Task[None] | None = None

    def begin(self, seconds: float) -> bool:
        """Begin the work, unless it is under way or ended less than so many seconds ago; whether it was begun."""
        is_fresh = self._ended is not None and asyncio.get_running_loop().time() < self._ended + seconds
        if self._running is not None or is_fresh:
            return False
        self._running = asyncio.create_task(self._run())
        return True

    async def wait(self, seconds: float) -> None:
        """Wait for the work that is under way, if there is any, so long at most."""
        if self._running is not None:
            await asyncio.wait({self._running}, timeout=seconds)

    async def stop(self) -> None:
        """End the work that is under way."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        try:
            await self._work()
        finally:
            self._ended = asyncio.get_running_loop().time()
            self._running = None
