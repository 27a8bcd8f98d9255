"""Two organizations and a worker over each database; the kinds of work are the tests' own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from contract.vocabulary import JobStatus
from gateway.server.shutdown import LAST_WORK_SECONDS
from jobs.queue import status
from jobs.work import KINDS
from jobs.worker import Worker
from providers.artifacts import Files
from providers.outbound import Outbound
from providers.ports import Ports
from storage.database import Database
from tests.support.world import Recorder, World, open_world


@pytest.fixture(autouse=True)
def _kinds() -> Iterator[None]:
    """What a test registers is gone after it."""
    known = dict(KINDS)
    yield
    KINDS.clear()
    KINDS.update(known)


@pytest.fixture
async def world(open_database: Callable[[], Database]) -> AsyncIterator[World]:
    async with open_world(open_database()) as world:
        yield world


@pytest.fixture
async def ports(tmp_path: Path) -> AsyncIterator[Ports]:
    outbound = Outbound(allow_loopback=True)
    async with httpx.AsyncClient() as http:
        ports = Ports(http, Recorder(), outbound, Files(tmp_path / "artifacts"))
        yield ports
    await ports.children.close()
    await outbound.close()


async def until(world: World, job_id: str, *states: JobStatus) -> Any:
    """The row of a job of the first organization once it is in one of these states, which is soon."""
    async with asyncio.timeout(60):
        while True:
            async with world.database.reading(world.one.id) as session:
                row = await status(session, job_id)
            if row.status in states:
                return row
            await asyncio.sleep(0.02)


class Workers:
    """Workers of processes of their own, as far as the database can tell, and what they counted."""

    def __init__(self, open_database: Callable[[], Database], ports: Ports) -> None:
        self._open = open_database
        self._ports = ports
        self.started: list[Worker] = []
        self.counted: list[tuple[str, str]] = []

    def start(self, *, lease: float = 30) -> Worker:
        worker = Worker(self._open(), self._ports, self._count, lease=timedelta(seconds=lease))
        worker.start()
        self.started.append(worker)
        return worker

    def _count(self, kind: str, outcome: str, _seconds: float) -> None:
        self.counted.append((kind, outcome))

    async def stop(self, worker: Worker, seconds: float = LAST_WORK_SECONDS) -> None:
        self.started.remove(worker)
        await worker.stop(seconds)


@pytest.fixture
async def workers(open_database: Callable[[], Database], ports: Ports) -> AsyncIterator[Workers]:
    workers = Workers(open_database, ports)
    yield workers
    for worker in list(workers.started):
        await workers.stop(worker)
