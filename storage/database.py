"""The database: one engine, and sessions that belong to one organization each. The only way to a statement."""

from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from datetime import datetime
from functools import partial
from typing import Any

import orjson
from sqlalchemy import event, text
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import ORMExecuteState, Session, UOWTransaction, with_loader_criteria

from contract.errors import Problem, Problems
from contract.limits import CONNECTION_SECONDS, STATEMENT_SECONDS, STATEMENTS_CHARACTERS_MAX, STATEMENTS_MAX
from storage import database_time, deadlines, postgresql, tenancy
from storage.adapters.sqlalchemy import driver_of
from storage.away import is_statement_error, refusal_of
from storage.base import Tenant, as_uuid, now
from storage.connections import Connections, Taken
from storage.deadlines import to_the_end
from storage.kept import Kept
from storage.prepared import Prepared
from storage.sessions import AppendingSession, ReadingSession, TenantSession

_SQLITE_PRAGMAS = ("busy_timeout=5000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
_ANSWER_SECONDS = 1.0
"""The seconds for which an answer is waited for longer than a statement may take: after that, the server is away."""
_UNMEASURED = nullcontext()


class Database:
    """The engine for one address, and its sessions.

    On SQLite one writer runs at a time and the others queue fairly in this process; a second process waits on the file.
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
        self.engine = _engine(self.url, pool_size, statement_cache, statement_seconds)
        event.listen(self.engine.sync_engine, "before_cursor_execute", self._observe)
        database_time.watch(self.engine.sync_engine)
        self.connections = Connections(self.engine, pool_size, one_writer=self.dialect == "sqlite")
        self._seconds = statement_seconds
        self.observers: list[Callable[[str], None]] = []
        """Called with the text of every statement; for tests and diagnosis."""
        self.committed: list[Callable[[str], None]] = []
        """Called with the organization after every commit of a transaction that may have written to it."""
        self.statements: Kept[Hashable, Prepared] = Kept(entries=STATEMENTS_MAX, size=STATEMENTS_CHARACTERS_MAX)
        """Compiled statements, by what they are made of."""
        local = "" if statement_cache else postgresql.local_timeout(statement_seconds)
        self._pin = "" if statement_cache or self.dialect == "sqlite" else f"BEGIN{local}"
        """The SQL that begins a transaction around a single statement, where it needs one."""
        self._begin = (
            "BEGIN IMMEDIATE"
            if self.dialect == "sqlite"
            else f"BEGIN; SET LOCAL {{setting}} = '{{organization}}'{local}"
        )

    def reading(self, organization: str) -> AbstractAsyncContextManager[TenantSession]:
        """Reads of one organization."""
        return ReadingSession(self, _known(organization))

    def writing(self, organization: str) -> AbstractAsyncContextManager[TenantSession]:
        """A transaction of one organization: committed whole when the block ends, rolled back when it raises."""
        return self._writing(_known(organization))

    @asynccontextmanager
    async def appending(self, organization: str) -> AsyncIterator[TenantSession]:
        """A transaction of one organization that only reads shapes and inserts, straight through the driver."""
        organization = _known(organization)
        try:
            taken = await self.connections.take(organization, writing=True)
            try:
                await taken.driver.execute(self._begin.format(setting=postgresql.SETTING, organization=organization))
                yield AppendingSession(self, organization, taken.driver)
                await taken.driver.execute("COMMIT")
            except BaseException:
                await self._roll_back(taken)
                raise
            self.connections.give_back(taken)
        except Exception as error:
            if refusal := refusal_of(error):
                raise refusal from error
            raise
        self._tell(organization)

    async def _roll_back(self, taken: Taken) -> None:
        """End the transaction; a connection that cannot even do that does not go back to the pool."""
        try:
            if isinstance(taken.driver, postgresql.TenantConnection):
                await taken.driver.roll_back()
            else:
                await taken.driver.execute("ROLLBACK")
        except BaseException:  # the error that led here is the one to be raised
            await self.connections.give_up(taken)
        else:
            self.connections.give_back(taken)

    def directory(self, *, writing: bool = False) -> AbstractAsyncContextManager[TenantSession]:
        """Reads of the directory, or a transaction on it: who is who; tenant tables are out of its reach."""
        return self._writing(None) if writing else ReadingSession(self, None)

    @asynccontextmanager
    async def _writing(self, organization: str | None) -> AsyncIterator[TenantSession]:
        async with self.connections.lending(organization or "", writing=True):
            try:
                async with self.session(organization, readonly=False) as session, session.begin():
                    yield TenantSession(session, organization)
            except (DBAPIError, PoolTimeout, OSError) as error:
                if refusal := refusal_of(error):
                    raise refusal from error
                raise
        if organization is not None:
            self._tell(organization)

    def _tell(self, organization: str) -> None:
        for committed in self.committed:
            committed(organization)

    def session(self, organization: str | None, *, readonly: bool) -> AsyncSession:
        """A session of the ORM for one organization; `TenantSession` is the way to use one."""
        engine = self.engine.execution_options(crm_organization=organization, crm_readonly=readonly, crm_session=True)
        return AsyncSession(engine, expire_on_commit=False, autoflush=False)

    async def fetch(
        self, organization: str | None, key: Hashable, build: Callable[[], Any], values: Mapping[str, Any]
    ) -> list[Any]:
        """All rows of a shape, which is a transaction of its own."""
        is_tenant = organization is not None
        prepared = self.prepared((key, not is_tenant), build, tenant=is_tenant, walled=True)
        return await self._alone(organization or "", prepared, prepared.parameters(organization or "", values))

    async def send_at_once(
        self, organization: str, key: Hashable, build: Callable[[], Any], values: Mapping[str, Any]
    ) -> list[Any]:
        """All rows of a statement that writes, a transaction of its own that sets the organization itself (wall 5)."""
        prepared = self.prepared((key, "at once"), build)
        organization = _known(organization)
        try:
            rows = await self._alone(organization, prepared, prepared.parameters(organization, values))
        except Exception as error:
            if refusal := refusal_of(error):
                raise refusal from error
            raise
        self._tell(organization)
        return rows

    async def _alone(self, organization: str, prepared: Prepared, parameters: list[Any]) -> list[Any]:
        taken = await self.connections.take(organization)
        try:
            if self._pin:
                await taken.driver.execute(self._pin)
            rows = await self.send(taken.driver, prepared, parameters)
            if self._pin:
                await taken.driver.execute("COMMIT")
        except BaseException as error:
            if not is_statement_error(error):  # the connection may be in disorder
                await self.connections.give_up(taken)
            elif self._pin:
                await self._roll_back(taken)
            else:
                self.connections.give_back(taken)
            raise
        self.connections.give_back(taken)
        return rows

    def prepared(
        self, key: Hashable, build: Callable[[], Any], *, tenant: bool = True, walled: bool = False
    ) -> Prepared:
        """The shape under this key, made where it is not known. Raises Problems for one that is nested too deeply."""
        found = self.statements.get(key)
        if found is None:
            try:
                found = Prepared(build(), self.engine.dialect, tenant=tenant, walled=walled)
            except RecursionError:  # before the conditions' own limit only where the stack is nearly used up
                raise Problems(
                    [Problem(("filter",), "has too many conditions in one another", "filter_depth")]
                ) from None
            self.statements.put(key, found, len(found.text))
        return found

    async def send(self, driver: Any, prepared: Prepared, parameters: list[Any]) -> list[Any]:
        """Send a shape over a connection of the driver, and give its rows."""
        with self._counted(prepared.text):
            if self.dialect == "postgresql":
                records = await driver.fetch(prepared.text, *parameters)
            else:
                records = await to_the_end(driver, driver.execute_fetchall(prepared.text, parameters), self._seconds)
        return prepared.rows(records)

    async def send_each(self, driver: Any, prepared: Prepared, rows: Sequence[list[Any]]) -> None:
        """Send a shape that gives no rows, once for each list of parameters and in one go."""
        if len(rows) == 1:
            await self.send(driver, prepared, rows[0])
            return
        with self._counted(prepared.text):
            if self.dialect == "postgresql":
                await driver.executemany(prepared.text, rows)
            else:
                await to_the_end(driver, driver.executemany(prepared.text, rows), self._seconds)

    def _counted(self, statement: str) -> AbstractContextManager[None]:
        """Tell the observers of a statement that is about to be sent; its time counts for whoever measures."""
        for observe in self.observers:
            observe(statement)
        return database_time.current() or _UNMEASURED

    def _observe(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        for observe in self.observers:
            observe(statement)

    async def bypasses_row_security(self) -> bool:
        """Whether the role is above PostgreSQL's row-level policies, so that wall 5 is missing; SQLite has none.

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
        """Close every connection."""
        self.connections.close()
        await self.engine.dispose()


def _known(organization: str) -> str:
    canonical = as_uuid(organization)
    if canonical is None:
        raise tenancy.TenantBreach("a session needs an organization")
    return canonical


def _engine(url: URL, pool_size: int, statement_cache: bool, seconds: float | None) -> AsyncEngine:
    options: dict[str, Any] = {"json_serializer": _dumps, "json_deserializer": orjson.loads, "pool_size": pool_size}
    options |= {"max_overflow": 0, "pool_use_lifo": True}
    if url.get_backend_name() == "sqlite":
        # Every transaction is ended by its session, so there is nothing to reset when a connection comes back.
        # The writer has a connection beside the readers' (storage/connections.py).
        options |= {"pool_reset_on_return": None, "pool_timeout": 5, "pool_size": pool_size + 1}
        engine = create_async_engine(url, connect_args={"isolation_level": None}, **options)
        event.listen(engine.sync_engine, "connect", _sqlite_connect)
        event.listen(engine.sync_engine, "begin", _sqlite_begin)
        if seconds:
            deadlines.watch(engine.sync_engine, seconds)
    else:
        arguments: dict[str, Any] = {"async_creator_fn": postgresql.connect, "timeout": CONNECTION_SECONDS}
        if seconds:
            arguments["command_timeout"] = seconds + _ANSWER_SECONDS
        if not statement_cache:
            # A pooler takes no settings at the connection's beginning, so that each transaction makes its own.
            arguments["async_creator_fn"] = partial(postgresql.connect, local=postgresql.local_timeout(seconds))
            arguments |= {"prepared_statement_cache_size": 0, "statement_cache_size": 0}
            arguments["prepared_statement_name_func"] = str  # no name: the next statement takes its place
        elif seconds:
            arguments["server_settings"] = {"statement_timeout": str(round(seconds * 1000))}
        engine = create_async_engine(url, connect_args=arguments, pool_timeout=CONNECTION_SECONDS, **options)
        event.listen(engine.sync_engine, "begin", _postgresql_begin)
    event.listen(engine.sync_engine, "before_cursor_execute", _before_execute)
    return engine


def _dumps(value: Any) -> str:
    return orjson.dumps(value).decode()


def _sqlite_connect(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in _SQLITE_PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _sqlite_begin(connection: Connection) -> None:
    readonly = connection.get_execution_options().get("crm_readonly", False)
    connection.exec_driver_sql("BEGIN" if readonly else "BEGIN IMMEDIATE")


def _postgresql_begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    driver = driver_of(connection.connection)
    if not isinstance(driver, postgresql.TenantConnection):
        raise tenancy.TenantBreach("a connection that cannot carry an organization")
    driver.organization = options.get("crm_organization")
    driver.readonly = options.get("crm_readonly", False)


def _before_execute(
    connection: Connection, _cursor: Any, statement: str, parameters: Any, _context: Any, executemany: bool
) -> None:
    options = connection.get_execution_options()
    if not options.get("crm_session"):
        if statement in ("BEGIN", "BEGIN IMMEDIATE"):
            return
        raise tenancy.TenantBreach("a statement outside a session")
    tenancy.check(
        statement,
        parameters,
        executemany=executemany,
        dialect=connection.dialect.name,
        organization=options.get("crm_organization"),
    )
    if options.get("crm_readonly") and tenancy.read(statement, connection.dialect.name).writes:
        raise RuntimeError("a write in a reading session")  # PostgreSQL would refuse it, SQLite would not


@event.listens_for(Session, "do_orm_execute")
def _criteria(state: ORMExecuteState) -> None:
    """Tenant wall 3: each select, update and delete of a tenant table is narrowed to the session's organization."""
    organization = state.session.info.get("organization")
    if organization is not None and (state.is_select or state.is_update or state.is_delete):
        state.statement = state.statement.options(
            with_loader_criteria(Tenant, lambda cls: cls.org_id == organization, include_aliases=True)
        )


@event.listens_for(Session, "before_flush")
def _guard(session: Session, _context: UOWTransaction, _instances: Any) -> None:
    """Tenant wall 3, for entities: none of another organization is written."""
    organization = session.info.get("organization")
    for record in (*session.new, *session.dirty, *session.deleted):
        if isinstance(record, Tenant) and record.org_id != organization:
            raise tenancy.TenantBreach("a record of another organization")
