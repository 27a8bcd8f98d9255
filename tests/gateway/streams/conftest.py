from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest
import pytest_asyncio

from tests.support.live import Live, going
from tests.support.postgresql import Server

_numbers = count()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def live_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a migrated database for all tests of a module."""
    if request.param == "sqlite":
        file = tmp_path_factory.mktemp("database") / "crm.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), file)
        file.chmod(0o600)
        yield f"sqlite+aiosqlite:///{file}"
        return
    server: Server = request.getfixturevalue("postgresql")
    name = f"live_{next(_numbers)}"
    server.create(name, template=request.getfixturevalue("postgresql_template"))
    yield server.url(name)
    server.drop(name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def live(live_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Live]:
    """A service on it."""
    async with going(tmp_path_factory.mktemp("live"), live_url, CRM_CORS_ORIGINS="https://app.example.com") as live:
        yield live
