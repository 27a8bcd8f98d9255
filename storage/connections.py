"""The pool as it is used here: whoever comes waits for a turn, and finds a connection at hand.

The library's pool makes and ends connections; handing one out and taking it back there costs as much as a small
statement. So those that carried a shape stay here, ready for the next one, and go back to the pool when a session of
the ORM, which can only ask the pool, needs one.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import asyncpg
from sqlalchemy import event
from sqlalchemy.exc import MissingGreenlet
from sqlalchemy.ext.asyncio import AsyncEngine

from contract.limits import CONNECTION_SECONDS
from storage.adapters.sqlalchemy import driver_of, greenlet_spawn, idle_connections, pool_of
from storage.postgresql import TenantConnection
from storage.turns import Group, Turns


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

    __slots__ = ("driver", "group", "pooled", "turns")

    def __init__(self, pooled: Any) -> None:
        self.pooled = pooled
        self.driver = driver_of(pooled)
        self.turns: Turns
        self.group: Group = ""
        """The group whose turn it is taken in."""


class Connections:
    """The connections of one engine, of which there are never more than turns.

    Where there is one writer at a time, it has a turn and a connection of its own: who writes waits for no reader, and
    those who queue to write keep no reader from the database.
    """

    def __init__(self, engine: AsyncEngine, size: int, *, one_writer: bool = False) -> None:
        self._pool = pool_of(engine)
        self._turns = Turns(size, CONNECTION_SECONDS)
        self._writers = Turns(1, None) if one_writer else self._turns
        self._at_hand: list[Taken] = []
        self._borrowers = 0
        self._empty: set[Any] = set()
        event.listen(engine.sync_engine, "checkin", self._returned)
        event.listen(engine.sync_engine, "connect", self._connected)

    @property
    def state(self) -> PoolState:
        """The state of the pool: how busy its connections are."""
        turns, writers = self._turns, self._writers
        in_use = turns.count - turns.free + (0 if writers is turns else writers.count - writers.free)
        return PoolState(turns.count, in_use, turns.waiting, turns.waits, turns.timeouts)

    async def take(self, group: Group = "", *, writing: bool = False) -> Taken:
        """A connection, to be given back or given up. Raises Unavailable after two seconds without one."""
        turns = self._writers if writing else self._turns
        if not turns.at_once(group):
            await turns.wait(group)
        if self._at_hand:
            taken = self._at_hand.pop()
        else:
            try:
                taken = Taken(await self._pooled())
            except BaseException:
                turns.give_back(group)
                raise
            if isinstance(taken.driver, asyncpg.Connection):
                taken.driver.add_termination_listener(self._ended)
        taken.turns, taken.group = turns, group
        return taken

    def give_back(self, taken: Taken) -> None:
        """Keep a connection for the next one, or for the ORM where it waits for one."""
        if self._borrowers:
            self._to_pool(taken)
        else:
            self._at_hand.append(taken)
        taken.turns.give_back(taken.group)

    async def give_up(self, taken: Taken) -> None:
        """End a connection that may be in disorder, without a farewell that its server might not answer."""
        try:
            if isinstance(taken.driver, TenantConnection):
                try:
                    await taken.driver.end_statement()
                finally:
                    taken.driver.terminate()
            await greenlet_spawn(taken.pooled.invalidate)
        finally:
            taken.pooled.close()
            taken.turns.give_back(taken.group)

    @asynccontextmanager
    async def lending(self, group: Group = "", *, writing: bool = False) -> AsyncIterator[None]:
        """A turn during which the ORM finds a connection in the pool, which every other one that is given back joins.

        Raises Unavailable.
        """
        turns = self._writers if writing else self._turns
        if not turns.at_once(group):
            await turns.wait(group)
        self._borrowers += 1
        try:
            self._lend()
            yield
        finally:
            self._borrowers -= 1
            turns.give_back(group)

    def _lend(self) -> None:
        if self._at_hand and not idle_connections(self._pool):
            self._to_pool(self._at_hand.pop())

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
        if idle_connections(self._pool) and not self._empty:
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
