"""The pool as it is used here: whoever comes waits for a turn, and finds a connection at hand.

The library's pool makes and ends connections; handing one out and taking it back there costs as much as a small
statement. So those that carried a shape stay here, ready for the next one, and go back to the pool when a session of
the ORM, which can only ask the pool, needs one.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import asyncpg
from sqlalchemy import event
from sqlalchemy.exc import MissingGreenlet
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.util import greenlet_spawn

from contract.errors import Unavailable
from contract.limits import CONNECTION_SECONDS


class PoolState(NamedTuple):
    """The connections that there may be and those that are taken; who waits for one; how often someone had to, or did
    so in vain, since the beginning.
    """

    size: int
    in_use: int
    waiting: int
    waits: int
    timeouts: int


class Taken:
    """A connection of the pool and the driver's own one in it."""

    __slots__ = ("driver", "pooled")

    def __init__(self, pooled: Any) -> None:
        self.pooled = pooled
        self.driver = pooled.driver_connection


class Connections:
    """The connections of one engine, of which there are never more than turns."""

    def __init__(self, engine: AsyncEngine, size: int) -> None:
        self._pool: Any = engine.sync_engine.pool
        self._turns = _Turns(size)
        self._at_hand: list[Taken] = []
        self._borrowers = 0
        self._empty: set[Any] = set()
        event.listen(engine.sync_engine, "checkin", self._returned)
        event.listen(engine.sync_engine, "connect", self._connected)

    @property
    def state(self) -> PoolState:
        """How busy they are."""
        turns = self._turns
        return PoolState(turns.count, turns.count - turns.free, len(turns.waiting), turns.waits, turns.timeouts)

    async def take(self) -> Taken:
        """A connection, to be given back or given up. Raises Unavailable after two seconds without one."""
        if not self._turns.at_once():
            await self._turns.wait()
        if self._at_hand:
            return self._at_hand.pop()
        try:
            taken = Taken(await self._pooled())
        except BaseException:
            self._turns.give_back()
            raise
        if isinstance(taken.driver, asyncpg.Connection):
            taken.driver.add_termination_listener(self._ended)
        return taken

    def give_back(self, taken: Taken) -> None:
        """Keep a connection for the next one, or for the ORM where it waits for one."""
        if self._borrowers:
            self._to_pool(taken)
        else:
            self._at_hand.append(taken)
        self._turns.give_back()

    async def give_up(self, taken: Taken) -> None:
        """End a connection that may be in disorder, without a farewell that its server might not answer."""
        if isinstance(taken.driver, asyncpg.Connection):
            taken.driver.terminate()
        try:
            await greenlet_spawn(taken.pooled.invalidate)
        finally:
            taken.pooled.close()
            self._turns.give_back()

    @asynccontextmanager
    async def lending(self) -> AsyncIterator[None]:
        """A turn during which the ORM finds a connection in the pool."""
        if not self._turns.at_once():
            await self._turns.wait()
        self.lend()
        try:
            yield
        finally:
            self.end_lending()
            self._turns.give_back()

    def lend(self) -> None:
        """Leave a connection to the pool, and every one that is given back, until as many `end_lending` have come."""
        self._borrowers += 1
        if self._at_hand and not self._pool.checkedin():
            self._to_pool(self._at_hand.pop())

    def end_lending(self) -> None:
        """The ORM needs one connection less."""
        self._borrowers -= 1

    def close(self) -> None:
        """Give everything back to the pool."""
        while self._at_hand:
            self._to_pool(self._at_hand.pop())

    def _to_pool(self, taken: Taken) -> None:
        if isinstance(taken.driver, asyncpg.Connection):
            taken.driver.remove_termination_listener(self._ended)
        taken.pooled.close()

    def _ended(self, driver: Any) -> None:
        """The server ended a connection: where it was at hand, it is so no longer."""
        for taken in [t for t in self._at_hand if t.driver is driver]:
            self._at_hand.remove(taken)
            taken.pooled.detach()

    async def _pooled(self) -> Any:
        """A connection of the library's pool; one that has to be made has to be waited for."""
        if self._pool.checkedin() and not self._empty:
            try:
                return self._pool.connect()
            except MissingGreenlet:  # it was older than the server
                pass
        return await greenlet_spawn(self._pool.connect)

    def _returned(self, connection: Any, record: Any) -> None:
        if connection is None:  # given up with a caller that was cancelled
            self._empty.add(record)

    def _connected(self, _connection: Any, record: Any) -> None:
        self._empty.discard(record)


class _Turns:
    """As many turns as the pool has connections; who finds none waits for one, first come, first served.

    One timer watches over all who wait: who came first is also the first to have waited too long.
    """

    def __init__(self, count: int) -> None:
        self.count = self.free = count
        self.waits = self.timeouts = 0
        self.waiting: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._is_watched = False

    def at_once(self) -> bool:
        """Take a turn if one is free."""
        if not self.free:
            return False
        self.free -= 1
        return True

    async def wait(self) -> None:
        """Take the next turn that is given back. Raises Unavailable after two seconds."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self.waits += 1
        self.waiting.append((loop.time() + CONNECTION_SECONDS, turn))
        self._watch(loop)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:  # it came in the same moment
                self.give_back()
            raise

    def give_back(self) -> None:
        """Give the turn to whoever has waited longest."""
        while self.waiting:
            _, turn = self.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.free += 1

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        if self.waiting and not self._is_watched:
            self._is_watched = True
            loop.call_at(self.waiting[0][0], self._expire, loop)

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_watched = False
        while self.waiting and self.waiting[0][0] <= loop.time():
            _, turn = self.waiting.popleft()
            if not turn.done():
                self.timeouts += 1
                turn.set_exception(Unavailable())
        self._watch(loop)
