"""`python -m benchmarks.beside FOLDER WORK...`: the gateway of this tree beside that of another one, in turn.

For a change that is too small to be seen in requests per second on a machine with other things to do: each round asks
both over the same database, and what counts is the processor time of the server and of PostgreSQL for a request, and
the median over the rounds of its ratio within a round. The other tree has the same tables, and runs on this one's
Python:

    git worktree add /somewhere/else main
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks import data
from benchmarks.asking import GATEWAY, Work
from benchmarks.contestants import Contestant, gateway
from benchmarks.cores import layout, processor_seconds
from benchmarks.measure import Load, load, per_request
from benchmarks.works import WORKS

_KEYS = ("server_ms", "database_ms")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside", description=__doc__)
    parser.add_argument("folder", type=Path, help="of the other tree")
    parser.add_argument("works", nargs="+", choices=[work.name for work in WORKS], metavar="WORK")
    parser.add_argument("--rounds", type=int, default=7, help="the median of which counts (7)")
    parser.add_argument("--seconds", type=float, default=0.6, help="of each measurement (0.6)")
    parser.add_argument("--connections", type=int, default=32, help="32 unless told")
    parser.add_argument("--quick", action="store_true", help="little data")
    return parser.parse_args()


def main() -> None:
    """Print what both take, and the ratios."""
    arguments = _arguments()
    profile, where = data.QUICK if arguments.quick else data.FULL, layout()
    known = data.known(profile)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crm-bench-")))
        place = stack.enter_context(data.place("postgresql", profile, scratch, where.database))
        generator = stack.enter_context(load(where))
        both = {}
        for name, root in (("other", arguments.folder.resolve()), ("this", data.ROOT)):
            (scratch / name).mkdir()
            both[name] = stack.enter_context(
                gateway(place, known, scratch / name, where.contestant, settings={"PYTHONPATH": str(root)})
            )
        for work in WORKS:
            if work.name in arguments.works:
                rounds = _rounds(work, both, generator, place.server or 0, known, profile, arguments)
                _print(work, rounds)


def _rounds(
    work: Work,
    both: dict[str, Contestant],
    generator: Load,
    server: int,
    known: list[data.Known],
    profile: data.Profile,
    arguments: argparse.Namespace,
) -> dict[str, list[dict[str, float]]]:
    """Every round's processor time per request, of both; a round before them does not count."""
    requests = work.requests(known, profile.variants)[GATEWAY]
    lengths = {name: [len(one.ask(request)[1]) for request in requests] for name, one in both.items()}
    how = {"connections": arguments.connections, "seconds": arguments.seconds, "warm_up": 0.1}
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in both}
    for number in range(-1, arguments.rounds):
        for name, one in both.items():
            wire = [one.encoded(request) for request in requests]
            before = processor_seconds(one.pid), processor_seconds(server)
            figures = generator.measure(one, wire, lengths[name], work.status, **how)
            after = processor_seconds(one.pid), processor_seconds(server)
            if number >= 0:
                rounds[name].append(per_request(before, after, figures["responses"]))
    return rounds


def _print(work: Work, rounds: dict[str, list[dict[str, float]]]) -> None:
    for key in _KEYS:
        middle = {name: statistics.median(one[key] for one in taken) for name, taken in rounds.items()}
        pairs = zip(rounds["this"], rounds["other"], strict=True)
        ratios = [this[key] / other[key] for this, other in pairs if other[key]]
        ratio = statistics.median(ratios) if ratios else 1.0
        print(f"{work.name:26} {key:12} {middle['other']:.3f} -> {middle['this']:.3f}  {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
