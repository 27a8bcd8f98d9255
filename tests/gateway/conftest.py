from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.gateway import Gateway, open_gateway
from tests.support.redis import RedisServer
from tests.support.service import Commands, Outcome

Start = Callable[..., AbstractAsyncContextManager[Gateway]]


@pytest.fixture(scope="session")
def _commands() -> Commands:
    return Commands()


@pytest.fixture
def command(_commands: Commands, tmp_path: Path) -> Callable[..., Outcome]:
    """Runs a command in a folder of the test's own; keywords are settings."""

    def run(*arguments: str, **settings: str) -> Outcome:
        return _commands.run(tmp_path, *arguments, **settings)

    return run


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Start:
    """Starts the whole application with these settings; what is tested here asks for no database."""

    @asynccontextmanager
    async def begin(**settings: Any) -> AsyncIterator[Gateway]:
        folder = tmp_path_factory.mktemp("gateway")
        shutil.copyfile(sqlite_template, folder / "crm.db")
        async with open_gateway(f"sqlite+aiosqlite:///{folder / 'crm.db'}", folder / "data", **settings) as gateway:
            yield gateway

    return begin


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(start: Start) -> AsyncIterator[Gateway]:
    """The application with nothing set, one for all tests of a module, which change nothing."""
    async with start() as gateway:
        yield gateway


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that the test may stop."""
    with RedisServer(tmp_path) as server:
        yield server
