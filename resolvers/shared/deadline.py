"""Limits how long one operation may take, whichever surface it came by (decisions 87 and 138)."""

import asyncio
from math import inf
from types import TracebackType

from contract.errors import TimedOut, Unavailable
from contract.limits import REQUEST_SECONDS

_EARLY = 0.001
"""The seconds by which a loop may call earlier than it was asked to."""


class Deadlines:
    """The deadlines of the operations of one process, which all come sooner once it has to end.

    One timer is for the first of them to come. Most have as much time as any other, and end long before: a timer each
    would be set and taken back for every request.
    """

    def __init__(self) -> None:
        self.running: set[Deadline] = set()
        self.last: float | None = None
        """The latest time at which all of them are over, once the process has to end."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._next = inf

    def one(self, seconds: float | None = None) -> "Deadline":
        """Makes the deadline of an operation which begins now, and may last so long; as any other unless told."""
        return Deadline(self, REQUEST_SECONDS if seconds is None else seconds)

    def end(self, seconds: float) -> None:
        """Have no operation last longer than so many seconds from now."""
        loop = asyncio.get_running_loop()
        self.last = loop.time() + seconds
        for one in self.running:
            one.when = min(one.when, self.last)
        if self.running:
            self.watch(loop, self.last)

    def watch(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        """Look at this time at the latest."""
        if self._loop is not loop:
            self._loop, self._timer, self._next = loop, None, inf
        if when < self._next:
            if self._timer is not None:
                self._timer.cancel()
            self._next = when
            self._timer = loop.call_at(when, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """End what has had its time, and look again when the next one has."""
        self._timer, self._next = None, inf
        now = loop.time() + _EARLY
        following = inf
        for one in self.running:
            if one.when <= now:
                one.expire()
            else:
                following = min(following, one.when)
        if following < inf:
            self.watch(loop, following)


class Deadline:
    """Ends what runs in it when the time is over; a transaction is rolled back then. Raises TimedOut at its end.

    Where the end is that of the process it raises Unavailable: another process will do what was asked.
    """

    __slots__ = ("_all", "_cancelling", "_is_over", "_seconds", "_task", "when")

    def __init__(self, deadlines: Deadlines, seconds: float) -> None:
        self._all = deadlines
        self._seconds = seconds
        self._is_over = False
        self.when = inf

    def __enter__(self) -> None:
        """Begin to count."""
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        if task is None:
            raise RuntimeError("a deadline is a task's")
        self._task, self._cancelling = task, task.cancelling()
        when, last = loop.time() + self._seconds, self._all.last
        self.when = when if last is None else min(when, last)
        self._all.running.add(self)
        self._all.watch(loop, self.when)

    def expire(self) -> None:
        """End what runs in it: once, also where that takes a while."""
        if not self._is_over:
            self._is_over = True
            self._task.cancel()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Stop counting."""
        self._all.running.discard(self)
        if not self._is_over or self._task.uncancel() > self._cancelling:
            return  # somebody else has cancelled it, too
        if kind is not None and issubclass(kind, asyncio.CancelledError):
            is_end = self.when == self._all.last
            raise (Unavailable("The service is ending") if is_end else TimedOut()) from error
