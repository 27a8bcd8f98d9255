"""How long 100,000 records take to another owner, and what that costs everybody else: `python -m benchmarks.transfers`.

Two organizations on PostgreSQL; the gateway has its worker in its own process, as it has unless told. While the first
organization's records are handed over, the other one lists deals, one request after the other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import update
from sqlmodel import col

from benchmarks.asking import graphql
from benchmarks.contestants import Contestant, gateway
from benchmarks.cores import layout
from benchmarks.data import Known, Place, Profile, known, place
from storage.database import Database
from storage.queries.ownership import MODELS
from storage.seeding import Plan

FULL = Profile("transfers", Plan(2, 20_000, 60_000, 60_000, 60_000, seed=7), variants=8)
QUICK = Profile("transfers-quick", Plan(2, 200, 600, 600, 600, seed=7), variants=8)
_BEFORE = 300
"""How many requests are measured before."""
_TRANSFER = """mutation Transfer($from: ID!, $to: ID!) { ownershipTransfer(input: {from: $from, to: $to}) {
  counts { accounts contacts deals leads activities } job { id } userErrors { message } } }"""
_JOB = "query Job($id: ID!) { job(id: $id) { status error } }"
_DEALS = "{ deals(first: 50) { nodes { id name account { id name } owner { name } } } }"


async def _gather(url: str, organization: str, owner: str) -> None:
    """Give everything of the organization to one owner."""
    database = Database(url, statement_seconds=None)
    try:
        async with database.writing(organization) as session:
            for model in MODELS.values():  # a statement for each table
                own = col(model.org_id) == organization
                await session.execute(update(model).where(own).values(owner_id=owner))
    finally:
        await database.close()


def _data(
    contestant: Contestant, organization: str, query: str, **variables: object
) -> Any:  # Any: whatever JSON comes
    status, body = contestant.ask(graphql(query, variables, organization))
    answer = json.loads(body)
    if status != 200 or "errors" in answer or b'"message"' in body:
        raise RuntimeError(f"{status}: {body[:1000]!r}")
    return answer["data"]


def _times(ask: Callable[[], object], goes_on: Callable[[int], bool]) -> list[float]:
    """How many milliseconds each request took, as long as it goes on."""
    times: list[float] = []
    while goes_on(len(times)):
        before = time.perf_counter()
        ask()
        times.append((time.perf_counter() - before) * 1_000)
    return times


def _line(label: str, times: Sequence[float]) -> float:
    median, late = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"  {label:48} {median:8.1f} {late:8.1f} {max(times):8.1f}", flush=True)
    return median


def _measure(contestant: Contestant, facts: Sequence[Known], team: Sequence[str]) -> None:
    first, other = (each.organization for each in facts)
    leaver, heir = team[1], team[0]

    def ask() -> None:
        _data(contestant, other, _DEALS)

    _times(ask, lambda number: number < _BEFORE // 10)  # connections and statements
    alone = _line("another organization's list", _times(ask, lambda number: number < _BEFORE))
    idle = contestant.memory()
    begun = time.perf_counter()
    done = _data(contestant, first, _TRANSFER, **{"from": leaver, "to": heir})["ownershipTransfer"]
    looked, ended = begun, 0.0

    def is_running(_number: int) -> bool:
        nonlocal looked, ended
        if (now := time.perf_counter()) - looked < 0.25:
            return True
        looked = now
        job = _data(contestant, first, _JOB, id=done["job"]["id"])["job"]
        if job["status"] not in ("QUEUED", "RUNNING"):
            ended = now
            if job["status"] != "SUCCEEDED":
                raise RuntimeError(f"the transfer: {job}")
        return not ended

    meanwhile = _line("the same while records are handed over", _times(ask, is_running))
    total = sum(done["counts"].values())
    print(f"  {'':48} {meanwhile / alone:7.2f}× alone")
    print(f"  {f'{total:,} records handed over, seconds':48} {ended - begun:8.1f}")
    print(f"  {'more memory than idle, MiB':48} {contestant.memory() - idle:8.1f}", flush=True)


def run(*, is_quick: bool) -> None:
    """Seed where it is needed, and print the figures."""
    profile = QUICK if is_quick else FULL
    with (
        tempfile.TemporaryDirectory(prefix="crm-bench-") as folder,
        place("postgresql", profile, Path(folder), layout().database) as where,
    ):
        _run(profile, where, known(profile), Path(folder))


def _run(profile: Profile, where: Place, facts: Sequence[Known], scratch: Path) -> None:
    team = [person.subject for person in profile.largest.team]
    asyncio.run(_gather(where.gateway_url, facts[0].organization, team[1]))
    with gateway(where, facts, scratch, layout().contestant, has_worker=True) as contestant:
        print(f"An ownership transfer beside others: milliseconds, median, 95th percentile and longest of {_BEFORE}")
        _measure(contestant, facts, team)


def main() -> None:
    """Print the figures of the transfer alone."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transfers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little data: that it runs, not how fast")
    run(is_quick=parser.parse_args().quick)


if __name__ == "__main__":
    main()
