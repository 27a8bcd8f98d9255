"""A file of the store that grows: bytes are written behind those that are there, where they stay for good.

What is received over many requests is so written once, and is a file with its last byte: nothing is put together.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import thread_time
from typing import TypeVar

T = TypeVar("T")
Look = Callable[[bytes], None]
"""Called in a thread with each of the bytes that are written, in order."""
Rest = Callable[[float], Awaitable[None]]
"""Awaited behind each batch, with the seconds of the processor that a thread had for it: a slow disk is no reason."""
_WRITTEN_AT_ONCE = 1024 * 1024
"""Bytes that go to a thread together: one for each small piece would take longer than to write it."""
_ON_THEIR_WAY = 16 * 1024 * 1024
"""Bytes after which the disk is set to work, so that little is left to wait for at the end."""


async def append(path: Path, start: int, pieces: AsyncIterator[bytes], look: Look, rest: Rest) -> None:
    """Write the pieces behind the first `start` bytes of the file, and drop what lay there.

    Once this returns they outlive the process and the machine's power; when it returns or raises, no thread has to do
    with the file any more. A file that begins must not be there. Raises OSError, and what reading the pieces raises.
    """
    file = _Growing(path, start, look)
    try:
        await settled(file.open)
        await _write(file, pieces, rest)
        await settled(file.sync)
    finally:
        file.close()


async def _write(file: "_Growing", pieces: AsyncIterator[bytes], rest: Rest) -> None:
    """Write in a thread what has come, while more comes: no more than two such batches are in memory."""
    run = partial(asyncio.get_running_loop().run_in_executor, None)
    writing: asyncio.Future[float] | None = None
    syncing: asyncio.Future[None] | None = None
    waiting: list[bytes] = []
    size = unsynced = 0
    try:
        async for piece in pieces:
            waiting.append(piece)
            size += len(piece)
            if size >= _WRITTEN_AT_ONCE:
                if writing is not None:
                    await rest(await asyncio.shield(writing))
                writing = run(file.write, waiting)
                unsynced += size
                waiting, size = [], 0
                if unsynced >= _ON_THEIR_WAY and (syncing is None or syncing.done()):
                    if syncing is not None:
                        syncing.result()  # the system tells of a disk that failed once
                    syncing, unsynced = run(file.sync), 0
        if writing is not None:
            await asyncio.shield(writing)
        if syncing is not None:
            await asyncio.shield(syncing)
    finally:
        await _over(writing)
        await _over(syncing)
    if waiting:
        await settled(file.write, waiting)


async def settled(work: Callable[..., object], *arguments: object) -> None:
    """Do work in a thread. Whoever is cancelled meanwhile waits until the thread has left it."""
    running: asyncio.Future[object] = asyncio.get_running_loop().run_in_executor(None, work, *arguments)
    try:
        await asyncio.shield(running)
    finally:
        await _over(running)


async def _over(running: asyncio.Future[T] | None) -> None:
    while running is not None and not running.done():
        with suppress(asyncio.CancelledError):  # which is raised once the thread has ended
            await asyncio.wait([running])
    if running is not None and not running.cancelled():
        running.exception()  # asked for, or else the loop would log what is raised elsewhere


class _Growing:
    """The file, as threads see it."""

    def __init__(self, path: Path, start: int, look: Look) -> None:
        self._path = path
        self._place = start
        self._look = look
        self._descriptor = -1

    def open(self) -> None:
        """Open it, cut to what counts. Raises OSError where it has fewer bytes."""
        how = os.O_WRONLY | os.O_NOFOLLOW | (0 if self._place else os.O_CREAT | os.O_EXCL)
        self._descriptor = os.open(self._path, how, 0o600)
        if os.fstat(self._descriptor).st_size < self._place:
            raise OSError("the file is shorter than it was when it was stored")
        os.ftruncate(self._descriptor, self._place)

    def write(self, pieces: Sequence[bytes]) -> float:
        """Write these behind the last ones; how many seconds of the processor it took."""
        begun = thread_time()
        for piece in pieces:
            self._look(piece)
            rest = memoryview(piece)
            while rest:
                written = os.pwrite(self._descriptor, rest, self._place)
                self._place += written
                rest = rest[written:]
        return thread_time() - begun

    def sync(self) -> None:
        """Have what was written, and how much it is, outlive a power failure."""
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
