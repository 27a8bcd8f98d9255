"""Measures the gateway's cost against rows, depth of page, size of table and number of workers: docs/performance.md.

The table grows from ten thousand meetings to ten million. Of each size it is told what pages at its beginning, in its
middle and at its end take, and what the gateway holds for them; of the smallest and the largest, what each index costs
a meeting that is inserted.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from rich.console import Console

from benchmarks import inserts
from benchmarks.asking import GATEWAY, Request
from benchmarks.contestants import Contestant, gateway
from benchmarks.cores import Cores, Layout, processor_seconds
from benchmarks.data import FULL, QUICK, Known, Place, Profile, known, place
from benchmarks.grown import DATABASE, grown
from benchmarks.measure import Load, load, per_request
from benchmarks.plot import Chart, svg
from benchmarks.postgresql import Server
from benchmarks.works import WORKS
from storage.queries import paging
from storage.queries.listables import MEETINGS
from storage.rows import ActivityRow
from storage.seeding import Plan

PAGE = 20
_TABLES, _MIDDLE = "Meetings in the table", "middle"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
_HEAD = "# Performance\n\n"
_MEETINGS = "id subject dueAt durationMinutes accountId account { id name }"
_LIST = (
    "query Page($first: Int!, $after: String)"
    f" {{ meetings(first: $first, after: $after) {{ nodes {{ {_MEETINGS} }} }} }}"
)
_INSERTED = """A meeting inserted among {few} and among {many}, {number} of them in a transaction: microseconds of
PostgreSQL's processor for each, the index's bytes on the disk for each row, and bytes of the write-ahead log for each,
right behind a checkpoint. Of an index it is what rows with it alone take more than those without any, triggers and
foreign keys resting; of a trigger it is what the whole takes less without it. The rest of the whole are foreign keys.
"""
_CURSOR = "query Cursor($offset: Int!) { meetings(first: 1, offset: $offset) { pageInfo { endCursor } } }"


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured; the larger tables are grown from the first."""

    main: Profile
    tables: Sequence[int]
    deep: int
    seconds: float
    rounds: int
    inserted: int
    inserting_rounds: int


def _table_of(meetings: int) -> Profile:
    return Profile(f"table-{meetings}", Plan(1, 500, 2_000, 1_000, meetings), variants=16)


LARGE = Size(
    FULL,
    (10_000, 100_000, 1_000_000, 10_000_000),
    deep=2_000,
    seconds=1.0,
    rounds=7,
    inserted=20_000,
    inserting_rounds=3,
)
SMALL = Size(QUICK, (500, 1_000), deep=50, seconds=0.2, rounds=1, inserted=200, inserting_rounds=1)
_SIXTEEN = """SELECT due_at, created_at, id::text FROM activities WHERE org_id = $1::text::uuid AND type = 'meeting'
ORDER BY due_at DESC NULLS LAST, created_at DESC, id OFFSET $2 LIMIT 16"""


@dataclass(frozen=True, slots=True)
class Point:
    """One line of the table."""

    label: str
    across: float
    milliseconds: float
    rate: float
    server: float
    database: float
    """Milliseconds of the gateway's processor and of PostgreSQL's for a request, of 32 connections."""


@dataclass(frozen=True, slots=True)
class Table:
    """Says what there is to be told of a table of a size beside its pages."""

    meetings: int
    gigabytes: float
    idle: float
    above: float
    """MiB of the gateway before the first page, and the most above them."""
    inserted: int
    costs: dict[str, inserts.Cost]


class Bench:
    """A running gateway with a load generator."""

    def __init__(self, contestant: Contestant, generator: Load, size: Size, where: Place) -> None:
        self._contestant, self._generator, self._size, self._place = contestant, generator, size, where
        self.idle = contestant.resident()
        contestant.forget_peak()

    def above(self) -> float:
        """The most memory that the gateway has had since then, above what it had at rest, in MiB."""
        return self._contestant.memory() - self.idle

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
                    before = self._spent()
                    figures = self._generator.measure(
                        self._contestant, wire, lengths[i], 200, connections=connections, **how
                    )
                    figures |= per_request(before, self._spent(), figures.pop("responses"))
                    rounds[i, connections].append(figures)
        return [
            Point(
                label,
                across,
                statistics.median(figures["p50_ms"] for figures in rounds[i, 1]),
                statistics.median(figures["requests_per_second"] for figures in rounds[i, 32]),
                statistics.median(figures["server_ms"] for figures in rounds[i, 32]),
                statistics.median(figures["database_ms"] for figures in rounds[i, 32]),
            )
            for i, (label, across, _) in enumerate(asked)
        ]

    def _spent(self) -> tuple[float, float]:
        return processor_seconds(self._contestant.pid), processor_seconds(self._place.server or 0)

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
    ground: Place, facts: Sequence[Known], size: Size, where: Layout, cores: Cores, workers: int = 1
) -> Iterator[Bench]:
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crm-bench-")))
        contestant = stack.enter_context(gateway(ground, facts, scratch, cores, workers=workers))
        yield Bench(contestant, stack.enter_context(load(where)), size, ground)


@contextmanager
def _main(size: Size, where: Layout, cores: Cores, workers: int = 1) -> Iterator[tuple[Bench, Sequence[Known]]]:
    facts = known(size.main)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crm-bench-")))
        ground = stack.enter_context(place("postgresql", size.main, scratch, where.database))
        yield stack.enter_context(_bench(ground, facts, size, where, cores, workers)), facts


def run(docs: Path, where: Layout, console: Console, *, quick: bool) -> None:
    """Measure, print the table, and write it with its plot into the folder."""
    size = SMALL if quick else LARGE
    groups: dict[str, list[Point]] = {}
    with _main(size, where, where.contestant) as (bench, _):
        cursors = [bench.cursor(PAGE * page) for page in range(1, 17)]
        groups["Rows in the answer"] = bench.points(
            *((f"{rows} rows", rows, _pages(rows, *cursors)) for rows in (20, 200, 500))
        )
        groups["Depth of the page"] = bench.points(
            ("page 1", 1, _pages(PAGE, None)),
            *((f"page {page:,}", page, _pages(PAGE, *_near(bench, page))) for page in (size.deep // 20, size.deep)),
        )
    groups["Workers"] = list(_workers(size, where))
    tables = []
    groups[_TABLES] = []
    for meetings in size.tables:
        points, table = _table(size, meetings, where)
        print(*points, table, sep="\n", file=sys.stderr, flush=True)  # it took long, and more is to come
        groups[_TABLES] += points
        tables.append(table)
    text = _markdown(groups, tables, str(where))
    console.print(text, markup=False, highlight=False)
    _write(docs, text, groups)


def _near(bench: Bench, page: int) -> list[str]:
    """Cursors that begin this page, from sixteen neighbouring rows."""
    return [bench.cursor(PAGE * (page - 1) + row) for row in range(16)]


def _table(size: Size, meetings: int, where: Layout) -> tuple[list[Point], Table]:
    """Three pages of a table of this size, and what else is told of it."""
    profile = _table_of(size.tables[0])
    facts = known(profile)
    print(f"Making {meetings:,} meetings of {size.tables[0]:,} ...", file=sys.stderr, flush=True)
    with grown(profile, meetings // size.tables[0], where.database) as (ground, server):
        gigabytes, *places = asyncio.run(_places(server, facts[0].organization, meetings))
        with _bench(ground, facts, size, where, where.contestant) as bench:
            asked = zip(("first page", _MIDDLE, "near the end"), (_pages(PAGE, None), *places), strict=True)
            points = bench.points(*((f"{meetings:,}, {part}", meetings, pages) for part, pages in asked))
            table = Table(meetings, gigabytes, bench.idle, bench.above(), size.inserted, {})
        if meetings in (size.tables[0], size.tables[-1]):
            table.costs.update(asyncio.run(inserts.costs(server, meetings, size.inserted, size.inserting_rounds)))
    return points, table


async def _places(server: Server, organization: str, meetings: int) -> tuple[float, list[Request], list[Request]]:
    """The gigabytes of the database, and pages from the middle of the list and from the last hundredth.

    A cursor this far behind is found by an index alone; the gateway would read all that it skips.
    """
    async with server.connected(DATABASE) as connection:
        size = await connection.fetchval("SELECT pg_database_size(current_database())") / 1e9
        middle, end = [
            _pages(PAGE, *(paging.cursor(MEETINGS, None, cast("ActivityRow", SimpleNamespace(**row))) for row in rows))
            for rows in [
                await connection.fetch(_SIXTEEN, organization, at)
                for at in (meetings // 2, meetings - meetings // 100 - 2 * PAGE)
            ]
        ]
    return size, middle, end


def _workers(size: Size, where: Layout) -> Iterator[Point]:
    """One and two processes that may use every core, as may PostgreSQL and the load."""
    everything = where.contestant | where.load | where.database
    shared = Layout(everything, everything, everything)
    work = next(work for work in WORKS if work.name == "meetings_200")
    for workers in (1, 2):
        with _main(size, shared, everything, workers) as (bench, facts):
            requests = work.requests(facts, size.main.variants)[GATEWAY]
            label = f"{workers} worker{'s' * (workers > 1)}, 200 rows with links"
            yield from bench.points((label, workers, requests))


def _markdown(groups: dict[str, list[Point]], tables: Sequence[Table], where: str) -> str:
    lines = [
        f"Measured by `./run bench --scale` on PostgreSQL ({where}; the workers share all cores with PostgreSQL",
        f"and the load). Pages of {PAGE} meetings by cursor unless the line says otherwise.",
        "",
        "| | median ms, one connection | requests/s, 32 connections | gateway's processor, ms | PostgreSQL's, ms |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, points in groups.items():
        lines.append(f"| **{name}** | | | | |")
        lines += [
            f"| {p.label} | {p.milliseconds:.2f} | {p.rate:,.0f} | {p.server:.2f} | {p.database:.2f} |" for p in points
        ]
    lines += ["", "![Processor time of both for a page, against rows, depth and table size](performance.svg)", ""]
    lines += ["| meetings | database, GB | gateway at rest, MiB | most above it, MiB |", "|--:|--:|--:|--:|"]
    lines += [f"| {t.meetings:,} | {t.gigabytes:.2f} | {t.idle:.0f} | {t.above:.0f} |" for t in tables]
    return "\n".join([*lines, "", *_inserted(tables[0], tables[-1])])


def _inserted(small: Table, large: Table) -> Iterator[str]:
    """The table of what each index costs, the dearest first."""
    few, many = f"{small.meetings:,}", f"{large.meetings:,}"
    yield _INSERTED.format(few=few, many=many, number=f"{large.inserted:,}")
    yield f"| | µs, {few} | µs, {many} | bytes, {many} | log, {few} | log, {many} |"
    yield "|---|--:|--:|--:|--:|--:|"
    parts = [name for name in inserts.PARTS if name in large.costs]
    indexes = sorted(large.costs.keys() - set(parts), key=lambda name: -large.costs[name].microseconds)
    for name in (*parts, *indexes):
        before, now = small.costs[name], large.costs[name]
        cells = (
            name if name in parts else f"`{name}`",
            *(f"{cost.microseconds:.1f}" for cost in (before, now)),
            f"{now.bytes:,.0f}" if now.bytes else "",
            # Of an index alone it is within what the server writes for itself.
            *(("", "") if now.bytes else (f"{cost.log:,.0f}" for cost in (before, now))),
        )
        yield f"| {' | '.join(cells)} |"


def _write(docs: Path, text: str, groups: dict[str, list[Point]]) -> None:
    """Replace what lies between the marks, and leave the rest of the page alone."""
    docs.mkdir(parents=True, exist_ok=True)
    file = docs / "performance.md"
    page = file.read_text(encoding="utf-8") if file.exists() else f"{_HEAD}{BEGIN}\n{END}\n"
    before, rest = page.split(BEGIN)
    file.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    across = {"Rows in the answer": False, "Depth of the page": True, _TABLES: True}
    charts = [
        Chart(
            name,
            name.lower(),
            [(p.across, p.server + p.database) for p in groups[name] if name != _TABLES or _MIDDLE in p.label],
            logarithmic,
        )
        for name, logarithmic in across.items()
    ]
    (docs / "performance.svg").write_text(svg(charts), encoding="utf-8")
