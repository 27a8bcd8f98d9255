"""How long one operation may take, whichever door it came by (decisions 87 and 138)."""

import asyncio
from types import TracebackType

from contract.errors import TimedOut, Unavailable
from contract.limits import REQUEST_SECONDS


class Deadlines:
    """Those of the operations of one process, which all come sooner once it is told to end."""

    def __init__(self) -> None:
        self._running: set[asyncio.Timeout] = set()
        self._last: float | None = None

    def one(self) -> "Deadline":
        """That of an operation which begins now."""
        return Deadline(self)

    def end(self, seconds: float) -> None:
        """Have no operation last longer than so many seconds from now."""
        self._last = asyncio.get_running_loop().time() + seconds
        for limit in self._running:
            if not limit.expired():
                limit.reschedule(self._sooner(limit.when()))

    def begin(self) -> asyncio.Timeout:
        """The time begins to run."""
        limit = asyncio.timeout_at(self._sooner(asyncio.get_running_loop().time() + REQUEST_SECONDS))
        self._running.add(limit)
        return limit

    def over(self, limit: asyncio.Timeout) -> bool:
        """The time runs no more; whether it ran out because the process ends."""
        self._running.discard(limit)
        return self._last is not None and limit.when() == self._last

    def _sooner(self, when: float | None) -> float | None:
        return when if self._last is None or when is None else min(when, self._last)


class Deadline:
    """Ends what runs in it when the time is over; a transaction is rolled back then. Raises TimedOut at its end.

    Where the end is that of the process it raises Unavailable: another process will do what was asked.
    """

    __slots__ = ("_all", "_limit")

    def __init__(self, deadlines: Deadlines) -> None:
        self._all = deadlines

    async def __aenter__(self) -> None:
        """Begin to count."""
        self._limit = self._all.begin()
        await self._limit.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop counting."""
        is_end = self._all.over(self._limit)
        try:
            await self._limit.__aexit__(kind, error, trace)
        except TimeoutError as late:
            raise (Unavailable("The service is ending") if is_end else TimedOut()) from late
