"""The pools of child processes, one for each `Limits`."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from providers.children.errors import ChildError, Raised, Stopped
from providers.children.limits import Limits
from providers.children.process import Child

_log = logging.getLogger(__name__)

IDLE_SECONDS = 20.0
RUNS_MAX = 100
"""The runs after which a child is replaced, so that what leaks or fragments comes back."""
_STAYS = 2
"""One that is left with more than this part of what it may have is replaced too (decision 179)."""

P = ParamSpec("P")
T = TypeVar("T")


class Children:
    """Runs functions in child processes; one per event loop. Nothing is started before it is needed."""

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._pools: dict[Limits, _Pool] = {}
        self._closed = False

    async def run(self, limits: Limits, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs the function in a child with these limits, and returns its result. Raises ChildError.

        The function lies at the top of a module that imports little. Arguments are pickled. So is the result, of which
        only plain data, dataclasses and enumerations are taken. What is wrong with the input belongs into the result,
        since of an exception only its type arrives. Cancelling kills the child.
        """
        if self._closed:
            raise Stopped
        pool = self._pools.get(limits)
        if pool is None:
            pool = self._pools[limits] = _Pool(limits, self._idle_seconds)
        name = f"{function.__module__}.{function.__qualname__}"
        async with pool.turns:
            if self._closed:
                raise Stopped
            if limits.is_heavy:
                self._make_room(pool)
            try:
                result: T = await pool.run(function.__module__, function.__qualname__, args, kwargs)
            except Raised as error:
                _log.warning("child raised function=%s type=%s at=%s", name, error.type, error.place)
                raise
            except ChildError as error:
                if self._closed:
                    raise Stopped from None
                _log.warning("child ended function=%s pool=%s reason=%s", name, limits.name, type(error).__name__)
                raise
            return result

    def _make_room(self, pool: "_Pool") -> None:
        """End those that wait in other pools."""
        for other in self._pools.values():
            if other is not pool:
                other.end_idle()

    @property
    def pids(self) -> list[int]:
        return [child.pid for pool in self._pools.values() for child in pool.children if child.is_alive]

    async def close(self) -> None:
        """Kill every child; what runs raises Stopped, as does what comes."""
        self._closed = True
        for pool in self._pools.values():
            await pool.close()


class _Pool:
    """The children of one kind: those that work, and those that wait, the last used on top."""

    def __init__(self, limits: Limits, idle_seconds: float) -> None:
        self.turns = asyncio.Semaphore(limits.processes)
        self.children: set[Child] = set()
        self._limits = limits
        self._idle_seconds = idle_seconds
        self._idle: list[tuple[Child, asyncio.TimerHandle]] = []
        self._leaving: set[asyncio.Task[None]] = set()

    async def run(
        self, module: str, name: str, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> Any:  # Any: what the function gives
        child = await self._take()
        is_sound = False
        try:
            result = await child.run(module, name, args, kwargs)
            is_sound = True
            return result
        except Raised:
            is_sound = True
            raise
        finally:
            if is_sound and child.runs < RUNS_MAX and child.resident_bytes <= self._limits.memory_bytes // _STAYS:
                self._put_back(child)
            else:
                self._leave(child)

    def end_idle(self) -> None:
        for child, timer in self._idle:
            timer.cancel()
            self._leave(child)
        self._idle.clear()

    async def close(self) -> None:
        self.end_idle()
        for child in list(self.children):
            self._leave(child)
        await asyncio.gather(*self._leaving)

    async def _take(self) -> Child:
        while self._idle:
            child, timer = self._idle.pop()
            timer.cancel()
            if child.is_alive:
                return child
            self._leave(child)
        child = await Child.start(self._limits)
        self.children.add(child)
        return child

    def _put_back(self, child: Child) -> None:
        timer = asyncio.get_running_loop().call_later(self._idle_seconds, self._expire, child)
        self._idle.append((child, timer))

    def _expire(self, child: Child) -> None:
        self._idle = [(other, timer) for other, timer in self._idle if other is not child]
        self._leave(child)

    def _leave(self, child: Child) -> None:
        """Have it end, whatever it does; nobody waits for that but `close`."""
        child.kill()
        task = asyncio.create_task(self._gone(child))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _gone(self, child: Child) -> None:
        await child.ended()
        self.children.discard(child)
