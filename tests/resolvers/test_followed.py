"""Logs that are followed while their database goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from contract.errors import Unavailable
from resolvers.shared import followed as module
from resolvers.shared.context import Context
from resolvers.shared.followed import Log, LogState, Moves, followed, moves_of
from storage.tenancy.sessions import TenantSession
from storage.watched_rows import WatchedRows

pytestmark = pytest.mark.asyncio(loop_scope="session")


@dataclass
class Entry:
    sequence: int
    type: str


@dataclass
class Source:
    """A log in memory, whose database may be away for the next looks; a move is told once."""

    entries: list[Entry] = field(default_factory=list)
    away: int = 0
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ctx(self) -> Context:
        feed = SimpleNamespace(channel=self._channel)
        return cast(Context, SimpleNamespace(services=SimpleNamespace(feed=feed), org_id="1", reading=self._reading))

    @property
    def log(self) -> Log[Entry]:
        return Log(self._behind, 20, self._state, lambda number: Entry(number, "last"), "last", self._moves)

    @contextmanager
    def _channel(self, _organization: str) -> Iterator[None]:
        yield

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[None]:
        if self.away:
            self.away -= 1
            raise Unavailable()
        yield

    async def _behind(self, _session: Any, number: int) -> Sequence[Entry]:
        return [entry for entry in self.entries if entry.sequence > number]

    async def _state(self, _session: Any) -> LogState:
        return LogState.OVER if self.entries and self.entries[-1].type == "last" else LogState.GOING

    @contextmanager
    def _moves(self, _channel: Any) -> Iterator[Moves]:
        async def moved(_sequence: int) -> None:
            await self.moved.wait()
            self.moved.clear()

        yield cast(Moves, SimpleNamespace(moved=moved, written=lambda _sequence: ()))


async def test_the_last_entry_comes_though_the_database_was_away_when_it_was_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing moves behind the end: who waits for a move then waits for ever."""
    monkeypatch.setattr(module, "_AGAIN_SECONDS", 0.01)
    source = Source([Entry(1, "first")])
    found: list[int] = []

    async def follow() -> None:
        async for entry in followed(source.ctx, source.log, 0):
            found.append(entry.sequence)

    async with asyncio.timeout(30):
        following = asyncio.create_task(follow())
        while not found:  # noqa: ASYNC110 # it tells nobody
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
        source.entries.append(Entry(2, "last"))
        source.away = 2
        source.moved.set()
        await following
    assert found == [1, 2]


@dataclass(frozen=True)
class Head:
    """How far a log is, as rows tell it."""

    id: str
    last: int


async def test_who_follows_a_log_is_woken_by_what_was_not_given_yet_and_by_its_end_alone() -> None:
    """Decision 1198."""
    stored = [Head("a", 1)]

    async def read(_session: Any, ids: Sequence[str]) -> Sequence[Head]:
        return [head for head in stored if head.id in ids]

    rows: WatchedRows[Head] = WatchedRows(read, lambda: None, lambda: None)
    with moves_of(rows, "a", lambda head: head.last) as moves:
        await rows.look(cast(TenantSession, None))
        waiting = asyncio.create_task(moves.moved(1))
        await asyncio.sleep(0.01)
        assert not waiting.done(), "the first look found what was given"
        stored[0] = Head("a", 2)
        await rows.look(cast(TenantSession, None))
        await asyncio.wait_for(waiting, 5)
        stored[0] = Head("a", 3)
        await rows.look(cast(TenantSession, None))
        await asyncio.wait_for(moves.moved(2), 5)  # which came between a look of its own and this
        waiting = asyncio.create_task(moves.moved(3))
        stored.clear()
        await rows.look(cast(TenantSession, None))
        await asyncio.wait_for(waiting, 5)


async def test_a_log_is_looked_at_again_without_a_move_where_a_batch_was_full() -> None:
    source = Source([Entry(number, "any") for number in range(1, 41)] + [Entry(41, "last")])
    asked: list[int] = []
    behind = source._behind

    async def in_batches(session: Any, number: int) -> Sequence[Entry]:
        asked.append(number)
        return (await behind(session, number))[:20]

    source._behind = in_batches  # type: ignore[method-assign]  # of this one
    async with asyncio.timeout(5):
        assert [entry.sequence async for entry in followed(source.ctx, source.log, 0)] == list(range(1, 42))
    assert asked == [0, 20, 40]


async def test_what_this_process_has_written_is_given_without_a_look_where_it_comes_next() -> None:
    """Decision 1205."""
    source = Source([Entry(1, "any")])
    rows: WatchedRows[Head] = WatchedRows(_nothing, lambda: None, lambda: None)
    with rows.watching("a") as row, moves_of(rows, "a", lambda head: head.last) as moves:
        row.found(Head("a", 1))
        row.advance([Entry(2, "any"), Entry(3, "any")])
        assert [[entry.sequence for entry in moves.written(number)] for number in range(4)] == [[], [2, 3], [], []]
        source._moves = lambda _: nullcontext(moves)  # type: ignore[method-assign]  # of this one
        found = followed(source.ctx, source.log, 0)
        assert [(await anext(found)).sequence for _ in range(3)] == [1, 2, 3]
        source.entries += [*(Entry(number, "any") for number in range(2, 6)), Entry(6, "last")]
        row.advance([Entry(6, "last")])  # the two before it were another process's
        async with asyncio.timeout(30):
            assert [entry.sequence async for entry in found] == [4, 5, 6]


async def test_a_slow_reader_gets_what_was_stored_behind_what_was_handed_to_it() -> None:
    source = Source([Entry(1, "any")])
    rows: WatchedRows[Head] = WatchedRows(_nothing, lambda: None, lambda: None)
    with rows.watching("a") as row, moves_of(rows, "a", lambda head: head.last) as moves:
        row.found(Head("a", 1))
        source._moves = lambda _: nullcontext(moves)  # type: ignore[method-assign]  # of this one
        found = followed(source.ctx, source.log, 0)
        assert (await anext(found)).sequence == 1
        source.entries += [Entry(2, "any"), Entry(3, "last")]
        row.advance([Entry(2, "any")])
        row.found(Head("a", 3))
        async with asyncio.timeout(30):
            assert [entry.sequence async for entry in found] == [2, 3]


async def test_who_comes_back_before_what_was_handed_gets_what_was_stored_behind_it() -> None:
    source = Source([Entry(number, "any") for number in (1, 2, 3)])
    rows: WatchedRows[Head] = WatchedRows(_nothing, lambda: None, lambda: None)
    with rows.watching("a") as row:
        row.found(Head("a", 1))
        row.advance([Entry(2, "any")])
        row.found(Head("a", 3))
        with moves_of(rows, "a", lambda head: head.last) as moves:
            source._moves = lambda _: nullcontext(moves)  # type: ignore[method-assign]  # of this one
            found = followed(source.ctx, source.log, 1)
            async with asyncio.timeout(30):
                assert [(await anext(found)).sequence for _ in range(2)] == [2, 3]


async def test_a_look_is_taken_whatever_is_written_meanwhile() -> None:
    """It may be older than what was written, which stays known, and it tells of what others did."""

    async def read(_session: Any, _ids: Sequence[str]) -> Sequence[Head]:
        row.advance([Entry(2, "any")])
        return [Head("a", 1), Head("b", 1)]

    rows: WatchedRows[Head] = WatchedRows(read, lambda: None, lambda: None)
    with rows.watching("a") as row, rows.watching("b") as other, moves_of(rows, "a", lambda head: head.last) as moves:
        await rows.look(cast(TenantSession, None))
        assert (row.row, other.row) == (Head("a", 1), Head("b", 1))
        async with asyncio.timeout(30):
            await moves.moved(1)
        assert [entry.sequence for entry in moves.written(1)] == [2]


async def _nothing(_session: Any, _ids: Sequence[str]) -> Sequence[Head]:
    return []


async def test_a_row_that_is_gone_before_it_was_read_is_told_though_an_entry_of_it_was_handed() -> None:
    """Decision 1205."""

    async def read(_session: Any, _ids: Sequence[str]) -> Sequence[Head]:
        return []

    rows: WatchedRows[Head] = WatchedRows(read, lambda: None, lambda: None)
    with moves_of(rows, "a", lambda head: head.last) as moves, rows.watching("a") as row:
        row.advance([Entry(1, "any")])
        await asyncio.wait_for(moves.moved(1), 5)  # it looks, since nothing is known of the row
        waiting = asyncio.create_task(moves.moved(1))
        await asyncio.sleep(0.01)
        await rows.look(cast(TenantSession, None))
        await asyncio.wait_for(waiting, 5)
