"""Connections that are taken from a pool."""

from __future__ import annotations

import pytest

from storage.connection_pool import Connections, Taken


def taken_from(connections: Connections, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Taken, bool]]:
    """Each connection that is taken from now on, and whether it is to write."""
    found: list[tuple[Taken, bool]] = []
    take = connections.take

    async def noted(group: str = "", *, writing: bool = False) -> Taken:
        taken = await take(group, writing=writing)
        found.append((taken, writing))
        return taken

    monkeypatch.setattr(connections, "take", noted)
    return found
