"""`./run bench`: measures the gateway beside what could have been built instead, and says who is how fast."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import aggregates, bulk, chat, data, mcp, node, profiling, replicas, report, scale
from benchmarks.asking import FASTAPI, FLOOR, GATEWAY, IDIOMATIC, MERCURIUS, Work
from benchmarks.contestants import running
from benchmarks.cores import Layout, busy_before, layout
from benchmarks.measure import Different, Effort, Refused, load, measure
from benchmarks.works import WORKS

QUICK = Effort(seconds=0.1, rounds=1, warm_up=0.05, connections=(32,), settling=0)


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
    parser.add_argument("--rounds", type=int, default=3, help="the median of which counts (3)")
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


_ALONE: Mapping[str, Callable[[list[str]], int | None]] = {
    "aggregates": aggregates.main,
    "bulk": bulk.main,
    "chat": chat.main,
    "mcp": mcp.main,
    "replicas": replicas.main,
}
"""The parts of the benchmark that have arguments of their own."""


def main() -> int:
    """Run what the arguments say; those behind `aggregates`, `bulk`, `chat`, `mcp` or `replicas` are theirs."""
    alone = _ALONE.get("".join(sys.argv[1:2]))
    if alone is not None:
        return alone(sys.argv[2:]) or 0
    arguments = _arguments()
    console = Console(width=None if sys.stdout.isatty() else 200)
    where = layout()
    dialects = tuple(dict.fromkeys(arguments.database or ("postgresql", "sqlite")))
    if arguments.scale:
        scale.run(arguments.docs, where, console, quick=arguments.quick)
    elif arguments.profile:
        work = next(work for work in WORKS if work.name == arguments.profile)
        profiling.run(work, data.QUICK if arguments.quick else data.FULL, dialects[0], where, console)
    else:
        return _compared(arguments, dialects, where, console)
    return 0


def _compared(arguments: argparse.Namespace, dialects: Sequence[str], where: Layout, console: Console) -> int:
    """Measure all contestants and say who is how fast; 1 where not everything could be measured."""
    effort = Effort(seconds=arguments.seconds, rounds=arguments.rounds, warm_up=0.4, connections=(1, 32))
    if arguments.quick:
        effort = QUICK
    if arguments.connections:
        effort = replace(effort, connections=tuple(arguments.connections))
    works = [work for work in WORKS if not arguments.only or work.name in arguments.only]
    left_out = node.missing() if "postgresql" in dialects else ""
    conditions = {
        "cores": str(where),
        "python": report.python(),
        "quick": arguments.quick,
        "seconds": effort.seconds,
        "rounds": effort.rounds,
        "others_busy": round(busy_before(), 2),
        "left_out": {MERCURIUS: left_out} if left_out else {},
    }
    report.head(conditions, console)
    profile = data.QUICK if arguments.quick else data.FULL
    figures = {}
    for dialect in dialects:
        with_node = dialect == "postgresql" and not left_out
        try:
            figures[dialect] = _measured(dialect, profile, works, where, effort, with_node=with_node)
        except Different as difference:
            print(f"The answers differ, so nothing is compared: {difference}", file=sys.stderr)
            return 1
    report.table(figures, console)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(report.document(figures, conditions), indent=2) + "\n", encoding="utf-8")
    return 0 if all(len(measured) == len(works) for measured in figures.values()) else 1


def _measured(
    dialect: str, profile: data.Profile, works: Sequence[Work], where: Layout, effort: Effort, *, with_node: bool
) -> dict[str, dict[int, dict[str, dict[str, Any]]]]:
    """The works on one database, but for those in which somebody did not answer as expected."""
    known = data.known(profile)
    names = (GATEWAY, IDIOMATIC, FASTAPI, FLOOR, *([MERCURIUS] if with_node else []))
    asked = {work.name: work.requests(known, profile.variants) for work in works}
    requests = {work: {name: each[name] for name in names if name in each} for work, each in asked.items()}
    wanted = [name for name in names if any(name in each for each in requests.values())]
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crm-bench-")))
        place = stack.enter_context(data.place(dialect, profile, scratch, where.database))
        contestants = stack.enter_context(running(wanted, place, known, scratch, where.contestant))
        generator = stack.enter_context(load(where))
        figures = {}
        for work in works:
            print(f"{dialect}: {work.name} ...", file=sys.stderr, flush=True)
            try:
                figures[work.name] = measure(
                    work, requests[work.name], contestants, generator, where, effort, place.server
                )
            except Refused as error:  # the other works' figures are worth an hour
                print(f"{dialect}: {work.name} is not measured: {error}", file=sys.stderr, flush=True)
    return figures


if __name__ == "__main__":
    sys.exit(main())
