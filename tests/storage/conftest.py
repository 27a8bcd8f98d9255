from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy.engine import URL

from storage.database import Database
from tests.support.moving import Place, placed, three_servers
from tests.support.postgresql import Server
from tests.support.rows import Rows, fill

_numbers = count()


def _fill(url: str) -> tuple[Rows, Rows]:
    async def run() -> tuple[Rows, Rows]:
        database = Database(url)
        rows = await fill(database)
        await database.close()
        return rows

    return asyncio.run(run())


@pytest.fixture(scope="session")
def filled_sqlite(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Rows, Rows]]:
    file = tmp_path_factory.mktemp("filled") / "filled.db"
    shutil.copyfile(sqlite_template, file)
    return file, _fill(f"sqlite+aiosqlite:///{file}")


@pytest.fixture(scope="session")
def filled_postgresql(postgresql: Server, postgresql_template: str) -> tuple[str, tuple[Rows, Rows]]:
    postgresql.create("template_filled", template=postgresql_template)
    return "template_filled", _fill(postgresql.url("template_filled"))


@pytest.fixture
def filled(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Rows, Rows]]:
    """The address of a database of its own with two organizations, and their rows: ours and theirs."""
    if dialect == "sqlite":
        file, (ours, theirs) = request.getfixturevalue("filled_sqlite")
        shutil.copyfile(file, tmp_path / "filled.db")
        yield f"sqlite+aiosqlite:///{tmp_path / 'filled.db'}", ours, theirs
    else:
        template, (ours, theirs) = request.getfixturevalue("filled_postgresql")
        server: Server = request.getfixturevalue("postgresql")
        name = f"filled_{next(_numbers)}"
        server.create(name, template=template)
        yield server.url(name), ours, theirs
        server.drop(name)


@pytest.fixture(scope="module")
def moving_urls() -> Iterator[dict[str, URL]]:
    """The addresses of three servers, the directory's first, and of a database to leave for."""
    with three_servers() as urls:
        yield urls


@pytest.fixture
async def place(moving_urls: dict[str, URL]) -> AsyncIterator[Place]:
    async with placed(moving_urls) as place:
        yield place
