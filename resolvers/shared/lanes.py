"""The lane of an organization's heavy reads: while others are served, one at a time is worked on, and then it rests.

A process has one loop, and a database few processors. What asks for much keeps both busy, however it is shared out in
turns. So where other organizations were served just now, the heavy reads of one come one after the other, each followed
by a rest twice as long as it took, and the others' small reads find the process free most of the time (decision 144).
An organization that is alone has nobody to make way for. Light reads know no lane. What goes on for long, such as an
export, rests so after each little piece of its work.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from time import monotonic
from weakref import WeakValueDictionary

from contract.costs import HEAVY_POINTS

_LATELY_SECONDS = 1.0
_REST = 2.0
_REST_MAX_SECONDS = 2.0
_AT_ONCE = nullcontext()


class Lanes:
    """The lanes of one process."""

    def __init__(self) -> None:
        self._lanes: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._newest, self._newest_at = "", 0.0
        self._other_at = 0.0

    def reading(self, organization: str, points: int) -> AbstractAsyncContextManager[object]:
        """While a read that asks for so many points is worked on."""
        self._see(organization)
        if points <= HEAVY_POINTS or not self._serves_others(organization):
            return _AT_ONCE
        return self._in_lane(organization)

    @asynccontextmanager
    async def _in_lane(self, organization: str) -> AsyncIterator[None]:
        lane = self._lanes.get(organization)
        if lane is None:
            lane = self._lanes[organization] = asyncio.Semaphore(1)
        await lane.acquire()
        began = monotonic()
        try:
            yield
        finally:
            rest = min(_REST * (monotonic() - began), _REST_MAX_SECONDS) if self._serves_others(organization) else 0
            asyncio.get_running_loop().call_later(rest, lane.release)

    async def make_way(self, organization: str, seconds: float) -> None:
        """Rest after so much of a work of the organization's that goes on for long, where others are served.

        Others have a turn in any case.
        """
        await asyncio.sleep(min(_REST * seconds, _REST_MAX_SECONDS) if self._serves_others(organization) else 0)

    def _see(self, organization: str) -> None:
        if organization != self._newest:
            self._newest, self._other_at = organization, self._newest_at
        self._newest_at = monotonic()

    def _serves_others(self, organization: str) -> bool:
        """Says whether another organization had a read within the last second."""
        at = self._other_at if organization == self._newest else self._newest_at
        return monotonic() - at < _LATELY_SECONDS
