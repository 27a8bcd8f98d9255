"""Follows a log that grows in the database: what is there behind a number, and then what comes, until its end.

It is looked at once for each thing that is new (decision 1198).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Generic, Protocol, TypeVar

from contract.errors import Unavailable
from resolvers.shared.context import Context
from storage.change_feed import Channel
from storage.tenancy.sessions import TenantSession
from storage.watched_rows import RowT, WatchedRows


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


Moved = Callable[[int], Awaitable[None]]
"""Waits until something may be new behind this number since the last call, or since the log began to be followed."""


@contextmanager
def moves_of(rows: WatchedRows[RowT], row_id: str, newest: Callable[[RowT], int]) -> Iterator[Moved]:
    """Wake the log whenever a row that tells its newest number is another: gone, or with one that was not given yet.

    The row is read along with the others of the organization.
    """
    with rows.watching(row_id) as row:
        mark = row.mark

        async def moved(sequence: int) -> None:
            nonlocal mark
            while True:
                await row.moved(mark)
                mark = row.mark
                if row.row is None or newest(row.row) > sequence:
                    return

        yield moved


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
    moves: Callable[[Channel], AbstractContextManager[Moved]]
    gives_way: bool = False
    """Whether a look waits for requests (decision 1151)."""


async def followed(ctx: Context, log: Log[EntryT], sequence: int) -> AsyncIterator[EntryT]:
    """The entries behind a number as they come; of a log that is deleted meanwhile its end alone."""
    state = LogState.GOING
    given = 0  # the number behind which it begins is the reader's word: the log may end before it
    entries: Sequence[EntryT]
    look = _looked_in_turn if log.gives_way else _looked
    with ctx.services.feed.channel(ctx.org_id) as channel, log.moves(channel) as moved:
        while True:
            was = state
            try:
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
                await moved(given)


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
