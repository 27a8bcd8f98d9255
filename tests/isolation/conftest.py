"""The whole application, with records in the first organization that the others must never see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.gateway import Gateway, open_gateway


@pytest.fixture
async def gateway(database_url: str, tmp_path: Path) -> AsyncIterator[Gateway]:
    async with open_gateway(database_url, tmp_path / "data") as gateway:
        yield gateway
