"""Runs work beside a block, for as long as that runs."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager


@asynccontextmanager
async def meanwhile(work: Coroutine[object, object, object]) -> AsyncIterator[None]:
    """Run the work in a task until the block ends; what it raises it has to tell of itself."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
