"""Sessions: each belongs to one organization, and is the only way to a statement (tenant wall 2)."""

from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sqlalchemy import Executable, Row, select
from sqlalchemy.engine import Result
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import SQLModel, col

from storage import tenancy
from storage.away import refusal_of
from storage.base import Tenant
from storage.drafts import entity, model_of
from storage.prepared import ORGANIZATION, attributes, insertion

if TYPE_CHECKING:
    from storage.database import Database

RecordT = TypeVar("RecordT", bound=SQLModel)


class TenantSession:
    """Statements of one organization, in one transaction. Made by `Database`, never re-used for another (wall 2)."""

    def __init__(self, session: AsyncSession, organization: str | None) -> None:
        self._session = session
        self.org_id = organization or ""
        session.sync_session.info["organization"] = organization

    @property
    def dialect(self) -> str:
        """The database's kind: `postgresql` or `sqlite`."""
        return self._session.sync_session.get_bind().dialect.name

    async def fetch(self, key: Hashable, build: Callable[[], Any], **values: Any) -> Sequence[Any]:
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

    async def insert(self, *records: Any) -> None:
        """Insert entities or drafts now, in this order; those of a tenant table get this session's organization."""
        self.add(*map(entity, records))
        await self.flush()

    def add(self, *records: SQLModel) -> None:
        """Insert the records with the next flush; those of a tenant table get this session's organization."""
        self._own(records)
        self._session.add_all(records)

    def _own(self, records: Sequence[SQLModel]) -> None:
        for record in records:
            if isinstance(record, Tenant) and not record.org_id:
                record.org_id = self.org_id

    async def delete(self, record: SQLModel) -> None:
        """Delete the record with the next flush."""
        await self._session.delete(record)

    async def flush(self) -> None:
        """Send what is pending, so that what refers to it can follow."""
        await self._session.flush()

    @asynccontextmanager
    async def within(self) -> AsyncIterator[Self]:
        """A part of this transaction that is rolled back alone when its block raises."""
        async with self._session.begin_nested():
            yield self


class ReadingSession(TenantSession):
    """Reads of one organization: shapes go straight to the driver, anything else through a session made on demand.

    Each shape is a transaction of its own: what has to be seen at one moment has to be one statement (decision 31).
    """

    def __init__(self, database: "Database", organization: str | None) -> None:
        self._database = database
        self._organization = organization
        self.org_id = organization or ""
        self._opened = AsyncExitStack()
        self._is_open = False

    @property
    def dialect(self) -> str:
        """The database's kind."""
        return self._database.dialect

    async def execute(self, statement: Executable) -> Result[Any]:
        """Run a statement in the session of the ORM, which has its turn and its connection from now on."""
        if not self._is_open:
            await self._opened.enter_async_context(self._database.connections.lending(self.org_id))
            self._session = self._database.session(self._organization, readonly=True)
            self._opened.push_async_callback(self._session.close)
            self._session.sync_session.info["organization"] = self._organization
            self._is_open = True
        return await super().execute(statement)

    def add(self, *records: SQLModel) -> None:
        """Nothing is written here."""
        raise RuntimeError("a write in a reading session")

    async def delete(self, record: SQLModel) -> None:
        """Nothing is deleted here."""
        raise RuntimeError("a write in a reading session")

    async def fetch(self, key: Hashable, build: Callable[[], Any], **values: Any) -> Sequence[Any]:
        """All rows of a shape, straight from the driver, or from the session that is open: one turn is enough."""
        if self._is_open:
            return await super().fetch(key, build, **values)
        return await self._database.fetch(self._organization, key, build, values)

    async def __aenter__(self) -> Self:
        """Open nothing yet."""
        return self

    async def __aexit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        """End what was opened. Raises what stands for an error of a database that is away or gave up (`refusal_of`)."""
        if self._is_open:
            await self._opened.aclose()
        if error is not None and (refusal := refusal_of(error)):
            raise refusal from error


class AppendingSession(TenantSession):
    """A transaction that reads shapes and inserts records straight through the driver, for the operations in a hurry.

    It has no identity map: a record that was inserted is as the caller made it.
    """

    def __init__(self, database: "Database", organization: str, driver: Any) -> None:
        self._database = database
        self._driver = driver
        self.org_id = organization

    @property
    def _session(self) -> AsyncSession:  # type: ignore[override]  # there is none
        raise RuntimeError("an appending session knows shapes and inserts only")

    async def fetch(self, key: Hashable, build: Callable[[], Any], **values: Any) -> Sequence[Any]:
        """All rows of a shape, in this transaction."""
        prepared = self._database.prepared((key, "within"), build)
        return await self._database.send(self._driver, prepared, prepared.parameters(self.org_id, values))

    async def insert(self, *records: Any) -> None:
        """Insert entities or drafts now, in order. Raises TenantBreach for one of another organization (wall 3).

        Those of one table that follow each other go in one statement.
        """
        for model, alike in groupby(records, model_of):
            prepared = self._database.prepared(("insert", model), partial(insertion, model))
            rows = [prepared.parameters(self.org_id, self._values(model, record)) for record in alike]
            await self._database.send_each(self._driver, prepared, rows)

    def _values(self, model: type[SQLModel], record: Any) -> dict[str, Any]:
        if issubclass(model, Tenant) and record.org_id not in ("", self.org_id):
            raise tenancy.TenantBreach("a record of another organization")
        return {name: getattr(record, attribute) for name, attribute in attributes(model)}

    async def flush(self) -> None:
        """Nothing is ever pending."""
