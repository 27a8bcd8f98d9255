"""`./run bench`: measures the gateway beside the baselines, and says who is how fast."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import data, profiling, report, scale
from benchmarks.contestants import running
from benchmarks.cores import Layout, busy_before, layout
from benchmarks.measure import Different, Effort, load, measure
from benchmarks.works import FASTAPI, FLOOR, GATEWAY, IDIOMATIC, WORKS, Work

NOISE = 0.1
"""The share of the machine that others may take before it is worth a word."""
QUICK = Effort(seconds=0.25, rounds=1, warm_up=0.1, connections=(32,))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    names = [work.name for work in WORKS]
    parser.add_argument(
        "--quick", action="store_true", help="little data and one short round: that it runs, not how fast"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument(
        "--only", action="append", choices=names, metavar="WORK", help=f"one of {', '.join(names)}; may be repeated"
    )
    parser.add_argument(
        "--database", action="append", choices=("postgresql", "sqlite"), help="both unless told; may be repeated"
    )
    parser.add_argument("--seconds", type=float, default=1.5, help="of each measurement (1.5)")
    parser.add_argument("--rounds", type=int, default=5, help="the median of which counts (5)")
    parser.add_argument("--connections", type=int, action="append", help="1 and 32 unless told; may be repeated")
    parser.add_argument(
        "--profile", choices=names, metavar="WORK", help="where the gateway's time goes in this work, and nothing else"
    )
    parser.add_argument(
        "--scale",
        action="store_true",
        help="cost against rows, depth, table size and workers; writes docs/performance.md",
    )
    parser.add_argument(
        "--docs", type=Path, default=data.ROOT / "docs", metavar="FOLDER", help="where --scale writes (docs)"
    )
    return parser.parse_args()


def main() -> int:
    """Run what the arguments say."""
    arguments = _arguments()
    console = Console(width=None if sys.stdout.isatty() else 140)
    where = layout()
    profile = data.QUICK if arguments.quick else data.FULL
    if arguments.scale:
        scale.run(arguments.docs, where, console, quick=arguments.quick)
        return 0
    dialects = tuple(dict.fromkeys(arguments.database or ("postgresql", "sqlite")))
    if arguments.profile:
        work = next(work for work in WORKS if work.name == arguments.profile)
        profiling.run(work, profile, dialects[0], where, console)
        return 0
    effort = Effort(seconds=arguments.seconds, rounds=arguments.rounds, warm_up=0.4, connections=(1, 32))
    if arguments.quick:
        effort = QUICK
    if arguments.connections:
        effort = replace(effort, connections=tuple(arguments.connections))
    works = [work for work in WORKS if not arguments.only or work.name in arguments.only]
    console.print(str(where))
    others = busy_before()
    if others > NOISE:
        console.print(f"The cores are {others:.0%} busy with something else: expect noise.")
    try:
        figures = {dialect: _measured(dialect, profile, works, where, effort) for dialect in dialects}
    except Different as difference:
        print(f"The answers differ, so nothing is compared: {difference}", file=sys.stderr)
        return 1
    report.table(figures, console)
    if arguments.json is not None:
        conditions = {
            "cores": str(where),
            "quick": arguments.quick,
            "seconds": effort.seconds,
            "rounds": effort.rounds,
            "others_busy": round(others, 2),
        }
        arguments.json.write_text(json.dumps(report.document(figures, conditions), indent=2) + "\n", encoding="utf-8")
    return 0


def _measured(
    dialect: str, profile: data.Profile, works: Sequence[Work], where: Layout, effort: Effort
) -> dict[str, dict[int, dict[str, dict[str, Any]]]]:
    """The works on one database."""
    known = data.known(profile)
    requests = {work.name: work.requests(known, profile.variants) for work in works}
    wanted = [n for n in (GATEWAY, IDIOMATIC, FASTAPI, FLOOR) if any(n in r for r in requests.values())]
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crm-bench-")))
        place = stack.enter_context(data.place(dialect, profile, scratch, where.database))
        contestants = stack.enter_context(running(wanted, place, known, scratch, where.contestant))
        generator = stack.enter_context(load(where))
        figures = {}
        for work in works:
            print(f"{dialect}: {work.name} ...", file=sys.stderr, flush=True)
            figures[work.name] = measure(work, requests[work.name], contestants, generator, where, effort)
    return figures


if __name__ == "__main__":
    sys.exit(main())
