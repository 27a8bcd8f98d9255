"""Look-ups that wait for each other: what is asked for in one turn of the event loop comes in one statement."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

Batch = Callable[[list[K]], Awaitable[Sequence[V]]]
"""The function that leads from distinct keys to their values, in the same order."""


class _Value(asyncio.Future[V]):
    """A value to come, for all who wait for it: one of them that is cancelled takes it away from nobody."""

    def cancel(self, msg: object = None) -> bool:
        """Not on behalf of one that waits; its own cancellation follows when the value is there."""
        return False

    def abandon(self) -> None:
        """Cancel all who wait."""
        super().cancel()


class Loader(Generic[K, V]):
    """The values of one kind of key, for one request; a key is asked for once, whoever wants it."""

    __slots__ = ("_batch", "_known", "_waiting")

    def __init__(self, batch: Batch[K, V]) -> None:
        self._batch = batch
        self._known: dict[K, _Value[V]] = {}
        self._waiting: list[K] = []

    async def load(self, key: K) -> V:
        """The value of the key, or what the batch that it was in raised."""
        known = self._known.get(key)
        if known is None:
            loop = asyncio.get_running_loop()
            known = self._known[key] = _Value(loop=loop)
            if not self._waiting:
                loop.call_soon(self._start)
            self._waiting.append(key)
        return await known

    def prime(self, key: K, value: V) -> None:
        """Know a value that came along with others."""
        if key not in self._known:
            known = self._known[key] = _Value()
            known.set_result(value)

    def _start(self) -> None:
        keys, self._waiting = self._waiting, []
        # Kept by the futures' callbacks, as the loop alone would not.
        running = asyncio.get_running_loop().create_task(self._run(keys))
        self._known[keys[0]].add_done_callback(lambda _: running)

    async def _run(self, keys: list[K]) -> None:
        try:
            values = await self._batch(keys)
        except Exception as error:
            for key in keys:
                self._known[key].set_exception(error)
                self._known[key].exception()  # it is told to those who wait, if they still do
        except BaseException:
            for key in keys:
                self._known[key].abandon()
            raise
        else:
            for key, value in zip(keys, values, strict=True):
                self._known[key].set_result(value)
