"""`python -m benchmarks.beside WORK...`: works of the gateway in turn, each beside the first, or beside another tree's.

For what is too small to be seen in requests per second on a machine with other things to do, such as a page of deals
without its owners and with them. Each round asks for every work for a short while, over one database, so that what
makes the machine slow meets all alike. Told are the processor time of the server and of PostgreSQL for a request, of
all rounds together, and the median over the rounds of the requests per second, with the medians of the ratios within
a round. With `--tree` each round asks the gateway of another tree, too, which has the same tables and runs on this
one's Python; ratios are those of a work to the same work there:

    git worktree add /somewhere/else main
    python -m benchmarks.beside meetings_20 dashboard --tree /somewhere/else
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import data
from benchmarks.asking import GATEWAY, Work
from benchmarks.contestants import Contestant, gateway
from benchmarks.cores import fine_seconds, layout
from benchmarks.measure import Load, load
from benchmarks.works import WORKS

_HERE, _THERE = "this", "other"
_SETTLING = 2
"""Rounds that do not count."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside", description=__doc__)
    parser.add_argument("works", nargs="+", choices=[work.name for work in WORKS], metavar="WORK")
    parser.add_argument("--tree", type=Path, metavar="FOLDER", help="of the other tree")
    parser.add_argument(
        "--database", choices=("postgresql", "sqlite"), default="postgresql", help="postgresql unless told"
    )
    parser.add_argument("--rounds", type=int, default=40, help="the median of which counts (40)")
    parser.add_argument("--seconds", type=float, default=0.4, help="of each measurement (0.4)")
    parser.add_argument("--connections", type=int, default=32, help="32 unless told")
    parser.add_argument("--quick", action="store_true", help="little data")
    return parser.parse_args()


@dataclass(slots=True)
class _Asked:
    """One work of one tree: its requests, the lengths of their answers, and what the rounds took."""

    work: Work
    contestant: Contestant
    wire: Sequence[bytes]
    lengths: Sequence[int]
    spent: list[float] = field(default_factory=lambda: [0.0, 0.0])
    responses: float = 0.0
    rates: list[float] = field(default_factory=list)
    both: list[float] = field(default_factory=list)
    """The milliseconds of both processors for a request, of each round."""

    def measure(self, generator: Load, server: int | None, counts: bool, **how: float) -> None:
        """One turn."""
        before = self._spent(server)
        figures = generator.measure(self.contestant, self.wire, self.lengths, self.work.status, **how)
        after = self._spent(server)
        if counts:
            self.spent = [spent + b - a for spent, a, b in zip(self.spent, before, after, strict=True)]
            self.responses += figures["responses"]
            self.rates.append(figures["requests_per_second"])
            self.both.append(1000 * (sum(after) - sum(before)) / figures["responses"])

    @property
    def quick(self) -> float:
        """The milliseconds that both took in the quickest tenth of the rounds."""
        return sorted(self.both)[len(self.both) // 10]

    def _spent(self, server: int | None) -> tuple[float, float]:
        """The processor time so far of the gateway and of PostgreSQL; SQLite's is the gateway's."""
        return fine_seconds(self.contestant.pid), 0.0 if server is None else fine_seconds(server)

    def milliseconds(self) -> tuple[float, float, float]:
        """The processor time of the server, of PostgreSQL and of both for a request."""
        server, database = (1000 * spent / self.responses for spent in self.spent)
        return server, database, server + database


def main() -> None:
    """Print what each work takes, and the ratios."""
    arguments = _arguments()
    profile, where = data.QUICK if arguments.quick else data.FULL, layout()
    known = data.known(profile)
    trees = {_HERE: data.ROOT} | ({} if arguments.tree is None else {_THERE: arguments.tree.resolve()})
    how = {"connections": arguments.connections, "seconds": arguments.seconds, "warm_up": 0.1}
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crm-bench-")))
        place = stack.enter_context(data.place(arguments.database, profile, scratch, where.database))
        generator = stack.enter_context(load(where))
        asked = {}
        for tree, root in trees.items():
            (scratch / tree).mkdir()
            one = stack.enter_context(
                gateway(place, known, scratch / tree, where.contestant, settings={"PYTHONPATH": str(root)})
            )
            for name in arguments.works:
                asked[name, tree] = _asked(next(work for work in WORKS if work.name == name), one, known, profile)
        for number in range(-_SETTLING, arguments.rounds):
            for each in asked.values():
                each.measure(generator, place.server, number >= 0, **how)
    for (name, tree), each in asked.items():
        base = asked[name, _THERE] if arguments.tree else asked[arguments.works[0], tree]
        _print(f"{name} {tree}" if arguments.tree else name, each, base)


def _asked(work: Work, one: Contestant, known: list[data.Known], profile: data.Profile) -> _Asked:
    requests = work.requests(known, profile.variants)[GATEWAY]
    lengths = [len(one.ask(request)[1]) for request in requests]
    return _Asked(work, one, [one.encoded(request) for request in requests], lengths)


def _print(name: str, each: _Asked, base: _Asked) -> None:
    pairs = zip(each.milliseconds(), base.milliseconds(), strict=True)
    times = [f"{ours:.3f} ({ours / theirs if theirs else 1:.3f})" for ours, theirs in pairs]
    rate = statistics.median(ours / theirs for ours, theirs in zip(each.rates, base.rates, strict=True))
    quickest = f"quickest {each.quick:.3f} ({each.quick / base.quick:.3f})"
    rates = f"{statistics.median(each.rates):.0f}/s ({rate:.3f})"
    print(f"{name:32} server {times[0]} ms, PostgreSQL {times[1]}, both {times[2]}, {quickest}, {rates}", flush=True)


if __name__ == "__main__":
    main()
