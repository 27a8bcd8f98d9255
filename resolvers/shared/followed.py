"""Follows a log that grows in the database: what is there behind a number, and then what comes, until its end.

It is looked at once for each thing that is new (decision 1198), and not at all for what this process has just written
itself (decision 1205).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Generic, Protocol, TypeVar, cast

from contract.errors import Unavailable
from resolvers.shared.context import Context
from storage.change_feed import Channel
from storage.tenancy.sessions import TenantSession
from storage.watched_rows import RowT, WatchedRow, WatchedRows


class Entry(Protocol):
    """One entry of a log."""

    @property
    def sequence(self) -> int:
        """Its number."""

    @property
    def type(self) -> str:
        """Its kind."""


_AGAIN_SECONDS = 0.5
EntryT = TypeVar("EntryT", bound=Entry)


class LogState(Enum):
    """The state of a log: whether more may still come, it is over, or it is gone."""

    GOING = auto()
    OVER = auto()
    GONE = auto()


class Moves(Protocol):
    """Says when a log may have grown, and what is known of that."""

    async def moved(self, sequence: int) -> None:
        """Wait until something may be new behind this number since the last call, or since the log is followed."""

    def written(self, sequence: int) -> Sequence[Entry]:
        """The next entries behind this number where this process has just written them, and nothing otherwise."""


class RowMoves(Generic[RowT]):
    """Those of a log of which a row tells the newest number; the row is read along with others (decision 840)."""

    def __init__(self, row: WatchedRow[RowT], newest: Callable[[RowT], int]) -> None:
        self._row, self._newest = row, newest
        self._mark = row.mark

    async def moved(self, sequence: int) -> None:
        """Wait until the row is gone, or it or what was written has a number that was not given yet."""
        row = self._row
        while True:
            await row.moved(self._mark)
            self._mark = row.mark
            last = self._written[-1].sequence if self._written else 0
            if row.row is None or max(last, self._newest(row.row)) > sequence:
                return

    def written(self, sequence: int) -> Sequence[Entry]:
        """The next entries behind this number where this process has just written them, and nothing otherwise.

        Nor where the row tells of more: who is given these would wait for what has moved already.
        """
        entries, row = self._written, self._row.row
        if not entries or row is None or entries[0].sequence != sequence + 1:
            return ()
        return entries if entries[-1].sequence >= self._newest(row) else ()

    @property
    def _written(self) -> Sequence[Entry]:
        return cast("Sequence[Entry]", self._row.written)


@contextmanager
def moves_of(rows: WatchedRows[RowT], row_id: str, newest: Callable[[RowT], int]) -> Iterator[Moves]:
    """Watch the row that tells of a log."""
    with rows.watching(row_id) as row:
        yield RowMoves(row, newest)


@dataclass(frozen=True, slots=True)
class Log(Generic[EntryT]):
    """A log: its entries behind a number, a batch of them at the most, its state, the entry that ends one that is gone,
    the kind of the last, and what tells when to look for more.
    """

    behind: Callable[[TenantSession, int], Awaitable[Sequence[EntryT]]]
    batch: int
    state: Callable[[TenantSession], Awaitable[LogState]]
    gone: Callable[[int], EntryT]
    last: str
    moves: Callable[[Channel], AbstractContextManager[Moves]]
    gives_way: bool = False
    """Whether a look waits for requests (decision 1151)."""


async def followed(ctx: Context, log: Log[EntryT], sequence: int) -> AsyncIterator[EntryT]:
    """The entries behind a number as they come; of a log that is deleted meanwhile its end alone."""
    state = LogState.GOING
    given = 0  # the number behind which it begins is the reader's word: the log may end before it
    look = _looked_in_turn if log.gives_way else _looked
    with ctx.services.feed.channel(ctx.org_id) as channel, log.moves(channel) as moves:
        while True:
            was = state
            entries = cast("Sequence[EntryT]", moves.written(sequence))  # the log's own
            try:
                if not entries:
                    entries, state = await look(ctx, log, sequence, state)
            except Unavailable:  # the entries are where they were when the database is back, of which no move may tell
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            if not entries and was is not LogState.GOING:  # it ended before this look: nothing will come
                if was is LogState.GONE:
                    yield log.gone(sequence + 1)
                return
            for entry in entries:
                sequence = given = entry.sequence
                yield entry
                if entry.type == log.last:
                    return
            if len(entries) < log.batch and state is LogState.GOING:
                await moves.moved(given)


async def _looked_in_turn(
    ctx: Context, log: Log[EntryT], sequence: int, state: LogState
) -> tuple[Sequence[EntryT], LogState]:
    return await ctx.services.pacing.paced(partial(_looked, ctx, log, sequence, state))


async def _looked(ctx: Context, log: Log[EntryT], sequence: int, state: LogState) -> tuple[Sequence[EntryT], LogState]:
    """The entries behind a number, and the state of the log, which is looked at where there are none."""
    async with ctx.reading() as session:
        entries = await log.behind(session, sequence)
        if not entries and state is LogState.GOING:
            state = await log.state(session)
    return entries, state
