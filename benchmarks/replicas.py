"""What replicas take off the primary, and how reads grow with them: `./run bench replicas [--quick]`.

First the primary's processor time per read, without a replica and with one, in turns: pages of 20 and of 200 rows over
both doors, by one connection and by 16. What is left is the look at the credential, which says how fresh the page has
to be. Then what a read loses by a replica that begins to hang. Last the reads per second from one replica and from
two, each of which has a fifth of a core, so that the servers are what is short and not the machine. PostgreSQL only,
of the test dependencies.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import make_url

from benchmarks import shares
from benchmarks.asking import Request, graphql
from benchmarks.contestants import Contestant, gateway
from benchmarks.cores import Layout, family, layout, processor_seconds
from benchmarks.data import Known, Place, Profile, known, place
from benchmarks.measure import Load, load
from benchmarks.postgresql import Server
from storage.seeding import Plan

FULL = Profile("replicas", Plan(2, 2_000, 4_000, 12_000, 2_000, seed=11), variants=8)
QUICK = Profile("replicas-quick", Plan(2, 50, 100, 500, 100, seed=11), variants=8)
SHARE = 0.2
"""The part of a core that each replica has, where it is counted what two do beside one."""
_CONNECTIONS = (1, 16)
_BACK_SECONDS = 2.5
"""Longer than a gateway waits before it looks again whether a replica is there."""
_POOL = 2
"""Connections to a server of so small a part: more would only queue within it, out of sight of the gateway."""

_ROW = "id name value currency status closeDate account { id name } stage { id name } owner { id name }"
_SOUGHT = "query($name: String!) { deals(first: 5, filter: {name: {contains: $name}}) { nodes { id } } }"
"""A page for which the server looks through all deals, so that its work is more than the gateway's."""
_READS = re.compile(r'^crm_reads_total\{place="(\w+)"\} (\S+)$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Turns:
    """How often each is measured, and for how many seconds."""

    rounds: int
    seconds: float


def _pages(count: int, variants: int) -> dict[str, list[Request]]:
    """Pages of so many rows, by door."""
    text = f"query($offset: Int!) {{ deals(first: {count}, offset: $offset) {{ nodes {{ {_ROW} }} }} }}"
    return {
        "REST": [Request("GET", f"/deals?limit={count}&offset={offset}") for offset in range(variants)],
        "GraphQL": [graphql(text, {"offset": offset}) for offset in range(variants)],
    }


@contextmanager
def _following(primary: Place, scratch: Path, where: Layout, count: int) -> Iterator[list[tuple[Server, str]]]:
    """Servers that follow the primary, with their addresses."""
    url = make_url(primary.gateway_url)
    with ExitStack() as stack:
        servers = []
        for number in range(count):  # each is a copy of its own
            folder = scratch / f"replica{number}"
            server = stack.enter_context(Server(folder, where.database, followed=str(url.query["host"])))
            servers.append((server, server.url(str(url.database))))
        yield servers


@contextmanager
def _gateways(
    primary: Place, facts: Sequence[Known], scratch: Path, replicas: Mapping[str, Sequence[str]], **settings: str
) -> Iterator[dict[str, Contestant]]:
    """Gateways by name that may read from these replicas, once they have found them."""
    with ExitStack() as stack:
        made = {}
        for name, addresses in replicas.items():  # a process each
            folder = scratch / name
            folder.mkdir()
            own = {"CRM_DATABASE_REPLICAS": ",".join(addresses), **settings}
            made[name] = stack.enter_context(gateway(primary, facts, folder, layout().contestant, settings=own))
            if addresses:
                _find(made[name])
        yield made


def _find(asked: Contestant) -> None:
    """Ask until a replica answers: who begins waits for none."""
    end = time.monotonic() + 30
    while not _reads(asked)["replica"]:
        if time.monotonic() > end:
            raise RuntimeError("no replica was found")
        asked.ask(Request("GET", "/deals?limit=1"))
        time.sleep(0.1)


def _ask(
    generator: Load, asked: Contestant, requests: Sequence[Request], connections: int, seconds: float
) -> dict[str, float]:
    """One measurement; each answer has to be 200 and as long as it was before."""
    lengths = [len(body) for status, body in map(asked.ask, requests) if status == 200]
    wire = [asked.encoded(request) for request in requests]
    return generator.measure(asked, wire, lengths, 200, connections=connections, seconds=seconds, warm_up=0.2)


def _reads(asked: Contestant) -> dict[str, float]:
    """How many reads this gateway had answered, by who did."""
    _, body = asked.ask(Request("GET", "/metrics"))
    return {"replica": 0.0, "primary": 0.0} | {place: float(count) for place, count in _READS.findall(body.decode())}


def _from_replicas(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """The part of the reads since then that replicas answered."""
    came = {place: after[place] - before[place] for place in after}
    return came["replica"] / max(sum(came.values()), 1)


def _processor(generator: Load, both: Mapping[str, Contestant], primary: int, variants: int, turns: Turns) -> None:
    """Print the primary's processor time per read without a replica and with one."""
    print(
        f"{'the primary, ms of its processor per read':48} {'alone':>8} {'with one':>8} {'less by':>8} {'its part':>8}"
    )
    for rows in (20, 200):
        for door, requests in _pages(rows, variants).items():
            for connections in _CONNECTIONS:
                spent: dict[str, list[float]] = {name: [] for name in both}
                parts = []
                for _ in range(turns.rounds):  # in turns, so that a slow minute hits both
                    for name, asked in both.items():
                        reads, before = _reads(asked), processor_seconds(primary)
                        figures = _ask(generator, asked, requests, connections, turns.seconds)
                        taken = processor_seconds(primary) - before
                        spent[name].append(taken * 1000 / (figures["responses"] + len(requests)))
                        if name == "one":
                            parts.append(_from_replicas(reads, _reads(asked)))
                alone, beside = (statistics.median(spent[name]) for name in ("none", "one"))
                ratio = statistics.median(b / max(a, 1e-9) for a, b in zip(spent["none"], spent["one"], strict=True))
                what = f"{rows} rows over {door}, {connections} at a time"
                print(
                    f"  {what:46} {alone:8.3f} {beside:8.3f} {1 - ratio:8.0%} {statistics.mean(parts):8.0%}", flush=True
                )


def _growth(generator: Load, both: Mapping[str, Contestant], turns: Turns) -> None:
    """Print how many reads a second one replica answers, and two."""
    requests = [graphql(_SOUGHT, {"name": f"nowhere {number}"}) for number in range(8)]
    rates: dict[str, list[float]] = {name: [] for name in both}
    for _ in range(turns.rounds):  # in turns
        for name, asked in both.items():
            reads = _reads(asked)
            figures = _ask(generator, asked, requests, 16, turns.seconds)
            rates[name].append(figures["requests_per_second"] * _from_replicas(reads, _reads(asked)))
    one, two = (statistics.median(rates[name]) for name in both)
    ratio = statistics.median(b / a for a, b in zip(*rates.values(), strict=True))
    print(
        f"reads a second from replicas with {SHARE:.0%} of a core each: one {one:.0f}, two {two:.0f}, {ratio:.2f} times"
    )


def _longest(asked: Contestant, seconds: float) -> tuple[float, float]:
    """The median and the longest time of reads one after the other, in milliseconds. Raises RuntimeError for one that
    failed.
    """
    times = []
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        status, body = asked.ask(Request("GET", "/deals?limit=20"))
        times.append((time.perf_counter() - began) * 1000)
        if status != 200:
            raise RuntimeError(f"{status}: {body[:500]!r}")
    return statistics.median(times), max(times)


def _falls_back(asked: Contestant, server: Server, turns: Turns) -> None:
    """Print what a read loses at most by a replica that hangs."""
    lost = []
    for _ in range(turns.rounds):  # it is there again in between
        reads = _reads(asked)
        usual, _ = _longest(asked, turns.seconds)
        if _from_replicas(reads, _reads(asked)) < 1:
            raise RuntimeError("the replica answers too little to be missed")
        stopped = family(server.pid)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            _, late = _longest(asked, turns.seconds)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        lost.append(late - usual)
        time.sleep(_BACK_SECONDS)
    print(f"the longest read beside a replica that begins to hang: {max(lost):.0f} ms more than usual, none failed")


def main(arguments: list[str] | None = None) -> None:
    """Run it."""
    parser = argparse.ArgumentParser(prog="./run bench replicas", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little data and one short round: that it runs")
    parser.add_argument("--rounds", type=int, default=5, help="the median of which counts (5)")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each measurement (1.5)")
    asked = parser.parse_args(arguments)
    profile = QUICK if asked.quick else FULL
    turns = Turns(1, 0.2) if asked.quick else Turns(asked.rounds, asked.seconds)
    where, facts = layout(), known(profile)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crm-bench-")))
        scratch.chmod(0o711)  # the servers are another user's where we are root
        primary = stack.enter_context(place("postgresql", profile, scratch, where.database))
        servers = stack.enter_context(_following(primary, scratch, where, 2))
        generator = stack.enter_context(load(where))
        first, second = (address for _, address in servers)
        assert primary.server is not None  # noqa: S101  # it is PostgreSQL
        print(where)
        with _gateways(primary, facts, scratch, {"none": [], "one": [first]}) as both:
            _processor(generator, both, primary.server, profile.variants, turns)
            _falls_back(both["one"], servers[0][0], turns)
        if not shares.possible():
            print(
                "no shares of a core can be given here, so that two replicas beside one are not measured",
                file=sys.stderr,
            )
            return
        for number, (server, _) in enumerate(servers):
            stack.enter_context(shares.share(str(number), server.pid, SHARE))
        few = {"CRM_DATABASE_POOL_SIZE": str(_POOL)}
        with _gateways(primary, facts, scratch, {"one of two": [first], "two": [first, second]}, **few) as both:
            _growth(generator, both, turns)
