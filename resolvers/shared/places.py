"""The places of statements that callers send, and of exports: no organization takes them all."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from contract.errors import TooManyRuns
from contract.limits import (
    EXPORT_STREAMS_OF_ONE,
    SQL_RUNNING_MAX,
    SQL_RUNNING_OF_ONE_MAX,
    SQL_WAIT_SECONDS,
    SQL_WAITING_MAX,
    SQL_WAITING_OF_ONE_MAX,
)


class Places:
    """The places of one process. Of those that wait, the longest there goes first, unless its organization runs one."""

    def __init__(self, seconds: float = SQL_WAIT_SECONDS) -> None:
        self._seconds = seconds
        self.running: Counter[str] = Counter()
        self.waiting: list[tuple[str, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def one(self, organization: str) -> AsyncIterator[None]:
        """While a statement of the organization runs. Raises TooManyRuns, at once or after a short wait."""
        if not self._has_room(organization):
            await self._wait(organization)
        else:
            self.running[organization] += 1
        try:
            yield
        finally:
            self._leave(organization)

    def _has_room(self, organization: str) -> bool:
        return self.running.total() < SQL_RUNNING_MAX and self.running[organization] < SQL_RUNNING_OF_ONE_MAX

    async def _wait(self, organization: str) -> None:
        own = sum(one == organization for one, _ in self.waiting)
        if len(self.waiting) >= SQL_WAITING_MAX or own >= SQL_WAITING_OF_ONE_MAX:
            raise TooManyRuns
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (organization, turn)
        self.waiting.append(place)
        try:
            async with asyncio.timeout(self._seconds):
                await turn
        except BaseException as error:
            if place in self.waiting:
                self.waiting.remove(place)
            elif turn.done() and not turn.cancelled():
                self._leave(organization)  # it was given a place that it will not use
            if isinstance(error, TimeoutError):
                raise TooManyRuns from None
            raise

    def _leave(self, organization: str) -> None:
        self.running[organization] -= 1
        self.running += Counter()  # which forgets those that run none
        for place in [*self.waiting]:
            if self._has_room(place[0]) and not place[1].done():
                self.waiting.remove(place)
                self.running[place[0]] += 1
                place[1].set_result(None)


class ExportPlaces:
    """The exports that a process writes, of which an organization has two at once."""

    def __init__(self) -> None:
        self._running: Counter[str] = Counter()

    def enter(self, organization: str) -> None:
        """Begin an export of the organization. Raises TooManyRuns."""
        if self._running[organization] >= EXPORT_STREAMS_OF_ONE:
            raise TooManyRuns("Too many exports of this organization at once")
        self._running[organization] += 1

    def leave(self, organization: str) -> None:
        """End one."""
        self._running[organization] -= 1
        self._running += Counter()  # which forgets those that run none
