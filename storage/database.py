"""The database: its connections, and sessions that belong to one organization each. The only way to a statement."""

import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Executable, text
from sqlalchemy.engine import URL, Dialect, make_url

from contract.errors import Problem, Problems
from contract.limits import CONNECTION_SECONDS, STATEMENT_SECONDS, STATEMENTS_CHARACTERS_MAX, STATEMENTS_MAX
from storage import database_time, sqlite_connection
from storage.adapters.aiosqlite import FileConnection
from storage.adapters.asyncpg import fetch
from storage.adapters.sqlalchemy import structure_of
from storage.base import as_uuid, now
from storage.bounded_cache import BoundedCache
from storage.connection_pool import Connections, Driver, Taken
from storage.db_errors import closed_under, is_statement_error
from storage.file_turn import turn_of
from storage.postgres import tenant_connection
from storage.quiet_commits import IS_QUIET
from storage.sqlite_connection import changing, fetching, reading
from storage.statement_timeouts import Clock, to_the_end
from storage.statements import (
    AnyKind,
    AnyRow,
    AnyStatement,
    AnyValue,
    CompiledStatement,
    NoValues,
    compact_json,
    narrowed,
    row_of,
)
from storage.tenancy import guard
from storage.tenancy.following import FollowingSession
from storage.tenancy.sessions import ReadingSession, TenantSession
from storage.tenancy.writing import WritingSession

if TYPE_CHECKING:
    from storage.clusters import Clusters
    from storage.replicas import Replicas

_ANSWER_SECONDS = 1.0
"""The seconds for which an answer is waited for longer than a statement may take: after that, the server is away."""
_UNMEASURED = nullcontext()
Timed = database_time.Told[CompiledStatement]

Locking = tuple[CompiledStatement, Sequence[AnyValue]]
"""A shape that locks a row, and its parameters."""
Send = Callable[[Driver, CompiledStatement, list[AnyValue]], Awaitable[Sequence[AnyRow]]]


class Database:
    """The connections to one address, and its sessions.

    On SQLite one writer runs at a time; the others queue fairly in this process, and processes among themselves.
    `statement_cache=False` is for a pooler in transaction mode: nothing stays prepared, nothing is set for longer than
    a transaction, and no statement runs outside of one (decision 116). A statement that takes longer than
    `statement_seconds` is ended: TimedOut; a server that does not even end it counts as away.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 10,
        statement_cache: bool = True,
        statement_seconds: float | None = STATEMENT_SECONDS,
    ) -> None:
        self.url: URL = make_url(url)
        self.dialect = self.url.get_backend_name()
        made: Any = self.url.get_dialect()  # Any: what each dialect takes is its own
        self.sql: Dialect = made(json_serializer=compact_json, json_deserializer=orjson.loads)
        """The dialect in which SQLAlchemy writes statements."""
        self.connections = Connections(self.open, pool_size, turn_of(self.url), partial(self.open, to_write=True))
        self._seconds = statement_seconds
        self._is_cached = statement_cache
        self.replicas: Replicas | None = None
        """Those of the same database that may be read from; None where there are none."""
        self.clusters: Clusters | None = None
        """The other servers that organizations may lie on; None where there are none (storage/clusters.py)."""
        self.servers: Sequence[Database] = (self,)
        """This one, and those others."""
        self.place: str | None = None
        """What `organizations.cluster` calls it, "" for the directory's; None where there is but one server."""
        self.observers: list[Callable[[str], None]] = []
        """Called with the text of every statement; for tests and diagnosis."""
        self.timed: Timed | None = None
        """Called with every statement that has ended, its seconds, and what it raised, if it did."""
        self.committed: list[Callable[[str], None]] = []
        """Called with the organization after every commit of a transaction that may have written to it."""
        self.committed_at_all: list[Callable[[str], None]] = []
        """They are called as those are, and after those commits as well of which this process is told otherwise."""
        self.heard: list[Callable[[str], None]] = []
        """Called with an organization of which another process says that something was committed there."""
        self.statements: BoundedCache[Hashable, CompiledStatement] = BoundedCache(
            entries=STATEMENTS_MAX, size=STATEMENTS_CHARACTERS_MAX
        )
        """Compiled statements, by what they are made of."""
        local = "" if statement_cache else tenant_connection.local_timeout(statement_seconds)
        self.begin_of_one = "" if statement_cache or self.dialect == "sqlite" else f"BEGIN{local}"
        """The SQL that begins a transaction around a single statement, where it needs one."""
        for_one = f"BEGIN; SET LOCAL {tenant_connection.SETTING} = '{{organization}}'{local}"
        self._begin = "BEGIN IMMEDIATE" if self.dialect == "sqlite" else for_one

    def reading(self, organization: str) -> TenantSession:
        """Reads of one organization."""
        known = _known(organization)
        return ReadingSession(self, known) if self.clusters is None else self.clusters.reading(known)

    def following(self, organization: str, at_least: int) -> TenantSession:
        """Reads of one organization that a replica may answer which has its change log up to this number."""
        known, clusters = _known(organization), self.clusters
        return FollowingSession(self, known, at_least) if clusters is None else clusters.reading(known, at_least)

    def writing(self, organization: str, written: Callable[[int], None] | None = None) -> TenantSession:
        """A transaction of one organization: committed whole when the block ends, rolled back when it raises.

        `written` is told then how far the change log goes, if events were appended to it.
        """
        known = _known(organization)
        return WritingSession(self, known, written) if self.clusters is None else self.clusters.writing(known, written)

    def directory(self, *, writing: bool = False) -> TenantSession:
        """Reads of the directory, or a transaction on it: who is who; tenant tables are out of its reach."""
        return WritingSession(self, None) if writing else ReadingSession(self, None)

    async def begin(self, organization: str | None, first: Locking | None = None) -> Taken:
        """A connection with a transaction of the organization: the message that begins it sets that (layer 5).

        On PostgreSQL the same message takes a lock first, if one is given (decision 940).
        """
        begin = self._begin.format(organization=organization or "")
        if self.place is not None and organization is not None:
            begin += f"; SELECT crm_enter('{organization}', '{self.place}')"
        taken = await self.connections.take(organization or "", writing=True)
        try:
            if isinstance(taken.driver, FileConnection):
                taken.driver.begin(begin)
            elif first is None:
                await taken.driver.execute(begin)
            else:
                prepared, parameters = first
                with self._counted(prepared):
                    await taken.driver.execute(f"{begin}; {prepared.written_out(parameters)}")
        except BaseException as error:
            closed = closed_under(taken.driver, error)
            await self._roll_back(taken)
            if closed:
                raise closed from error
            raise
        return taken

    async def end(self, taken: Taken, organization: str | None, *, commit: bool) -> None:
        """End a transaction that was begun."""
        if not commit:
            await self._roll_back(taken)
            return
        try:
            await taken.driver.commit()
        except BaseException as error:
            closed = closed_under(taken.driver, error)
            await self._roll_back(taken)
            if not isinstance(error, Exception):
                self._tell(organization)  # who was cancelled does not hear whether it was committed
            if closed:
                raise closed from error
            raise
        await self.connections.give_back(taken)
        self._tell(organization)

    def _tell(self, organization: str | None) -> None:
        if organization is not None:
            for committed in (*self.committed_at_all, *(() if IS_QUIET.get() else self.committed)):
                committed(organization)

    async def _roll_back(self, taken: Taken) -> None:
        """End the transaction; a connection that cannot even do that is kept by nobody."""
        try:
            await taken.driver.roll_back()
        except BaseException:  # the error that led here is the one to be raised
            await self.connections.give_up(taken)
        else:
            await self.connections.give_back(taken)

    def alone(
        self, organization: str | None, prepared: CompiledStatement, parameters: list[AnyValue], send: Send
    ) -> Coroutine[object, object, Sequence[AnyRow]]:
        """The answer to a statement that is a transaction of its own.

        Where it does not set its organization itself, the message that begins the transaction does.
        """
        begin = self.begin_of_one
        is_loose = prepared.is_text or (organization is not None and not prepared.is_scoped)
        if self.dialect == "postgresql" and is_loose:
            begin = f"{self._begin.format(organization=organization or '')}; SET TRANSACTION READ ONLY"
        return self._alone(organization, begin, prepared, parameters, send)

    async def at_once(
        self, organization: str, prepared: CompiledStatement, parameters: list[AnyValue]
    ) -> Sequence[AnyRow]:
        """The answer to a statement that writes, sets the organization itself (layer 5) and is a transaction."""
        records = await self._alone(organization, self.begin_of_one, prepared, parameters, self.send)
        self._tell(organization)
        return records

    async def _alone(
        self,
        organization: str | None,
        begin: str,
        prepared: CompiledStatement,
        parameters: list[AnyValue],
        send: Send,
    ) -> Sequence[AnyRow]:
        taken = await self.connections.take(organization or "")
        try:
            if begin:
                await taken.driver.execute(begin)
            records = await send(taken.driver, prepared, parameters)
            if begin:
                await taken.driver.execute("COMMIT")
        except BaseException as error:
            closed = closed_under(taken.driver, error)
            if not is_statement_error(error):  # the connection may be in disorder
                await self.connections.give_up(taken)
            elif begin:
                await self._roll_back(taken)
            else:
                await self.connections.give_back(taken)
            if closed:
                raise closed from error
            raise
        await self.connections.give_back(taken)
        return records

    def prepared(
        self,
        key: Hashable,
        build: Callable[[], AnyStatement],
        *,
        tenant: bool = True,
        scoped: bool = False,
        kind: AnyKind = None,
        whole: bool = False,
    ) -> CompiledStatement:
        """The shape under this key, made where it is not known. Raises Problems for one that is nested too deeply."""
        found = self.statements.get(key)
        if found is None:
            try:
                found = CompiledStatement(build(), self.sql, tenant=tenant, scoped=scoped, kind=kind, whole=whole)
            except RecursionError:  # before the conditions' own limit only where the stack is nearly used up
                raise Problems(
                    [Problem(("filter",), "has too many conditions in one another", "filter_depth")]
                ) from None
            self.statements.put(key, found, len(found.text))
        return found

    def known(
        self, statement: Executable, organization: str | None, kind: AnyKind = None
    ) -> tuple[CompiledStatement, list[AnyValue]]:
        """The shape of a statement that has its values in it, found by its structure, and these values."""
        structure, inside = structure_of(statement), organization is not None

        def build() -> AnyStatement:
            return narrowed(statement) if inside else statement

        if structure is None:
            prepared = CompiledStatement(build(), self.sql, tenant=inside, scoped=False, kind=kind, whole=True)
            return prepared, prepared.parameters(organization or "", NoValues())
        prepared = self.prepared((structure.key, inside, kind), build, tenant=inside, kind=kind, whole=True)
        return prepared, prepared.parameters_of(organization or "", structure.values)

    async def send(self, driver: Driver, prepared: CompiledStatement, parameters: list[AnyValue]) -> Sequence[AnyRow]:
        """Send a shape over a connection of the driver, and give its records."""
        with self._counted(prepared) as clock:
            if self.dialect == "postgresql":
                return await fetch(driver, prepared.text, parameters)
            return await to_the_end(driver, fetching(prepared.text, parameters), self._seconds, clock)

    async def send_following(
        self, driver: Driver, prepared: CompiledStatement, parameters: list[AnyValue]
    ) -> Sequence[AnyRow]:
        """Send what a replica is asked; its records say how fresh they are."""
        with self._counted(prepared):
            return await fetch(driver, prepared.following_text, parameters)

    async def send_text(
        self, driver: Driver, prepared: CompiledStatement, parameters: list[AnyValue]
    ) -> Sequence[AnyRow]:
        """The same for a text, which alone knows the names of its columns: rows."""
        if self.dialect == "postgresql":
            records = await self.send(driver, prepared, parameters)
            names = tuple(records[0].keys()) if records else ()
        else:
            with self._counted(prepared) as clock:
                names, records = await to_the_end(driver, reading(prepared.text, parameters), self._seconds, clock)
        if not records:
            return []
        kind = row_of(names)
        return [kind(*record) for record in records]

    async def count(self, driver: Driver, prepared: CompiledStatement, parameters: list[AnyValue]) -> int:
        """Send a shape that gives no rows; how many it has changed."""
        with self._counted(prepared) as clock:
            if self.dialect == "postgresql":
                number = str(await driver.execute(prepared.text, *parameters)).rpartition(" ")[2]
                return int(number) if number.isdecimal() else 0
            return await to_the_end(driver, changing(prepared.text, parameters), self._seconds, clock)

    async def count_last(self, driver: Driver, prepared: CompiledStatement, parameters: list[AnyValue]) -> None:
        """Send a shape that gives no rows; on SQLite with what comes next, which may be the commit (decision 1204)."""
        if isinstance(driver, FileConnection):
            self._observe(prepared)
            driver.put_off(changing(prepared.text, parameters))
        else:
            await self.count(driver, prepared, parameters)

    def _observe(self, statement: CompiledStatement) -> None:
        for observe in self.observers:
            observe(statement.text)

    def _counted(self, statement: CompiledStatement) -> AbstractContextManager[Clock | None]:
        """Tell the observers of a statement that is about to be sent; its time counts for whoever measures."""
        self._observe(statement)
        if self.timed is None:
            return database_time.current() or _UNMEASURED
        return database_time.Timed(database_time.current(), self.timed, statement)

    async def open(self, *, to_write: bool = False) -> Driver:
        """A new connection of the driver, on SQLite of one kind. Raises what the driver does where it is away."""
        arguments, options = self.sql.create_connect_args(self.url)
        if self.dialect == "postgresql":
            return await tenant_connection.connect(
                **tenant_connection.options(
                    options,
                    connection_seconds=CONNECTION_SECONDS,
                    statement_seconds=self._seconds,
                    answer_seconds=_ANSWER_SECONDS,
                    cache=self._is_cached,
                )
            )
        options["isolation_level"] = None
        return await sqlite_connection.begun(partial(sqlite3.connect, *arguments, **options), to_write=to_write)

    async def bypasses_row_security(self) -> bool:
        """Says whether the role is above the row-level policies, so that isolation layer 5 is missing; SQLite has none.

        Raises Unavailable where the database cannot be reached.
        """
        question = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
        async with self.directory() as session:
            return bool(await session.scalar(text(question if self.dialect == "postgresql" else "SELECT 0")))

    async def clock(self) -> datetime:
        """The time of the database's machine. Raises Unavailable."""
        if self.dialect == "sqlite":
            return now()
        async with self.directory() as session:
            moment: datetime = await session.scalar(text("SELECT clock_timestamp()"))
            return moment

    async def timeouts(self) -> dict[str, float]:
        """The seconds after which the server ends what this role does, by setting; none on SQLite, or where none are.

        Raises Unavailable.
        """
        if self.dialect == "sqlite":
            return {}
        question = (
            "SELECT name, setting::bigint / 1000.0 AS seconds FROM pg_settings WHERE setting <> '0' AND name IN "
            "('statement_timeout', 'transaction_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')"
        )
        async with self.directory() as session:
            return {row.name: float(row.seconds) for row in await session.rows(text(question))}

    async def close(self) -> None:
        """Close every connection, those to other servers as well."""
        for others in (self.replicas, self.clusters):
            if others is not None:
                await others.close()
        await self.connections.close()


def _known(organization: str) -> str:
    canonical = as_uuid(organization)
    if canonical is None:
        raise guard.TenantBreach("a session needs an organization")
    return canonical
