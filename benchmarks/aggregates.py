"""How long figures take over 200,000 deals and 200,000 meetings: `./run bench aggregates [--quick]`.

One organization beside another of the same size, through the gateway by one connection, while another caller writes ten
deals a second. Beside each question stand the median, the 95th percentile and the longest in milliseconds, and the
median of a bare statement over the table, sent with asyncpg by an owner of the rows. Then how soon
answers to questions begin, and what others notice of them (benchmarks/questions.py), and what the guard of ad-hoc SQL
takes. Last the rate of writes, beside that of a gateway whose database has no triggers of the roll-ups, in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
from sqlalchemy.engine import make_url

from benchmarks import guarding, questions
from benchmarks.asking import graphql
from benchmarks.contestants import Contestant, gateway
from benchmarks.cores import layout
from benchmarks.data import Copied, Known, Place, Profile, copies, known
from benchmarks.turns import in_turns
from gateway.made import AUDIENCE
from identity.keyfiles import signing_key
from identity.tokens import DEFAULT_ISSUER, EmbeddedIssuer
from storage.cell_triggers import ROLLUPS, removal
from storage.seeding import Plan
from storage.seeding.plan import blueprints

FULL = Profile("aggregates", Plan(2, 10_000, 20_000, 400_000, 400_000, seed=7), variants=8)
QUICK = Profile("aggregates-quick", Plan(2, 20, 40, 400, 400, seed=7), variants=8)
RUNS = 100
_WRITES_A_SECOND = 10

_DEALS = "groups { key { stage { name } status ownerId closeDate { start } } count values { currency sum } } groupCount"
_MEETINGS = "groups { key { ownerId dueAt { start } } count } groupCount"
QUESTIONS: Mapping[str, tuple[str, str]] = {
    "deals by stage": (
        f"{{ dealAggregate(groupBy: [STAGE], first: 500) {{ {_DEALS} }} }}",
        "SELECT stage_id, currency, count(*), sum(value) FROM deals WHERE org_id = $1 GROUP BY 1, 2",
    ),
    "deals by stage and status": (
        f"{{ dealAggregate(groupBy: [STAGE, STATUS], first: 500) {{ {_DEALS} }} }}",
        "SELECT stage_id, status, currency, count(*), sum(value) FROM deals WHERE org_id = $1 GROUP BY 1, 2, 3",
    ),
    "deals by owner and closing month": (
        f"{{ dealAggregate(groupBy: [OWNER, CLOSE_DATE], first: 500) {{ {_DEALS} }} }}",
        "SELECT owner_id, date_trunc('month', close_date), currency, count(*), sum(value) FROM deals WHERE org_id = $1"
        " GROUP BY 1, 2, 3",
    ),
    "meetings by owner and month": (
        f"{{ meetingAggregate(groupBy: [OWNER, DUE_AT], first: 500) {{ {_MEETINGS} }} }}",
        "SELECT owner_id, date_trunc('month', due_at), count(*) FROM activities WHERE org_id = $1 AND type = 'meeting'"
        " GROUP BY 1, 2",
    ),
    "deals by source, of a part of the names": (
        f'{{ dealAggregate(groupBy: [SOURCE], filter: {{name: {{contains: "Renewal"}}}}, first: 500) {{ {_DEALS} }} }}',
        "SELECT source, currency, count(*), sum(value) FROM deals WHERE org_id = $1 AND name LIKE '%Renewal%'"
        " GROUP BY 1, 2",
    ),
}
_CREATE = 'mutation { dealCreate(input: {name: "measured", value: "12.5"}) { deal { id } userErrors { message } } }'


def _ask(contestant: Contestant, query: str) -> None:
    status, body = contestant.ask(graphql(query, {}))
    if status != 200 or "errors" in json.loads(body) or b'"message"' in body:
        raise RuntimeError(f"{status}: {body[:1000]!r}")


def _times(ask: Callable[[], object], number: int) -> list[float]:
    ask()  # which prepares the statement
    times = []
    for _ in range(number):
        before = time.perf_counter()
        ask()
        times.append((time.perf_counter() - before) * 1_000)
    return times


@contextmanager
def _writing(contestant: Contestant) -> Iterator[None]:
    """Has ten deals a second made meanwhile."""
    ended = threading.Event()

    def write() -> None:
        while not ended.wait(1 / _WRITES_A_SECOND):
            _ask(contestant, _CREATE)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()


async def _bare(url: str, organization: str, runs: int) -> dict[str, float]:
    """The median of each statement that a program of its own would send."""
    address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    connection: Any = await asyncpg.connect(address)  # Any: asyncpg's connections are generic
    medians = {}
    try:
        await connection.execute(f"SET crm.org_id = '{organization}'")
        for name, (_, text) in QUESTIONS.items():
            times = []
            for _ in range(runs):
                before = time.perf_counter()
                await connection.fetch(text, organization)
                times.append((time.perf_counter() - before) * 1_000)
            medians[name] = statistics.median(times)
    finally:
        await connection.close()
    return medians


def _measure(contestant: Contestant, bare: Mapping[str, float], runs: int) -> None:
    with _writing(contestant):
        for name, (query, _) in QUESTIONS.items():
            times = _times(lambda query=query: _ask(contestant, query), runs)  # type: ignore[misc]  # bound now
            median, late = statistics.median(times), statistics.quantiles(times, n=20)[-1]
            beside = f"{bare[name]:8.1f}" if name in bare else " " * 8
            print(f"  {name:48} {median:8.1f} {late:8.1f} {max(times):8.1f} {beside}", flush=True)


def _writes_beside_bare(copied: Copied, facts: list[Known], scratch: Path, number: int, rounds: int) -> None:
    """Print how many deals a second one caller makes, and the part of that where no roll-ups are kept (decision 262).

    Both are gateways of their own over copies of the same data, and what is compared is turns beside each other.
    """
    with ExitStack() as stack:
        made = []
        for name in ("kept", "bare"):
            where = stack.enter_context(copied(name))
            if name == "bare":
                asyncio.run(where.execute(text for rollup in ROLLUPS for text in removal(where.dialect, rollup)))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=scratch)))
            made.append(stack.enter_context(gateway(where, facts, folder, layout().contestant)))
        kept, bare = made
        taken = in_turns(rounds, partial(_seconds_of_writes, kept, number), partial(_seconds_of_writes, bare, number))
    rate = number / statistics.median(own for own, _ in taken)
    part = statistics.median(other / own for own, other in taken)
    told = f"{rate:8.0f} {part:8.2f} of the rate without roll-ups (goal 0.95)"
    print(f"  {'deals made a second by one caller':48} {told}", flush=True)


def _seconds_of_writes(contestant: Contestant, number: int) -> float:
    """Returns how long one caller takes to make some deals, one after the other."""
    begun = time.perf_counter()
    for _ in range(number):
        _ask(contestant, _CREATE)
    return time.perf_counter() - begun


def _run(dialect: str, profile: Profile, where: Place, scratch: Path, runs: int) -> None:
    facts = list(known(profile))
    bare = asyncio.run(_bare(where.gateway_url, facts[0].organization, runs)) if dialect == "postgresql" else {}
    with gateway(where, facts, scratch, layout().contestant) as contestant:
        print(f"{dialect}: median, 95th percentile, longest of {runs}; the bare statement's median, in milliseconds")
        idle = contestant.memory()
        _measure(contestant, bare, runs)
        print(f"  {'more memory than idle, MiB':48} {contestant.memory() - idle:8.1f}")
        issuer = EmbeddedIssuer(signing_key(scratch / "gateway"), DEFAULT_ISSUER, AUDIENCE)
        callers = questions.tokens(issuer, list(blueprints(profile.plan)))
        questions.measure(contestant, callers, questions.QUICK if runs < RUNS else questions.FULL)
        guarding.measure(dialect, 1 if runs < RUNS else 20)


def main(arguments: list[str] | None = None) -> None:
    """Seed where it is needed, and print the figures."""
    parser = argparse.ArgumentParser(prog="./run bench aggregates", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little data: that it runs, not how fast")
    parser.add_argument("--database", choices=("postgresql", "sqlite"), help="both unless told")
    asked = parser.parse_args(arguments)
    profile, runs = (QUICK, 5) if asked.quick else (FULL, RUNS)
    for dialect in [asked.database] if asked.database else ["postgresql", "sqlite"]:
        with ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crm-bench-")))
            copied = stack.enter_context(copies(dialect, profile, scratch, layout().database))
            with copied("run") as where:
                _run(dialect, profile, where, scratch, runs)
            _writes_beside_bare(copied, list(known(profile)), scratch, *((10, 1) if asked.quick else (60, 120)))
