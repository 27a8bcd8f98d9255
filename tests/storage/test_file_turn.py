"""The turn to write a SQLite file, among processes (decision 1188). A lock is of whoever opened the file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage import file_turn
from storage.connection_pool import Connections
from storage.file_turn import FileTurn


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[FileTurn, FileTurn]]:
    """The turns of two processes on one file."""
    turns = FileTurn(tmp_path / "crm.sqlite3"), FileTurn(tmp_path / "crm.sqlite3")
    yield turns
    for turn in turns:
        turn.close()


async def _waits(turn: FileTurn) -> asyncio.Task[None]:
    task = asyncio.create_task(turn.take())
    await asyncio.sleep(0.05)
    assert not task.done()
    return task


async def test_who_writes_without_a_pause_lets_the_other_in(both: tuple[FileTurn, FileTurn]) -> None:
    one, other = both
    order = []

    async def write(name: str, turn: FileTurn) -> None:
        for _ in range(4):
            await turn.take()
            order.append(name)
            await asyncio.sleep(0.03)
            turn.give_back()

    await asyncio.wait_for(asyncio.gather(write("one", one), write("other", other)), 20)
    assert order == ["one", "other"] * 4


async def test_who_is_alone_never_waits(both: tuple[FileTurn, FileTurn], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_turn, "_in_a_thread", None)
    for turn in both:
        for _ in range(3):
            await turn.take()
            turn.give_back()


async def test_who_leaves_while_it_waits_keeps_nothing(both: tuple[FileTurn, FileTurn]) -> None:
    """Nor does who waits for too long, who then goes on without the turn."""
    one, other = both
    await one.take()
    waiting = await _waits(other)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.wait_for(other.take(), 1)  # without it: a thread waits still for who has left
    other.give_back()
    one.give_back()
    await asyncio.sleep(0.05)
    for turn in (one, other):
        await asyncio.wait_for(turn.take(), 1)
        turn.give_back()


async def test_a_turn_that_does_not_come_is_done_without(
    both: tuple[FileTurn, FileTurn], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_turn, "SECONDS", 0.05)
    one, other = both
    await one.take()
    await asyncio.wait_for(other.take(), 1)
    other.give_back()  # which is not the one's
    third = await _at_once_or_not(other)
    assert not third
    one.give_back()
    await asyncio.sleep(0.05)
    assert await _at_once_or_not(other)


async def _at_once_or_not(turn: FileTurn) -> bool:
    """Whether a turn on the same file can be had without waiting."""
    asking = FileTurn(turn._paths[0].with_name("crm.sqlite3"))
    asking._open()
    try:
        return asking._at_once()
    finally:
        asking.close()


async def test_the_turn_of_a_process_that_ends_is_free(both: tuple[FileTurn, FileTurn]) -> None:
    one, other = both
    await one.take()
    waiting = await _waits(other)
    one.close()
    await asyncio.wait_for(waiting, 1)
    other.give_back()
    one.give_back()  # after the end, which raises nothing


async def test_where_nothing_can_be_locked_nobody_waits(tmp_path: Path) -> None:
    for turn in (FileTurn(tmp_path / "missing" / "crm.sqlite3"), FileTurn(tmp_path / "crm.sqlite3")):
        if turn._paths[0].parent == tmp_path:
            os.symlink(tmp_path / "elsewhere", turn._paths[0])  # which is followed by nobody
        await turn.take()
        turn.give_back()
        turn.close()
    assert not (tmp_path / "elsewhere").exists()


async def test_who_gets_no_connection_gives_the_turn_back(both: tuple[FileTurn, FileTurn]) -> None:
    one, other = both

    async def refused() -> None:
        raise OSError("no file can be opened")

    connections = Connections(refused, 2, one)
    with pytest.raises(OSError, match="no file"):
        await connections.take("org", writing=True)
    await asyncio.wait_for(other.take(), 1)
    waiting = asyncio.create_task(connections.take("org", writing=True))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert connections.state.in_use == 0
