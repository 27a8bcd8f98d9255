"""Says who is next at the database: turns that organizations share (decision 143).

The rule is that of the gateway's places: an organization gets a turn while it holds fewer than are free. So one alone
gets half of them, two get a third each, and one is left for whoever has none: nobody's heavy statements keep another
from the database. Who finds none waits, and the next turn goes to the organization that holds the fewest.
"""

import asyncio
from collections import deque

from contract.errors import Unavailable

Group = str
"""An organization, or the empty text for the directory, which all of them need."""


class Turns:
    """Shares so many turns. One timer watches all who wait: who came first is also first to have waited too long."""

    def __init__(self, count: int, seconds: float | None) -> None:
        """Makes a wait fail after so many seconds; without them, one waits for as long as it takes."""
        self.count = self.free = count
        self.waits = self.timeouts = 0
        self._seconds = seconds
        self._held: dict[Group, int] = {}
        self._waiting: dict[Group, deque[asyncio.Future[None]]] = {}
        self._order: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._is_watched = False

    @property
    def waiting(self) -> int:
        """The number that wait."""
        return sum(not turn.done() for queue in self._waiting.values() for turn in queue)

    def at_once(self, group: Group) -> bool:
        """Take a turn if there is one for the group, and none of it waits already."""
        if self._held.get(group, 0) >= self.free:
            return False
        if group in self._waiting and not all(turn.done() for turn in self._waiting[group]):
            return False
        self._take(group)
        return True

    async def wait(self, group: Group) -> None:
        """Take the group's next turn. Raises Unavailable where there is none in time."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self.waits += 1
        self._waiting.setdefault(group, deque()).append(turn)
        if self._seconds is not None:
            self._order.append((loop.time() + self._seconds, turn))
            self._watch(loop)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:  # it came in the same moment
                self.give_back(group)
            raise

    def give_back(self, group: Group) -> None:
        """Give the turn to whoever is next."""
        self.free += 1
        if self._held[group] == 1:
            del self._held[group]
        else:
            self._held[group] -= 1
        while self._waiting and (following := self._next()) is not None:
            self._take(following)
            # What is left of its queue waits behind the others that hold as many.
            queue = self._waiting.pop(following)
            queue.popleft().set_result(None)
            if queue:
                self._waiting[following] = queue

    def _take(self, group: Group) -> None:
        self.free -= 1
        self._held[group] = self._held.get(group, 0) + 1

    def _next(self) -> Group | None:
        """Picks of the groups that wait and may have a turn the one with the fewest; of several, the first in line."""
        following, least = None, self.free
        given_up: list[Group] = []
        for group, queue in self._waiting.items():
            while queue and queue[0].done():  # who gave up
                queue.popleft()
            if not queue:
                given_up.append(group)
                continue
            held = self._held.get(group, 0)
            if held < least:
                following, least = group, held
                if not held:  # nobody holds fewer
                    break
        for group in given_up:
            del self._waiting[group]
        return following

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._order and not self._is_watched:
            self._is_watched = True
            loop.call_at(self._order[0][0], self._expire, loop)

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_watched = False
        while self._order and (self._order[0][0] <= loop.time() or self._order[0][1].done()):
            _, turn = self._order.popleft()
            if not turn.done():
                self.timeouts += 1
                turn.set_exception(Unavailable())
        self._watch(loop)
