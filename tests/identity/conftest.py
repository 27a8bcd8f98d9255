"""Real services over a fresh database, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from storage.database import Database
from tests.support.world import World, open_world


@pytest.fixture
async def world(database: Database) -> AsyncIterator[World]:
    async with open_world(database) as world:
        yield world
