"""What filters cost, and what a request pays for the time that it took the database (decisions 140 to 142)."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest
from sqlalchemy import text

from contract.costs import MILLISECONDS_PER_POINT, TIME_FORGIVEN
from contract.criteria import EVERYTHING
from resolvers.shared.settling import Settling
from storage import database_time
from storage.queries import listables, paging
from tests.support.gateway import Gateway
from tests.support.statements import DATABASE_ERRORS, statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


def _each(number: int, one: str) -> str:
    return ", ".join(one.replace("%", str(i)) for i in range(number))


ONE_LINKED = '{account: {name: {contains: "q%"}}}'
LINKED = f"{{or: [{_each(33, ONE_LINKED)}]}}"
NULL_LINKED = "{account: {domain: {eq: null, neq: null}}}"
LONG = ", ".join(['""'] * 900)
COSTS = {
    "nothing": ("{ deals(first: 10) { nodes { id } } }", 1),
    "a handful of plain conditions is free": (
        '{ deals(first: 10, filter: {currency: {eq: "USD"}, ownerId: {eq: "x"}, stageId: {in: ["a", "b"]},'
        " name: {isNull: false}, championId: {eq: null}}) { nodes { id } } }",
        1,
    ),
    "and next to free where all are counted": (
        '{ deals(first: 10, filter: {currency: {eq: "USD"}, ownerId: {eq: "x"}, stageId: {eq: "a"}}) { totalCount } }',
        3,
    ),
    "a text": ('{ deals(first: 10, filter: {name: {contains: "x"}}) { nodes { id } } }', 1),
    "a text in every row": ('{ deals(first: 10, filter: {name: {contains: "x"}}) { totalCount } }', 4),
    "three alternatives": (
        '{ deals(first: 10, filter: {or: [{name: {contains: "x"}}, {name: {startsWith: "y"}},'
        ' {currency: {eq: "z"}}]}) { nodes { id } } }',
        2,
    ),
    "a link": ('{ deals(first: 10, filter: {account: {name: {contains: "x"}}}) { nodes { id } } }', 2),
    "two links": (
        '{ meetings(first: 10, filter: {deal: {account: {name: {contains: "x"}}}}) { nodes { id } } }',
        1 + (5 + 10 + 15) // 10,
    ),
    "a filter without alternatives": (
        '{ campaigns(first: 10, filter: {name: {contains: "x", startsWith: "y"}}) { totalCount } }',
        6,
    ),
    "links that lead to rows without a value": (
        f"{{ meetings(first: 10, filter: {{or: [{_each(16, NULL_LINKED)}]}}) {{ nodes {{ id }} }} }}",
        1 + 16 * (1 + 5 + 2 + 2) // 10,
    ),
    "a long list": (f"{{ deals(first: 10, filter: {{name: {{in: [{LONG}]}}}}) {{ totalCount }} }}", 3 + 27 // 10),
    "33 links": (f"{{ meetings(first: 10, filter: {LINKED}) {{ nodes {{ id }} }} }}", 1 + 33 * 16 // 10),
    "33 links, counted": (f"{{ meetings(first: 10, filter: {LINKED}) {{ totalCount }} }}", 3 + 33 * 16 * 3 // 10),
    "sums": ('{ dealBoard(filter: {name: {contains: "x"}}) { columns { stage { id } } } }', 2 + 1),
    "an offset": ("{ deals(first: 10, offset: 20000) { nodes { id } } }", 1 + 20),
    "below rows, once for each page of them": (
        f"{{ accounts(first: 100) {{ nodes {{ meetings(first: 1, filter: {LINKED}) {{ nodes {{ id }} }} }} }} }}",
        20 + 2 * 33 * 16 // 10,
    ),
}


async def requested(one: Tenant, query: str, **variables: Any) -> int:
    estimate = "query($d: String!, $v: JSON) { costEstimate(document: $d, variables: $v) { requested } }"
    return int((await one.ask(estimate, d=query, v=variables))["requested"])


@pytest.mark.parametrize(("query", "points"), COSTS.values(), ids=COSTS.keys())
async def test_conditions_are_in_the_cost(one: Tenant, query: str, points: int) -> None:
    assert await requested(one, query) == points
    body = await one.body(query)
    assert body["extensions"]["cost"]["requested"] == points, body


async def test_values_cost_the_same_in_variables(one: Tenant) -> None:
    parts = [{"account": {"name": {"contains": f"q{i}"}}} for i in range(33)]
    points = COSTS["33 links, counted"][1]
    below = "{ totalCount }"
    whole = f"query($f: MeetingFilter) {{ meetings(first: 10, filter: $f) {below} }}"
    assert await requested(one, whole, f={"or": parts}) == points
    branches = f"query($b: [MeetingFilter!]) {{ meetings(first: 10, filter: {{or: $b}}) {below} }}"
    assert await requested(one, branches, b=parts) == points
    assert await requested(one, branches) == 3
    branch = f"query($a: MeetingFilter!) {{ meetings(first: 10, filter: {{or: [{', '.join(['$a'] * 33)}]}}) {below} }}"
    assert await requested(one, branch, a=parts[0]) == points
    inner = "{account: {name: {contains: $t}}}"
    texts = f"query($t: String) {{ meetings(first: 10, filter: {{or: [{_each(33, inner)}]}}) {below} }}"
    assert await requested(one, texts, t="x") == points
    default = "query($f: MeetingFilter = {or: [" + _each(33, ONE_LINKED) + "]}) "
    assert await requested(one, f"{default} {{ meetings(first: 10, filter: $f) {below} }}") == points
    skipped = "query($o: Int) { deals(first: 10, offset: $o) { nodes { id } } }"
    assert [await requested(one, skipped, o=o) for o in (0, 20_000, 2**31 - 1)] == [1, 21, 101]


async def test_a_filter_that_costs_too_much_is_named(one: Tenant) -> None:
    lists = " ".join(f"a{i}: meetings(first: 1, filter: $f) {{ totalCount }}" for i in range(18))
    texts = {"contains": "x", "startsWith": "y"}
    filter_ = {"deal": {"account": {"or": [{"name": texts, "domain": texts} for _ in range(16)]}}}
    error = (await one.body(f"query($f: MeetingFilter) {{ {lists} }}", f=filter_))["errors"][0]
    assert error["extensions"]["code"] == "COST_EXCEEDED"
    assert "totalCount(filter)" in error["message"]


async def test_linked_records_are_joined_and_not_asked_for_row_by_row(gateway: Gateway, one: Tenant) -> None:
    parts: list[dict[str, Any]] = [{"account": {"name": {"contains": f"q{i}"}}} for i in range(20)]
    parts += [{"not": {"deal": {"account": {"name": {"contains": f"q{i}"}}}}} for i in range(5)]
    query = "query($f: MeetingFilter) { meetings(first: 1, filter: $f) { totalCount nodes { id } } }"
    with statements(gateway.runtime.database) as sent:
        await one.ask(query, f={"or": parts})
    asked = [statement for statement in sent if "strpos" in statement or "instr" in statement]
    assert len(asked) == 2
    for statement in asked:
        assert "EXISTS" not in statement
        # The meetings' accounts, their deals, and those deals' accounts: each once.
        assert statement.count("JOIN") == 3, statement
        assert statement.count("strpos") + statement.count("instr") == 25


async def test_what_took_long_is_paid_for(gateway: Gateway, one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is the test's, so that nothing waits and nothing depends on the machine."""
    moments = iter(range(0, 10**6, 3))  # three seconds for each look at the clock
    services = gateway.runtime.services
    query = "{ deals(first: 10) { nodes { id } totalCount } }"
    usual = (await one.body(query))["extensions"]["cost"]
    assert usual["actual"] <= usual["requested"] == 3
    monkeypatch.setattr(database_time, "monotonic", lambda: next(moments))
    dear = (await one.body(query))["extensions"]["cost"]
    assert dear["requested"] == 3
    assert dear["actual"] >= 2 * 3_000 // MILLISECONDS_PER_POINT  # two statements
    answer = await gateway.rest("GET", "/deals?limit=10", one.headers())
    assert answer.status_code == 200
    if services.budget.is_metered:
        assert int(answer.headers["x-request-cost"]) >= 3_000 // MILLISECONDS_PER_POINT


async def test_a_little_is_forgiven_and_no_more(one: Tenant) -> None:
    principal: Any = type("P", (), {"subject": "ada", "organization": None})()
    settling = Settling()
    half = (TIME_FORGIVEN // 2 + 3) * MILLISECONDS_PER_POINT / 1_000
    assert await settling.cost(principal, 3, 0.030) == 3  # what the price allows for
    assert await settling.cost(principal, 3, half) == 3
    assert await settling.cost(principal, 3, half) == 3
    assert await settling.cost(principal, 3, half) == TIME_FORGIVEN // 2 + 3
    assert await Settling().cost(principal, 3, 8.0) == 800


async def test_every_statement_of_a_request_is_measured(
    gateway: Gateway, one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_time, "monotonic", count().__next__)
    database = gateway.runtime.database
    with database_time.measured() as time:
        async with database.reading(one.id) as session:
            await session.scalar(text("SELECT 1"))
        by_the_orm = time.seconds
        assert by_the_orm > 0

        async def by_a_task() -> None:
            async with database.reading(one.id) as session:
                await paging.count(session, listables.DEALS, EVERYTHING)

        await asyncio.create_task(by_a_task())
        by_a_shape = time.seconds
        assert by_a_shape > by_the_orm
        with pytest.raises(DATABASE_ERRORS):
            async with database.reading(one.id) as session:
                await session.scalar(text("SELECT nothing"))
        assert time.seconds > by_a_shape
        by_all = time.seconds
        assert time.seconds == by_all  # nothing is under way any more
    await by_a_task()
    assert time.seconds == by_all
