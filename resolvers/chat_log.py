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
from storage.quiet_commits import quietly
from storage.rows import ChatRunRow
from storage.statements import AnyValue
from storage.tables import ChatEvent, ChatRun, ChatWatch
from storage.tenancy.sessions import TenantSession
from storage.watched_rows import WatchedRow

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
        self._feed = services.feed
        self._pacing = services.pacing
        self.watched: WatchedRow[ChatRunRow] | None = None
        """The run as this process watches it, while it does: its readers are handed what is told."""

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
            number = self.run.last_sequence + len(events)
            if self.watched is None or values or steps or also or first:
                await self._written(lambda: self._write(events, changed, steps, also, first), len(events))
            else:
                await self._handed(events, changed)
            self.run = self.run._replace(**changed, last_sequence=number)  # type: ignore[attr-defined]  # a named tuple
            self.next_step += len(steps)
            self._noted = {}
            if self._is_silent and any(kind is ChatEventType.TEXT_DELTA for kind, _ in events):
                self._is_silent = False
                self._counts.first_text(self.run.provider, (now() - self.run.created_at).total_seconds())
            self.lease.renewed()

    async def _handed(self, events: Sequence[Said], values: dict[str, AnyValue]) -> None:
        """Write what nobody else has to look at, and hand it to those who read the run here (decision 1205).

        Where it had been committed though its answer did not come, they look at what is stored.
        """
        await self._pacing.free()  # a word is told soon enough behind a request (decision 1199)
        with quietly():
            stored = await self._written(lambda: self._write(events, values, (), None, None), len(events))
        if stored and self.watched is not None:
            self.watched.advance(stored)
        else:
            self._feed.wake(self.run.org_id)

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
    ) -> Sequence[ChatEvent] | None:
        """The events, as they are stored; None where the run is no longer this process's."""
        async with self._database.writing(self.run.org_id) as session:
            if first is not None:
                await first(session)
            stored = await statements.advance(session, self.run, events, values)
            if stored is None:
                return None
            if steps:
                await statements.add_steps(session, self.run, self.next_step, steps)
            if also is not None:
                await also(session)
        return stored

    async def _written(
        self, write: Callable[[], Awaitable[Sequence[ChatEvent] | None]], number: int
    ) -> Sequence[ChatEvent]:
        """Write, again and again while the database is away, as long as the lease may hold. Raises RunLost.

        Gives what was written, and nothing where that had been committed though its answer did not come.
        """
        is_doubtful = False
        while True:
            try:
                if (stored := await write()) is not None:
                    return stored
                if is_doubtful and number and (await self.read()).last_sequence == self.run.last_sequence + number:
                    return ()
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
