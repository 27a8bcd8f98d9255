"""Measures the gateway's cost against rows, depth of page, size of table and number of workers: docs/performance.md."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks.asking import GATEWAY, Request
from benchmarks.contestants import Contestant, gateway
from benchmarks.cores import Cores, Layout
from benchmarks.data import FULL, QUICK, Known, Profile, known, place
from benchmarks.measure import Load, load
from benchmarks.plot import Chart, svg
from benchmarks.works import WORKS
from storage.seeding import Plan

PAGE = 20
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
_HEAD = "# Performance\n\n"
_MEETINGS = "id subject dueAt durationMinutes accountId account { id name }"
_LIST = (
    "query Page($first: Int!, $after: String)"
    f" {{ meetings(first: $first, after: $after) {{ nodes {{ {_MEETINGS} }} }} }}"
)
_CURSOR = "query Cursor($offset: Int!) { meetings(first: 1, offset: $offset) { pageInfo { endCursor } } }"


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    main: Profile
    tables: Sequence[int]
    deep: int
    seconds: float
    rounds: int


def _table_of(meetings: int) -> Profile:
    return Profile(f"table-{meetings}", Plan(1, 500, 2_000, 1_000, meetings), variants=16)


LARGE = Size(FULL, (10_000, 100_000, 1_000_000), deep=2_000, seconds=2.0, rounds=5)
SMALL = Size(QUICK, (500, 1_000), deep=50, seconds=0.2, rounds=1)


@dataclass(frozen=True, slots=True)
class Point:
    """One line of the table."""

    label: str
    across: float
    milliseconds: float
    rate: float


class Bench:
    """A running gateway with a load generator."""

    def __init__(self, contestant: Contestant, generator: Load, size: Size) -> None:
        self._contestant, self._generator, self._size = contestant, generator, size

    def points(self, *asked: tuple[str, float, Sequence[Request]]) -> list[Point]:
        """For each label, place on the axis and requests: how long one takes, and how many a second 32 callers get.

        In interleaved rounds, so that a slow minute hits all of them.
        """
        lengths = [[len(self.answer(request)) for request in requests] for _, _, requests in asked]
        wires = [[self._contestant.encoded(r) for r in requests] for _, _, requests in asked]
        how = {"seconds": self._size.seconds, "warm_up": 0.4}
        rounds: dict[tuple[int, int], list[dict[str, float]]] = defaultdict(list)
        for connections in (1, 32):
            for _ in range(self._size.rounds):
                for i, wire in enumerate(wires):
                    figures = self._generator.measure(
                        self._contestant, wire, lengths[i], 200, connections=connections, **how
                    )
                    rounds[i, connections].append(figures)
        return [
            Point(
                label,
                across,
                statistics.median(figures["p50_ms"] for figures in rounds[i, 1]),
                statistics.median(figures["requests_per_second"] for figures in rounds[i, 32]),
            )
            for i, (label, across, _) in enumerate(asked)
        ]

    def answer(self, request: Request) -> bytes:
        """One answer, which must be one."""
        status, body = self._contestant.ask(request)
        if status != 200 or b'"errors"' in body:
            raise RuntimeError(f"{status}: {body[:1000]!r}")
        return body

    def cursor(self, rows: int) -> str:
        """The cursor behind this many rows."""
        body = self.answer(Request("POST", "/graphql", {"query": _CURSOR, "variables": {"offset": rows - 1}}))
        return str(json.loads(body)["data"]["meetings"]["pageInfo"]["endCursor"])


def _pages(first: int, *afters: str | None) -> list[Request]:
    return [
        Request("POST", "/graphql", {"query": _LIST, "variables": {"first": first, "after": after}}) for after in afters
    ]


@contextmanager
def _bench(
    profile: Profile, size: Size, where: Layout, cores: Cores, workers: int = 1
) -> Iterator[tuple[Bench, Sequence[Known]]]:
    facts = known(profile)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crm-bench-")))
        ground = stack.enter_context(place("postgresql", profile, scratch, where.database))
        contestant = stack.enter_context(gateway(ground, facts, scratch, cores, workers=workers))
        yield Bench(contestant, stack.enter_context(load(where)), size), facts


def run(docs: Path, where: Layout, console: Console, *, quick: bool) -> None:
    """Measure, print the table, and write it with its plot into the folder."""
    size = SMALL if quick else LARGE
    groups: dict[str, list[Point]] = {}
    with _bench(size.main, size, where, where.contestant) as (bench, _):
        cursors = [bench.cursor(PAGE * page) for page in range(1, 17)]
        groups["Rows in the answer"] = bench.points(
            *((f"{rows} rows", rows, _pages(rows, *cursors)) for rows in (20, 200, 500))
        )
        groups["Depth of the page"] = bench.points(
            ("page 1", 1, _pages(PAGE, None)),
            *((f"page {page:,}", page, _pages(PAGE, *_near(bench, page))) for page in (size.deep // 20, size.deep)),
        )
    groups["Meetings in the table"] = list(_tables(size, where))
    groups["Workers"] = list(_workers(size, where))
    text = _markdown(groups, str(where))
    console.print(text, markup=False, highlight=False)
    _write(docs, text, groups)


def _near(bench: Bench, page: int) -> list[str]:
    """Cursors that begin this page, from sixteen neighbouring rows."""
    return [bench.cursor(PAGE * (page - 1) + row) for row in range(16)]


def _tables(size: Size, where: Layout) -> Iterator[Point]:
    for meetings in size.tables:
        with _bench(_table_of(meetings), size, where, where.contestant) as (bench, _):
            cursors = [bench.cursor(meetings // 32 * part) for part in range(1, 17)]
            yield from bench.points((f"{meetings:,} meetings", meetings, _pages(PAGE, *cursors)))


def _workers(size: Size, where: Layout) -> Iterator[Point]:
    """One and two processes that may use every core, as may PostgreSQL and the load."""
    everything = where.contestant | where.load | where.database
    shared = Layout(everything, everything, everything)
    work = next(work for work in WORKS if work.name == "meetings_200")
    for workers in (1, 2):
        with _bench(size.main, size, shared, everything, workers) as (bench, facts):
            requests = work.requests(facts, size.main.variants)[GATEWAY]
            label = f"{workers} worker{'s' * (workers > 1)}, 200 rows with links"
            yield from bench.points((label, workers, requests))


def _markdown(groups: dict[str, list[Point]], where: str) -> str:
    lines = [
        f"Measured by `./run bench --scale` on PostgreSQL ({where}; the workers share all cores with PostgreSQL",
        f"and the load). Pages of {PAGE} meetings by cursor unless the line says otherwise.",
        "",
        "| | median ms, one connection | requests/s, 32 connections |",
        "|---|--:|--:|",
    ]
    for name, points in groups.items():
        lines.append(f"| **{name}** | | |")
        lines += [f"| {point.label} | {point.milliseconds:.2f} | {point.rate:,.0f} |" for point in points]
    return "\n".join([*lines, "", "![Cost against rows, depth and table size](performance.svg)"])


def _write(docs: Path, text: str, groups: dict[str, list[Point]]) -> None:
    """Replace what lies between the marks, and leave the rest of the page alone."""
    docs.mkdir(parents=True, exist_ok=True)
    file = docs / "performance.md"
    page = file.read_text(encoding="utf-8") if file.exists() else f"{_HEAD}{BEGIN}\n{END}\n"
    before, rest = page.split(BEGIN)
    file.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    across = {"Rows in the answer": False, "Depth of the page": True, "Meetings in the table": True}
    charts = [
        Chart(name, name.lower(), [(p.across, p.milliseconds) for p in groups[name]], logarithmic)
        for name, logarithmic in across.items()
    ]
    (docs / "performance.svg").write_text(svg(charts), encoding="utf-8")
