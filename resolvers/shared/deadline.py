"""Limits how long one operation may take, whichever surface it came by (decisions 87 and 138)."""

import asyncio
from types import TracebackType

from contract.errors import TimedOut, Unavailable
from contract.limits import REQUEST_SECONDS


class Deadlines:
    """The deadlines of the operations of one process, which all come sooner once it has to end."""

    def __init__(self) -> None:
        self.running: set[asyncio.Timeout] = set()
        self.last: float | None = None
        """The latest time at which all of them are over, once the process has to end."""

    def one(self, seconds: float | None = None) -> "Deadline":
        """Makes the deadline of an operation which begins now, and may last so long; as any other unless told."""
        return Deadline(self, REQUEST_SECONDS if seconds is None else seconds)

    def end(self, seconds: float) -> None:
        """Have no operation last longer than so many seconds from now."""
        self.last = asyncio.get_running_loop().time() + seconds
        for limit in self.running:
            when = limit.when()
            if when is not None and when > self.last and not limit.expired():
                limit.reschedule(self.last)


class Deadline:
    """Ends what runs in it when the time is over; a transaction is rolled back then. Raises TimedOut at its end.

    Where the end is that of the process it raises Unavailable: another process will do what was asked.
    """

    __slots__ = ("_all", "_limit", "_seconds")

    def __init__(self, deadlines: Deadlines, seconds: float) -> None:
        self._all = deadlines
        self._seconds = seconds

    async def __aenter__(self) -> None:
        """Begin to count."""
        when, last = asyncio.get_running_loop().time() + self._seconds, self._all.last
        self._limit = asyncio.timeout_at(when if last is None else min(when, last))
        self._all.running.add(self._limit)
        await self._limit.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop counting."""
        self._all.running.discard(self._limit)
        is_end = self._all.last is not None and self._limit.when() == self._all.last
        try:
            await self._limit.__aexit__(kind, error, trace)
        except TimeoutError as late:
            raise (Unavailable("The service is ending") if is_end else TimedOut()) from late
