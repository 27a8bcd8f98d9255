"""Work that takes the processor for long, in a thread beside the requests; it ends with whoever asked for it."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")

_THREADS = ThreadPoolExecutor(max_workers=8, thread_name_prefix="aside")
_STEPS = 100
"""Between two looks at the clock."""
_TURN_SECONDS = 0.002
_REST_SECONDS = 0.0001


class Abandoned(Exception):
    """Nobody waits for the result any more."""


class Pace:
    """Called by the work at every step: ends it when it is abandoned, and lets others have a turn now and then."""

    __slots__ = ("_began", "_is_abandoned", "_left")

    def __init__(self) -> None:
        self._is_abandoned = False
        self._left = _STEPS
        self._began = time.monotonic()

    def abandon(self) -> None:
        """Have the next call raise."""
        self._is_abandoned = True

    def __call__(self) -> None:
        """Rest after a while of work. Raises Abandoned."""
        self._left -= 1
        if self._left:
            return
        self._left = _STEPS
        if self._is_abandoned:
            raise Abandoned()
        if time.monotonic() - self._began > _TURN_SECONDS:
            time.sleep(_REST_SECONDS)
            self._began = time.monotonic()


async def aside(work: Callable[[Pace], Result]) -> Result:
    """Does the work in a thread, and returns its result. A cancelled caller waits until the thread has left it."""
    pace = Pace()
    running = _THREADS.submit(work, pace)
    result = asyncio.wrap_future(running)
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        pace.abandon()
        if not running.cancel():
            await asyncio.wait([result])
            result.exception()  # asked for, or else the loop would log it
        raise
