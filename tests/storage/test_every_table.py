"""The forgotten filters of `forgotten.py` that fit any table, on every table of an organization.

A table that is added later is in the matrix by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import (
    BigInteger,
    Boolean,
    DateTime,
    Executable,
    Float,
    Integer,
    Text,
    and_,
    cast,
    delete,
    exists,
    func,
    insert,
    inspect,
    literal,
    not_,
    or_,
    select,
    text,
    union_all,
    update,
)
from sqlalchemy.orm import aliased
from sqlmodel import SQLModel, col

from storage.base import Tenant
from storage.database import Database
from storage.search_index import FULL_TEXT_TABLE
from storage.tables import Account
from storage.tenancy.guard import SHARED_TABLES, TenantBreach
from tests.storage.test_tenancy import Beyond, beyond, database, ours, theirs
from tests.support.rows import TENANT_TABLES, Rows
from tests.support.statements import BROKEN_RULES, DATABASE_ERRORS

__all__ = ["beyond", "database", "ours", "theirs"]

MODELS = {m.local_table.name: m.class_ for m in SQLModel._sa_registry.mappers}
TABLES = sorted({*TENANT_TABLES, *SHARED_TABLES})
CHANGES: dict[type, Any] = {
    Text: "changed",
    Integer: 7,
    BigInteger: 7,
    Float: 0.5,
    Boolean: True,
    DateTime: datetime(2026, 1, 1, tzinfo=UTC),
}


class Place:
    """A table, what could be written to it, and the key of a row of the others in it."""

    def __init__(self, name: str, ours: Rows, theirs: Rows, row: dict[str, Any]) -> None:
        self.name = name
        self.model: Any = MODELS[name]
        self.table = self.model.__table__
        self.ours = ours.org
        self.theirs = theirs.org
        names = [c.name for c in self.table.primary_key if c.name != "org_id"]
        self.filter = and_(literal(True), *(getattr(self.model, name) == row[name] for name in names))
        self.core_filter = and_(literal(True), *(self.table.c[name] == row[name] for name in names))
        self.row = row
        self.change = self._change()

    def _change(self) -> dict[str, Any]:
        """A value for one column that is no part of a key and that nothing restricts; nothing where there is none."""
        bound = {c.name for constraint in self.table.constraints for c in getattr(constraint, "columns", ())}
        for column in self.table.columns:
            value = CHANGES.get(type(getattr(column.type, "impl", column.type)), CHANGES.get(type(column.type)))
            if value is not None and column.name not in bound and "check" not in str(column.constraints):
                return {column.name: value}
        return {}

    @property
    def orm(self) -> Iterator[tuple[str, Executable]]:
        """Statements on the entity; the criteria of an organization's session narrow them."""
        model, key = self.model, self.filter
        other = aliased(model)
        first = next(iter(self.table.primary_key)).name
        column = getattr(model, first)
        yield "select", select(model)
        yield "select of columns", select(*(getattr(model, p.key) for p in inspect(model).column_attrs))
        yield "select by their key", select(model).where(key)
        yield "select of ours or by their key", select(model).where(or_(col(model.org_id) == self.ours, key))
        yield "select with not", select(model).where(not_(col(model.org_id) == self.ours))
        yield "ordered and limited", select(model).order_by(col(column)).limit(5)
        yield "count by organization", select(col(model.org_id), func.count()).group_by(col(model.org_id))
        yield "distinct", select(col(model.org_id)).distinct()
        yield "window", select(col(model.org_id), func.count().over())
        yield "alias", select(other)
        yield "self join", select(col(model.org_id), col(other.org_id)).join(other, literal(True) == literal(True))
        yield "outer join", select(Account.name, col(other.org_id)).join(other, literal(1) == 1, isouter=True)
        yield "derived table", select(select(col(model.org_id)).subquery())
        yield "common table expression", select(select(col(model.org_id)).cte("found"))
        yield (
            "exists",
            select(Account.org_id).where(
                exists(select(col(model.org_id)).where(key)), col(Account.org_id) != self.ours
            ),
        )
        yield "scalar subquery", select(select(func.max(cast(col(model.org_id), Text))).scalar_subquery())
        yield "union", union_all(select(col(model.org_id)), select(col(model.org_id)))
        yield "for update", select(model).with_for_update()
        yield "delete by their key", delete(model).where(key)
        yield "delete", delete(model)
        if self.change:
            yield "update by their key", update(model).where(key).values(**self.change)
            yield "update", update(model).values(**self.change)

    @property
    def loose(self) -> Iterator[tuple[str, Executable]]:
        """Statements that no criteria reach, or that ask for the others outright: none may reach the database."""
        t, name = self.table, self.name
        ours, theirs = {"ours": self.ours}, {"theirs": self.theirs}
        first = next(iter(t.primary_key)).name

        def sql(words: str, **values: str) -> Executable:
            return text(words.replace("{t}", name).replace("{c}", first)).bindparams(**values)

        yield "entity of theirs", select(self.model).where(col(self.model.org_id) == self.theirs)
        yield "core", select(t)
        yield "core by their key", select(t).where(self.core_filter)
        yield "core of theirs", select(t).where(t.c.org_id == self.theirs)
        yield "core alias", select(t.alias("x"))
        yield (
            "core beside a pinned table",
            (
                select(Account.__table__.c.name, t.c.org_id)  # type: ignore[attr-defined]  # every table has it
                .join(t, literal(1) == 1)
                .where(Account.__table__.c.org_id == self.ours)  # type: ignore[attr-defined]  # every table has it
            ),
        )
        yield "core delete", delete(t)
        yield "core delete of theirs", delete(t).where(t.c.org_id == self.theirs)
        yield "core insert for theirs", insert(t).values({c.name: self.row[c.name] for c in t.primary_key})
        yield "text", sql("SELECT * FROM {t}")
        yield "text of theirs", sql("SELECT * FROM {t} WHERE org_id = :theirs", **theirs)
        yield "text with or", sql("SELECT * FROM {t} WHERE org_id = :ours OR {c} IS NOT NULL", **ours)
        yield "text with not", sql("SELECT * FROM {t} WHERE NOT org_id = :ours", **ours)
        yield "text with a list", sql("SELECT * FROM {t} WHERE org_id IN (:ours, :theirs)", **ours, **theirs)
        yield "text alias", sql("SELECT x.* FROM {t} x, accounts a WHERE a.org_id = :ours", **ours)
        yield "text join", sql("SELECT x.* FROM accounts a JOIN {t} x ON true WHERE a.org_id = :ours", **ours)
        yield "text left join", sql("SELECT x.* FROM accounts a LEFT JOIN {t} x ON true WHERE a.org_id = :ours", **ours)
        yield (
            "text in where",
            sql(
                "SELECT name FROM accounts WHERE org_id = :ours AND EXISTS (SELECT 1 FROM {t} WHERE {c} <> '')",
                **ours,
            ),
        )
        yield (
            "text in the list",
            sql("SELECT (SELECT max(x.{c}) FROM {t} x) FROM accounts WHERE org_id = :ours", **ours),
        )
        yield "text union", sql("SELECT {c} FROM {t} WHERE org_id = :ours UNION ALL SELECT {c} FROM {t}", **ours)
        yield "text expression", sql("WITH x AS (SELECT * FROM {t}) SELECT * FROM x WHERE org_id = :ours", **ours)
        yield "text group", sql("SELECT org_id, count(*) FROM {t} GROUP BY org_id")
        yield "text having", sql("SELECT org_id FROM {t} GROUP BY org_id HAVING org_id = :ours", **ours)
        yield "text quoted", sql('SELECT * FROM "{t}"')
        yield "text upper case", text(f"SELECT * FROM {name.upper()}")
        yield "text comment", sql(f"SELECT * FROM {{t}} -- WHERE org_id = '{self.ours}'")
        yield "text delete", sql("DELETE FROM {t}")
        yield "text delete returning", sql("DELETE FROM {t} WHERE {c} IS NOT NULL RETURNING *")
        yield "text move", sql("UPDATE {t} SET org_id = :theirs WHERE org_id = :ours", **ours, **theirs)
        yield "text take", sql("UPDATE {t} SET org_id = :ours WHERE org_id = :theirs", **ours, **theirs)
        yield "text insert from select", sql("INSERT INTO {t} SELECT * FROM {t}")
        yield "two statements", sql("SELECT 1; DELETE FROM {t}")
        if self.change:
            [column] = self.change
            yield "core update", update(t).values(**self.change)
            yield "core update of theirs", update(t).where(t.c.org_id == self.theirs).values(**self.change)
            yield "text update", sql(f"UPDATE {{t}} SET {column} = NULL")


@pytest.fixture
async def places(beyond: Beyond, ours: Rows, theirs: Rows) -> dict[str, Place]:
    found = {}
    for name in TABLES:
        columns = [c.name for c in MODELS[name].__table__.columns]
        listed = ", ".join(f"CAST({c} AS text)" if c.endswith("id") else f'"{c}"' for c in columns)
        [row, *_] = await beyond.rows(f"SELECT {listed} FROM {name} WHERE org_id = '{theirs.org}'")
        found[name] = Place(name, ours, theirs, dict(zip(columns, row, strict=True)))
    return found


async def _fates(
    statements: Callable[[Place], Iterator[tuple[str, Executable]]],
    places: dict[str, Place],
    database: Database,
    beyond: Beyond,
    ours: Rows,
    theirs: Rows,
) -> dict[tuple[str, str], str]:
    """What became of each statement on each table, in a transaction of its own that is taken back at its end."""
    foreign = [repr(value) for value in vars(theirs).values()]
    fates = {}
    for name, place in places.items():
        before = await beyond.everything(theirs)
        for what, statement in statements(place):
            try:
                async with database.writing(ours.org) as session:
                    shown = repr(await session.rows(statement))
            except TenantBreach:
                fates[name, what] = "refused"
            except BROKEN_RULES:
                fates[name, what] = "kept by a reference"  # our own row, which others of ours refer to
            except DATABASE_ERRORS as error:
                fates[name, what] = str(error)
            else:
                fates[name, what] = f"shows {shown}" if any(each in shown for each in foreign) else "passed"
        if await beyond.everything(theirs) != before:
            fates[name, "all together"] = "changed what is theirs"
    return fates


@pytest.mark.long_on("postgresql")
async def test_the_criteria_narrow_every_entity(
    database: Database, beyond: Beyond, ours: Rows, theirs: Rows, places: dict[str, Place]
) -> None:
    entities = {name: place for name, place in places.items() if issubclass(place.model, Tenant)}
    fates = await _fates(lambda place: place.orm, entities, database, beyond, ours, theirs)
    print(f"{len(entities)} tables, {len(fates)} statements of entities")
    assert {place: fate for place, fate in fates.items() if fate not in ("passed", "kept by a reference")} == {}
    assert {what for (_, what), fate in fates.items() if fate == "kept by a reference"} <= {"delete"}


async def test_shared_tables_have_no_criteria_and_are_refused(
    database: Database, beyond: Beyond, ours: Rows, theirs: Rows, places: dict[str, Place]
) -> None:
    """But for what asks for nothing of them."""
    shared = {name: place for name, place in places.items() if not issubclass(place.model, Tenant)}
    assert set(shared) == SHARED_TABLES
    fates = await _fates(lambda place: place.orm, shared, database, beyond, ours, theirs)
    assert {place: fate for place, fate in fates.items() if fate != "refused"} == {}


@pytest.mark.long_on("postgresql")
async def test_nothing_loose_reaches_any_table(
    database: Database, beyond: Beyond, ours: Rows, theirs: Rows, places: dict[str, Place]
) -> None:
    before = await beyond.everything(ours, theirs)
    fates = await _fates(lambda place: place.loose, places, database, beyond, ours, theirs)
    print(f"{len(places)} tables, {len(fates)} loose statements")
    assert {place: fate for place, fate in fates.items() if fate != "refused"} == {}
    assert await beyond.everything(ours, theirs) == before


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_the_index_of_words_is_refused_alone(database: Database, ours: Rows) -> None:
    """It has no key of its own; only beside the pinned entry whose words they are may it be read."""
    for words in (f"SELECT * FROM {FULL_TEXT_TABLE}", f"SELECT count(*) FROM {FULL_TEXT_TABLE}"):
        with pytest.raises(TenantBreach):
            async with database.writing(ours.org) as session:
                await session.execute(text(words))


def test_the_matrix_is_of_every_table_with_an_organization() -> None:
    """Memberships are the directory's alone: no session of an organization reaches them."""
    keyed = {name for name, table in SQLModel.metadata.tables.items() if "org_id" in table.columns}
    assert keyed == {*TABLES, "memberships"}
