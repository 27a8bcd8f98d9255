"""Writes what happens in a run, for the process that works on it, under a lease (decision 331)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import TypeVar

from contract.chat import ChatEventType, ChatRunStatus
from contract.errors import TimedOut, Unavailable
from resolvers.shared.context import Services
from resolvers.shared.leases import Lease
from resolvers.shared.unbroken import unbroken
from storage.base import JsonDict, now
from storage.queries import chat_runs as statements
from storage.queries.chat_runs import Said
from storage.queries.records import lock_organization
from storage.queries.watches import watch
from storage.statements import AnyValue
from storage.tables import ChatRun, ChatWatch
from storage.tenancy.sessions import TenantSession

_AGAIN_SECONDS = 0.5
T = TypeVar("T")

Also = Callable[[TenantSession], Awaitable[None]]
"""A function that writes something else in the same transaction."""


class RunLost(Exception):
    """The run is another process's by now, has ended, or was deleted: nothing more is to be written."""


class RunLog:
    """The events of one run, each stored before anybody sees it; a database that is away is waited for."""

    def __init__(self, services: Services, run: ChatRun, first_step: int = 0) -> None:
        self.run = run
        """As it is stored."""
        self._database = services.database
        self._time = services.chat.lease
        self.lease = Lease(run.org_id, run.holder or "", self._time.total_seconds())
        self._turn = asyncio.Lock()
        self._worked = run.worked_ms / 1000
        self._began = monotonic()
        self.next_step = first_step
        self._noted: dict[str, AnyValue] = {}
        self._counts = services.chat_counts
        self._is_silent = run.last_sequence == 1

    @property
    def worked_seconds(self) -> float:
        """Says how long the run has been worked on."""
        return self._worked + monotonic() - self._began

    async def patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """Return what the call gives; wait for a database that is away as long as the lease may hold."""
        until = monotonic() + self.lease.seconds
        while True:
            try:
                return await call()
            except (Unavailable, TimedOut):
                if monotonic() >= until:
                    raise
                await asyncio.sleep(_AGAIN_SECONDS)

    def note(self, **values: AnyValue) -> None:
        """Say what becomes of the run, to be stored with what is told next."""
        self._noted |= values

    async def tell(
        self,
        *events: Said,
        values: dict[str, AnyValue] | None = None,
        steps: Sequence[JsonDict] = (),
        also: Also | None = None,
        first: Also | None = None,
    ) -> None:
        """Store events, with what becomes of the run and what is kept of its steps. Raises RunLost.

        `first` comes before the run is changed, and may refuse by what it raises.
        """
        await unbroken(self._tell(events, values or {}, steps, also, first))

    async def _tell(
        self,
        events: Sequence[Said],
        values: dict[str, AnyValue],
        steps: Sequence[JsonDict],
        also: Also | None,
        first: Also | None,
    ) -> None:
        async with self._turn:
            changed = {
                "status": ChatRunStatus.RUNNING.value,
                "leased_until": now() + self._time,
                "worked_ms": int(self.worked_seconds * 1000),
                **self._noted,
                **values,
            }
            await self._written(lambda: self._write(events, changed, steps, also, first), len(events))
            number = self.run.last_sequence + len(events)
            self.run = self.run._replace(**changed, last_sequence=number)  # type: ignore[attr-defined]  # a named tuple
            self.next_step += len(steps)
            self._noted = {}
            if self._is_silent and any(kind is ChatEventType.TEXT_DELTA for kind, _ in events):
                self._is_silent = False
                self._counts.first_text(self.run.provider, (now() - self.run.created_at).total_seconds())
            self.lease.renewed()

    async def read(self) -> ChatRun:
        """The run as it is stored. Raises RunLost where it is no longer this process's."""
        async with self._database.reading(self.run.org_id) as session:
            run = await session.find(ChatRun, id=self.run.id, subject=self.run.subject)
        if run is None or run.holder != self.run.holder or run.finished_at is not None:
            raise RunLost
        return run

    async def refresh(self) -> None:
        """Take over what others wrote of the run. Raises RunLost."""
        self.run = await self.patiently(self.read)

    async def give_back(self) -> None:
        """Let another process take the run up at once."""
        async with self._database.writing(self.run.org_id) as session:
            await lock_organization(session)
            moment = now()
            if await statements.give_back(session, self.run, moment, self._noted):
                await watch(session, ChatWatch, moment)

    async def _write(
        self,
        events: Sequence[Said],
        values: dict[str, AnyValue],
        steps: Sequence[JsonDict],
        also: Also | None,
        first: Also | None,
    ) -> bool:
        async with self._database.writing(self.run.org_id) as session:
            if first is not None:
                await first(session)
            if not await statements.advance(session, self.run, events, values):
                return False
            if steps:
                await statements.add_steps(session, self.run, self.next_step, steps)
            if also is not None:
                await also(session)
        return True

    async def _written(self, write: Callable[[], Awaitable[bool]], number: int) -> None:
        """Write, again and again while the database is away, as long as the lease may hold. Raises RunLost."""
        is_doubtful = False
        while True:
            try:
                if await write():
                    return
                # The commit whose answer did not come may have been made.
                if is_doubtful and number and (await self.read()).last_sequence == self.run.last_sequence + number:
                    return
                raise RunLost
            except (Unavailable, TimedOut):
                is_doubtful = True
                if monotonic() >= self.lease.until:
                    raise RunLost from None
                await asyncio.sleep(_AGAIN_SECONDS)


async def keep(services: Services, org_id: str, holders: Sequence[str]) -> frozenset[str]:
    """Keep runs of an organization for those who work on them in this process; the holders whose they still were.

    Nobody waits for it, so requests go before it (decision 1199).
    """

    async def renew() -> frozenset[str]:
        async with services.database.writing(org_id) as session:
            return await statements.renew(session, holders, now() + services.chat.lease)

    return await services.pacing.paced(renew)
