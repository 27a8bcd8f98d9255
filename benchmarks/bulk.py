"""How fast much comes in and goes out, and what that costs everybody else: `./run bench bulk`.

Files, upserts, merges, imports, duplicates, exports, reports and what match keys cost against their bounds, on both
databases with the local store. The gateway has its worker in its own process, as it has unless told.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.bulk_driver import Beside, Caller, Figures
from benchmarks.bulk_parts import PARTS, Bench
from benchmarks.contestants import gateway, serving
from benchmarks.cores import layout
from benchmarks.data import Known, Profile, copies, known
from benchmarks.measure import load
from storage.seeding import Plan

_OTHER = Plan(1, 200, 600, 600, 600, seed=8)
FEW = Profile("bulk", Plan(1, 500, 1_500, 1_500, 1_500, seed=7), variants=8, beside=_OTHER)
QUICK = Profile("bulk-quick", Plan(1, 50, 100, 200, 100, seed=7), variants=4, beside=_OTHER)


def _many(deals: int) -> Profile:
    return Profile(f"bulk-{deals}", Plan(1, 2_000, 3_000, deals, 1_000, seed=7), variants=8, beside=_OTHER)


def _profile(part: str, deals: int, *, is_quick: bool) -> Profile:
    if is_quick:
        return QUICK
    return {"exports": _many(deals), "reports": _many(2 * deals)}.get(part, FEW)


def _run(part: str, dialect: str, deals: int, *, is_quick: bool, figures: Figures) -> None:
    profile = _profile(part, deals, is_quick=is_quick)
    facts: Sequence[Known] = known(profile)
    where = layout()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crm-bench-")))
        copied = stack.enter_context(copies(dialect, profile, scratch, where.database))
        ground = stack.enter_context(copied("run"))
        one = stack.enter_context(gateway(ground, facts, scratch, where.contestant, has_worker=True))
        bare = stack.enter_context(serving("files", scratch, where.contestant, BENCH_FOLDER=str(scratch)))
        generator = stack.enter_context(load(where))
        print(f"{dialect}: {part}", flush=True)
        beside = Beside(one, generator, facts[-1].organization, figures, 0.5 if is_quick else 3.0)
        organization = facts[0].organization

        @contextmanager
        def another(name: str, changes: Iterable[str]) -> Iterator[Caller]:
            with copied(name) as copy, tempfile.TemporaryDirectory(dir=scratch) as folder:
                asyncio.run(copy.execute(changes))
                with gateway(copy, facts, Path(folder), where.contestant, has_worker=True) as contestant:
                    yield Caller(contestant, organization)

        PARTS[part](
            Bench(Caller(one, organization), beside, bare, ground, another, figures, scratch, is_quick=is_quick)
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where a bound is missed, unless it is a quick run."""
    parser = argparse.ArgumentParser(prog="./run bench bulk", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little data: that it runs, not how fast")
    parser.add_argument("--only", action="append", choices=tuple(PARTS), help="may be repeated")
    parser.add_argument(
        "--database", action="append", choices=("postgresql", "sqlite"), help="both unless told; may be repeated"
    )
    parser.add_argument(
        "--deals", type=int, default=500_000, help="how many are exported (500,000); a report is over twice as many"
    )
    given = parser.parse_args(arguments)
    figures = Figures()
    for dialect in given.database or ("postgresql", "sqlite"):
        for part in given.only or PARTS:
            _run(part, dialect, given.deals, is_quick=given.quick, figures=figures)
    missed = [label for label, _, _, is_met in figures.lines if is_met is False]
    print(f"{len(missed)} of {len(figures.lines)} figures miss their bound" if missed else "All bounds are met")
    return 1 if missed and not given.quick else 0


if __name__ == "__main__":
    sys.exit(main())
