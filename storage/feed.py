"""News of the organizations' change logs for whoever waits for it, in this process (decision 80).

What wakes a waiter is a commit of this process, a notification of PostgreSQL, which carries an organization's
identifier and nothing else, or a moment's pause, which covers what neither of them told. What there is to know is
always read from the log, so a wake-up too many or too few changes nothing but the delay.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import asyncpg

from storage.database import Database
from storage.queries import events

CHANGES = "crm_changes"
"""The channel that the triggers of the migrations notify."""

PAUSE_SECONDS = 1.0
"""How long a waiter waits unwoken."""

_KEPT = 1_000
_RECONNECT_SECONDS = 1.0
_OF_SQLALCHEMY = frozenset({"prepared_statement_cache_size", "prepared_statement_name_func", "async_creator_fn"})
"""Options of an address that are not the driver's."""

_log = logging.getLogger(__name__)


class Channel:
    """One organization's news. Its readers share what is read: an event is fetched once for all that follow the log."""

    def __init__(self, database: Database, organization: str) -> None:
        self.readers = 0
        self.version = 0
        self._database = database
        self._organization = organization
        self._woken = asyncio.Event()
        self._reading = asyncio.Lock()
        self._recent: deque[Any] = deque()
        self._from: int | None = None
        self._newest = 0
        self._read = (-1, 0.0)

    def wake(self) -> None:
        """Something was committed for the organization."""
        self.version += 1
        self._woken.set()
        self._woken = asyncio.Event()

    async def changed(self, version: int) -> None:
        """Wait for news after this version, but not for long."""
        if self.version == version:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), PAUSE_SECONDS)

    async def after(self, sequence: int) -> Sequence[Any]:
        """The next events of the log, whoever else reads them; none where there are none yet."""
        async with self._reading:
            if self._from is None:
                async with self._database.reading(self._organization) as session:
                    self._from = self._newest = await events.last_sequence(session)
            if sequence >= self._from:
                await self._catch_up()
        if sequence >= self._from:
            return [event for event in self._recent if event.sequence > sequence]
        async with self._database.reading(self._organization) as session:
            return await events.after(session, sequence)

    async def _catch_up(self) -> None:
        """Read on from the newest event that is known, unless that was just done."""
        moment = asyncio.get_running_loop().time()
        version, read_at = self._read
        if version == self.version and moment - read_at < PAUSE_SECONDS / 2:
            return
        self._read = (self.version, moment)
        try:
            while rows := await self._next():
                self._recent.extend(rows)
                self._newest = rows[-1].sequence
                while len(self._recent) > _KEPT:
                    self._from = self._recent.popleft().sequence
                if len(rows) < events.BATCH:
                    break
        except BaseException:
            self._read = (-1, 0.0)
            raise

    async def _next(self) -> Sequence[Any]:
        async with self._database.reading(self._organization) as session:
            return await events.after(session, self._newest)


class Feed:
    """The channels of one process: each lives as long as somebody reads it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._channels: dict[str, Channel] = {}
        database.committed.append(self.wake)

    @property
    def readers(self) -> int:
        """How many follow some organization."""
        return sum(channel.readers for channel in self._channels.values())

    def wake(self, organization: str) -> None:
        """Let those look who follow the organization."""
        channel = self._channels.get(organization)
        if channel is not None:
            channel.wake()

    @contextmanager
    def channel(self, organization: str) -> Iterator[Channel]:
        """The organization's channel, for one reader."""
        found = self._channels.get(organization)
        if found is None:
            found = self._channels[organization] = Channel(self._database, organization)
        found.readers += 1
        try:
            yield found
        finally:
            found.readers -= 1
            if not found.readers:
                del self._channels[organization]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen to the database where it tells; what cannot be heard is found a moment later all the same."""
        listening = asyncio.create_task(self._listen()) if self._database.dialect == "postgresql" else None
        try:
            yield
        finally:
            if listening is not None:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)

    async def _listen(self) -> None:
        in_trouble = False
        while True:
            try:
                ended = await self._listened()
                if in_trouble:
                    _log.info("listens to the database again")
                in_trouble = False
                for channel in self._channels.values():  # what was told in the meantime was told to nobody
                    channel.wake()
                await ended
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                if not in_trouble:
                    _log.warning("cannot listen to the database type=%s; asks it every moment", type(error).__name__)
                in_trouble = True
            await asyncio.sleep(_RECONNECT_SECONDS)

    async def _listened(self) -> asyncio.Future[None]:
        """Connect; what comes back is done once the connection has ended."""
        _, options = self._database.engine.dialect.create_connect_args(self._database.url)
        connection = await asyncpg.connect(**{n: v for n, v in options.items() if n not in _OF_SQLALCHEMY}, timeout=5)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def end(_connection: Any) -> None:
            if not ended.done():
                ended.set_result(None)

        connection.add_termination_listener(end)
        try:
            await connection.add_listener(CHANGES, self._told)
        except BaseException:
            connection.terminate()
            raise
        ended.add_done_callback(lambda _: connection.terminate())
        return ended

    def _told(self, _connection: Any, _process: int, _channel: str, organization: str) -> None:
        self.wake(organization)
