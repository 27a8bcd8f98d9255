"""`kill -9` of workers amid schedules: each moment is one run and one message, whoever died over it."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from contextlib import ExitStack
from datetime import datetime, timedelta
from email import message_from_bytes
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlmodel import col

from contract.vocabulary import ReportKind
from jobs.report_schedules import moved
from resolvers.report_inputs import ReportCreate
from resolvers.reports import create_report
from storage.base import now
from storage.tables import Mail, Report, ReportRun, ReportWatch
from tests.faults.load import pick, until
from tests.jobs.test_processes import process
from tests.support.world import World

pytestmark = pytest.mark.long

KILLS = pick(2, 8)
REPORTS = 45
"""More than two transactions' worth."""
DAILY = {"frequency": "daily", "to": ["ada@example.com"], "formats": ["csv"]}


async def _saved(world: World) -> None:
    context = await world.context("admin@one", world.one)
    for number in range(REPORTS):
        wanted = {"name": f"R{number}", "kind": ReportKind.PIPELINE_BY_STAGE, "schedule": DAILY}
        await create_report(context, ReportCreate.model_validate(wanted))


async def _all_due(world: World, moment: datetime) -> None:
    async with world.database.writing(world.one.id) as session:
        for report in await session.find_all(select(Report).where(col(Report.org_id) == world.one.id)):
            await session.update(report, next_at=moment, schedule=moved(report.schedule or {}, moment))
        watched = await session.find(ReportWatch, org_id=world.one.id, lock=True)
        assert watched is not None
        await session.update(watched, next_at=moment)


async def _mails(world: World) -> list[str]:
    """Where each message stands."""
    async with world.database.reading(world.one.id) as session:
        rows = await session.rows(select(col(Mail.status)).where(col(Mail.org_id) == world.one.id))
    return sorted(row.status for row in rows)


async def test_a_moment_is_run_once_however_many_workers_die(world: World, database_url: str, tmp_path: Path) -> None:
    chance = random.Random(7)
    settings = {"CRM_DATABASE_URL": database_url, "CRM_MAIL_PER_DAY": "1000"}
    await _saved(world)
    for moments in range(1, 3):  # the second time for days that were missed
        done = ["sent"] * REPORTS * moments
        await _all_due(world, now() - timedelta(days=3 * (moments - 1), seconds=1))
        for _ in range(KILLS):
            before = await _mails(world)
            with ExitStack() as both:
                workers = [both.enter_context(process(tmp_path, "worker", **settings)) for _ in range(2)]

                async def goes_on(before: list[str] = before, done: list[str] = done) -> bool:
                    return await _mails(world) not in (before, done)

                if before != done:
                    await until(goes_on)
                await asyncio.sleep(chance.uniform(0, 0.3))
                for worker in workers:
                    os.kill(worker.pid, signal.SIGKILL)
                    assert worker.wait() == -signal.SIGKILL
        with process(tmp_path, "worker", **settings) as worker:

            async def is_done(done: list[str] = done) -> bool:
                return await _mails(world) == done

            await until(is_done)
            await asyncio.sleep(1.5)  # another of its turns
            worker.terminate()
            assert worker.wait(60) == 0
        assert await is_done()
        await _check_runs(world, moments)
        _check_messages(tmp_path, len(done))


async def _check_runs(world: World, moments: int) -> None:
    async with world.database.reading(world.one.id) as session:
        shown = col(ReportRun.report_id), col(ReportRun.status), col(ReportRun.mail_id)
        runs = await session.rows(select(*shown).where(col(ReportRun.org_id) == world.one.id))
        ahead = await session.rows(select(col(Report.next_at)).where(col(Report.org_id) == world.one.id))
    assert {run.status for run in runs} == {"succeeded"}
    assert len({run.mail_id for run in runs}) == len(runs)
    assert set(Counter(run.report_id for run in runs).values()) == {moments}
    assert len(runs) == REPORTS * moments
    assert all(now() < row.next_at < now() + timedelta(days=1) for row in ahead)


def _check_messages(folder: Path, sent: int) -> None:
    messages = [message_from_bytes(file.read_bytes()) for file in folder.rglob("outbox/*.eml")]
    assert len(messages) == len({message["Message-ID"] for message in messages}) == sent
    assert all(any((part.get_filename() or "").endswith(".csv") for part in each.walk()) for each in messages)
