"""Reads with one statement what several requests ask the directory for at the same time (request coalescing).

The guarantee stays that each request's credential is read after the request came: who comes while a read is under way
waits for the next one, which is for all who came meanwhile (decision 196).
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Generic, TypeVar

from contract.errors import GatewayError

RowT = TypeVar("RowT")

Read = Callable[[Sequence[str]], Awaitable[Sequence[RowT]]]
"""The function that reads the rows of these keys."""
_Waiting = dict[str, list[asyncio.Future[Sequence[RowT]]]]
"""Who waits for the rows of each key."""


_PATIENCE = 0.05
"""The seconds after which a read that is under way is not waited for any longer: it may stand in a line, or hang."""


class CoalescedReads(Generic[RowT]):
    """One kind of read, of which one is under way at a time, unless it takes long."""

    def __init__(self, read: Read[RowT], key_of: Callable[[RowT], str]) -> None:
        self._read, self._key_of = read, key_of
        self._latest: object | None = None
        self._waiting: dict[str, list[asyncio.Future[Sequence[RowT]]]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def of(self, key: str) -> Sequence[RowT]:
        """The rows of the key, by a read that begins now or later. Raises what the read raises."""
        if self._latest is None:
            latest = self._latest = object()
            try:
                return await self._read((key,))
            finally:
                self._end(latest)
        loop = asyncio.get_running_loop()
        if not self._waiting:
            self._timer = loop.call_later(_PATIENCE, self._go_on)
        future: asyncio.Future[Sequence[RowT]] = loop.create_future()  # its own: to cancel it is nobody else's matter
        self._waiting.setdefault(key, []).append(future)
        return await future

    async def each(self, keys: Iterable[str]) -> dict[str, list[RowT]]:
        """The rows of these keys that have any, by a statement for them alone, which waits for no other.

        Raises what the read raises.
        """
        found = defaultdict[str, list[RowT]](list)
        for row in await self._read(tuple(keys)):
            found[self._key_of(row)].append(row)
        return found

    def _end(self, read: object) -> None:
        if self._latest is read:
            self._latest = None
            self._go_on()

    def _go_on(self) -> None:
        """Begin the read for those who came meanwhile."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            latest = self._latest = object()
            task = asyncio.get_running_loop().create_task(self._together(waiting, latest))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _together(self, waiting: _Waiting[RowT], read: object) -> None:
        try:
            found = await self.each(waiting)
        except Exception as error:
            await self._tell_of(waiting, error)
        except BaseException:
            for futures in waiting.values():
                for future in futures:
                    future.cancel()
            raise
        else:
            for key, futures in waiting.items():
                _tell(futures, found.get(key, []))
        finally:
            self._end(read)

    async def _tell_of(self, waiting: _Waiting[RowT], error: Exception) -> None:
        """Raise the error for all; where it is a refusal of what one of them asked for, only for that one."""
        is_somebodys = not isinstance(error, GatewayError) and len(waiting) > 1
        for key, futures in waiting.items():  # a statement each: which key was refused nobody knows
            try:
                if not is_somebodys:
                    raise error
                _tell(futures, await self._read((key,)))
            except Exception as own:
                _refuse(futures, own)


def _tell(futures: Iterable[asyncio.Future[Sequence[RowT]]], rows: Sequence[RowT]) -> None:
    for future in futures:
        if not future.done():  # its caller may have gone
            future.set_result(rows)


def _refuse(futures: Iterable[asyncio.Future[Sequence[RowT]]], error: Exception) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(error)
            future.exception()  # it is told to those who wait, if they still do
