from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.live import Live, going

RECEIVE_SECONDS = 1.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def live(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path
) -> AsyncIterator[Live]:
    """A service that is quicker to lose patience than the usual one, with the settings that the module names."""
    folder = tmp_path_factory.mktemp("edge")
    shutil.copyfile(sqlite_template, folder / "crm.db")
    (folder / "crm.db").chmod(0o600)
    settings = {
        "CRM_RECEIVE_SECONDS": str(RECEIVE_SECONDS),
        "CRM_ALLOWED_HOSTS": "a",
        **getattr(request.module, "SETTINGS", {}),
    }
    async with going(folder, f"sqlite+aiosqlite:///{folder / 'crm.db'}", **settings) as live:
        yield live
