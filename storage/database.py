"""The database: one engine, and sessions that belong to one organization each. The only way to a statement."""

import asyncio
import sqlite3
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import cached_property
from typing import Any, Self, TypeVar

import asyncpg
import orjson
from sqlalchemy import Executable, Row, Select, event, select, text
from sqlalchemy.engine import URL, Connection, Result, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import ORMExecuteState, Session, UOWTransaction, with_loader_criteria
from sqlalchemy.util import greenlet_spawn
from sqlmodel import SQLModel, col

from contract.errors import Unavailable
from storage import postgresql, tenancy
from storage.base import Tenant, as_uuid
from storage.prepared import ORGANIZATION, Prepared

_SQLITE_PRAGMAS = ("busy_timeout=5000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
_AWAY = ("08", "57", "53")
"""SQLSTATE classes of a server that is away, shutting down, or out of connections."""
_VAGUE = (asyncpg.InterfaceError, sqlite3.OperationalError, sqlite3.ProgrammingError, InterfaceError, OperationalError)
_AWAY_WORDS = ("locked", "busy", "closed", "unable to open", "connection")
SHAPES_MAX = 2_000


RecordT = TypeVar("RecordT", bound=SQLModel)


class TenantSession:
    """Statements of one organization, in one transaction. Made by `Database`, never re-used for another (wall 2)."""

    def __init__(self, session: AsyncSession, organization: str | None) -> None:
        self._session = session
        self.org_id = organization or ""
        session.sync_session.info["organization"] = organization

    async def fetch(self, key: Hashable, build: Callable[[], Select[Any]], **values: Any) -> Sequence[Any]:
        """All rows of a shape, which `build` makes where `key` is not known yet (storage/prepared.py)."""
        result: Result[Any] = await self._session.execute(build(), {**values, ORGANIZATION.key: self.org_id})
        return result.all()

    async def execute(self, statement: Executable) -> Result[Any]:
        """Run a statement, which pins each of its tenant tables to `org_id` (walls 3 and 4 look again)."""
        return await self._session.execute(statement)

    async def rows(self, statement: Executable) -> Sequence[Row[Any]]:
        """All rows."""
        return (await self.execute(statement)).all()

    async def row(self, statement: Executable) -> Row[Any] | None:
        """The first row, if there is one."""
        return (await self.execute(statement)).first()

    async def scalar(self, statement: Executable) -> Any:
        """The first column of the first row."""
        return (await self.execute(statement)).scalar()

    async def find(self, model: type[RecordT], *conditions: Any, lock: bool = False) -> RecordT | None:
        """The one entity that meets the conditions, ready to be changed; `lock` keeps other writers off its row."""
        statement = select(model).where(*conditions)
        if issubclass(model, Tenant):
            statement = statement.where(col(model.org_id) == self.org_id)
        if lock:
            statement = statement.with_for_update()
        return (await self.execute(statement)).scalars().first()

    def add(self, *records: SQLModel) -> None:
        """Insert the records with the next flush; those of a tenant table get this session's organization."""
        for record in records:
            if isinstance(record, Tenant) and not record.org_id:
                record.org_id = self.org_id
        self._session.add_all(records)

    async def delete(self, record: SQLModel) -> None:
        """Delete the record with the next flush."""
        await self._session.delete(record)

    async def flush(self) -> None:
        """Send what is pending, so that what refers to it can follow."""
        await self._session.flush()


class ReadingSession(TenantSession):
    """Reads of one organization: shapes go straight to the driver, anything else through a session made on demand.

    Each shape is a transaction of its own: what has to be seen at one moment has to be one statement.
    """

    def __init__(self, database: "Database", organization: str | None) -> None:
        self._database = database
        self._organization = organization
        self.org_id = organization or ""

    @cached_property
    def _session(self) -> AsyncSession:  # type: ignore[override]  # the writing session is given one
        session = self._database.session(self._organization, readonly=True)
        session.sync_session.info["organization"] = self._organization
        return session

    async def fetch(self, key: Hashable, build: Callable[[], Select[Any]], **values: Any) -> Sequence[Any]:
        """All rows of a shape, straight from the driver."""
        return await self._database.fetch(self._organization, key, build, values)

    async def __aenter__(self) -> Self:
        """Open nothing yet."""
        return self

    async def __aexit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        """End what was opened. Raises Unavailable in place of an error of a database that is away."""
        if "_session" in self.__dict__:
            await self._session.close()
        if error is not None and is_away(error):
            raise Unavailable() from error


class Database:
    """The engine for one address, and its sessions.

    On SQLite one writer runs at a time and the others queue fairly in this process; a second process waits on the file.
    `statement_cache=False` turns both statement caches off, as a pooler in transaction mode needs.
    """

    def __init__(self, url: str, *, pool_size: int = 10, statement_cache: bool = True) -> None:
        self.url: URL = make_url(url)
        self.dialect = self.url.get_backend_name()
        self.engine = _engine(self.url, pool_size, statement_cache)
        event.listen(self.engine.sync_engine, "before_cursor_execute", self._observe)
        self._writer: asyncio.Lock | None = asyncio.Lock() if self.dialect == "sqlite" else None
        self.observers: list[Callable[[str], None]] = []
        """Called with the text of every statement; for tests and diagnosis."""
        self._prepared: OrderedDict[Hashable, Prepared] = OrderedDict()

    def reading(self, organization: str) -> AbstractAsyncContextManager[TenantSession]:
        """Reads of one organization."""
        return ReadingSession(self, _known(organization))

    def writing(self, organization: str) -> AbstractAsyncContextManager[TenantSession]:
        """A transaction of one organization: committed whole when the block ends, rolled back when it raises."""
        return self._writing(_known(organization))

    def directory(self, *, writing: bool = False) -> AbstractAsyncContextManager[TenantSession]:
        """Reads of the directory, or a transaction on it: who is who; tenant tables are out of its reach."""
        return self._writing(None) if writing else ReadingSession(self, None)

    @asynccontextmanager
    async def _writing(self, organization: str | None) -> AsyncIterator[TenantSession]:
        async with self._writer or nullcontext():
            try:
                async with self.session(organization, readonly=False) as session, session.begin():
                    yield TenantSession(session, organization)
            except (DBAPIError, PoolTimeout, OSError) as error:
                if is_away(error):
                    raise Unavailable() from error
                raise

    def session(self, organization: str | None, *, readonly: bool) -> AsyncSession:
        """A session of the ORM for one organization; `TenantSession` is the way to use one."""
        engine = self.engine.execution_options(crm_organization=organization, crm_readonly=readonly, crm_session=True)
        return AsyncSession(engine, expire_on_commit=False, autoflush=False)

    async def fetch(
        self, organization: str | None, key: Hashable, build: Callable[[], Select[Any]], values: Mapping[str, Any]
    ) -> list[Any]:
        """All rows of a shape, over a connection of the engine's own pool."""
        shape = (key, organization is None)
        prepared = self._prepared.get(shape)
        if prepared is None:
            prepared = self._prepared[shape] = Prepared(build(), self.engine.dialect, tenant=organization is not None)
            if len(self._prepared) > SHAPES_MAX:
                self._prepared.popitem(last=False)
        parameters = prepared.parameters(organization or "", values)
        for observe in self.observers:
            observe(prepared.text)
        pooled = await self.engine.raw_connection()
        try:
            driver: Any = pooled.driver_connection
            if self._writer is None:
                records = await driver.fetch(prepared.text, *parameters)
            else:
                records = await driver.execute_fetchall(prepared.text, parameters)
        except BaseException as error:
            if not is_statement_error(error):
                await greenlet_spawn(pooled.invalidate)
            raise
        finally:
            pooled.close()
        return prepared.rows(records)

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

    async def close(self) -> None:
        """Close every connection."""
        await self.engine.dispose()


def is_statement_error(error: BaseException) -> bool:
    """Whether the server refused a statement, and the connection is as good as before."""
    return isinstance(error, asyncpg.PostgresError | sqlite3.DatabaseError) and not is_away(error)


def is_away(error: BaseException) -> bool:
    """Whether the error says that the database cannot be reached or has no room, rather than that we are wrong."""
    if isinstance(error, OSError | PoolTimeout):
        return True
    cause = getattr(error, "orig", error)
    state = getattr(cause, "sqlstate", None)
    if state:
        return str(state)[:2] in _AWAY
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return isinstance(cause, _VAGUE) and any(word in str(cause) for word in _AWAY_WORDS)


def _known(organization: str) -> str:
    canonical = as_uuid(organization)
    if canonical is None:
        raise tenancy.TenantBreach("a session needs an organization")
    return canonical


def _engine(url: URL, pool_size: int, statement_cache: bool) -> AsyncEngine:
    options: dict[str, Any] = {"json_serializer": _dumps, "json_deserializer": orjson.loads, "pool_size": pool_size}
    options["max_overflow"] = 0
    if url.get_backend_name() == "sqlite":
        # Every transaction is ended by its session, so there is nothing to reset when a connection comes back.
        options |= {"pool_reset_on_return": None, "pool_timeout": 5}
        engine = create_async_engine(url, connect_args={"isolation_level": None}, **options)
        event.listen(engine.sync_engine, "connect", _sqlite_connect)
        event.listen(engine.sync_engine, "begin", _sqlite_begin)
    else:
        arguments: dict[str, Any] = {"async_creator_fn": postgresql.connect}
        if not statement_cache:
            arguments |= {"prepared_statement_cache_size": 0, "statement_cache_size": 0}
        engine = create_async_engine(url, connect_args=arguments, pool_timeout=2, **options)
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
    driver = connection.connection.driver_connection
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
