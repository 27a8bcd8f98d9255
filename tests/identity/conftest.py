"""Real services over a fresh database, on both databases; and what is verified."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from identity.signatures import PublicKey, Unverified
from storage.database import Database
from tests.support.world import World, open_world


@pytest.fixture
async def world(database: Database) -> AsyncIterator[World]:
    async with open_world(database) as world:
        yield world


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[PublicKey]:
    """The keys that signatures are verified with, each time."""
    keys = list[PublicKey]()
    verify = Unverified.verify

    def noted(self: Unverified, key: PublicKey) -> None:
        keys.append(key)
        verify(self, key)

    monkeypatch.setattr(Unverified, "verify", noted)
    return keys
