"""Paces the work that goes on behind requests, so that many pieces of it hold no request up (decision 460).

A loop does in one go all that is ready. Twenty answers that begin in the same moment would each do a step of some
milliseconds there, and whoever asks for a page meanwhile waits for all of them, once for each of its own steps. Paced
work does one step at a time, whichever piece it is of, and between two of them the loop looks at everything else.
"""

import asyncio
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import TypeVar

Result = TypeVar("Result")


class Pacing:
    """The steps of one process that wait for their turn; the first in line has the next one."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_passing = False

    async def paced(self, work: Callable[[], Coroutine[object, object, Result]]) -> Result:
        """Do the work with a turn before each of its steps. Any: what a coroutine and its loop tell each other."""
        return await self._steps(work())

    @types.coroutine
    def _steps(self, work: Coroutine[object, object, Result]) -> Generator[object, None, Result]:
        raised: BaseException | None = None
        while True:
            if raised is None:
                try:
                    yield from self._turn()
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

    def _turn(self) -> Generator[object, None, None]:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        self._pass(loop)
        yield from turn

    def _pass(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have the next in line go on in the loop's next round."""
        if not self._is_passing and self._waiting:
            self._is_passing = True
            loop.call_soon(self._next, loop)

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_passing = False
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # who was cancelled meanwhile needs none
                turn.set_result(None)
                break
        # Its step is behind this round's end, so the one after it is a round later.
        self._pass(loop)
