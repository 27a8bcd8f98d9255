"""Rows that are read along for whoever waits for a change of one: in one statement for all of them (decision 840)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from storage.tenancy.sessions import TenantSession


class Row(Protocol):
    """A row that has an identifier, and is equal to itself unchanged."""

    @property
    def id(self) -> str:
        """The identifier."""


RowT = TypeVar("RowT", bound=Row)
Read = Callable[[TenantSession, Sequence[str]], Awaitable[Sequence[RowT]]]


class WatchedRow(Generic[RowT]):
    """One row, while somebody waits for what becomes of it."""

    __slots__ = ("_check", "_is_read", "_told", "_waiting", "mark", "readers", "row", "written")

    def __init__(self, check: Callable[[], None]) -> None:
        self.row: RowT | None = None
        """As it was last read; None where it is not there, and before it was read."""
        self.mark = 0
        """How often it was found to be another: to be taken before the look after which `moved` is waited for."""
        self.readers = 0
        self.written: Sequence[object] = ()
        """This process has just written these: the newest entries of what the row tells of (decision 1205)."""
        self._check = check
        self._is_read = False
        self._waiting: list[asyncio.Future[None]] = []
        self._told: list[Callable[[], None]] = []

    def check(self) -> None:
        """Raise what keeps it from being read."""
        self._check()

    async def moved(self, mark: int) -> None:
        """Wait until it may be another than when the mark was taken. Raises what keeps it from being read."""
        while self.mark == mark:
            self._check()
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            finally:
                if turn in self._waiting:
                    self._waiting.remove(turn)

    @contextmanager
    def telling(self, told: Callable[[], None]) -> Iterator[None]:
        """Call the function whenever it was found to be another, or can be read no more; at once where it was read."""
        self._told.append(told)
        try:
            if self.mark:
                told()
            yield
        finally:
            self._told.remove(told)

    def found(self, row: RowT | None) -> None:
        """Take over what was read."""
        if not self._is_read or self.row != row:
            self._is_read = True
            self.row = row
            self.mark += 1
            self.turn()

    def advance(self, written: Sequence[object]) -> None:
        """Take over what this process has committed itself; the row stays as it was read."""
        self.written = written
        self.mark += 1
        self.turn()

    def turn(self) -> None:
        """Have those look who wait."""
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)
        for told in list(self._told):
            told()


class WatchedRows(Generic[RowT]):
    """The rows of a table that somebody waits for. `wake` has them read soon, `check` raises what keeps that off."""

    def __init__(self, read: Read[RowT], wake: Callable[[], None], check: Callable[[], None]) -> None:
        self._read, self._wake, self._check = read, wake, check
        self._rows: dict[str, WatchedRow[RowT]] = {}

    @contextmanager
    def watching(self, row_id: str) -> Iterator[WatchedRow[RowT]]:
        """Have the row read along."""
        row = self._rows.get(row_id)
        if row is None:
            row = self._rows[row_id] = WatchedRow(self._check)
        row.readers += 1
        self._wake()
        try:
            yield row
        finally:
            row.readers -= 1
            if not row.readers:
                del self._rows[row_id]

    @property
    def any(self) -> bool:
        """Says whether there is one."""
        return bool(self._rows)

    def advance(self, row_id: str, written: Sequence[object]) -> None:
        """Take over what this process has committed itself, if somebody waits for the row."""
        if (watched := self._rows.get(row_id)) is not None:
            watched.advance(written)

    async def look(self, session: TenantSession) -> None:
        """Read them all, and tell who waits for one that is another now."""
        asked = list(self._rows.items())
        found = {row.id: row for row in await self._read(session, [row_id for row_id, _ in asked])}
        for row_id, row in asked:
            row.found(found.get(row_id))

    def end(self) -> None:
        """Have everybody see that nothing is read any more."""
        for row in self._rows.values():
            row.turn()
