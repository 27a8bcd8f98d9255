"""aiosqlite below its documented surface: the calls that its thread makes, and the connection that it makes them on."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import aiosqlite

from storage import database_time, thread_rank

_NICER: Final = 10
_STEPS: Final = 5_000
"""Steps of SQLite's machine after which it lets others have the processor: some tenths of a millisecond."""
_ROWS_AT_ONCE: Final = 64
_AGAIN_SECONDS: Final = 0.05
"""The seconds after which a call that goes on is interrupted again: between two of its statements, and while it waits
for another process's lock, an interruption is lost."""
T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
"""A function that the driver's thread calls with its connection."""


class Answer(asyncio.Future[T]):
    """Tells what a call of the driver's thread gave.

    Whoever is cancelled while he waits for it has the call interrupted, and waits until it has ended: the thread is
    busy with it until then.
    """

    def __init__(self, driver: FileConnection) -> None:
        super().__init__(loop=asyncio.get_running_loop())
        self._driver = driver
        self._limit = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin_limit(self, seconds: float) -> None:
        """Interrupt the call once it has taken so many seconds, without what it waits for another process's lock."""
        self._limit = self.get_loop().time() + seconds
        self._timer = self.get_loop().call_later(seconds, self._look)

    def end_limit(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        left = self._limit + self._driver.waited() - self.get_loop().time()
        if left > 0:
            self._timer = self.get_loop().call_later(left, self._look)
        else:
            self.cancel()

    def cancel(self, msg: object = None) -> bool:
        """Interrupt the call until it ends. The task that waits is told that it was cancelled once it has."""
        if not self.done():
            interrupt(self._driver)
            self.get_loop().call_later(_AGAIN_SECONDS, self.cancel)
        return False


class FileConnection(aiosqlite.Connection):
    """A connection to a file, of whose calls each does as much as is known: a call takes longer than most statements.

    A transaction begins in the call of its first statement, and what was put off goes with the next one, which may be
    that of the commit (decision 1204). The thread keeps no process from ending.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connect, iter_chunk_size=_ROWS_AT_ONCE)
        self._thread.daemon = True
        self._opening = ""
        self._put_off: list[Work[object]] = []
        self._is_within = False
        self._waited = 0.0
        self._waits_since: float | None = None

    def waited(self) -> float:
        """The seconds that the last call took to begin its transaction, so far: another process may have the lock."""
        since = self._waits_since
        return self._waited if since is None else database_time.clock() - since

    def begin(self, opening: str) -> None:
        """Have the next call begin a transaction."""
        self._opening, self._is_within = opening, True

    def put_off(self, work: Work[object]) -> None:
        """Have the next call do this first. What it raises is raised there."""
        self._check()
        self._put_off.append(work)

    def drop(self) -> None:
        """Do nothing of what was put off."""
        self._put_off.clear()

    async def commit(self) -> None:
        """Commit the transaction, if a call has begun it or something was put off."""
        self._is_within = False
        if self._opening and not self._put_off:
            self._opening = ""
        else:
            await self.execute("COMMIT")

    async def roll_back(self) -> None:
        """Roll the transaction back, if a call has begun it."""
        self._is_within = False
        self.drop()
        if self._opening:
            self._opening = ""
        else:
            await self.execute("ROLLBACK")

    def ask(self, work: Work[T]) -> Answer[T]:
        """Call the function in the driver's thread. Raises RuntimeError where SQLite has taken the transaction back."""
        connection = self._connection
        if connection is None or not self._running:
            raise ValueError("Connection closed")
        answer: Answer[T] = Answer(self)
        self._tx.put_nowait((answer, self._behind_the_first(partial(work, connection))))
        return answer

    async def _execute(self, fn: Callable[..., object], *args: object, **kwargs: object) -> object:
        """The library's own calls, of every kind."""
        call = self._behind_the_first(partial(fn, *args, **kwargs))
        return await super()._execute(call)  # type: ignore[no-untyped-call]  # of the library, without types

    def _check(self) -> None:
        """Raise RuntimeError where SQLite has taken the transaction back."""
        if self._is_within and not self._opening and not self._conn.in_transaction:
            raise RuntimeError("a statement behind one whose transaction was taken back")

    def _behind_the_first(self, call: Callable[[], T]) -> Callable[[], T]:
        """The call, behind what is to be done in it before."""
        self._check()
        self._waited = 0.0
        if not self._opening and not self._put_off:
            return call
        first, self._opening, self._put_off = (self._opening, self._put_off), "", []
        return partial(self._in_order, *first, call)

    def _in_order(self, opening: str, put_off: list[Work[object]], call: Callable[[], T]) -> T:
        if opening:
            began = self._waits_since = database_time.clock()
            try:
                self._conn.execute(opening)
            finally:
                self._waited, self._waits_since = database_time.clock() - began, None
        while put_off:  # the thread keeps its last call, and is to keep none of these
            put_off.pop(0)(self._conn)
        return call()


def interrupt(driver: aiosqlite.Connection) -> None:
    """End what the driver's thread runs; where it runs nothing, nothing happens.

    The driver's own `interrupt` is a coroutine, and a timer of the event loop cannot wait for one.
    """
    connection = driver._connection  # None once it is closed
    if connection is not None:
        connection.interrupt()


async def step_back(driver: aiosqlite.Connection) -> None:
    """Have the driver's thread step back on the processor, and look aside within a long statement, from now on."""
    await driver._execute(thread_rank.step_back, _NICER)  # type: ignore[no-untyped-call]  # of the driver, without types
    await driver.set_progress_handler(os.sched_yield, _STEPS)
