"""Sales targets: what is to be reached, and how far it is, in days of a time zone and in one currency."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from storage.base import new_id
from storage.tables import Deal, Event, SalesTarget
from tests.isolation.requests import ERRORS, Case, Rest, by_id, q
from tests.isolation.surfaces import Surfaces, camel
from tests.support.record_types import RecordType
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEYS = [
    *("id", "owner_id", "metric", "currency", "period", "starts_on", "ends_on", "time_zone", "amount", "created_at"),
    *("updated_at", "version", "attainment"),
]
ATTAINED = (
    "attainment { actual deals ratio remaining otherCurrencies { currency amount count } withoutValue openPipeline }"
)
SHOWN = "id ownerId metric currency period startsOn endsOn timeZone amount version"
PUT = f"""mutation($inputs: [SalesTargetInput!]!) {{
  salesTargetsPut(inputs: $inputs) {{ targets {{ {SHOWN} }} {ERRORS} }} }}"""
LIST = f"query($f: SalesTargetFilter) {{ salesTargets(filter: $f) {{ nodes {{ {SHOWN} {ATTAINED} }} totalCount }} }}"
DELETE = f"mutation($id: ID!) {{ salesTargetDelete(id: $id) {{ deletedId {ERRORS} }} }}"


def target(**fields: Any) -> dict[str, Any]:
    usual = {"metric": "WON_VALUE", "currency": "EUR", "period": "MONTH", "startsOn": "2026-03-01", "amount": "1000"}
    return {name: value for name, value in {**usual, **fields}.items() if value is not None}


async def put(tenant: Tenant, *inputs: dict[str, Any]) -> Any:
    return await tenant.ask(PUT, tenant.headers("admin"), inputs=list(inputs))


async def listed(tenant: Tenant, **filter: Any) -> Any:
    return (await tenant.ask(LIST, f=filter))["nodes"]


def won(value: str | None, at: datetime, currency: str = "EUR", owner: str | None = None) -> Deal:
    amount = None if value is None else Decimal(value)
    return Deal(name="d", value=amount, currency=currency, status="won", closed_at=at, owner_id=owner)


async def test_periods_end_on_their_last_day(one: Tenant) -> None:
    inputs = [
        target(startsOn="2028-02-01"),
        target(period="QUARTER", startsOn="2026-10-01"),
        target(period="YEAR", startsOn="2026-01-01"),
        target(period="CUSTOM", startsOn="2026-01-05", endsOn="2026-01-05"),
        target(period="CUSTOM", startsOn="2028-01-01", endsOn="2028-12-31"),
    ]
    done = await put(one, *inputs)
    assert done["userErrors"] == []
    last = [each["endsOn"] for each in done["targets"]]
    assert last == ["2028-02-29", "2026-12-31", "2026-12-31", "2026-01-05", "2028-12-31"]


async def test_what_is_the_same_is_changed(one: Tenant) -> None:
    owner = f"admin@{one.organization.external_id}"
    member = (await one.ask("{ members { nodes { id } } }"))["nodes"][0]["id"]
    [first, of_member] = (await put(one, target(), target(ownerId=member)))["targets"]
    [again, same] = (await put(one, target(amount="5", timeZone="Asia/Tokyo"), target(ownerId=member)))["targets"]
    assert (again["id"], again["amount"], again["timeZone"], again["version"]) == (first["id"], "5", "Asia/Tokyo", 2)
    assert same == of_member
    assert [(n["ownerId"], n["amount"]) for n in await listed(one)] == [(None, "5"), (member, "1000")]
    events = [row for row in await one.rows(Event.type, Event.data) if row[0] == "sales_targets_set"]
    assert [(len(data["created"]), len(data["changed"])) for _, data in events] == [(2, 0), (0, 1)]
    assert owner


async def test_days_begin_in_the_time_zone(one: Tenant) -> None:
    """In Auckland March begins on the last day of February, half a day before it does in UTC."""
    await put(one, target(timeZone="Pacific/Auckland"), target(ownerId=None, currency="USD", timeZone="UTC"))
    begins, ends = datetime(2026, 2, 28, 11, tzinfo=UTC), datetime(2026, 3, 31, 11, tzinfo=UTC)
    second = timedelta(seconds=1)
    await one.add(won("1", begins), won("10", begins - second), won("100", ends - second), won("1000", ends))
    [euro] = await listed(one, currency="eur")
    assert euro["attainment"]["actual"] == "101"
    assert euro["attainment"]["deals"] == 2


async def test_attainment_adds_one_currency_and_tells_the_others(one: Tenant) -> None:
    at = datetime(2026, 3, 15, tzinfo=UTC)
    member = (await one.ask("{ members { nodes { id } } }"))["nodes"][0]["id"]
    await put(one, target(), target(ownerId=member), target(metric="WON_DEALS", currency=None, amount="8"))
    await one.add(
        won("999999999999999.9999", at),
        won("0.0001", at, owner=member),
        won(None, at),
        won("7", at, "USD"),
        won(None, at, "USD", owner=member),
        Deal(name="lost", value=Decimal(5), currency="EUR", status="lost", closed_at=at),
        Deal(name="open", value=Decimal(5), currency="EUR", close_date=date(2026, 3, 31)),
        Deal(name="open", value=Decimal(6), currency="USD", close_date=date(2026, 3, 1)),
        Deal(name="later", value=Decimal(5), currency="EUR", close_date=date(2026, 4, 1)),
        won("5", datetime(2026, 4, 1, tzinfo=UTC)),
    )
    found = {(n["ownerId"], n["metric"]): n["attainment"] for n in await listed(one)}
    assert found[None, "WON_VALUE"] == {
        "actual": "1000000000000000",
        "deals": 2,
        "ratio": "1000000000000",
        "remaining": "0",
        "otherCurrencies": [{"currency": "USD", "amount": "7", "count": 2}],
        "withoutValue": 2,
        "openPipeline": "5",
    }
    assert found[member, "WON_VALUE"] == {
        "actual": "0.0001",
        "deals": 1,
        "ratio": "0",
        "remaining": "999.9999",
        "otherCurrencies": [{"currency": "USD", "amount": "0", "count": 1}],
        "withoutValue": 1,
        "openPipeline": "0",
    }
    assert found[None, "WON_DEALS"] == {
        "actual": "5",
        "deals": 5,
        "ratio": "0.625",
        "remaining": "3",
        "otherCurrencies": [],
        "withoutValue": 2,
        "openPipeline": "2",
    }


async def test_parts_of_an_attainment_are_what_they_are_in_the_whole(one: Tenant) -> None:
    """What is not asked for is not read, and changes nothing."""
    member = (await one.ask("{ members { nodes { id } } }"))["nodes"][0]["id"]
    await put(one, target(), target(ownerId=member), target(metric="WON_DEALS", currency=None, amount="8"))
    for owner in (None, member):
        for currency in ("EUR", "USD", "JPY"):
            at = datetime(2026, 3, 15, tzinfo=UTC)
            await one.add(won("5", at, currency, owner), won(None, at, currency, owner))
            coming = date(2026, 3, 9)
            await one.add(Deal(name="d", value=Decimal(2), currency=currency, close_date=coming, owner_id=owner))
    whole = [node["attainment"] for node in await listed(one)]
    assert sorted(each["actual"] for each in whole) == ["10", "12", "5"]
    asked = "{{ salesTargets {{ nodes {{ attainment {{ {} }} }} }} }}"
    for part, shown in (("otherCurrencies", " { currency amount count }"), *((name, "") for name in sorted(whole[0]))):
        if part != "otherCurrencies" or shown:
            nodes = (await one.ask(asked.format(part + shown)))["nodes"]
            assert [node["attainment"] for node in nodes] == [{part: each[part]} for each in whole]
    twice = (
        "{ salesTargets { nodes { a: attainment { actual } b: attainment { openPipeline ...F } } } } "
        "fragment F on TargetAttainment { withoutValue }"
    )
    for node, each in zip((await one.ask(twice))["nodes"], whole, strict=True):
        assert node["a"] == {"actual": each["actual"]}
        assert node["b"] == {name: each[name] for name in ("openPipeline", "withoutValue")}


async def test_what_is_wrong_is_told_at_its_field_and_nothing_is_set(one: Tenant, two: Tenant) -> None:
    theirs = (await two.ask("{ members { nodes { id } } }"))["nodes"][0]["id"]
    for wrong, field in (
        (target(currency=None), "currency"),
        (target(currency="XXX1"), "currency"),
        (target(metric="WON_DEALS"), "currency"),
        (target(metric="WON_DEALS", currency=None, amount="1.5"), "amount"),
        (target(amount="0"), "amount"),
        (target(amount="-1"), "amount"),
        (target(startsOn="2026-03-02"), "startsOn"),
        (target(period="QUARTER"), "startsOn"),
        (target(period="YEAR"), "startsOn"),
        (target(startsOn="9999-12-01"), "startsOn"),
        (target(endsOn="2026-03-31"), "endsOn"),
        (target(period="CUSTOM"), "endsOn"),
        (target(period="CUSTOM", endsOn="2026-02-28"), "endsOn"),
        (target(period="CUSTOM", endsOn="2027-03-02"), "endsOn"),
        (target(timeZone="Mars/Base"), "timeZone"),
        (target(timeZone="localtime"), "timeZone"),  # which is another on each machine
        (target(ownerId="nobody"), "ownerId"),
        (target(ownerId=theirs), "ownerId"),
        (target(ownerId="\x00"), "ownerId"),
    ):
        done = await put(one, target(startsOn="2026-05-01"), wrong)
        assert [(p["code"], p["field"]) for p in done["userErrors"]] == [("VALIDATION", ["inputs", "1", field])], wrong
        assert done["targets"] == []
    [problem] = (await put(one, target(), target(amount="7")))["userErrors"]
    assert problem["field"] == ["inputs", "1"]
    for many in ([], [target()] * 201):
        assert [p["field"] for p in (await put(one, *many))["userErrors"]] == [["inputs"]]
    assert await one.rows(SalesTarget.id) == []


async def test_targets_are_found_and_deleted(one: Tenant) -> None:
    member = (await one.ask("{ members { nodes { id } } }"))["nodes"][0]["id"]
    made = (
        await put(
            one,
            target(),
            target(ownerId=member),
            target(startsOn="2026-04-01"),
            target(metric="WON_DEALS", currency=None, period="YEAR", startsOn="2026-01-01"),
        )
    )["targets"]
    names = {each["id"]: number for number, each in enumerate(made)}
    for filter, expected in (
        ({}, [2, 0, 1, 3]),
        ({"ownerIds": [member]}, [1]),
        ({"ownerIds": []}, []),
        ({"organizationWide": True}, [2, 0, 3]),
        ({"organizationWide": False}, [1]),
        ({"metric": "WON_DEALS"}, [3]),
        ({"currency": "EUR"}, [2, 0, 1]),
        ({"on": "2026-03-31"}, [0, 1, 3]),
        ({"on": "2026-04-01"}, [2, 3]),
        ({"startsOn": {"gte": "2026-03-01"}, "endsOn": {"lt": "2026-04-30"}}, [0, 1]),
    ):
        assert [names[node["id"]] for node in await listed(one, **filter)] == expected, filter
    assert (await one.ask(DELETE, one.headers("admin"), id=made[0]["id"]))["deletedId"] == made[0]["id"]
    [problem] = (await one.ask(DELETE, one.headers("admin"), id=made[0]["id"]))["userErrors"]
    assert problem["code"] == "NOT_FOUND"
    [refused] = (await one.body(DELETE, one.headers("member"), id=made[1]["id"]))["errors"]
    assert refused["extensions"]["code"] == "FORBIDDEN"


async def test_a_page_with_attainment_is_a_constant_number_of_statements(one: Tenant) -> None:
    months = [target(startsOn=f"{2020 + n // 12}-{n % 12 + 1:02}-01") for n in range(50)]
    await put(one, *months)
    counts = []
    for size in (5, 50):
        with statements(one.gateway.world.database) as sent:
            await one.ask(f"{{ salesTargets(first: {size}) {{ nodes {{ owner {{ name }} {ATTAINED} }} }} }}")
        counts.append(len(sent))
    assert counts[0] == counts[1] <= 4


BODY = [
    {"metric": "won_value", "currency": "eur", "period": "month", "starts_on": "2026-03-01", "amount": 12.5},
    {"metric": "won_deals", "period": "year", "starts_on": "2026-01-01", "amount": 3, "time_zone": "Asia/Tokyo"},
]


def _graph(body: dict[str, Any]) -> dict[str, Any]:
    upper = {"metric", "period"}
    return {camel(n): v.upper() if n in upper else str(v) if n == "amount" else v for n, v in body.items()}


async def _put(surfaces: Surfaces) -> None:
    by_path = await surfaces.rest("PUT", "/sales-targets", BODY)
    assert by_path.status_code == 200, by_path.text
    twin = await surfaces.change(
        "salesTargetsPut", "$i: [SalesTargetInput!]! -> inputs: $i", f"targets {{ {SHOWN} }}", i=[*map(_graph, BODY)]
    )
    assert [each["id"] for each in by_path.json()] == [each["id"] for each in twin["targets"]]  # the same again
    for body, loc in (
        ([BODY[0], BODY[0] | {"amount": 0}], ["body", 1, "amount"]),
        ([BODY[0] | {"metric": "x"}], ["body", 0, "metric"]),
        ([BODY[0] | {"owner_id": "nobody"}], ["body", 0, "owner_id"]),
        ({"inputs": BODY}, ["body"]),
        ([], ["body"]),
        ([1], ["body", 0]),
    ):
        wrong = await surfaces.rest("PUT", "/sales-targets", body)
        assert (wrong.status_code, wrong.json()["detail"][0]["loc"]) == (422, loc), wrong.text


async def _targets(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    at = datetime(2026, 3, 15, tzinfo=UTC)
    await world.add(world.one, won("2.5", at), won("1", at, "USD"))
    await surfaces.rest("PUT", "/sales-targets", BODY)
    for query, filter in (
        ("", ""),
        ("organization_wide=true&on=2026-03-31", '(filter: {organizationWide: true, on: "2026-03-31"})'),
        ("metric=won_deals", "(filter: {metric: WON_DEALS})"),
        ("owner_id=nobody", '(filter: {ownerIds: ["nobody"]})'),
    ):
        listed = (await surfaces.rest("GET", f"/sales-targets?{query}")).json()
        shown = (await surfaces.graphql(f"{{ salesTargets{filter} {{ nodes {{ {SHOWN} {ATTAINED} }} }} }}"))["nodes"]
        assert [each["id"] for each in listed] == [node["id"] for node in shown]
        for each, node in zip(listed, shown, strict=True):
            told, twin = each["attainment"], node["attainment"]
            assert (told["actual"], told["ratio"], each["amount"]) == tuple(
                float(text) for text in (twin["actual"], twin["ratio"], node["amount"])
            )
            assert [c["count"] for c in told["other_currencies"]] == [c["count"] for c in twin["otherCurrencies"]]
            assert (each["ends_on"], each["currency"]) == (node["endsOn"], node["currency"])
    assert (await surfaces.rest("GET", "/sales-targets?limit=0")).json() == []


async def _delete(surfaces: Surfaces) -> None:
    one, two = (await surfaces.rest("PUT", "/sales-targets", BODY)).json()
    assert (await surfaces.rest("DELETE", f"/sales-targets/{one['id']}")).status_code == 204
    await surfaces.change("salesTargetDelete", "$id: ID! -> id: $id", "deletedId", id=two["id"])
    assert (await surfaces.rest("GET", "/sales-targets")).json() == []
    assert (await surfaces.rest("DELETE", f"/sales-targets/{new_id()}")).status_code == 404


def _row(ids: Any, mark: str) -> SalesTarget:
    """A target of days that no other one begins with: an organization may have several."""
    identifier = new_id()
    begins = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=int(identifier[-4:], 16) % 30_000)
    ends = begins + timedelta(days=1 + int(identifier[-8:-4], 16) % 3_000)
    return SalesTarget(
        id=identifier,
        metric="won_value",
        currency="EUR",
        currency_key="EUR",
        period="custom",
        starts_on=begins.date(),
        ends_on=ends.date() - timedelta(days=1),
        time_zone=mark,
        amount=Decimal(1),
        begins_at=begins,
        ends_before=ends,
    )


_ONE = {"metric": "won_value", "currency": "EUR", "period": "month", "starts_on": "2026-03-01", "amount": 1}
RECORD = RecordType(
    typename="SalesTarget",
    name="sales target",
    row=_row,
    cases={
        "sales_targets.get_target": Case(
            "CRM_READ", (q("query($id: ID!) { salesTarget(id: $id) { timeZone } }", id="<sales target>"),)
        ),
        "sales_targets.list_targets": Case(
            "CRM_READ", (Rest("GET", "/sales-targets"), q("{ salesTargets { nodes { timeZone } totalCount } }"))
        ),
        "sales_targets.attainment_of": Case(
            "CRM_READ",
            (q("query($id: ID!) { salesTarget(id: $id) { id attainment { actual } } }", id="<sales target>"),),
            below=("sales_targets.get_target",),
            direct=("<sales target>",),
        ),
        "sales_targets.put_targets": Case(
            "ORG_ADMIN",
            (
                Rest("PUT", "/sales-targets", [_ONE | {"owner_id": "<member>"}]),
                q(PUT, inputs=[target(ownerId="<member>")]),
            ),
        ),
        "sales_targets.delete_target": Case(
            "ORG_ADMIN",
            (
                Rest("DELETE", "/sales-targets/<sales target>"),
                by_id("salesTargetDelete", "sales target", "deletedId"),
            ),
        ),
    },
    paths={
        ("GET", "/sales-targets"): ("CRM_READ", True, 200, "Query.salesTargets"),
        ("PUT", "/sales-targets"): ("ORG_ADMIN", True, 200, "Mutation.salesTargetsPut"),
        ("DELETE", "/sales-targets/{target_id}"): ("ORG_ADMIN", True, 204, "Mutation.salesTargetDelete"),
    },
    keys={("/sales-targets", "GET"): KEYS, ("/sales-targets", "PUT"): KEYS},
    compared={
        "Query.salesTargets": _targets,
        "Mutation.salesTargetsPut": _put,
        "Mutation.salesTargetDelete": _delete,
    },
)
