"""Measures the cost of the MCP door beside `/graphql`: `./run bench mcp [--quick]`.

How long the first list of tools takes, for which the protocol's library is imported, and the slowest answer that others
had meanwhile. Then `list_records` of 50 deals beside its own document, by 32 connections, in turns.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.asking import Request, graphql
from benchmarks.contestants import Contestant, gateway
from benchmarks.cores import layout
from benchmarks.data import QUICK, Known, Place, Profile, known, place
from benchmarks.measure import Load, load
from contract.tools import TOOLS
from storage.seeding import Plan

FULL = Profile("mcp", Plan(2, 2_000, 4_000, 20_000, 20_000, seed=7), variants=1)
CONNECTIONS = 32
_DEALS = {"kind": "deal", "first": 50}
_TWIN = next(tool for tool in TOOLS if tool.name == "list_records").documents["deal"]
_OTHERS = "{ deals(first: 20) { nodes { id name value } } }"
_BEFORE = 0.5
"""Seconds for which the other caller asks before the first call."""


def _call() -> Request:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    return Request("POST", "/mcp", message | {"params": {"name": "list_records", "arguments": _DEALS}})


def _first_call(contestant: Contestant) -> tuple[float, float]:
    """Milliseconds of the first list of tools, and of the slowest answer of another caller meanwhile."""
    others: list[float] = []
    ended = threading.Event()

    def ask_again() -> None:
        while not ended.is_set():
            before = time.perf_counter()
            contestant.ask(graphql(_OTHERS, {}))
            others.append((time.perf_counter() - before) * 1_000)

    asking = threading.Thread(target=ask_again)
    asking.start()
    time.sleep(_BEFORE)
    others.clear()
    before = time.perf_counter()
    status, body = contestant.ask(Request("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
    first = (time.perf_counter() - before) * 1_000
    ended.set()
    asking.join()
    if status != 200 or b'"tools":' not in body:
        raise RuntimeError(f"{status}: {body[:500]!r}")
    return first, max(others)


def _medians(contestant: Contestant, generator: Load, rounds: int, seconds: float) -> dict[str, list[float]]:
    """The median of a call and of its document, round by round, in milliseconds."""
    found: dict[str, list[float]] = {"the tool": [], "its document": []}
    requests = dict(zip(found, (_call(), graphql(_TWIN, {"first": 50})), strict=True))
    how = {"connections": CONNECTIONS, "seconds": seconds, "warm_up": seconds / 2}
    for _ in range(rounds):
        for name, request in requests.items():
            lengths = [len(contestant.ask(request)[1])]
            figures = generator.measure(contestant, [contestant.encoded(request)], lengths, 200, **how)
            found[name].append(figures["p50_ms"])
    return found


def _run(where: Place, facts: list[Known], scratch: Path, *, is_quick: bool) -> None:
    cores = layout()
    with gateway(where, facts, scratch, cores.contestant) as contestant, load(cores) as generator:
        idle = contestant.memory()
        first, slowest = _first_call(contestant)
        print(f"{where.dialect}: the first list {first:.0f} ms, the slowest answer of others then {slowest:.0f} ms")
        print(f"  more memory after it {contestant.memory() - idle:.0f} MiB", flush=True)
        found = _medians(contestant, generator, 1 if is_quick else 5, 0.2 if is_quick else 2.0)
        told = ", ".join(f"{name} {statistics.median(times):.1f} ms" for name, times in found.items())
        ratio = statistics.median(a / b for a, b in zip(*found.values(), strict=True))
        print(f"  50 deals by {CONNECTIONS} connections, p50: {told}; {ratio:.2f} times", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Seed where it is needed, and print the figures."""
    parser = argparse.ArgumentParser(prog="./run bench mcp", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little data: that it runs, not how fast")
    parser.add_argument("--database", choices=("postgresql", "sqlite"), help="both unless told")
    asked = parser.parse_args(arguments)
    profile = QUICK if asked.quick else FULL
    for dialect in [asked.database] if asked.database else ["postgresql", "sqlite"]:
        with (
            tempfile.TemporaryDirectory(prefix="crm-bench-") as folder,
            place(dialect, profile, Path(folder), layout().database) as where,
        ):
            _run(where, list(known(profile)), Path(folder), is_quick=asked.quick)
