"""The whole application, with records in the first organization that the others must never see."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support import emptied
from tests.support.gateway import Gateway, open_gateway
from tests.support.postgresql import Server
from tests.support.world import new_world

_numbers = count()


@pytest.fixture
async def gateway(database_url: str, tmp_path: Path) -> AsyncIterator[Gateway]:
    async with open_gateway(database_url, tmp_path / "data") as gateway:
        yield gateway


Place = tuple[str, AbstractAsyncContextManager[emptied.Empty]]
Running = tuple[Gateway, emptied.Empty]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The address of a migrated database for all tests of a module, and what empties it."""
    if request.param == "sqlite":
        file = tmp_path_factory.mktemp("running") / "crm.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), file)
        file.chmod(0o600)
        yield f"sqlite+aiosqlite:///{file}", emptied.sqlite(file)
        return
    server: Server = request.getfixturevalue("postgresql")
    name = f"running_{next(_numbers)}"
    server.create(name, template=request.getfixturevalue("postgresql_template"))
    yield server.url(name), emptied.postgresql(server, name)
    server.drop(name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(place: Place, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    """An application for all tests of a module, and how its database is emptied."""
    url, emptying = place
    async with emptying as empty, open_gateway(url, tmp_path_factory.mktemp("data")) as gateway:
        yield gateway, empty


@pytest_asyncio.fixture(loop_scope="module")
async def anew(running: Running) -> Gateway:
    """The running application with a world of the test's own."""
    gateway, empty = running
    await empty()
    return replace(gateway, world=await new_world(gateway.runtime.database, gateway.runtime.services))
