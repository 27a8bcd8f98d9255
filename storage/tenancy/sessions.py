"""Sessions: each belongs to one organization, and is the only way to a statement (tenant isolation layer 2)."""

from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Self, TypeVar

from sqlalchemy import Executable, Select
from sqlmodel import SQLModel

from contract.errors import Conflict
from storage import table_statements
from storage.base import with_copies
from storage.db_errors import refusal_of
from storage.new_rows import as_row, model_of, row_kind
from storage.statements import AnyRow, AnyStatement, AnyValue, CompiledStatement
from storage.tenancy import guard

if TYPE_CHECKING:
    from storage.database import Database

RowT = TypeVar("RowT", bound=SQLModel)


class TenantSession:
    """Statements of one organization; never used again for another one (isolation layer 2).

    Rows are immutable: `update` gives the row as it is then (decision 200). Whoever makes statements pins each tenant
    table in them to ORG_PARAM; what the session makes itself it pins itself, and isolation layer 4 looks at both.
    """

    spans_servers = False
    """Whether a statement of this session cannot name who may call beside other rows (storage/clusters.py)."""

    def __init__(self, database: "Database", organization: str | None) -> None:
        self._database = database
        self._organization = organization
        self.org_id = organization or ""
        self.appended: int | None = None
        """The number of the newest event that this session has appended to the change log."""

    @property
    def _is_inside(self) -> bool:
        """Says whether it is an organization's, and not the directory's."""
        return self._organization is not None

    @property
    def dialect(self) -> str:
        """The database's kind: `postgresql` or `sqlite`."""
        return self._database.dialect

    async def fetch(self, key: Hashable, build: Callable[[], AnyStatement], **values: AnyValue) -> Sequence[AnyRow]:
        """All rows of a shape, which `build` makes where `key` is not known yet (storage/statements.py)."""
        prepared = self._prepared(key, build)
        parameters = prepared.parameters(self.org_id, values)
        if prepared.is_text:
            return await self._send_text(prepared, parameters)
        return prepared.rows(await self._send(prepared, parameters))

    async def fetch_of(
        self, model: type[RowT], key: Hashable, build: Callable[[], AnyStatement], /, **values: AnyValue
    ) -> Sequence[RowT]:
        """All rows of a shape that gives a table's columns, as rows of that table."""
        prepared = self._prepared(key, build, row_kind(model))
        rows: Sequence[RowT] = prepared.rows(await self._send(prepared, prepared.parameters(self.org_id, values)))
        return rows

    async def change(self, key: Hashable, build: Callable[[], AnyStatement], **values: AnyValue) -> int:
        """Run a shape that gives no rows; how many it has changed."""
        prepared = self._prepared(key, build)
        return await self._count(prepared, prepared.parameters(self.org_id, values))

    @property
    def can_write_at_once(self) -> bool:
        """Says whether a write may be one statement that is a transaction of its own, which SQLite has not."""
        return False

    async def at_once(self, key: Hashable, build: Callable[[], AnyStatement], **values: AnyValue) -> Sequence[AnyRow]:
        """All rows of a shape that writes, sets the organization itself, and is this session's whole transaction."""
        raise RuntimeError("a write in a reading session")

    async def begin_with_lock(self, model: type[SQLModel], identifier: str) -> None:
        """Begin the transaction and lock this row, if it is there, in one message, on PostgreSQL."""
        raise RuntimeError("a lock in a reading session")

    async def glance(self, model: type[RowT], **equal: AnyValue) -> RowT | None:
        """The row that `find` gives, as it is at the moment: before the transaction, which it does not begin."""
        return await self.find(model, **equal)

    async def rows(self, statement: Executable) -> Sequence[AnyRow]:
        """All rows of a statement that has its values in it: for what is not worth a key.

        Its entities are narrowed to the organization (isolation layer 3).
        """
        prepared, parameters = self._known(statement)
        if prepared.is_text:
            return await self._send_text(prepared, parameters)
        return prepared.rows(await self._send(prepared, parameters))

    async def row(self, statement: Executable) -> AnyRow:
        """The first row, if there is one."""
        return next(iter(await self.rows(statement)), None)

    async def scalar(self, statement: Executable) -> AnyValue:
        """The first column of the first row."""
        found = await self.row(statement)
        return None if found is None else found[0]

    async def execute(self, statement: Executable) -> int:
        """Run a statement whose rows nobody wants; how many it has changed."""
        prepared, parameters = self._known(statement)
        if prepared.has_rows:
            return len(await self.rows(statement))
        return await self._count(prepared, parameters)

    async def find(
        self,
        model: type[RowT],
        *conditions: object,
        lock: bool = False,
        **equal: AnyValue,
    ) -> RowT | None:
        """The row of a table whose columns equal these values; `lock` keeps other writers off it.

        None is equal to no value. With other conditions the statement is known by its structure.
        """
        if conditions:
            statement = table_statements.found(model, conditions, equal, lock=lock, inside=self._is_inside)
            prepared, parameters = self._known(statement, row_kind(model))
            rows: Sequence[RowT] = prepared.rows(await self._send(prepared, parameters))
        else:
            names = tuple(equal)
            build = partial(table_statements.finding, model, names, lock=lock, inside=self._is_inside)
            rows = await self.fetch_of(model, ("find", model, names, lock), build, **equal)
        return rows[0] if rows else None

    async def find_all(self, statement: Select[RowT]) -> Sequence[RowT]:
        """The rows of a table that a select of its class is for."""
        kind = row_kind(statement.column_descriptions[0]["entity"])
        prepared, parameters = self._known(statement, kind)
        rows: Sequence[RowT] = prepared.rows(await self._send(prepared, parameters))
        return rows

    async def insert(self, *records: RowT, last: bool = False) -> list[RowT]:
        """Insert drafts, and give them as rows; those of one table that follow each other go in one statement.

        Where they are the `last` that is written, SQLite is sent them with what comes next, the commit at the latest,
        which then raises what is wrong with them (decision 1204).
        Rows of a tenant table get this session's organization. Raises TenantBreach for another's (isolation layer 3).
        """
        made: list[RowT] = []
        for model, alike in groupby(records, model_of):
            rows = [self._own(as_row(record)) for record in alike]
            if len(rows) == 1:
                build = partial(table_statements.insertion, model, inside=self._is_inside)
                prepared = self._prepared(("insert", model), build)
                values = table_statements.inserted(model, rows[0])
            else:
                prepared = self._inserting_many(model)
                values = {"rows": table_statements.many_inserted(model, rows, self._database.sql)}
            send = self._count_last if last else self._count
            await send(prepared, prepared.parameters(self.org_id, values))
            made += rows
        return made

    async def insert_missing(self, record: SQLModel) -> bool:
        """Insert a draft unless its row is there; of several who do so at once none fails. Whether it was this one."""
        row, model = self._own(as_row(record)), model_of(record)
        build = partial(table_statements.insertion, model, inside=self._is_inside, missing=True)
        return bool(await self.change(("insert missing", model), build, **table_statements.inserted(model, row)))

    async def insert_each_missing(self, records: Sequence[RowT]) -> list[RowT]:
        """Insert those drafts of one table, in one statement, whose rows are not there; which those are."""
        rows = [self._own(as_row(record)) for record in records]
        if not rows:
            return []
        model = model_of(rows[0])
        build = partial(
            table_statements.insertion_of_many, model, self._database.sql, inside=self._is_inside, missing=True
        )
        values = table_statements.many_inserted(model, rows, self._database.sql)
        made = set(map(tuple, await self.fetch(("insert each missing", model), build, rows=values)))
        return rows if len(made) == len(rows) else [r for r in rows if table_statements.identity_of(model, r) in made]

    async def update_each(self, rows: Sequence[SQLModel], *names: str) -> None:
        """Write these columns of rows of one table, as they have them, in one statement."""
        for row in rows:
            self._check(row)
        model = model_of(rows[0])
        build = partial(table_statements.updating_many, model, names, self._database.sql, inside=self._is_inside)
        values = table_statements.many_inserted(model, rows, self._database.sql)
        await self.change(("update many", model, names), build, rows=values)

    def _inserting_many(self, model: type[SQLModel]) -> CompiledStatement:
        build = partial(table_statements.insertion_of_many, model, self._database.sql, inside=self._is_inside)
        return self._prepared(("insert many", model), build)

    async def update(self, row: RowT, **changes: AnyValue) -> RowT:
        """Change columns of a row, and give it as it is then. Raises Conflict where it is not there any more."""
        if not changes:
            return row
        model = model_of(row)
        self._check(row)
        if "org_id" in changes:
            raise guard.TenantBreach("a record of another organization")
        changes = with_copies(model, changes)
        names = tuple(sorted(changes))
        key = table_statements.key_of(model, row, inside=self._is_inside)
        build = partial(table_statements.updating, model, names, inside=self._is_inside)
        new = table_statements.new_parameters(changes)
        if not await self.change(("update", model, names), build, **new, **key):
            raise Conflict("The record has been deleted meanwhile")
        changed: RowT = row._replace(**changes)  # type: ignore[attr-defined]  # a named tuple
        return changed

    async def delete(self, row: SQLModel) -> None:
        """Delete a row."""
        model = model_of(row)
        self._check(row)
        key = table_statements.key_of(model, row, inside=self._is_inside)
        build = partial(table_statements.deleting, model, inside=self._is_inside)
        await self.change(("delete", model), build, **key)

    def _own(self, row: AnyRow) -> AnyRow:
        """The row with this session's organization, where it has none and its table is an organization's."""
        if self._is_inside and table_statements.has_organization(model_of(row)) and not row.org_id:
            return row._replace(org_id=self.org_id)
        self._check(row)
        return row

    def _check(self, row: AnyRow) -> None:
        """Raise TenantBreach for another organization's row (isolation layer 3)."""
        if self._is_inside and table_statements.has_organization(model_of(row)) and row.org_id != self.org_id:
            raise guard.TenantBreach("a record of another organization")

    def _prepared(self, key: Hashable, build: Callable[[], AnyStatement], kind: AnyRow = None) -> CompiledStatement:
        inside = self._is_inside
        return self._database.prepared((key, inside, False), build, tenant=inside, kind=kind)

    def _known(self, statement: Executable, kind: AnyRow = None) -> tuple[CompiledStatement, list[AnyValue]]:
        return self._database.known(statement, self._organization, kind)

    async def _send(self, prepared: CompiledStatement, parameters: list[AnyValue]) -> Sequence[AnyRow]:
        raise NotImplementedError

    async def _send_text(self, prepared: CompiledStatement, parameters: list[AnyValue]) -> Sequence[AnyRow]:
        raise NotImplementedError

    async def _count(self, prepared: CompiledStatement, parameters: list[AnyValue]) -> int:
        raise NotImplementedError

    async def _count_last(self, prepared: CompiledStatement, parameters: list[AnyValue]) -> None:
        await self._count(prepared, parameters)

    @asynccontextmanager
    async def within(self) -> AsyncIterator[Self]:
        """A part of this transaction that is rolled back alone when its block raises."""
        yield self
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        """Begin nothing yet."""
        return self

    async def __aexit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        """End what was begun. Raises what stands for an error of a database that is away or gave up (`refusal_of`)."""
        if error is not None and (refusal := refusal_of(error)):
            raise refusal from error


class ReadingSession(TenantSession):
    """Reads of one organization. Each statement is a transaction of its own: what has to be seen at one moment has to
    be one statement (decision 31).
    """

    def _prepared(self, key: Hashable, build: Callable[[], AnyStatement], kind: AnyRow = None) -> CompiledStatement:
        inside = self._is_inside
        return self._database.prepared((key, inside, True), build, tenant=inside, scoped=True, kind=kind)

    def _send(
        self, prepared: CompiledStatement, parameters: list[AnyValue]
    ) -> Coroutine[object, object, Sequence[AnyRow]]:
        _check_reads(prepared)
        server = self._server_of(prepared)
        return server.alone(self._organization, prepared, parameters, server.send)

    def _send_text(
        self, prepared: CompiledStatement, parameters: list[AnyValue]
    ) -> Coroutine[object, object, Sequence[AnyRow]]:
        _check_reads(prepared)
        server = self._server_of(prepared)
        return server.alone(self._organization, prepared, parameters, server.send_text)

    def _server_of(self, prepared: CompiledStatement) -> "Database":
        """The server that has the tables of the statement."""
        return self._database

    async def _count(self, prepared: CompiledStatement, parameters: list[AnyValue]) -> int:
        raise RuntimeError("a write in a reading session")


def _check_reads(prepared: CompiledStatement) -> None:
    """PostgreSQL would refuse a write in a transaction that only reads; SQLite has none such."""
    if prepared.writes:
        raise RuntimeError("a write in a reading session")
