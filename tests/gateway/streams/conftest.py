from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.live import Live, going


@pytest.fixture
async def live(database_url: str, tmp_path: Path) -> AsyncIterator[Live]:
    """A service of the test's own, on each of the two databases."""
    async with going(tmp_path, database_url) as live:
        yield live


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> AsyncIterator[Live]:
    """A service on SQLite for all tests of a module."""
    folder = tmp_path_factory.mktemp("shared")
    shutil.copyfile(sqlite_template, folder / "crm.db")
    (folder / "crm.db").chmod(0o600)
    url = f"sqlite+aiosqlite:///{folder / 'crm.db'}"
    async with going(folder, url, CRM_CORS_ORIGINS="https://app.example.com") as live:
        yield live
