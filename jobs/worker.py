"""The worker: takes what is due, of any organization, and runs several jobs at a time in this process's loop.

It beats every third of a lease: it renews what it holds, and says in the database that it is there. A process that
dies stops beating; its jobs are due again when their leases have run out, and one other claim each resumes them.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from datetime import timedelta
from functools import partial

from contract.error_origin import origin_of
from contract.retention import Retention
from contract.tracing import Tracer
from jobs.attempts import Attempt, Claim, Outcome
from jobs.kinds import KINDS
from jobs.long_places import LongPlaces
from jobs.upkeep import Upkeep
from providers.ports import Ports
from storage.base import new_id, now
from storage.clusters import on_each_server
from storage.database import Database
from storage.queries import jobs
from storage.tables import JobWorker

_log = logging.getLogger(__name__)

LEASE = timedelta(seconds=30)
SLOTS = 16
SLOTS_OF_ONE = 8
"""The number of slots that one organization may have, so that there is room for the others (decision 35)."""
_POLL_SECONDS = 0.5
_AFTER_TROUBLE_SECONDS = 2.0
_FAREWELL_SECONDS = 1.0

Count = Callable[[str, str, float], None]
"""Called with the kind, the outcome and the seconds of every attempt."""


class Worker:
    """Runs jobs from `start` to `stop`."""

    where = "in this process"

    def __init__(
        self,
        database: Database,
        ports: Ports,
        count: Count,
        *,
        lease: timedelta = LEASE,
        retention: Retention = Retention(),  # noqa: B008  # frozen
        tracer: Tracer | None = None,
    ) -> None:
        self._database = database
        self._tracer = tracer
        self._ports = ports
        self._count = count
        self._lease = lease
        self._row = JobWorker(id=new_id())
        self._upkeep = Upkeep(database, retention, ports.artifacts, ports.mails_per_day)
        self._running: dict[str, tuple[Claim, asyncio.Task[None]]] = {}
        self._attempts: set[Attempt] = set()
        self._long = LongPlaces()
        self._doubtful: set[str] = set()
        self._stopping, self._freed, self._ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self._stopped: asyncio.Task[None] | None = None
        self._heard = now()

    @property
    def is_beating(self) -> bool:
        """Says whether it could lately say in the database that it is there."""
        return bool(self._loops) and now() - self._heard < self._lease

    @property
    def running(self) -> Counter[str]:
        return Counter(attempt.kind for attempt in self._attempts)

    def start(self) -> None:
        """Begin, in the running loop; what the database does not let it do yet it tries again."""
        _log.info("worker started worker=%s kinds=%s", self._row.id, ",".join(sorted(KINDS)))
        self._heard = now()
        taking = [partial(self._take, server) for server in self._database.servers]
        self._loops = [
            asyncio.create_task(self._steadily(self._beat, self._ended, self._ended)),
            asyncio.create_task(self._steadily(self._upkeep.turn, self._stopping, self._stopping)),
            *(asyncio.create_task(self._steadily(take, self._stopping, self._freed)) for take in taking),
        ]

    async def stop(self, seconds: float) -> None:
        """Take nothing more, let what runs finish for so long, give back the rest. Every caller waits for one end."""
        if self._stopped is None:
            self._stopped = asyncio.create_task(self._stop(seconds))
        await asyncio.shield(self._stopped)

    async def _stop(self, seconds: float) -> None:
        beating, *others = self._loops
        self._stopping.set()
        self._freed.set()
        end = asyncio.get_running_loop().time() + seconds
        await _ended(others, seconds)  # what is claimed on the way counts as running
        await _ended([task for _, task in self._running.values()], end - asyncio.get_running_loop().time())
        self._ended.set()
        await _ended([beating], _FAREWELL_SECONDS)
        self._loops = []
        with suppress(Exception):  # its silence says the same in a while
            async with asyncio.timeout(_FAREWELL_SECONDS), self._database.directory(writing=True) as session:
                await jobs.leave(session, self._row)
        _log.info("worker stopped worker=%s", self._row.id)

    async def _steadily(self, turn: Callable[[], Awaitable[float]], end: asyncio.Event, wake: asyncio.Event) -> None:
        """Take turns, each of which says how long to wait for the next; trouble is waited out and never ends it.

        One line says when trouble begins: it would be the same until, say, the database is migrated.
        """
        in_trouble = False
        while not end.is_set():
            try:
                wait = await turn()
                in_trouble = False
            except Exception as error:
                if not in_trouble:
                    at = origin_of(error)
                    _log.error("worker cannot go on worker=%s type=%s at=%s", self._row.id, type(error).__name__, at)
                in_trouble, wait = True, _AFTER_TROUBLE_SECONDS
            if wait:
                with suppress(TimeoutError):
                    await asyncio.wait_for(wake.wait(), wait)
                if not end.is_set():
                    wake.clear()

    async def _beat(self) -> float:
        until = now() + self._lease
        held = {claim.holder: task for claim, task in self._running.values()}
        kept: set[str] = set()

        async def renew(server: Database) -> None:
            async with server.directory(writing=True) as session:
                if server is self._database:
                    await jobs.beat(session, self._row)
                if held:
                    kept.update(await jobs.renew(session, list(held), until))

        is_whole = await on_each_server(self._database, renew)
        self._heard = now()
        lost = held.keys() - kept if is_whole else set()
        for holder in lost & self._doubtful:  # at its first time it may just be ending
            held[holder].cancel()
        self._doubtful = lost
        return self._lease.total_seconds() / 3

    async def _take(self, server: Database) -> float:
        if len(self._running) >= SLOTS:
            return _POLL_SECONDS
        async with server.directory() as session:
            if not await jobs.any_due(session):
                return _POLL_SECONDS
        holder = new_id()
        per_organization = Counter(claim.org_id for claim, _ in self._running.values())
        many = [org_id for org_id, number in per_organization.items() if number >= SLOTS_OF_ONE]
        until, avoiding_long = now() + self._lease, None if self._long.are_all_taken else self._long.crowded
        async with server.directory(writing=True) as session:
            row = await jobs.claim(session, holder, until, avoiding=many, avoiding_long=avoiding_long)
        if row is None:
            return _POLL_SECONDS
        if row.is_long:  # an attempt that began meanwhile may have the last place; this one then waits again
            self._long.take(row.org_id, holder)
        claim = Claim(row.org_id, row.job_id, holder)
        self._running[holder] = (claim, asyncio.create_task(self._run(claim)))
        return 0

    async def _run(self, claim: Claim) -> None:
        attempt, began = Attempt(self._database, self._ports, claim, self._tracer, self._long), time.monotonic()
        self._attempts.add(attempt)
        outcome = Outcome.LOST
        try:
            outcome = await attempt.make()
        except asyncio.CancelledError:
            outcome = Outcome.RELEASED
            raise
        except Exception as error:
            _log.error(
                "no end of job=%s could be written type=%s at=%s", claim.job_id, type(error).__name__, origin_of(error)
            )
        finally:
            del self._running[claim.holder]
            self._long.give_back(claim.holder)
            self._freed.set()
            seconds = time.monotonic() - began
            self._attempts.discard(attempt)
            self._count(attempt.kind, outcome.value, seconds)
            line = "job job=%s organization=%s kind=%s outcome=%s ms=%.1f"
            _log.info(line, claim.job_id, claim.org_id, attempt.kind, outcome, seconds * 1000)
            attempt.ended(outcome)


async def _ended(tasks: Collection[asyncio.Task[None]], seconds: float) -> None:
    """Wait for the tasks so long; cancel what has not ended by then, which gives back what it holds."""
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=max(seconds, 0))
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=_FAREWELL_SECONDS)
