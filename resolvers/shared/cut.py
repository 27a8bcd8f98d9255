"""Ends a block from outside: what it waits for is cancelled, and its task goes on behind it."""

import asyncio
from types import TracebackType


class Cut:
    """A block that others may end, and that ends by itself after some seconds where they are given.

    Behind it `is_cut` says whether it ended so. Whoever waits for either end instead holds two tasks more for as long
    as the block lasts.
    """

    __slots__ = ("_is_open", "_limit")

    def __init__(self, seconds: float | None = None) -> None:
        self._limit = asyncio.timeout(seconds)
        self._is_open = False

    @property
    def is_cut(self) -> bool:
        """Whether the block was, or is being, ended from outside."""
        return self._limit.expired()

    def now(self) -> None:
        """End the block; one that has ended, or is about to, stays as it is."""
        if self._is_open and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time())

    async def __aenter__(self) -> "Cut":
        await self._limit.__aenter__()
        self._is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._is_open = False
        try:
            await self._limit.__aexit__(kind, error, trace)
        except TimeoutError:
            return True
        return False
