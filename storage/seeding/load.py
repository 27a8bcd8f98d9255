"""Rows into the database, a few thousand per statement, through the same sessions and isolation as everything else.

A batch travels as one JSON parameter, and the database turns it into rows: of all ways that row-level security and
the isolation layers allow, that is one statement per batch on both databases. COPY is refused under row-level security.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import islice

import orjson
from sqlalchemy import Table, TextClause, text
from sqlalchemy.engine import Dialect

from storage.adapters.sqlalchemy import bind_processor
from storage.base import Tenant, copies_of
from storage.seeding.generate import Rows
from storage.seeding.plan import Row
from storage.tenancy.guard import SHARED_TABLES
from storage.tenancy.sessions import TenantSession

BATCH = 5_000
_SQLITE_CACHE = -400_000  # negative: kilobytes


class Loader:
    """Inserts for one database's dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    @asynccontextmanager
    async def cache(self, session: TenantSession) -> AsyncIterator[None]:
        """Room for the indexes while loading; without, SQLite writes a page to its log for almost every row of each."""
        if self._dialect.name != "sqlite":
            yield
            return
        usual = await session.scalar(text("PRAGMA cache_size"))
        await session.execute(text(f"PRAGMA cache_size = {_SQLITE_CACHE}"))
        yield
        await session.execute(text(f"PRAGMA cache_size = {usual}"))

    async def insert(
        self, session: TenantSession, rows: Rows, done: Callable[[int], None] = lambda _: None, *, keep: bool = False
    ) -> int:
        """Insert them all, telling `done` after each batch how many; with `keep`, leave those that are there alone.

        Gives the number of rows inserted.
        """
        table: Table = rows.model.__table__  # type: ignore[attr-defined]  # every model here is a table
        tenant = issubclass(rows.model, Tenant) or table.name in SHARED_TABLES
        copies = [copy for copy in copies_of(rows.model) if copy[0] in rows.columns]
        at = [(rows.columns.index(name), fold) for name, _, fold in copies]
        columns = (*rows.columns, *(copy for _, copy, _ in copies))
        statement = self._statement(table, columns, tenant, keep)
        iterator, inserted = iter(rows.rows), 0
        while batch := list(islice(iterator, BATCH)):
            folded = [(*row, *(fold(row[index]) for index, fold in at)) for row in batch] if at else batch
            values = {"rows": self._json(table, columns, folded)}
            if tenant:
                values["org_id"] = session.org_id
            result = await session.execute(statement.bindparams(**values))
            inserted += result
            done(len(batch))
        return inserted

    def _statement(self, table: Table, columns: tuple[str, ...], tenant: bool, keep: bool) -> TextClause:
        """The names are the tables' own; every value is a parameter."""
        sqlite = self._dialect.name == "sqlite"
        names = [self._dialect.identifier_preparer.quote(c) for c in columns]
        if sqlite:
            values = [f"json_extract(r.value, '$[{index}]')" for index in range(len(columns))]
            source = "json_each(:rows) AS r WHERE true"
            organization = ":org_id"
        else:
            values = [f"r.{name}" for name in names]
            source = f"json_populate_recordset(CAST(NULL AS {table.name}), CAST(:rows AS json)) AS r"
            organization = "CAST(:org_id AS uuid)"
        if tenant:
            names, values = ["org_id", *names], [organization, *values]
        # Of any constraint: of two processes that write the same row, one may meet the other's in any of the indexes.
        tail = " ON CONFLICT DO NOTHING" if keep else ""
        return text(
            f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {', '.join(values)} FROM {source}{tail}"  # noqa: S608  # only names of our own tables
        )

    def _json(self, table: Table, columns: tuple[str, ...], batch: Sequence[Row]) -> str:
        if self._dialect.name == "sqlite":
            # SQLite has none of these types: each value takes the form that its column's type gives it.
            by_column: list[Sequence[object]] = list(zip(*batch, strict=True))
            for index, name in enumerate(columns):
                process = bind_processor(table.c[name].type, self._dialect)
                if process is not None:
                    by_column[index] = [process(value) for value in by_column[index]]
            return orjson.dumps(list(zip(*by_column, strict=True))).decode()
        return orjson.dumps([dict(zip(columns, row, strict=True)) for row in batch], default=str).decode()
