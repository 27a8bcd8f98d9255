"""How long people's work takes where there is much of it: `python -m benchmarks.records [--quick]`.

One organization on PostgreSQL, through the gateway by one connection: 1,000,000 activities, a tenth of them of one
account, 1,000,000 deals, and five tags on a fifth of 100,000 deals each. It is seeded once, below `.bench/`, which
takes long. Beside each request stand the median and the longest of 30, in milliseconds. At last a hundred thousand
records of another organization are handed over (benchmarks/transfers.py).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import func, select, update
from sqlmodel import col

from benchmarks import transfers
from benchmarks.asking import graphql
from benchmarks.contestants import Contestant, gateway
from benchmarks.cores import layout
from benchmarks.data import Known, Place, Profile, known, place
from storage.database import Database
from storage.seeding import Plan
from storage.tables import Activity, Deal

FULL = Profile("records", Plan(1, 5_000, 15_000, 1_000_000, 1_000_000, seed=7), variants=64)
TENTH = Profile("records-tenth", Plan(1, 5_000, 15_000, 100_000, 100_000, seed=7), variants=64)
QUICK = Profile("records-quick", Plan(1, 50, 100, 1_000, 2_000, seed=7), variants=8)
RUNS = 30
TAGS = ("vip", "berlin", "renewal", "fair", "partner")
_TOGETHER = 500
"""How many records one call tags."""
_FIFTH = 5
_ITEMS, _PAGE = 50, 100
"""How many items of a timeline are measured, and how many one page can have."""

_FEED = """query Feed($id: ID!, $after: String, $first: Int!) { account(id: $id) {
  timeline(first: $first, after: $after) {
    nodes { at kind change { type fields { field before after } } activity { id } stageChange { at } }
    pageInfo { endCursor hasNextPage } } } }"""
_DEALS = "query Deals($filter: DealFilter) { deals(first: 50, filter: $filter) { nodes { id name } } }"
_TAG = "mutation Tag($ids: [ID!]!, $add: [String!]) { tagsApply(ids: $ids, add: $add) { userErrors { message } } }"
_SET = "mutation Set($inputs: [SalesTargetInput!]!) { salesTargetsPut(inputs: $inputs) { userErrors { message } } }"
_TARGETS = "{ salesTargets(first: 50) { nodes { id attainment { actual ratio } } } }"
_MEETINGS = "{ meetings(first: 200) { nodes { id subject body dueAt account { id name } } } }"


class Asking:
    """One caller of the running gateway."""

    def __init__(self, contestant: Contestant) -> None:
        self._contestant = contestant

    def data(self, query: str, **variables: object) -> Any:  # Any: whatever JSON comes
        """Ask an operation, and return its data. Raises RuntimeError where it is refused."""
        status, body = self._contestant.ask(graphql(query, variables))
        answer = json.loads(body)
        if status != 200 or "errors" in answer or b'"message"' in body:
            raise RuntimeError(f"{status}: {body[:1000]!r}")
        return answer["data"]

    def timed(self, label: str, ask: Callable[[int], object]) -> float:
        """Ask so often, print the median and the longest, and return the median."""
        times = []
        for number in range(RUNS + 1):
            before = time.perf_counter()
            ask(number)
            times.append((time.perf_counter() - before) * 1_000)
        median = statistics.median(times[1:])  # the first prepares the statement
        print(f"  {label:48} {median:8.1f} {max(times[1:]):8.1f}", flush=True)
        return median

    def weigh(self, encoding: str) -> int:
        """Ask for 200 meetings in this encoding; how many bytes came."""
        headers = {"Accept-Encoding": encoding}
        before = self._contestant.headers
        self._contestant.headers = {name: {**each, **headers} for name, each in before.items()}
        try:
            return len(self._contestant.ask(graphql(_MEETINGS, {}))[1])
        finally:
            self._contestant.headers = before


async def _gather(url: str, organization: str, account: str) -> list[str]:
    """Give an account a tenth of the activities; the identifiers of the deals that get tags."""
    database = Database(url, statement_seconds=None)
    try:
        async with database.writing(organization) as session:
            total = await session.scalar(select(func.count()).select_from(Activity))
            tenth = select(col(Activity.id)).order_by(col(Activity.id)).limit(total // 10)
            own = col(Activity.org_id) == organization
            await session.execute(update(Activity).where(own, col(Activity.id).in_(tenth)).values(account_id=account))
        async with database.reading(organization) as session:
            wanted = select(col(Deal.id)).order_by(col(Deal.id)).limit(100_000)
            return [row.id for row in await session.rows(wanted)]
    finally:
        await database.close()


def _parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + _TOGETHER] for start in range(0, len(ids), _TOGETHER))


def _measure(one: Asking, account: str, deals: Sequence[str]) -> None:
    """Ask for each thing, in its turn."""
    for number, tag in enumerate(TAGS):
        for part in _parts(
            [deal for index, deal in enumerate(deals) if (index * 7 + index // _FIFTH * number) % _FIFTH == 0]
        ):
            one.data(_TAG, ids=part, add=[tag])
    first = one.timed("50 items of a timeline", lambda _: one.data(_FEED, id=account, first=_ITEMS))
    cursor: str | None = None
    for _ in range(999 * _ITEMS // _PAGE):  # page by page, as a client gets there
        page = one.data(_FEED, id=account, first=_PAGE, after=cursor)["account"]["timeline"]["pageInfo"]
        if not page["hasNextPage"]:
            break
        cursor = page["endCursor"]
    far = one.timed("the same far behind", lambda _: one.data(_FEED, id=account, first=_ITEMS, after=cursor))
    print(f"  {'':48} {far / first:7.2f}× the first")
    one.timed("deals with all of five tags", lambda _: one.data(_DEALS, filter={"tags": {"all": list(TAGS)}}))
    exact = one.timed("deals whose name contains, EXACT", lambda _: one.data(_DEALS, filter=_contains("Renewal q")))
    folded = one.timed(
        "deals whose name contains, IGNORE_CASE",
        lambda _: one.data(_DEALS, filter=_contains("Renewal q", mode="IGNORE_CASE")),
    )
    print(f"  {'':48} {folded / exact:7.2f}× EXACT")
    years = [{"metric": "WON_VALUE", "currency": "EUR", "period": "MONTH", "amount": "1000"} | day for day in _months()]
    one.data(_SET, inputs=years)
    one.timed("50 targets with attainment", lambda _: one.data(_TARGETS))
    parts = list(_parts(deals))  # each call tags others, as a user's would
    one.timed("500 records tagged", lambda n: one.data(_TAG, ids=parts[n], add=[f"new {n}"]))
    plain = one.timed("200 meetings", lambda _: one.weigh("identity"))
    small = one.timed("200 meetings, gzip", lambda _: one.weigh("gzip"))
    print(f"  {'':48} {small - plain:7.2f} ms more, {one.weigh('identity'):,} and {one.weigh('gzip'):,} bytes")


def _contains(text: str, **more: str) -> dict[str, Any]:  # Any: JSON
    return {"name": {"contains": text, **more}}


def _months() -> Iterator[dict[str, str]]:
    """The first days of fifty months, up to the present of the data."""
    for month in range(50):
        yield {"startsOn": f"{2023 + month // 12}-{month % 12 + 1:02}-01"}


def _run(profile: Profile, where: Place, facts: Sequence[Known], scratch: Path) -> None:
    account = facts[0].accounts[0]
    deals = asyncio.run(_gather(where.gateway_url, facts[0].organization, account))
    with gateway(where, facts, scratch, layout().contestant) as contestant:
        sizes = profile.plan
        print(f"{sizes.meetings:,} activities, {sizes.deals:,} deals: milliseconds, median and longest of {RUNS}")
        _measure(Asking(contestant), account, deals)
        print(f"  {'most memory of the process, MiB':48} {contestant.memory():8.1f}")


def main() -> None:
    """Seed where it is needed, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.records", description=__doc__)
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="little data: that it runs, not how fast")
    sizes.add_argument("--tenth", action="store_true", help="100,000 activities and deals, and nothing handed over")
    asked = parser.parse_args()
    profile = QUICK if asked.quick else TENTH if asked.tenth else FULL
    with (
        tempfile.TemporaryDirectory(prefix="crm-bench-") as folder,
        place("postgresql", profile, Path(folder), layout().database) as where,
    ):
        _run(profile, where, known(profile), Path(folder))
    if not asked.tenth:
        transfers.run(is_quick=asked.quick)


if __name__ == "__main__":
    main()
