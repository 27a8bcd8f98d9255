"""Holds the work that goes on behind a request, so that it ends in order with its process."""

import asyncio
from collections.abc import Coroutine
from contextvars import Context

from contract.tracing import Span
from contract.tracing import current as running_span


class RunTasks:
    """The work of one process that no request waits for."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[object, object, None], called: str = "run") -> None:
        """Begins a piece of work, which traces call so.

        It says for itself what becomes of it, and ends when it is cancelled.
        """
        if (around := running_span()) is not None:
            task = asyncio.create_task(_traced(around, work, called))
        else:  # in nobody's context: what the request has there would be held as long as the work goes on
            task = asyncio.create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def number(self) -> int:
        """Says how many pieces of work are under way."""
        return len(self._tasks)

    async def stop(self, seconds: float = 0.0) -> None:
        """Lets what is worked on go on for so long, and then ends the rest."""
        running = list(self._tasks)
        if not running:
            return
        _, late = await asyncio.wait(running, timeout=seconds) if seconds else (set(), set(running))
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


async def _traced(around: Span, work: Coroutine[object, object, None], called: str) -> None:
    """Does the work within a span of its own: what asked for it has ended by then."""
    with around.child(called):
        await work
