"""Does what is not to be broken off in its middle, whoever waits for it."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


async def unbroken(work: Coroutine[object, object, T]) -> T:
    """Return what the work gives. A cancelled caller waits until it has ended, so that nothing follows in its middle.

    One that is cancelled again waits no longer; what the work raises then is nobody's, and is not logged.
    """
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # asked for, or else the loop logs it
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
