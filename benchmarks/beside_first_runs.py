"""What others feel of a first run: `python -m benchmarks.beside_first_runs`.

One organization connects an account of 50,000 events. Meanwhile another one asks for runs of its own, small account,
and a client of it asks for `meetings(first: 20)` without a pause, from a process of its own, as before.

The client, the service and its worker share what cores there are. `--within` measures jobs in the server's process: the
service then has a core of its own, which it would have to share with the provider of the tests else. That one stands
for a machine elsewhere, and its events are no garbage to look through while somebody waits for an answer.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path

from benchmarks.asking import Request
from benchmarks.contestants import Contestant, gateway
from benchmarks.cores import Cores, Layout, layout, on
from benchmarks.data import Profile, known, place
from benchmarks.first_runs import ask, begun, filled, free, idle_again, settings_of
from storage.seeding import Plan
from tests.support import google

TWO = Profile("beside-first-runs", Plan(2, 200, 600, 60, 600, seed=11), variants=4)
EVENTS, QUICK = 50_000, 1_000
_QUERY = {"query": "{ meetings(first: 20) { nodes { id subject dueAt } } }"}
_BESIDE = 5


def percentile(latencies: list[float], share: float) -> float:
    """The latency below which this share of them lies, in milliseconds."""
    return 1_000 * sorted(latencies)[min(len(latencies) - 1, int(len(latencies) * share))]


def latencies(contestant: Contestant, organization: str, seconds: float) -> list[float]:
    """Ask without a pause for so long: how long each answer took."""
    found, until, request = [], time.perf_counter() + seconds, Request("POST", "/graphql", _QUERY, organization)
    while (began := time.perf_counter()) < until:
        status, answer = contestant.ask(request)
        found.append(time.perf_counter() - began)
        if status != 200 or b'"errors"' in answer:
            raise RuntimeError(f"{status} {answer[:300]!r}")
    return found


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _begins(contestant: Contestant, mine: str, organization: str) -> float:
    """Ask for a run, and wait for its end: the seconds until it began."""
    asked = ask(contestant, "POST", f"{mine}/sync", {}, organization)
    idle_again(contestant, mine, organization)
    runs = ask(contestant, "GET", f"{mine}/runs?limit=5", None, organization)
    [run] = [each for each in runs if each["id"] == asked["id"]]
    return (_moment(run["started_at"]) - _moment(run["queued_at"])).total_seconds()


def _unbound() -> Layout:
    every = Cores(os.sched_getaffinity(0))
    return Layout(every, every, every)


def _one(dialect: str, count: int, seconds: float, *, within: bool) -> None:
    first, second = (each.organization for each in known(TWO))
    cores = layout() if within else _unbound()
    with ExitStack() as stack:
        stack.enter_context(on(cores.load))
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crm-bench-")))
        where = stack.enter_context(place(dialect, TWO, scratch, cores.database))
        fake = stack.enter_context(google.google_server())
        settings = settings_of("GOOGLE", google.CLIENT_ID, google.CLIENT_SECRET, fake.url)
        large, small = (filled(fake, google.meeting, number, "calendar", settings) for number in (count, 20))
        gc.freeze()
        port = free()
        settings["CRM_PUBLIC_URL"] = f"http://127.0.0.1:{port}"
        settings["CRM_WORKER_BESIDE"] = str(not within)
        running = gateway(where, known(TWO), scratch, cores.contestant, has_worker=True, port=port, settings=settings)
        contestant = stack.enter_context(running)
        client = stack.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn")))
        mine = begun(contestant, small, second)()
        idle_again(contestant, mine, second)
        without = client.submit(latencies, contestant, second, seconds).result()
        theirs = begun(contestant, large, first)()
        while not (progress := ask(contestant, "GET", theirs, None, first)["progress"]) or not progress["processed"]:
            time.sleep(0.1)
        meanwhile = client.submit(latencies, contestant, second, seconds)
        waits = [_begins(contestant, mine, second) for _ in range(_BESIDE)]
        beside = meanwhile.result()
        [status] = ask(contestant, "GET", f"{theirs}/runs?limit=1", None, first)
    figures = (*(percentile(each, share) for share in (0.5, 0.99) for each in (without, beside)), max(waits))
    texts = " ".join(f"{value:12,.2f}" for value in figures)
    print(f"{dialect:11} {texts} {status['status']}, {status['processed']:,} read", flush=True)


def main() -> None:
    """Print a line for each database."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside_first_runs", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few events and a second: that it runs, not how fast")
    parser.add_argument("--database", action="append", choices=("postgresql", "sqlite"), help="both unless told")
    parser.add_argument("--within", action="store_true", help="jobs run in the server's process")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each of the two measurements (20)")
    asked = parser.parse_args()
    names = ("p50 without", "p50 with", "p99 without", "p99 with", "begins after")
    print(f"{'ms, and s':11} {' '.join(f'{each:>12}' for each in names)} the first run then", flush=True)
    for dialect in asked.database or ("postgresql", "sqlite"):
        _one(dialect, QUICK if asked.quick else EVENTS, 1.0 if asked.quick else asked.seconds, within=asked.within)


if __name__ == "__main__":
    main()
