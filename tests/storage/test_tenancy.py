from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from sqlalchemy import CursorResult, Result, insert, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from storage import tenancy
from storage.base import new_id
from storage.database import Database
from storage.tables import Account, Activity, Credential, Deal, DealContact, EventCounter, PipelineStage
from storage.tenancy import TenantBreach
from tests.storage import forgotten
from tests.storage.forgotten import Statement
from tests.support.postgresql import Server
from tests.support.rows import TENANT_TABLES, Rows


@pytest.fixture
async def database(filled: tuple[str, Rows, Rows]) -> AsyncIterator[Database]:
    opened = Database(filled[0])
    yield opened
    await opened.close()


@pytest.fixture
def ours(filled: tuple[str, Rows, Rows]) -> Rows:
    return filled[1]


@pytest.fixture
def theirs(filled: tuple[str, Rows, Rows]) -> Rows:
    return filled[2]


@pytest.fixture
def server(dialect: str, request: pytest.FixtureRequest) -> Server | None:
    return request.getfixturevalue("postgresql") if dialect == "postgresql" else None


async def everything(database: Database, server: Server | None, organization: str) -> dict[str, list[Any]]:
    """An organization's rows, seen past all walls."""
    queries = {t: f"SELECT * FROM {t} WHERE org_id = '{organization}' ORDER BY 1, 2" for t in TENANT_TABLES}
    name = database.url.database
    assert name is not None
    if server is None:
        file = sqlite3.connect(name)
        rows: dict[str, list[Any]] = {table: file.execute(query).fetchall() for table, query in queries.items()}
        file.close()
        return rows
    connection = await server.connect(name, role="postgres")
    rows = {table: list(map(tuple, await connection.fetch(query))) for table, query in queries.items()}
    await connection.close()
    return rows


def show(result: Result[Any]) -> str:
    return "" if isinstance(result, CursorResult) and not result.returns_rows else repr(result.all())


def cases(common: dict[str, Statement], by_dialect: dict[str, dict[str, Statement]] | None = None) -> Any:
    """Every statement, on the databases that it is for."""
    everywhere = [pytest.param(d, s, id=f"{d}-{n}") for n, s in common.items() for d in ("sqlite", "postgresql")]
    somewhere = [pytest.param(d, s, id=f"{d}-{n}") for d, own in (by_dialect or {}).items() for n, s in own.items()]
    return pytest.mark.parametrize(("dialect", "statement"), everywhere + somewhere, indirect=["dialect"])


def test_there_are_enough_forgotten_filters() -> None:
    assert len(forgotten.NARROWED) + len(forgotten.REFUSED) >= 43


@cases(forgotten.NARROWED)
async def test_the_criteria_narrow_what_the_author_forgot(
    database: Database, server: Server | None, ours: Rows, theirs: Rows, statement: Statement
) -> None:
    before = await everything(database, server, theirs.org)
    async with database.writing(ours.org) as session:
        shown = show(await session.execute(statement(ours, theirs)))
    assert "second" not in shown
    assert not {theirs.org, theirs.deal, theirs.account, theirs.contact} & set(shown.split("'"))
    assert await everything(database, server, theirs.org) == before


@cases(forgotten.REFUSED, forgotten.REFUSED_BY_DIALECT)
async def test_what_is_not_pinned_never_reaches_the_database(
    database: Database, server: Server | None, ours: Rows, theirs: Rows, statement: Statement
) -> None:
    before = [await everything(database, server, rows.org) for rows in (ours, theirs)]
    with pytest.raises(TenantBreach):
        async with database.writing(ours.org) as session:
            await session.execute(statement(ours, theirs))
    assert [await everything(database, server, rows.org) for rows in (ours, theirs)] == before


@cases(forgotten.LEGITIMATE, forgotten.LEGITIMATE_BY_DIALECT)
async def test_legitimate_shapes_pass(
    database: Database, server: Server | None, ours: Rows, theirs: Rows, statement: Statement
) -> None:
    before = await everything(database, server, theirs.org)
    async with database.writing(ours.org) as session:
        shown = show(await session.execute(statement(ours, theirs)))
    assert "second" not in shown
    assert await everything(database, server, theirs.org) == before
