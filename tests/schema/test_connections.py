"""What all lists share: windows, cursors, and a count that is made only when it is asked for."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from storage.tables import Account, Activity, Contact, Deal
from tests.support.gateway import Gateway
from tests.support.lists import Listing
from tests.support.statements import statements
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = datetime(2026, 1, 1, tzinfo=UTC)
NOUNS = {
    "meetings": ("Meeting", Activity, "subject"),
    "accounts": ("Account", Account, "name"),
    "contacts": ("Contact", Contact, "last_name"),
    "deals": ("Deal", Deal, "name"),
}
ROWS = 502


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def crowd(gateway: Gateway) -> Tenant:
    """More rows of each kind than a page can have; the newest is number 0."""
    tenant = await new_tenant(gateway)
    async with gateway.world.database.writing(tenant.id) as session:
        for _, model, label in NOUNS.values():
            await session.insert(
                *(model(**{label: str(i)}, created_at=START - timedelta(minutes=i)) for i in range(ROWS))
            )
    return tenant


async def numbers(tenant: Tenant, field: str, **arguments: Any) -> tuple[list[int], bool, bool]:
    """The page's rows by number, and whether the list goes on before and behind it."""
    kind, _, label = NOUNS[field]
    shown = "lastName" if label == "last_name" else label
    query = (
        f"query($first: Int, $after: String, $last: Int, $before: String, $offset: Int, $orderBy: {kind}Order) {{ "
        f"{field}(first: $first, after: $after, last: $last, before: $before, offset: $offset, orderBy: $orderBy) {{ "
        f"nodes {{ {shown} }} pageInfo {{ hasPreviousPage hasNextPage }} }} }}"
    )
    order = {"field": "CREATED_AT", "direction": "DESC"}
    page = await tenant.ask(query, **{"orderBy": order, **arguments})
    info = page["pageInfo"]
    return [int(node[shown]) for node in page["nodes"]], info["hasPreviousPage"], info["hasNextPage"]


@pytest.mark.parametrize("field", ["contacts"])
@pytest.mark.parametrize(
    ("selected", "has_cursors"),
    [
        ("nodes { %s }", False),
        ("edges { node { %s } } pageInfo { hasNextPage } totalCount", False),
        ("nodes { %s } edges { cursor }", True),
        ("nodes { %s } pageInfo { endCursor }", True),
        ("nodes { %s } pageInfo { ...on PageInfo { first: startCursor } }", True),
        ("nodes { %s createdAt }", True),
    ],
)
async def test_the_columns_of_the_order_are_read_where_cursors_are_made_of_them(
    crowd: Tenant, gateway: Gateway, field: str, selected: str, has_cursors: bool
) -> None:
    label = NOUNS[field][2]
    shown = selected % ("lastName" if label == "last_name" else label)
    with statements(gateway.world.database) as sent:
        await crowd.ask(f"{{ {field}(first: 2, orderBy: {{field: CREATED_AT}}) {{ {shown} }} }}")
    [page] = [text for text in sent if f".{label}" in text and "ORDER BY" in text]
    columns = page[: page.index("ORDER BY")].rpartition("FROM")[0]
    assert ("created_at" in columns) is has_cursors


async def cursor(tenant: Tenant, field: str, number: int) -> str:
    query = (
        f"query($n: Int) {{ {field}(offset: $n, first: 1, orderBy: {{field: CREATED_AT}}) {{ edges {{ cursor }} }} }}"
    )
    [edge] = (await tenant.ask(query, n=number))["edges"]
    text: str = edge["cursor"]
    return text


@pytest.mark.parametrize("field", NOUNS)
async def test_windows(crowd: Tenant, field: str) -> None:
    at_10 = await cursor(crowd, field, 10)
    for arguments, start, stop, before, behind in [
        ({}, 0, 50, False, True),
        ({"first": None}, 0, 50, False, True),
        ({"first": 0}, 0, 0, False, True),
        ({"first": 1}, 0, 1, False, True),
        ({"first": 500}, 0, 500, False, True),
        ({"offset": 0}, 0, 50, False, True),
        ({"offset": 1, "first": 2}, 1, 3, True, True),
        ({"offset": 500}, 500, 502, True, False),
        ({"offset": 502}, 0, 0, True, False),
        ({"offset": 2147483647}, 0, 0, True, False),
        ({"after": at_10}, 11, 61, True, True),
        ({"after": at_10, "first": 500}, 11, 502, True, False),
        ({"after": at_10, "first": 491}, 11, 502, True, False),
        ({"after": at_10, "first": 0}, 0, 0, True, True),
        ({"last": 3}, 499, 502, True, False),
        ({"last": 0}, 0, 0, True, False),
        ({"last": 500}, 2, 502, True, False),
        ({"before": at_10}, 0, 10, False, True),
        ({"before": at_10, "last": 10}, 0, 10, False, True),
        ({"before": at_10, "last": 9}, 1, 10, True, True),
    ]:
        assert await numbers(crowd, field, **arguments) == (list(range(start, stop)), before, behind), arguments


RANGE = "must be between 0 and 500"
DIRECTION = "last and before do not go with first and after"
OFFSET = "offset does not go with a cursor or with last"


@pytest.mark.parametrize("field", NOUNS)
@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ("first: 501", [("first", RANGE, "page_size")]),
        ("first: -1", [("first", RANGE, "page_size")]),
        ("last: 501", [("last", RANGE, "page_size")]),
        ("last: -1", [("last", RANGE, "page_size")]),
        ("offset: -1", [("offset", "must not be negative", "greater_than_equal")]),
        (
            "first: -1, offset: -1",
            [("first", RANGE, "page_size"), ("offset", "must not be negative", "greater_than_equal")],
        ),
        ("first: 1, last: 1", [("last", DIRECTION, "page_direction")]),
        ('first: 1, before: "x"', [("last", DIRECTION, "page_direction")]),
        ('last: 1, after: "x"', [("last", DIRECTION, "page_direction")]),
        ('after: "x", before: "x"', [("last", DIRECTION, "page_direction")]),
        ('offset: 1, after: "x"', [("offset", OFFSET, "page_direction")]),
        ("offset: 0, last: 1", [("offset", OFFSET, "page_direction")]),
    ],
)
async def test_windows_that_are_refused(crowd: Tenant, field: str, arguments: str, problems: list[Any]) -> None:
    error = await crowd.error(f"{{ {field}({arguments}) {{ nodes {{ id }} }} }}")
    assert error["path"] == [field]
    assert error["extensions"]["code"] == "VALIDATION"
    named = [(*p["field"], p["message"], p["type"]) for p in error["extensions"]["problems"]]
    assert named == problems
    assert error["message"] == "; ".join(f"{name}: {message}" for name, message, _ in problems)


@pytest.mark.parametrize("number", ["2147483648", "-2147483649"])
async def test_a_window_beyond_an_int(crowd: Tenant, number: str) -> None:
    response = await crowd.post(f"{{ deals(first: {number}) {{ nodes {{ id }} }} }}")
    [error] = response.json()["errors"]
    assert error["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"


def _forged(*values: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).rstrip(b"=").decode()


MOMENT, ROW = "2026-01-01T00:00:00Z", "00000000-0000-7000-8000-000000000000"
GARBAGE = [
    "",
    "x",
    "====",
    "not base64!",
    "ä",
    "\x00",
    "W10",
    _forged(),
    _forged("created_at"),
    _forged("created_at", "d"),
    _forged("created_at", "d", MOMENT),
    _forged("created_at", "d", MOMENT, ROW, ROW),
    _forged("created_at", "d", None, ROW),
    _forged("created_at", "d", MOMENT, None),
    _forged("created_at", "d", MOMENT, "no uuid"),
    _forged("created_at", "d", "yesterday", ROW),
    _forged("created_at", "d", "2026-01-01T00:00:00", ROW),
    _forged("created_at", "d", "0001-01-01T00:00:00+23:59", ROW),
    _forged("created_at", "d", 5, ROW),
    _forged("created_at", "d", [MOMENT], ROW),
    _forged("created_at", "a", MOMENT, ROW),
    _forged("updated_at", "d", MOMENT, MOMENT, ROW),
    _forged("id", "d", ROW),
    base64.urlsafe_b64encode(b'{"created_at": 1}').decode(),
    base64.urlsafe_b64encode(b"5").decode(),
    base64.urlsafe_b64encode(b"[[[[").decode(),
    base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    "A" * 100_000,
]


@pytest.mark.parametrize("field", NOUNS)
@pytest.mark.parametrize("argument", ["after", "before"])
async def test_cursors_that_are_none(crowd: Tenant, field: str, argument: str) -> None:
    arguments = f"{argument}: $cursor, orderBy: {{field: CREATED_AT}}"
    query = f"query($cursor: String) {{ {field}({arguments}) {{ nodes {{ id }} }} }}"
    for text in GARBAGE:
        error = await crowd.error(query, cursor=text)
        assert error["extensions"]["code"] == "VALIDATION", text
        assert error["extensions"]["problems"] == [
            {"field": [argument], "message": "is not a cursor of this list in this order", "type": "cursor"}
        ]


async def test_cursors_of_another_order_or_list(crowd: Tenant) -> None:
    query = """query($after: String, $order: DealOrder) { deals(after: $after, orderBy: $order, first: 1) {
      nodes { name } edges { cursor } } }"""
    orders = [
        {"field": field, "direction": direction}
        for field in ("NAME", "VALUE", "CLOSE_DATE", "CREATED_AT", "UPDATED_AT")
        for direction in ("ASC", "DESC")
    ]
    cursors = [(await crowd.ask(query, order=order))["edges"][0]["cursor"] for order in orders]
    for order in orders:
        for other, text in zip(orders, cursors, strict=True):
            body = await crowd.body(query, order=order, after=text)
            assert ("errors" in body) == (order != other)
    of_events = _forged("sequence", "a", 1)
    assert (await crowd.error(query, after=of_events))["extensions"]["problems"][0]["field"] == ["after"]


@pytest.mark.parametrize(
    ("order", "values"),
    [
        ("VALUE", ["-1"]),
        ("VALUE", ["NaN"]),
        ("VALUE", ["1e15"]),
        ("VALUE", ["ten"]),
        ("VALUE", [10]),
        ("VALUE", ["Infinity"]),
        ("CLOSE_DATE", ["2026-02-30"]),
        ("CLOSE_DATE", ["today"]),
        ("NAME", [None]),
        ("NAME", ["a\x00"]),
        ("NAME", [5]),
    ],
)
async def test_cursors_with_impossible_values(crowd: Tenant, order: str, values: list[Any]) -> None:
    text = _forged(order.lower(), "d", *values, MOMENT, ROW)
    query = "query($after: String, $order: DealOrder) { deals(after: $after, orderBy: $order) { nodes { id } } }"
    error = await crowd.error(query, after=text, order={"field": order})
    assert error["extensions"]["problems"][0]["field"] == ["after"]


async def test_a_cursor_outlives_its_row(one: Tenant) -> None:
    deals = [Deal(name=str(i), created_at=START - timedelta(minutes=i)) for i in range(3)]
    await one.add(*deals)
    listing = Listing(one, "deals", "Deal", {deal.name: deal for deal in deals})
    page = await listing.page()
    await one.ask("mutation($id: ID!) { dealDelete(id: $id) { deletedId } }", id=deals[1].id)
    assert (await listing.page(after=page.cursors[1])).labels == ["2"]
    assert (await listing.page(before=page.cursors[1])).labels == ["0"]


async def test_a_cursor_of_another_organization_shows_nothing_of_it(one: Tenant, two: Tenant) -> None:
    await one.add(Deal(name="one", created_at=START))
    theirs = [Deal(name=str(i), created_at=START + timedelta(minutes=1 - i)) for i in range(3)]
    await two.add(*theirs)
    foreign = (await Listing(two, "deals", "Deal", {d.name: d for d in theirs}).page(first=1)).cursors[0]
    query = "query($after: String) { deals(after: $after) { nodes { name } } }"
    assert await one.ask(query, after=foreign) == {"nodes": [{"name": "one"}]}


@pytest.mark.parametrize("field", NOUNS)
async def test_the_count_is_made_only_when_asked_for(crowd: Tenant, field: str) -> None:
    database = crowd.gateway.world.database
    with statements(database) as without:
        await crowd.ask(f"{{ {field}(first: 1) {{ nodes {{ id }} edges {{ cursor }} pageInfo {{ hasNextPage }} }} }}")
    with statements(database) as counting:
        found = await crowd.ask(f"{{ {field}(first: 1) {{ nodes {{ id }} totalCount }} }}")
    assert found["totalCount"] == ROWS
    assert [s for s in without if "count(" in s.lower()] == []
    assert len([s for s in counting if "count(" in s.lower()]) == 1
    assert len(counting) == len(without) + 1


async def test_the_count_is_of_the_whole_list_and_respects_the_filter(crowd: Tenant) -> None:
    query = "query($f: DealFilter, $n: Int, $o: Int) { deals(filter: $f, first: $n, offset: $o) { totalCount } }"
    assert await crowd.ask(query, n=0) == {"totalCount": ROWS}
    assert await crowd.ask(query, n=7, o=490) == {"totalCount": ROWS}
    assert await crowd.ask(query, f={"name": {"startsWith": "50"}}) == {"totalCount": 3}
    assert await crowd.ask(query, f={"or": []}) == {"totalCount": 0}


async def test_order_values_that_do_not_exist(crowd: Tenant) -> None:
    response = await crowd.post("{ deals(orderBy: {field: OWNER_ID}) { nodes { id } } }")
    assert response.json()["errors"][0]["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"
    query = "query($order: DealOrder) { deals(orderBy: $order) { nodes { id } } }"
    for order in ({"field": "OWNER_ID"}, {"direction": "asc"}, {"field": None}, {"sort": "NAME"}):
        assert (await crowd.error(query, order=order))["extensions"]["code"] == "BAD_USER_INPUT"
