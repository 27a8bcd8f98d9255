"""How long a search takes over 100,000 records of one organization: `python -m benchmarks.search [organizations]`.

The records are seeded data: 5,000 accounts, 15,000 contacts, 10,000 deals and 70,000 meetings per organization, of one
organization on SQLite, and of as many as told (1 unless told) on PostgreSQL; the one that is searched is in the middle.
Beside each query stand the hits and the median and the longest of 20 runs, in milliseconds.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.cores import Cores
from benchmarks.postgresql import Server
from storage import migrate
from storage.database import Database
from storage.queries import search
from storage.search_index import words_of
from storage.seeding import Plan, seed
from storage.tables.search import SEARCHED

QUERIES = (
    "schmidt",
    "inc renewal",
    "chief exec",
    "software",
    "zurich",
    "figures",
    "quarterly rev",
    "renewal",
    "demo",
    "a",
    "d",
    "w",
    "with",
)
RUNS = 20


async def measure(url: str, organizations: int) -> None:
    """Seed the database at the address and print its figures."""
    await migrate.upgrade(url)
    database = Database(url)
    started = time.perf_counter()
    n = organizations
    summary = await seed(database, Plan(n, 5_000 * n, 15_000 * n, 10_000 * n, 70_000 * n, seed=5))
    print(f"{database.dialect}: {n} × 100,000 records, seeded in {time.perf_counter() - started:.0f} s")
    kinds = [searched.kind for searched in SEARCHED.values()]
    async with database.reading(summary.organizations[n // 2]) as session:
        for query in QUERIES:
            times, hits, words = [], 0, words_of(query)
            for _ in range(RUNS):
                before = time.perf_counter()
                hits = len(
                    await search.hits(session, words, kinds, length=len(query), first=20, dialect=database.dialect)
                )
                times.append((time.perf_counter() - before) * 1_000)
            print(f"  {query:14} {hits:3} {statistics.median(times):7.1f} {max(times):7.1f}")
    await database.close()


def main() -> None:
    organizations = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(f"sqlite+aiosqlite:///{Path(folder) / 'search.db'}", 1))
        Path(folder).chmod(0o755)  # the server may be another user of the system
        with Server(Path(folder) / "server", Cores(os.sched_getaffinity(0))) as server:
            server.create("search")
            asyncio.run(measure(server.url("search"), organizations))


if __name__ == "__main__":
    main()
