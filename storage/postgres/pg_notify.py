"""The one connection of a process over which processes tell each other of changes: an organization's identifier and
nothing else.

PostgreSQL takes a lock of the whole server in each transaction that notifies, until it is committed. So no transaction
of the business does: a process tells of its commits afterwards, of all that fell together at once (decision 198).
"""

import asyncio
import logging
from collections.abc import Callable

import asyncpg
from sqlalchemy.engine import URL

from storage.database import Database
from storage.postgres.tenant_connection import driver_options

CHANGES = "crm_changes"
"""The channel that processes notify."""
APART_SECONDS = 0.02
"""The least seconds between two messages of a process: what is committed meanwhile goes with the next."""

_RECONNECT_SECONDS = 1.0
_ANSWER_SECONDS = 5.0
_TROUBLE = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)

_log = logging.getLogger(__name__)


class Listener:
    """Calls `told` with each organization that is named, and `missed` when it listens: before that it heard nothing."""

    def __init__(self, database: Database, url: URL, told: Callable[[str], None], missed: Callable[[], None]) -> None:
        self._database = database
        self._url = url
        self._told = told
        self._missed = missed
        self._connection: asyncpg.Connection | None = None
        self._untold: set[str] = set()
        self._telling: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Listen, and again a moment after the connection has ended, until cancelled."""
        in_trouble = False
        try:
            while True:
                try:
                    ended = await self._listen()
                    if in_trouble:
                        _log.info("listens to the database again")
                    in_trouble = False
                    self._missed()
                    await ended
                except _TROUBLE as error:
                    if not in_trouble:
                        kind = type(error).__name__
                        _log.warning("cannot listen to the database type=%s; asks it every moment", kind)
                    in_trouble = True
                await asyncio.sleep(_RECONNECT_SECONDS)
        finally:
            if self._telling is not None:
                self._telling.cancel()
            if self._connection is not None:
                self._connection.terminate()

    def tell(self, organization: str) -> None:
        """Have the other processes look at an organization in which something was committed.

        While there is no connection nothing is told: they look each second all the same.
        """
        if self._connection is None:
            return
        self._untold.add(organization)
        if self._telling is None or self._telling.done():
            self._telling = asyncio.get_running_loop().create_task(self._tell(self._connection))

    async def _tell(self, connection: asyncpg.Connection) -> None:
        while self._untold:
            organizations, self._untold = sorted(self._untold), set()
            statement = "SELECT pg_notify($1, organization) FROM unnest($2::text[]) organization"
            try:
                await connection.execute(statement, CHANGES, organizations, timeout=_ANSWER_SECONDS)
            except _TROUBLE:
                connection.terminate()
                return
            await asyncio.sleep(APART_SECONDS)

    async def _listen(self) -> asyncio.Future[None]:
        """Connect; what comes back is done once the connection has ended."""
        _, options = self._database.sql.create_connect_args(self._url)
        connection = await asyncpg.connect(**driver_options(options), timeout=_ANSWER_SECONDS, statement_cache_size=0)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def end(_connection: object) -> None:
            self._connection = None
            if not ended.done():
                ended.set_result(None)

        connection.add_termination_listener(end)
        try:
            await connection.add_listener(CHANGES, self._hear)
        except BaseException:
            connection.terminate()
            raise
        self._connection = connection
        return ended

    def _hear(self, connection: asyncpg.Connection, process: int, _channel: str, organization: str) -> None:
        if process != connection.get_server_pid():  # what this process told itself, it knows
            self._told(organization)
