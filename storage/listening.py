"""The one connection of a process that PostgreSQL tells of changes: an organization's identifier and nothing else."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import asyncpg
from sqlalchemy.engine import URL

from storage.database import Database

CHANGES = "crm_changes"
"""The channel that the triggers of the migrations notify."""

_RECONNECT_SECONDS = 1.0
_OF_SQLALCHEMY = frozenset({"prepared_statement_cache_size", "prepared_statement_name_func", "async_creator_fn"})
"""Options of an address that are not the driver's."""

_log = logging.getLogger(__name__)


class Listener:
    """Calls `told` with each organization that is named, and `missed` when it listens: before that it heard nothing."""

    def __init__(self, database: Database, url: URL, told: Callable[[str], None], missed: Callable[[], None]) -> None:
        self._database = database
        self._url = url
        self._told = told
        self._missed = missed

    async def run(self) -> None:
        """Listen, and again a moment after the connection has ended, until cancelled."""
        in_trouble = False
        while True:
            try:
                ended = await self._listen()
                if in_trouble:
                    _log.info("listens to the database again")
                in_trouble = False
                self._missed()
                await ended
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                if not in_trouble:
                    _log.warning("cannot listen to the database type=%s; asks it every moment", type(error).__name__)
                in_trouble = True
            await asyncio.sleep(_RECONNECT_SECONDS)

    async def _listen(self) -> asyncio.Future[None]:
        """Connect; what comes back is done once the connection has ended."""
        _, options = self._database.engine.dialect.create_connect_args(self._url)
        connection = await asyncpg.connect(**{n: v for n, v in options.items() if n not in _OF_SQLALCHEMY}, timeout=5)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def end(_connection: Any) -> None:
            if not ended.done():
                ended.set_result(None)

        connection.add_termination_listener(end)
        try:
            await connection.add_listener(CHANGES, self._hear)
        except BaseException:
            connection.terminate()
            raise
        ended.add_done_callback(lambda _: connection.terminate())
        return ended

    def _hear(self, _connection: Any, _process: int, _channel: str, organization: str) -> None:
        self._told(organization)
