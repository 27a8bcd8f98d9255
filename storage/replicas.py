"""Servers that follow the primary, and may answer reads for it: never older ones than a read may be (decision 996).

Each read says up to which number a replica has to have the organization's change log, and the statement that reads
looks whether it has: freshness and rows are of one moment. A replica that is behind, dies or hangs costs a read a few
milliseconds: it is asked of one other replica, then of the primary.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from enum import StrEnum
from itertools import chain, count, repeat
from typing import TYPE_CHECKING

import asyncpg

from contract.errors import Unavailable
from contract.limits import CONNECTION_SECONDS, POSITIONS_MAX, STALE_SECONDS
from storage.bounded_cache import BoundedCache
from storage.connection_pool import Driver
from storage.db_errors import is_statement_error, is_timed_out
from storage.statements import AnyRow, AnyValue, CompiledStatement

if TYPE_CHECKING:
    from storage.database import Database

_log = logging.getLogger(__name__)

ASKED_MAX = 2
"""The number of replicas that one read is asked of before the primary."""
SUSPECT_SECONDS = 0.02
"""An answer that takes longer has somebody look whether the replica still lives."""
PROBE_SECONDS = 0.02
"""The time that it has to say so: with the first, what a read loses at most to one that hangs."""
RECOVER_SECONDS = (0.1, 0.2, 0.4, 1.0)
"""The pauses between looks whether one that is away is back; the last again and again."""
BEHIND_MAX, REST_SECONDS = 3, 0.25
"""A replica that was behind so often, one time after another, is left alone for a while."""

_CONFLICT = "40001"
"""The SQLSTATE of a read that stood in the way of what the replica has to apply."""
_KEPT_SECONDS = STALE_SECONDS - 1.0
"""The time for which a position is good enough for reads that may be late; the rest is theirs."""
_AWAY = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


class Reason(StrEnum):
    """Why a replica did not answer a read."""

    BEHIND = "behind"
    AWAY = "away"
    BUSY = "busy"
    ERROR = "error"


class Place(StrEnum):
    """Where a read was answered."""

    REPLICA = "replica"
    PRIMARY = "primary"


Counts = tuple[Callable[[Place], None], Callable[[Reason], None]]
"""Count a read by its place, and a fallback by its reason."""


class Replica:
    """One server that follows, with its connections."""

    def __init__(self, database: "Database") -> None:
        """`database` is the replica itself, as if it stood alone."""
        self.database = database
        self._connections = database.connections
        self._waiting: set[asyncio.Timeout] = set()
        self._is_away = True
        self._behind = 0
        self._rests_until = 0.0
        self._probe: Driver | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._looks = self._begun = False

    @property
    def is_there(self) -> bool:
        """Whether it answered when it was last asked."""
        return not self._is_away

    @property
    def is_asked(self) -> bool:
        """Whether it is to be asked: it is there, and was not behind just now.

        Nobody waits for its first connection.
        """
        if not self._begun:
            self._begun = True
            self._begin(self._recover((0.0, *RECOVER_SECONDS)))
        return not self._is_away and time.monotonic() >= self._rests_until

    async def read(
        self, organization: str, prepared: CompiledStatement, parameters: list[AnyValue]
    ) -> Sequence[AnyRow] | Reason:
        """The records, or why there are none. Raises what a statement that takes too long raises."""
        loop = asyncio.get_running_loop()
        slow = loop.call_later(SUSPECT_SECONDS, self._suspect)
        try:
            async with asyncio.timeout(None) as waiting:
                self._waiting.add(waiting)
                try:
                    records = await self._sent(organization, prepared, parameters)
                finally:
                    self._waiting.discard(waiting)
        except Unavailable:  # each of its connections is taken
            return Reason.BUSY
        except Exception as error:  # whatever it is: the primary has the say
            if is_timed_out(error):
                raise
            if is_statement_error(error) or getattr(error, "sqlstate", None) == _CONFLICT:
                _log.warning("a replica refused a statement (%s)", type(error).__name__)
                return Reason.ERROR
            self._leave()
            return Reason.AWAY
        finally:
            slow.cancel()
        return self._judged(records)

    def _judged(self, records: Sequence[AnyRow]) -> Sequence[AnyRow] | Reason:
        """The rows without what the statement says of its freshness."""
        if records and records[0][-1]:
            self._behind = 0
            return [record[:-2] for record in records] if records[0][-2] else []
        self._behind += 1
        if self._behind >= BEHIND_MAX:
            self._behind, self._rests_until = 0, time.monotonic() + REST_SECONDS
        return Reason.BEHIND

    async def _sent(
        self, organization: str, prepared: CompiledStatement, parameters: list[AnyValue]
    ) -> Sequence[AnyRow]:
        begin = self.database.begin_of_one
        taken = await self._connections.take(organization)
        try:
            if begin:
                await taken.driver.execute(begin)
            records: Sequence[AnyRow] = await self.database.send_following(taken.driver, prepared, parameters)
            if begin:
                await taken.driver.execute("COMMIT")
        except BaseException as error:
            if self._is_away:
                self._connections.cut(taken)
            elif begin or not is_statement_error(error):
                await self._connections.give_up(taken)
            else:
                await self._connections.give_back(taken)
            raise
        await self._connections.give_back(taken)
        return records

    def _suspect(self) -> None:
        """Look whether the server lives, unless somebody does already."""
        if not self._looks and not self._is_away:
            self._looks = True
            self._begin(self._look())

    async def _look(self) -> None:
        """Ask whether it lives for as long as somebody waits; who waits for one that does not is let go."""
        try:
            while self._waiting:
                if not await self._lives():
                    self._leave()
                    return
                await asyncio.sleep(SUSPECT_SECONDS)
        finally:
            self._looks = False

    async def _lives(self) -> bool:
        """Whether it answers within PROBE_SECONDS."""
        ping = asyncio.get_running_loop().create_task(self._ping())
        try:
            await asyncio.wait({ping}, timeout=PROBE_SECONDS)
            await asyncio.sleep(0)  # where this process was late itself, the answer may have come meanwhile
            return ping.done() and ping.exception() is None
        finally:
            ping.cancel()
            await asyncio.gather(ping, return_exceptions=True)

    async def _ping(self) -> None:
        """Have it answer, on a connection of its own."""
        if self._probe is None:
            opened = await self.database.open()
            self._forget_probe()  # somebody else may have been quicker
            self._probe = opened
        await self._probe.fetch("SELECT 1")

    def _leave(self) -> None:
        """Leave it alone until it answers again."""
        if self._is_away:
            return
        self._is_away = True
        _log.warning("a replica is away: reads go to the primary")
        moment = asyncio.get_running_loop().time()
        for waiting in self._waiting:
            waiting.reschedule(moment)
        self._begin(self._recover(RECOVER_SECONDS))

    async def _recover(self, pauses: Iterable[float]) -> None:
        """Look again and again whether it is there."""
        for pause in chain(pauses, repeat(RECOVER_SECONDS[-1])):
            await asyncio.sleep(pause)
            self._forget_probe()
            with suppress(*_AWAY):
                async with asyncio.timeout(CONNECTION_SECONDS):
                    await self._ping()
                self._is_away = False
                _log.info("a replica is there")
                return

    def _forget_probe(self) -> None:
        probe, self._probe = self._probe, None
        if probe is not None:
            probe.terminate()

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End what works on it, and its connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._forget_probe()
        await self.database.close()


class Replicas:
    """Those of one primary; reads go to them in turn."""

    def __init__(
        self,
        databases: Sequence["Database"],
        count_read: Callable[[Place], None] = lambda _place: None,
        count_fallback: Callable[[Reason], None] = lambda _reason: None,
    ) -> None:
        """`count_read` is told where each read is answered, `count_fallback` why a replica did not."""
        self.all = [Replica(database) for database in databases]
        self.count_read = count_read
        self.count_fallback = count_fallback
        self._turns = count()
        self._observed: BoundedCache[str, tuple[float, int]] = BoundedCache(entries=POSITIONS_MAX)

    async def read(
        self, organization: str, prepared: CompiledStatement, parameters: list[AnyValue], at_least: int
    ) -> Sequence[AnyRow] | None:
        """The records of a read of which the log tells; None where the primary has to answer it."""
        if not prepared.is_logged:
            self.count_read(Place.PRIMARY)
            return None
        first, asked = next(self._turns), 0
        for place in range(len(self.all)):
            replica = self.all[(first + place) % len(self.all)]
            if not replica.is_asked:
                continue
            found = await replica.read(organization, prepared, [*parameters, at_least])
            if not isinstance(found, Reason):
                self.count_read(Place.REPLICA)
                return found
            self.count_fallback(found)
            asked += 1
            # An error may be the statement's own; behind a full pool it has waited already.
            if asked == ASKED_MAX or found in (Reason.ERROR, Reason.BUSY):
                break
        self.count_read(Place.PRIMARY)
        return None

    def observe(self, moment: float, found: Iterable[tuple[str | None, int | None]]) -> None:
        """Note how far these organizations' logs went at this moment, unless an earlier one is still good enough."""
        for organization, position in found:
            if organization is not None and position is not None:
                seen = self._observed.get(organization)
                if seen is None or seen[0] < moment - _KEPT_SECONDS:
                    self._observed.put(organization, (moment, position))

    def lately(self, organization: str, now: int) -> int:
        """How far the log went at some moment of the last STALE_SECONDS; as it is `now` where nothing else is known."""
        seen = self._observed.get(organization)
        return now if seen is None or seen[0] < time.monotonic() - _KEPT_SECONDS else min(seen[1], now)

    async def close(self) -> None:
        """Close each."""
        await asyncio.gather(*(replica.close() for replica in self.all))
