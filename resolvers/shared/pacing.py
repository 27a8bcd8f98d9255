"""Paces the work that goes on behind requests, so that it holds no request up (decisions 460, 1151, 1152 and 1153).

A loop does in one go all that is ready. Twenty answers that begin in the same moment would each do a step of some
milliseconds there, and whoever asks for a page meanwhile waits for all of them, once for each of its own steps. Paced
work does one step at a time, whichever piece it is of, and between two of them the loop looks at everything else.
A step waits, for a while, until no request is worked on: else a request that has as many steps as there are of the work
meanwhile would take twice as long, since each of its own would have one of these before it. Work that has a connection
of the database, or waits for one, waits for no request: the request may wait for that connection.
"""

import asyncio
import types
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from storage.connection_pool import HOLDER, Holder

Item = TypeVar("Item")
Result = TypeVar("Result")
_PATIENCE: Final = 0.004
"""Seconds for which a step waits for requests at the most: an answer has some twenty steps."""


async def in_turns(items: Iterable[Item], at_a_time: int) -> AsyncIterator[Item]:
    """Give the items of a request that has many, so many in a turn of the loop: others wait for no more than these."""
    for number, item in enumerate(items, 1):
        yield item
        if not number % at_a_time:
            await asyncio.sleep(0)


class Pacing:
    """The steps of one process that wait for their turn; the first in line has the next one."""

    def __init__(self) -> None:
        self.others: Callable[[], int] = lambda: 0
        """Tells how many requests are worked on. Whoever knows it calls `look` when they are fewer."""
        self._ready: deque[asyncio.Future[None]] = deque()
        """Those that wait for no request."""
        self._waiting: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._aside = 0
        self._is_passing = False
        self._late: asyncio.TimerHandle | None = None
        """Goes off when the first in line has waited long enough."""

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While a request is not worked on though it holds a place: it waits for paced work, or rests."""
        self._aside += 1
        self.look()
        try:
            yield
        finally:
            self._aside -= 1

    async def paced(
        self, work: Callable[[], Coroutine[object, object, Result]], *, patience: float | None = None
    ) -> Result:
        """Do the work with a turn before each of its steps, which waits for requests.

        With a `patience`, seconds, it waits so long at the most, and goes before other work.
        """
        holder = HOLDER.get() or Holder()
        token = HOLDER.set(holder)
        try:
            return await self._steps(work(), holder, patience)
        finally:
            HOLDER.reset(token)

    async def free(self) -> None:
        """Return once no request is worked on, or that was waited for long enough: for work of a step or two."""
        await self.paced(_nothing)

    @types.coroutine
    def _steps(
        self, work: Coroutine[object, object, Result], holder: Holder, patience: float | None
    ) -> Generator[object, None, Result]:
        raised: BaseException | None = None
        while True:
            if raised is None:
                try:
                    yield from self._turn(holder, patience)
                except asyncio.CancelledError as cancelled:
                    raised = cancelled
            try:
                awaited = work.send(None) if raised is None else work.throw(raised)
            except StopIteration as ended:
                result: Result = ended.value
                return result
            raised = None
            try:
                yield awaited
            except BaseException as error:  # the work itself is told, and says what becomes of it
                raised = error

    def _turn(self, holder: Holder, patience: float | None) -> Generator[object, None, None]:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        if holder.count or patience == 0:
            self._ready.append(turn)
        elif patience is None:
            self._waiting.append((loop.time() + _PATIENCE, turn))
        else:
            self._waiting.appendleft((loop.time() + patience, turn))
        self._pass(loop)
        yield from turn

    def look(self) -> None:
        """Have the next in line go on where it may by now."""
        if self._waiting:
            self._pass(asyncio.get_running_loop())

    def _pass(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have the next in line go on in the loop's next round."""
        if not self._is_passing and (self._ready or self._waiting):
            self._is_passing = True
            loop.call_soon(self._next, loop)

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_passing = False
        if self._late is not None:
            self._late.cancel()
            self._late = None
        turn = self._first(loop)
        if turn is None:
            return
        turn.set_result(None)
        # Its step is behind this round's end, so the one after it is a round later.
        self._pass(loop)

    def _first(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None] | None:
        """Take whose turn it is; None where nobody waits, or the first in line has to wait on."""
        while self._ready:
            if not (turn := self._ready.popleft()).done():  # who was cancelled meanwhile needs none
                return turn
        while self._waiting:
            until, turn = self._waiting[0]
            if turn.done():
                self._waiting.popleft()
            elif self.others() > self._aside and loop.time() < until:
                self._late = loop.call_at(until, self._pass, loop)
                return None
            else:
                self._waiting.popleft()
                return turn
        return None


async def _nothing() -> None:
    """The one step of whoever waits for no more than his turn."""
