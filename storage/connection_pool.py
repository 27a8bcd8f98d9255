"""The connections of one database: whoever comes waits for a turn, and finds a connection at hand or has one made.

The driver's connections are kept here from one user to the next. There are never more of them than turns, but for those
that give way to others, which are used by work that gives way alone.
"""

import asyncio
import ctypes
import sqlite3
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, NamedTuple

import asyncpg

from contract.limits import CONNECTION_SECONDS
from storage.adapters.aiosqlite import step_back
from storage.file_turn import FileTurn
from storage.postgres.tenant_connection import TenantConnection
from storage.turns import Group, Turns

Driver = Any
"""A connection of a driver. Any: asyncpg's and aiosqlite's have no class in common, and asyncpg ships no types."""
Open = Callable[[], Awaitable[Driver]]
"""Makes a connection."""

_FAREWELL_SECONDS = 2.0
IDLE_SECONDS: Final = 5.0
"""The seconds after which a connection to a file that nobody has used is closed."""
IDLE_KEPT: Final = 2
"""So many of those that read are kept for as long as the process lives."""
WRITERS_KEPT: Final = 1
"""The same of those that write, of which one writes at a time."""
LONG_SECONDS: Final = 1.0
"""The seconds of a transaction whose connection to write is not used again, since it may hold many pages."""


class PoolState(NamedTuple):
    """The connections that there may be and those that are taken; who waits for one; how often someone had to, or did
    so in vain, since the beginning.
    """

    size: int
    in_use: int
    waiting: int
    waits: int
    timeouts: int


class Holder:
    """Counts the connections that one piece of work has or waits for, where somebody wants to know."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


HOLDER: ContextVar[Holder | None] = ContextVar("holder", default=None)
"""What counts the connections that are taken in this context."""


GIVES_WAY: ContextVar[bool] = ContextVar("gives way", default=False)
"""Whether what this context does in a file gives way to others on the processor."""


@contextmanager
def giving_way(is_long: bool) -> Iterator[None]:
    """Have what is done in a file meanwhile give way to others on the processor, if it is long (1194 and 1197)."""
    before = GIVES_WAY.set(is_long)
    try:
        yield
    finally:
        GIVES_WAY.reset(before)


class Taken:
    """A connection that somebody has, in the turn of a group."""

    __slots__ = ("_file", "_holder", "_since", "_turns", "at_hand", "driver", "group")

    def __init__(
        self,
        driver: Driver,
        at_hand: "AtHand",
        turns: Turns,
        group: Group,
        holder: Holder | None,
        file: FileTurn | None,
    ) -> None:
        """`at_hand` are those of its kind, and `file` is the turn among processes, where it came with one."""
        self.driver = driver
        self.at_hand = at_hand
        self.group = group
        self._turns = turns
        self._file = file
        self._holder = holder
        self._since = 0.0 if file is None else time.monotonic()

    @property
    def wrote_for_long(self) -> bool:
        """Says whether a file was written to for so long that what the connection holds of it is to be given back."""
        return self._file is not None and time.monotonic() - self._since > LONG_SECONDS

    def leave(self) -> None:
        """Give the turn to whoever is next."""
        if self._file is not None:
            self._file.give_back()
        self._turns.give_back(self.group)
        if self._holder is not None:
            self._holder.count -= 1


class AtHand:
    """The connections of one kind that nobody uses. Some are kept, for as long as the process lives."""

    __slots__ = ("_kept", "_least", "drivers", "open")

    def __init__(self, open: Open, kept: int) -> None:
        self.open = open
        self.drivers: list[Driver] = []
        """The one that was used last is the first to be used again, so the others are idle together."""
        self._kept = kept
        self._least = 0
        """How many were there all the time since the last look at those that are idle."""

    def take(self) -> Driver | None:
        """The one that was used last, if there is one."""
        if not self.drivers:
            return None
        driver = self.drivers.pop()
        self._least = min(self._least, len(self.drivers))
        return driver

    @property
    def is_long(self) -> bool:
        """Says whether there are more than are kept."""
        return len(self.drivers) > self._kept

    def begin(self) -> None:
        """Count from now on who is not used."""
        self._least = len(self.drivers)

    def idle(self) -> list[Driver]:
        """Take those that were not used since the beginning, and are not kept."""
        number = max(0, self._least - self._kept)
        idle, self.drivers[:number] = self.drivers[:number], []
        return idle


class Connections:
    """The connections of one database, which are taken in turns.

    Where there is one writer at a time, it has a turn of its own: who writes waits for no reader, and those who queue
    to write keep no reader from the database. Each connection then is a file that this process has open, a thread, the
    schema and pages of its own: those that a burst had made are closed again (decision 1042). Who writes has one of its
    own kind (decision 1203).
    """

    def __init__(
        self, open: Open, size: int, file_turn: FileTurn | None = None, open_writer: Open | None = None
    ) -> None:
        """`file_turn` is the one writer's turn among processes, where there is one; `open_writer` makes its kind."""
        self._file_turn = file_turn
        self._turns = Turns(size, CONNECTION_SECONDS)
        self._writers = self._turns if file_turn is None else Turns(1, None)
        self._at_hand = AtHand(open, IDLE_KEPT)
        self.give_way = AtHand(partial(_opened_to_give_way, open), 0)
        """Those whose threads have stepped back, which no thread can take back."""
        self._writer = self._at_hand if file_turn is None else AtHand(open_writer or open, WRITERS_KEPT)
        self._kinds = self._at_hand, self.give_way, self._writer
        self._looking: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @property
    def state(self) -> PoolState:
        """The state of the pool: how busy its connections are."""
        turns, writers = self._turns, self._writers
        in_use = turns.count - turns.free + (0 if writers is turns else writers.count - writers.free)
        return PoolState(turns.count, in_use, turns.waiting, turns.waits, turns.timeouts)

    def take(self, group: Group = "", *, writing: bool = False) -> Coroutine[object, object, Taken]:
        """A connection, to be given back or given up. Raises Unavailable after two seconds without one."""
        holder = HOLDER.get()
        return self._take(group, writing, None) if holder is None else self._counted(group, writing, holder)

    async def _counted(self, group: Group, writing: bool, holder: Holder) -> Taken:
        holder.count += 1  # while it waits, too: it has its turn before it does its next step
        try:
            return await self._take(group, writing, holder)
        except BaseException:
            holder.count -= 1
            raise

    async def _take(self, group: Group, writing: bool, holder: Holder | None) -> Taken:
        turns = self._writers if writing else self._turns
        if not turns.at_once(group):
            await turns.wait(group)
        file = self._file_turn if writing else None
        at_hand = self._writer if writing else self._at_hand
        if self._file_turn is not None and GIVES_WAY.get():
            at_hand = self.give_way
        try:
            if file is not None:
                await file.take()
            driver = at_hand.take()
            if driver is not None:
                return Taken(driver, at_hand, turns, group, holder, file)
            driver = await at_hand.open()
        except BaseException:
            if file is not None:
                file.give_back()
            turns.give_back(group)
            raise
        if isinstance(driver, asyncpg.Connection):
            driver.add_termination_listener(self._ended)
        return Taken(driver, at_hand, turns, group, holder, file)

    async def give_back(self, taken: Taken) -> None:
        """Keep a connection for the next one."""
        driver = taken.driver
        if self._is_closed:
            await self.give_up(taken)
            return
        if not (isinstance(driver, asyncpg.Connection) and driver.is_closed()):
            if taken.wrote_for_long:
                self._close_behind([driver])
            else:
                taken.at_hand.drivers.append(driver)
            if taken.at_hand.is_long and self._file_turn is not None:
                self._look_later()
        taken.leave()

    def _close_behind(self, drivers: list[Driver]) -> None:
        """Close connections that nobody uses again: who gave them back neither waits nor is told what goes wrong."""
        closing = asyncio.create_task(_closed(drivers))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _look_later(self) -> None:
        """Look once in a while, as long as there are more than are kept: one timer, whoever gives back."""
        if self._looking is None:
            for kind in self._kinds:
                kind.begin()
            self._looking = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._look)

    def _look(self) -> None:
        """Close those that nobody has used since the last look."""
        self._looking = None
        if not self._closing and (idle := [driver for kind in self._kinds for driver in kind.idle()]):
            self._close_behind(idle)
        if any(kind.is_long for kind in self._kinds):
            self._look_later()

    async def give_up(self, taken: Taken) -> None:
        """End a connection that may be in disorder, without a farewell that its server might not answer."""
        try:
            await _end(taken.driver)
        finally:
            taken.leave()

    def cut(self, taken: Taken) -> None:
        """End a connection at once, whatever its server still does for it."""
        taken.driver.terminate()
        taken.leave()

    async def close(self) -> None:
        """End those that are at hand, and from now on each one that is given back."""
        self._is_closed = True
        if self._looking is not None:
            self._looking.cancel()
        if self._closing:
            await asyncio.wait(self._closing)
        for driver in self._left():
            if isinstance(driver, asyncpg.Connection):
                driver.remove_termination_listener(self._ended)
                try:
                    await driver.close(timeout=_FAREWELL_SECONDS)
                except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                    driver.terminate()
            else:
                await driver.close()
        if self._file_turn is not None:
            self._file_turn.close()

    def _left(self) -> Iterator[Driver]:
        for kind in self._kinds:
            while (driver := kind.take()) is not None:
                yield driver

    def _ended(self, driver: Driver) -> None:
        """The server ended a connection: where it was at hand, it is so no longer."""
        self._at_hand.drivers = [other for other in self._at_hand.drivers if other is not driver]


async def _opened_to_give_way(open: Open) -> Driver:
    driver = await open()
    try:
        await step_back(driver)
    except BaseException:
        await driver.close()
        raise
    return driver


async def _closed(idle: list[Driver]) -> None:
    """Close connections to a file, and give the system back what they took."""
    for driver in idle:
        with suppress(sqlite3.Error):
            await driver.close()
    await asyncio.to_thread(_trim)


def _trim() -> None:
    """The library of C keeps what is free for itself; another library than GNU's has no such call."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


async def _end(driver: Driver) -> None:
    if isinstance(driver, TenantConnection):
        try:
            await driver.end_statement()
        finally:
            driver.terminate()
    else:
        await driver.close()
