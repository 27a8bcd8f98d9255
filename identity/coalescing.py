"""Reads with one statement what several requests ask the directory for at the same time (request coalescing).

The guarantee stays that each request's credential is read after the request came: who comes while a read is under way
waits for the next one, which is for all who came meanwhile (decision 196).
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

from contract.errors import GatewayError

RowT = TypeVar("RowT")

Read = Callable[[Sequence[str]], Awaitable[Sequence[RowT]]]
"""The function that reads the rows of these keys."""


class CoalescedReads(Generic[RowT]):
    """One kind of read, of which one is under way at a time."""

    def __init__(self, read: Read[RowT], key_of: Callable[[RowT], str]) -> None:
        self._read, self._key_of = read, key_of
        self._is_busy = False
        self._waiting: dict[str, asyncio.Future[Sequence[RowT]]] = {}
        self._running: asyncio.Task[None] | None = None

    async def of(self, key: str) -> Sequence[RowT]:
        """The rows of the key, by a read that begins now or later. Raises what the read raises."""
        if not self._is_busy:
            self._is_busy = True
            try:
                return await self._read((key,))
            finally:
                self._go_on()
        future = self._waiting.get(key)
        if future is None:
            future = self._waiting[key] = asyncio.get_running_loop().create_future()
        return await asyncio.shield(future)  # one that is cancelled takes it away from nobody

    def _go_on(self) -> None:
        """Begin the read for those who came meanwhile."""
        self._is_busy = bool(self._waiting)
        if self._is_busy:
            waiting, self._waiting = self._waiting, {}
            self._running = asyncio.get_running_loop().create_task(self._together(waiting))

    async def _together(self, waiting: Mapping[str, asyncio.Future[Sequence[RowT]]]) -> None:
        try:
            rows = await self._read(tuple(waiting))
        except Exception as error:
            await self._tell(waiting, error)
        except BaseException:
            for future in waiting.values():
                future.cancel()
            raise
        else:
            found = defaultdict[str, list[RowT]](list)
            for row in rows:
                found[self._key_of(row)].append(row)
            for key, future in waiting.items():
                future.set_result(found[key])
        finally:
            self._go_on()

    async def _tell(self, waiting: Mapping[str, asyncio.Future[Sequence[RowT]]], error: Exception) -> None:
        """Raise the error for all; where it is a refusal of what one of them asked for, only for that one."""
        is_somebodys = not isinstance(error, GatewayError) and len(waiting) > 1
        for key, future in waiting.items():  # a statement each: which key was refused nobody knows
            try:
                if not is_somebodys:
                    raise error
                future.set_result(await self._read((key,)))
            except Exception as own:
                future.set_exception(own)
                future.exception()  # it is told to those who wait, if they still do
