"""Several servers: the directory's, and others that organizations may lie on (decision 1080).

The directory says who is who and where each organization lies. Everything else of an organization lies together on one
server. Who comes with a request learns it from the statement that looks up the credential, everybody else within a
second.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self, TypeVar

from sqlalchemy import DateTime, bindparam, select
from sqlmodel import col

from contract.errors import TimedOut, Unavailable
from storage.connection_pool import Driver
from storage.expressions import AnySelect
from storage.meanwhile import meanwhile
from storage.statements import AnyValue, CompiledStatement
from storage.tables import Organization
from storage.tenancy.following import FollowingSession
from storage.tenancy.sessions import ReadingSession, RowT, TenantSession
from storage.tenancy.writing import WritingSession

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from storage.database import Database

T = TypeVar("T")
_log = logging.getLogger(__name__)

DIRECTORY = "directory"
"""The name of the directory's own server, as an operator says it."""
REFRESH_SECONDS = 1.0
_LEFT_SECONDS = 5.0
"""The time for which nobody looks after a server that was away."""
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_OVERLAP = timedelta(minutes=1)
"""Of two moves at once the later one may be seen first, and the clock of a promoted standby may be behind."""


Place = tuple[str | None, str | None, datetime | None]
"""An organization, the name of the server that it lies on, and since when it does."""


class Clusters:
    """The servers by name, and where organizations lie. As long as the database that it is made for."""

    def __init__(self, directory: "Database", others: "Mapping[str, Database]") -> None:
        self._directory = directory
        self._others = dict(others)
        self._places: dict[str, tuple[datetime, str | None]] = {}
        self._newest: datetime | None = None
        self._left_until: dict[str, float] = {}
        directory.servers = (directory, *others.values())
        directory.place = ""
        for name, other in others.items():
            other.place, other.observers = name, directory.observers
            other.committed, other.heard = directory.committed, directory.heard
            other.committed_at_all = directory.committed_at_all
        directory.clusters = self

    @property
    def others(self) -> "Mapping[str, Database]":
        """The servers beside the directory's."""
        return self._others

    def note(self, rows: Iterable[Place]) -> None:
        """Note where organizations lie, of each: since when, whatever order these come in."""
        for organization, cluster, moved_at in rows:
            if organization is None or moved_at is None:
                continue
            known = self._places.get(organization)
            if known is None or known[0] < moved_at:
                self._places[organization] = (moved_at, cluster)

    def unknown(self) -> set[str]:
        """The names of servers that organizations lie on and no setting tells of."""
        return {name for _, name in self._places.values() if name is not None} - self._others.keys()

    async def refresh(self) -> None:
        """Ask the directory for what has moved since it was asked last, and a while before that."""
        since = _FIRST if self._newest is None else self._newest - _OVERLAP
        async with self._directory.directory() as session:
            rows = await session.fetch("organizations_moved", _moved, since=since)
        self.note((row.id, row.cluster, row.moved_at) for row in rows)
        self._newest = max((row.moved_at for row in rows), default=self._newest or _FIRST)

    @asynccontextmanager
    async def followed(self) -> "AsyncIterator[None]":
        """Keep asking meanwhile."""
        with suppress(Unavailable, TimedOut):
            await self.refresh()
        async with meanwhile(self._follow()):
            yield

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                await self.refresh()
            except Exception as error:  # away, or not migrated yet: what is known holds
                _log.debug("the directory was not asked for moves type=%s", type(error).__name__)

    def server_of(self, organization: str) -> "Database | None":
        """The server that it lies on; None for the directory's own. Raises Unavailable where that is not known."""
        found = self._places.get(organization)
        if found is None:
            if self._newest is None:
                raise Unavailable
            return None
        name = found[1]
        if name is None:
            return None
        if name not in self._others:
            _log.error("an organization lies on a server that CRM_CLUSTERS does not name cluster=%s", name)
            raise Unavailable
        return self._others[name]

    def reading(self, organization: str, at_least: int | None = None) -> TenantSession:
        """Reads of an organization, wherever it lies."""
        server = self.server_of(organization)
        if server is not None:
            return ReadingAway(server, organization, self._directory)
        if at_least is None:
            return ReadingSession(self._directory, organization)
        return FollowingSession(self._directory, organization, at_least)

    def writing(self, organization: str, written: Callable[[int], None] | None = None) -> TenantSession:
        """A transaction of an organization, wherever it lies."""
        server = self.server_of(organization)
        if server is None:
            return WritingSession(self._directory, organization, written)
        return WritingAway(server, organization, self._directory, written)

    def is_left(self, name: str) -> bool:
        """Whether the server was away a moment ago, so that nobody looks after it."""
        return time.monotonic() < self._left_until.get(name, 0.0)

    def leave(self, name: str) -> None:
        """Have nobody look after the server for a while."""
        _log.warning("a server is away: its organizations are looked after later cluster=%s", name)
        self._left_until[name] = time.monotonic() + _LEFT_SECONDS

    async def close(self) -> None:
        """Close the connections to the others."""
        await asyncio.gather(*(other.close() for other in self._others.values()))


def _moved() -> AnySelect:
    since = bindparam("since", type_=DateTime(timezone=True))
    columns = (col(Organization.id), col(Organization.cluster), col(Organization.moved_at))
    return select(*columns).where(col(Organization.moved_at) >= since)


def note(database: "Database", rows: Iterable[Place]) -> None:
    """Note where organizations lie. Raises Unavailable where one lies on another server and no setting tells of it."""
    if database.clusters is not None:
        database.clusters.note(rows)
    elif any(cluster is not None for _, cluster, _ in rows):
        _log.error("an organization lies on another server, and CRM_CLUSTERS is not set")
        raise Unavailable


def servers_of(database: "Database", organization: str | None) -> "Sequence[Database]":
    """The directory's server, and the one that the organization lies on where that is another."""
    if organization is None or database.clusters is None:
        return (database,)
    server = database.clusters.server_of(organization)
    return (database,) if server is None else (database, server)


async def on_each_server(database: "Database", work: "Callable[[Database], Awaitable[object]]") -> bool:
    """Do the work on each server; one beside the directory's that is away keeps nobody from the others.

    Whether all were there.
    """
    await work(database)
    clusters, reached = database.clusters, 1
    if clusters is None:
        return True
    for name, other in clusters.others.items():
        if clusters.is_left(name):
            continue
        try:
            await work(other)
            reached += 1
        except (Unavailable, TimedOut, OSError):
            clusters.leave(name)
    return reached == len(database.servers)


async def found_on_servers(database: "Database", find: Callable[[TenantSession], Awaitable[Sequence[T]]]) -> list[T]:
    """What is found on every server that is there, in sessions of the directory's kind."""
    found: list[T] = []

    async def look(server: "Database") -> None:
        async with server.directory() as session:
            found.extend(await find(session))

    await on_each_server(database, look)
    return found


def _is_of_directory(prepared: CompiledStatement) -> bool:
    if prepared.is_of_directory and prepared.is_of_organization:
        raise RuntimeError("a statement on tables of two servers")
    return prepared.is_of_directory


class ReadingAway(ReadingSession):
    """Reads of an organization that lies on another server; who may call stays with the directory."""

    spans_servers = True

    def __init__(self, database: "Database", organization: str, directory: "Database") -> None:
        super().__init__(database, organization)
        self._directory = directory

    def _server_of(self, prepared: CompiledStatement) -> "Database":
        return self._directory if _is_of_directory(prepared) else self._database


class WritingAway(WritingSession):
    """A transaction of an organization that lies on another server, with one on the directory where it is needed.

    That of the organization is committed first. What counts is in the directory, so that a caller who is told that it
    went wrong in between can do it again (decision 1081).
    """

    spans_servers = True

    def __init__(
        self,
        database: "Database",
        organization: str,
        directory: "Database",
        written: Callable[[int], None] | None = None,
    ) -> None:
        super().__init__(database, organization, written)
        self._at_directory = WritingSession(directory, None)
        self._directory = directory

    async def glance(self, model: type[RowT], **equal: AnyValue) -> RowT | None:
        """The row that `find` gives, as it is at the moment: before the transaction, which it does not begin."""
        return await ReadingAway(self._database, self.org_id, self._directory).find(model, **equal)

    def _driver_of(self, prepared: CompiledStatement) -> Awaitable[Driver]:
        return self._at_directory.driver() if _is_of_directory(prepared) else self.driver()

    @asynccontextmanager
    async def within(self) -> "AsyncIterator[Self]":
        """A part of both transactions that is rolled back alone when its block raises."""
        async with self._at_directory.within(), super().within():
            yield self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Commit that of the organization, then the directory's; or roll back both where the block has raised."""
        try:
            await super().__aexit__(kind, error, trace)
        except BaseException as trouble:
            with suppress(Exception):  # the error that led here is the one to be raised
                await self._at_directory.__aexit__(type(trouble), trouble, trouble.__traceback__)
            raise
        await self._at_directory.__aexit__(kind, error, trace)
