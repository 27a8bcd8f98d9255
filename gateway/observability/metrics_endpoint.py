"""`/metrics` of a process: what it counted, a look at its pool and its jobs, and what waits in the database."""

import asyncio
import platform
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from contract.errors import Unavailable
from contract.limits import VERSION
from gateway.observability import tallies
from gateway.observability.families import gauge, written
from gateway.observability.in_turns import Connections, InTurns, Undelivered, age
from gateway.observability.metrics import DOCUMENT_CACHE, STATEMENT_CACHE, Sampled, exposition
from gateway.observability.replica_lag import ReplicaLag
from gateway.runtime import Runtime
from schema.execution import Documents
from storage.base import now
from storage.clusters import found_on_servers
from storage.meanwhile import meanwhile
from storage.queries import jobs
from storage.queries.jobs import Depth
from storage.tenancy.sessions import TenantSession
from transport.places import Places

LOOK_SECONDS = 1.0
_QUEUE_SECONDS = 5.0
"""The seconds that the length of the queue may be old: a caller that asks more often gets the same."""
_QUEUE_DEADLINE = 2.0


class MetricsEndpoint:
    """Looks every second as long as the process runs, so that another process reports something recent of this one."""

    def __init__(self, runtime: Runtime, places: Places | None = None, documents: Documents | None = None) -> None:
        self._runtime = runtime
        self._places = places
        self._documents = documents
        self._sampled = Sampled()
        self._queue = b""
        self._queue_until = 0.0
        self._asking: asyncio.Task[None] | None = None
        replicas = runtime.database.replicas
        self._in_turns: list[InTurns | ReplicaLag] = [
            *(InTurns(runtime.database, figure) for figure in (Undelivered(), Connections())),
            ReplicaLag(replicas.all if replicas else []),
        ]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        try:
            async with meanwhile(self._look_for_ever()):
                yield
        finally:
            tallies.give_all()
            for each in self._in_turns:  # a few
                await each.stop()

    async def answer(self, _request: Request) -> Response:
        """GET /metrics, in the Prometheus text format."""
        self.look()
        if time.monotonic() >= self._queue_until:
            if self._asking is None:
                self._asking = asyncio.create_task(self._ask())
            await asyncio.wait({self._asking}, timeout=_QUEUE_DEADLINE)
        beside = b"".join([await each.lines() for each in self._in_turns])
        counted = await asyncio.to_thread(exposition)
        return Response(counted + _BUILD + self._queue + beside, media_type=CONTENT_TYPE_LATEST)

    def look(self) -> None:
        tallies.give_all()
        self._sampled.pool(self._runtime.database.connections.state)
        if self._places is not None:
            self._sampled.places(self._places.taken)
        self._sampled.cache(STATEMENT_CACHE, self._runtime.database.statements)
        if self._documents is not None:
            self._sampled.cache(DOCUMENT_CACHE, self._documents.texts)
        if self._runtime.worker is not None:
            self._sampled.jobs(self._runtime.worker.running)

    async def _look_for_ever(self) -> None:
        while True:
            self.look()
            due = time.monotonic() + LOOK_SECONDS
            await asyncio.sleep(LOOK_SECONDS)
            self._sampled.lag(max(0.0, time.monotonic() - due))

    async def _ask(self) -> None:
        """Ask the database for the queue; where it is away the lines are missing, rather than wrong."""
        try:
            async with asyncio.timeout(_QUEUE_DEADLINE):
                depths = await found_on_servers(self._runtime.database, _depth)
                async with self._runtime.database.directory() as session:
                    lease = timedelta(seconds=self._runtime.settings.job_lease_seconds)
                    self._queue = _lines(_together(depths), await jobs.beating(session, now() - lease))
        except (Unavailable, TimeoutError):
            self._queue = b""
        except Exception:  # not migrated yet, which /ready says
            self._queue = b""
        finally:
            self._queue_until = time.monotonic() + _QUEUE_SECONDS
            self._asking = None


_WHAT_RUNS = {"version": VERSION, "python": platform.python_version()}
_BUILD = written([gauge("crm_build_info", "Always 1: what runs.", (_WHAT_RUNS, 1.0))])
"""One line for all processes, and beside their sums: what is the same everywhere is not added up."""


async def _depth(session: TenantSession) -> list[Depth]:
    return [await jobs.depth(session)]


def _together(depths: Sequence[Depth]) -> Depth:
    """The queues of several servers as one."""
    due, later, held = sum(d.due for d in depths), sum(d.later for d in depths), sum(d.held for d in depths)
    return Depth(due, later, held, min(filter(None, (d.first_due_at for d in depths)), default=None))


def _lines(depth: Depth, beating: int) -> bytes:
    states = (("due", depth.due), ("later", depth.later), ("held", depth.held))
    return written(
        [
            gauge("crm_workers", "Processes that run jobs, wherever they are.", ({}, beating)),
            gauge(
                "crm_jobs_queued",
                "Jobs in the database's queue, of every process.",
                *(({"state": state}, number) for state, number in states),
            ),
            gauge(
                "crm_jobs_oldest_due_seconds",
                "How long the first job that is due has waited.",
                ({}, age(depth.first_due_at)),
            ),
        ]
    )
