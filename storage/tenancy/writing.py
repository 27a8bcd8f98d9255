"""Transactions: the sessions that write."""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Self

from sqlmodel import SQLModel

from storage import table_statements
from storage.adapters.aiosqlite import FileConnection
from storage.connection_pool import Driver, Taken
from storage.db_errors import closed_under, leaves_what_came_before, refusal_of
from storage.statements import AnyRow, AnyStatement, AnyValue, CompiledStatement
from storage.tenancy.sessions import ReadingSession, RowT, TenantSession

if TYPE_CHECKING:
    from storage.database import Database


class WritingSession(TenantSession):
    """A transaction of one organization, which begins with the first statement.

    Committed whole when the block ends, rolled back when it raises.
    """

    def __init__(
        self, database: "Database", organization: str | None, written: Callable[[int], None] | None = None
    ) -> None:
        """`written` is told how far the change log goes, once events of this session are committed."""
        super().__init__(database, organization)
        self._taken: Taken | None = None
        self._parts = 0
        self._written = written

    @property
    def can_write_at_once(self) -> bool:
        """Says whether nothing has been begun yet that the write would have to be a part of."""
        can = self._organization is not None and self.dialect == "postgresql" and self._database.place is None
        return can and self._taken is None

    async def at_once(self, key: Hashable, build: Callable[[], AnyStatement], **values: AnyValue) -> Sequence[AnyRow]:
        """All rows of a shape that writes, sets the organization itself, and is this session's whole transaction."""
        if not self.can_write_at_once:
            raise RuntimeError("a write at once within a transaction")
        prepared = self._prepared(key, build)
        records = await self._database.at_once(self.org_id, prepared, prepared.parameters(self.org_id, values))
        rows = prepared.rows(records)
        if rows:
            self.appended = rows[0].sequence
        return rows

    async def begin_with_lock(self, model: type[SQLModel], identifier: str) -> None:
        """Begin the transaction and lock this row, if it is there, in one message, on PostgreSQL.

        The next statement sees what others had put on the row until they let go of it (decision 940).
        """
        if not self.can_write_at_once:
            raise RuntimeError("a transaction begins once")
        build = partial(table_statements.locking, model, inside=self._is_inside)
        prepared = self._prepared(("lock", model), build)
        parameters = prepared.parameters(self.org_id, {"id": identifier})
        self._taken = await self._database.begin(self.org_id, (prepared, parameters))

    async def glance(self, model: type[RowT], **equal: AnyValue) -> RowT | None:
        """The row that `find` gives, as it is at the moment: before the transaction, which it does not begin."""
        return await ReadingSession(self._database, self._organization).find(model, **equal)

    async def driver(self) -> Driver:
        """The transaction's connection, which is taken and begun where it is not."""
        if self._taken is None:
            self._taken = await self._database.begin(self._organization)
        return self._taken.driver

    def _driver_of(self, prepared: CompiledStatement) -> Awaitable[Driver]:
        """The connection of the transaction that has the tables of the statement."""
        return self.driver()

    async def _send(self, prepared: CompiledStatement, parameters: list[AnyValue]) -> Sequence[AnyRow]:
        return await self._database.send(await self._driver_of(prepared), prepared, parameters)

    async def _send_text(self, prepared: CompiledStatement, parameters: list[AnyValue]) -> Sequence[AnyRow]:
        return await self._database.send_text(await self._driver_of(prepared), prepared, parameters)

    async def _count(self, prepared: CompiledStatement, parameters: list[AnyValue]) -> int:
        return await self._database.count(await self._driver_of(prepared), prepared, parameters)

    async def _count_last(self, prepared: CompiledStatement, parameters: list[AnyValue]) -> None:
        await self._database.count_last(await self._driver_of(prepared), prepared, parameters)

    @asynccontextmanager
    async def within(self) -> AsyncIterator[Self]:
        """A part of this transaction that is rolled back alone when its block raises."""
        driver = await self.driver()
        self._parts += 1
        name = f"part_{self._parts}"
        await driver.execute(f"SAVEPOINT {name}")
        try:
            yield self
            await driver.execute(f"RELEASE SAVEPOINT {name}")
        except BaseException as error:
            if isinstance(driver, FileConnection):
                driver.drop()
            if leaves_what_came_before(driver, error):
                await driver.execute(f"ROLLBACK TO SAVEPOINT {name}")
                await driver.execute(f"RELEASE SAVEPOINT {name}")
            raise

    async def __aexit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        """Commit, or roll back where the block has raised. Raises what stands for a database's error (`refusal_of`)."""
        taken, self._taken = self._taken, None
        try:
            if taken is not None:
                error = closed_under(taken.driver, error) or error
                await self._database.end(taken, self._organization, commit=error is None)
        except Exception as trouble:
            if refusal := refusal_of(trouble):
                raise refusal from trouble
            raise
        if self.appended is not None and self._written is not None and (taken is None or error is None):
            self._written(self.appended)
        if error is not None and (refusal := refusal_of(error)):
            raise refusal from error
