"""Connections that a burst had made: to a file they are closed again, to a server they stay (decision 1042)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from storage import connection_pool
from storage.connection_pool import IDLE_KEPT, Connections, Taken
from storage.file_turn import FileTurn


@dataclass(eq=False)
class Opened:
    is_open: bool = True

    async def close(self) -> None:
        self.is_open = False


async def _open() -> Opened:
    return Opened()


async def _burst(connections: Connections, size: int) -> list[Taken]:
    """So many connections, each of its own organization, that are given back."""
    taken = [await connections.take(str(number)) for number in range(size)]
    for each in taken:
        await connections.give_back(each)
    return taken


async def test_a_file_has_few_connections_once_a_burst_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "IDLE_SECONDS", 0.01)
    connections = Connections(_open, 6, FileTurn(Path("unwritten")))
    made = await _burst(connections, 6)
    used = await connections.take("a")
    async with asyncio.timeout(30):
        while sum(each.driver.is_open for each in made) > IDLE_KEPT + 1:  # noqa: ASYNC110  # nobody is told
            await asyncio.sleep(0.01)
    assert used.driver.is_open
    await connections.give_back(used)
    assert (await connections.take("a")).driver is used.driver
    await connections.close()
    assert not any(each.driver.is_open for each in made if each.driver is not used.driver)


async def test_many_who_give_back_look_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[float]()
    call_later = asyncio.get_running_loop().call_later

    def noted(seconds: float, call: Callable[[], object]) -> asyncio.TimerHandle:
        asked.append(seconds)
        return call_later(seconds, call)

    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", noted)
    connections = Connections(_open, 6, FileTurn(Path("unwritten")))
    for _ in range(20):
        await _burst(connections, 6)
    assert asked == [connection_pool.IDLE_SECONDS]
    of_a_server = Connections(_open, 6)
    await _burst(of_a_server, 6)
    assert len(asked) == 1
    await connections.close()
