"""Deals as they are read: orders, filters and the record."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import pytest_asyncio

from storage.tables import Account, Activity, Contact, Deal, PipelineStage
from tests.support.gateway import Gateway
from tests.support.lists import Listing
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = datetime(2026, 1, 1, tzinfo=UTC)
NOWHERE = "00000000-0000-7000-8000-000000000000"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shelf(gateway: Gateway) -> Listing:
    """Deals with equal keys, missing keys and every kind of text; nobody changes them."""
    tenant, other = await new_tenant(gateway), await new_tenant(gateway)
    acme, bolt = Account(name="Acme", domain="acme.example"), Account(name="bolt", industry="Power")
    stage = PipelineStage(name="Open")
    contact = Contact(last_name="Champion")
    await tenant.add(acme, bolt, stage, contact)

    def deal(created: int, updated: int, **values: Any) -> Deal:
        times = {"created_at": START + timedelta(minutes=created), "updated_at": START + timedelta(minutes=updated)}
        return Deal(**times, **values)

    rows = {
        "a": deal(
            1, 9, name="Alpha", value=Decimal(10), close_date=date(2026, 3, 1), account_id=acme.id, owner_id="u1"
        ),
        "b": deal(1, 8, name="alpha", value=Decimal(10), currency="EUR", account_id=acme.id, owner_id="u2"),
        "c": deal(2, 9, name="Alpha", close_date=date(2026, 3, 1), account_id=bolt.id, champion_id=contact.id),
        "d": deal(
            3, 3, name="Ärger", value=Decimal("123456789012345.6789"), currency="JPY", close_date=date(2025, 12, 31)
        ),
        "e": deal(4, 3, name="😀", value=Decimal(0), stage_id=stage.id, owner_id=""),
        "f": deal(5, 7, name="\uff5e", value=Decimal("10.0001"), stage_id=stage.id),
        "g": deal(5, 6, name="al%ha_\\", close_date=date(2026, 3, 2)),
    }
    await tenant.add(*rows.values())
    await other.add(Deal(name="Alpha"))
    return Listing(tenant, "deals", "Deal", rows)


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
@pytest.mark.parametrize("field", ["NAME", "VALUE", "CLOSE_DATE", "CREATED_AT", "UPDATED_AT"])
async def test_every_order_walked_in_pages_of_every_size(shelf: Listing, field: str, direction: str) -> None:
    await shelf.check_order(field, direction)


async def test_orders_by_hand(shelf: Listing) -> None:
    a, b = ("a", "b") if shelf.rows["a"].id < shelf.rows["b"].id else ("b", "a")
    f, g = ("f", "g") if shelf.rows["f"].id < shelf.rows["g"].id else ("g", "f")
    for order, labels in {
        ("NAME", "ASC"): ["c", "a", "g", "b", "d", "f", "e"],
        ("VALUE", "DESC"): ["d", "f", a, b, "e", "g", "c"],
        ("VALUE", "ASC"): ["e", a, b, "f", "d", "g", "c"],
        ("CLOSE_DATE", "DESC"): ["g", "c", "a", "d", "f", "e", "b"],
        ("CREATED_AT", "DESC"): [f, g, "e", "d", "c", a, b],
    }.items():
        page = await shelf.page(orderBy={"field": order[0], "direction": order[1]})
        assert page.labels == labels, order
    assert (await shelf.page()).labels == [f, g, "e", "d", "c", a, b]
    assert (await shelf.page(orderBy=None)).labels == [f, g, "e", "d", "c", a, b]
    assert (await shelf.page(orderBy={"direction": "ASC"})).labels == [a, b, "c", "d", "e", f, g]


ALL = "abcdefg"


@pytest.mark.parametrize(
    ("filter", "labels"),
    [
        (None, ALL),
        ({}, ALL),
        ({"name": {}}, ALL),
        ({"name": None}, ALL),
        ({"name": {"eq": "Alpha"}}, "ac"),
        ({"name": {"neq": "Alpha"}}, "bdefg"),
        ({"name": {"in": ["Alpha", "😀"]}}, "ace"),
        ({"name": {"in": []}}, ""),
        ({"name": {"nin": ["Alpha", "😀"]}}, "bdfg"),
        ({"name": {"nin": []}}, ALL),
        ({"name": {"contains": "lpha"}}, "abc"),
        ({"name": {"contains": "LPHA"}}, ""),
        ({"name": {"contains": "%"}}, "g"),
        ({"name": {"contains": "_"}}, "g"),
        ({"name": {"contains": "\\"}}, "g"),
        ({"name": {"contains": ""}}, ALL),
        ({"name": {"startsWith": "al"}}, "bg"),
        ({"name": {"startsWith": "al%"}}, "g"),
        ({"name": {"startsWith": "Ä"}}, "d"),
        ({"name": {"startsWith": "😀"}}, "e"),
        ({"name": {"startsWith": ""}}, ALL),
        ({"name": {"isNull": True}}, ""),
        ({"name": {"isNull": False}}, ALL),
        ({"name": {"eq": "Al\x00pha"}}, ""),
        ({"name": {"neq": "Al\x00pha"}}, ALL),
        ({"name": {"in": ["\x00", "Alpha"]}}, "ac"),
        ({"name": {"nin": ["\x00"]}}, ALL),
        ({"name": {"contains": "\x00"}}, ""),
        ({"name": {"startsWith": "\x00"}}, ""),
        ({"ownerId": {"eq": "u1"}}, "a"),
        ({"ownerId": {"eq": None}}, "cdfg"),
        ({"ownerId": {"neq": None}}, "abe"),
        ({"ownerId": {"neq": "u1"}}, "bcdefg"),
        ({"ownerId": {"nin": ["u1", "u2"]}}, "cdefg"),
        ({"ownerId": {"isNull": True}}, "cdfg"),
        ({"ownerId": {"isNull": False}}, "abe"),
        ({"ownerId": {"eq": ""}}, "e"),
        ({"ownerId": {"contains": ""}}, "abe"),
        ({"currency": {"in": ["EUR", "JPY"]}}, "bd"),
        ({"value": {"eq": "10"}}, "ab"),
        ({"value": {"eq": "10.00000"}}, "ab"),
        ({"value": {"eq": "10.00001"}}, ""),
        ({"value": {"neq": "10"}}, "cdefg"),
        ({"value": {"neq": "10.00001"}}, ALL),
        ({"value": {"gt": "10"}}, "df"),
        ({"value": {"gt": "9.99999"}}, "abdf"),
        ({"value": {"gte": "10.00001"}}, "df"),
        ({"value": {"gte": "10"}}, "abdf"),
        ({"value": {"lt": "10.0001"}}, "abe"),
        ({"value": {"lt": "10.00011"}}, "abef"),
        ({"value": {"lte": "10.00009"}}, "abe"),
        ({"value": {"lte": "10.0001"}}, "abef"),
        ({"value": {"gt": "-1"}}, "abdef"),
        ({"value": {"lt": "-1"}}, ""),
        ({"value": {"gte": "0", "lte": "0"}}, "e"),
        ({"value": {"eq": "-0.0"}}, "e"),
        ({"value": {"lt": "1e30"}}, "abdef"),
        ({"value": {"gt": "1e30"}}, ""),
        ({"value": {"neq": "1e30"}}, ALL),
        ({"value": {"eq": "123456789012345.6789"}}, "d"),
        ({"value": {"lt": "123456789012345.6789"}}, "abef"),
        ({"value": {"gt": "123456789012345.6788"}}, "d"),
        ({"value": {"eq": None}}, "cg"),
        ({"value": {"isNull": True}}, "cg"),
        ({"value": {"isNull": False}}, "abdef"),
        ({"value": {"neq": None}}, "abdef"),
        ({"closeDate": {"eq": "2026-03-01"}}, "ac"),
        ({"closeDate": {"neq": "2026-03-01"}}, "bdefg"),
        ({"closeDate": {"gt": "2026-03-01"}}, "g"),
        ({"closeDate": {"gte": "2026-03-01"}}, "acg"),
        ({"closeDate": {"lt": "2026-03-01"}}, "d"),
        ({"closeDate": {"lte": "2026-03-01"}}, "acd"),
        ({"closeDate": {"isNull": True}}, "bef"),
        ({"closeDate": {"eq": None}}, "bef"),
        ({"closeDate": {"gt": "9999-12-31"}}, ""),
        ({"closeDate": {"gt": "0001-01-01"}}, "acdg"),
        ({"createdAt": {"eq": "2026-01-01T00:01:00Z"}}, "ab"),
        ({"createdAt": {"eq": "2026-01-01T02:01:00+02:00"}}, "ab"),
        ({"createdAt": {"neq": "2026-01-01T00:01:00Z"}}, "cdefg"),
        ({"createdAt": {"gt": "2026-01-01T00:04:00Z"}}, "fg"),
        ({"createdAt": {"gte": "2026-01-01T00:04:00Z"}}, "efg"),
        ({"createdAt": {"lt": "2026-01-01T00:02:00.000001Z"}}, "abc"),
        ({"createdAt": {"lte": "2026-01-01T00:01:00Z"}}, "ab"),
        ({"createdAt": {"lte": "2026-01-01T00:00:59.999999Z"}}, ""),
        ({"createdAt": {"isNull": True}}, ""),
        ({"stageId": {"isNull": True}}, "abcdg"),
        ({"stageId": {"eq": "no uuid"}}, ""),
        ({"stageId": {"neq": "no uuid"}}, ALL),
        ({"stageId": {"in": ["no uuid"]}}, ""),
        ({"stageId": {"nin": ["no uuid", NOWHERE]}}, ALL),
        ({"accountId": {"isNull": False}}, "abc"),
        ({"championId": {"eq": None}}, "abdefg"),
        ({"account": {}}, "abc"),
        ({"account": {"name": {"eq": "Acme"}}}, "ab"),
        ({"account": {"name": {"neq": "Acme"}}}, "c"),
        ({"not": {"account": {"name": {"eq": "Acme"}}}}, "cdefg"),
        ({"account": {"not": {"name": {"eq": "Acme"}}}}, "c"),
        ({"account": {"industry": {"isNull": True}}}, "ab"),
        ({"account": {"or": [{"domain": {"eq": "acme.example"}}, {"industry": {"eq": "Power"}}]}}, "abc"),
        ({"not": {}}, ""),
        ({"not": {"not": {"value": {"gt": "10"}}}}, "df"),
        ({"not": {"value": {"gt": "10"}}}, "abceg"),
        ({"not": {"value": {"lte": "10"}}}, "cdfg"),
        ({"not": {"value": {"isNull": True}}}, "abdef"),
        ({"not": {"ownerId": {"contains": "u"}}}, "cdefg"),
        ({"not": {"and": [{"value": {"gt": "0"}}, {"ownerId": {"eq": "u1"}}]}}, "bcdefg"),
        ({"not": {"or": [{"value": {"gt": "0"}}, {"ownerId": {"eq": "u1"}}]}}, "ceg"),
        ({"and": []}, ALL),
        ({"or": []}, ""),
        ({"not": {"or": []}}, ALL),
        ({"and": [{"name": {"eq": "Alpha"}}, {"value": {"isNull": True}}]}, "c"),
        ({"or": [{"name": {"eq": "Alpha"}}, {"value": {"isNull": True}}]}, "acg"),
        ({"or": [{}, {"name": {"eq": "Alpha"}}]}, ALL),
        ({"or": [{"name": {"eq": "Alpha"}}], "value": {"isNull": False}}, "a"),
        ({"name": {"eq": "Alpha", "neq": "Alpha"}}, ""),
        ({"or": None, "and": None, "not": None, "account": None}, ALL),
    ],
)
async def test_filters(shelf: Listing, filter: Any, labels: str) -> None:
    assert await shelf.matching(filter) == labels


async def test_filters_on_identifiers(shelf: Listing) -> None:
    a, c, e = shelf.rows["a"].id, shelf.rows["c"], shelf.rows["e"]
    acme, bolt = shelf.rows["a"].account_id, c.account_id
    for filter, labels in [
        ({"id": {"eq": a}}, "a"),
        ({"id": {"eq": a.upper()}}, "a"),
        ({"id": {"neq": a}}, "bcdefg"),
        ({"id": {"in": [a, "no uuid", NOWHERE]}}, "a"),
        ({"id": {"nin": [a]}}, "bcdefg"),
        ({"id": {"isNull": True}}, ""),
        ({"accountId": {"eq": acme}}, "ab"),
        ({"accountId": {"neq": acme}}, "cdefg"),
        ({"accountId": {"nin": [acme]}}, "cdefg"),
        ({"accountId": {"in": [acme, bolt]}}, "abc"),
        ({"account": {"id": {"eq": bolt}}}, "c"),
        ({"stageId": {"eq": e.stage_id}}, "ef"),
        ({"championId": {"eq": c.champion_id}}, "c"),
        ({"championId": {"in": [acme]}}, ""),
    ]:
        assert await shelf.matching(filter) == labels, filter


@pytest.mark.parametrize(
    ("filter", "field"),
    [
        ({"name": {"contains": None}}, ["filter", "name", "contains"]),
        ({"name": {"startsWith": None}}, ["filter", "name", "startsWith"]),
        ({"name": {"in": None}}, ["filter", "name", "in"]),
        ({"value": {"gt": None}}, ["filter", "value", "gt"]),
        ({"value": {"isNull": None}}, ["filter", "value", "isNull"]),
        ({"or": [{"closeDate": {"lte": None}}]}, ["filter", "or", "closeDate", "lte"]),
        ({"account": {"name": {"nin": None}}}, ["filter", "account", "name", "nin"]),
    ],
)
async def test_a_null_for_a_comparator_that_needs_a_value(shelf: Listing, filter: Any, field: list[str]) -> None:
    error = await shelf.error(filter=filter)
    assert error["extensions"]["code"] == "VALIDATION"
    assert error["extensions"]["problems"] == [{"field": field, "message": "must not be null", "type": "null"}]
    assert error["message"] == f"{'.'.join(field)}: must not be null"  # decision 214
    assert error["path"] == ["deals"]


async def test_filters_end_at_a_depth_and_a_length(shelf: Listing) -> None:
    deep: Any = {"name": {"eq": "Alpha"}}
    for _ in range(10):
        deep = {"not": deep}
    assert await shelf.matching(deep) == "ac"
    for _ in range(3):
        deep = {"and": [deep]}
    [problem] = (await shelf.error(filter=deep))["extensions"]["problems"]
    assert problem == {"field": ["filter"], "message": "must not nest deeper than 12 levels", "type": "filter_depth"}
    assert await shelf.matching({"name": {"in": ["Alpha"] * 1000}}) == "ac"
    [problem] = (await shelf.error(filter={"name": {"in": ["Alpha"] * 1001}}))["extensions"]["problems"]
    assert problem == {
        "field": ["filter", "name", "in"],
        "message": "must not have more than 1000 items",
        "type": "too_long",
    }


async def test_one_deal_by_its_id(one: Tenant, two: Tenant) -> None:
    account, stage, contact = Account(name="Acme"), PipelineStage(name="Open"), Contact(last_name="Doe")
    parent = Deal(name="Whole", created_at=START)
    await one.add(account, stage, contact, parent)
    deal = Deal(
        name="Part",
        account_id=account.id,
        value=Decimal("1200.5000"),
        currency="EUR",
        stage_id=stage.id,
        close_date=date(2026, 5, 1),
        geo_scope="regional",
        source="fair",
        champion_id=contact.id,
        notes="line\nline",
        parent_deal_id=parent.id,
        competitors=["Rival", "Other"],
        owner_id="somebody",
        created_at=START,
        updated_at=START + timedelta(microseconds=1500),
        version=7,
    )
    await one.add(deal, Activity(subject="Call", deal_id=deal.id, due_at=START))
    query = """query($id: ID!) { deal(id: $id) {
      __typename id name accountId account { name } value currency stageId stage { name } status closeDate geoScope
      source championId champion { lastName } notes parentDealId competitors ownerId createdAt updatedAt version
      contacts { totalCount } meetings { nodes { subject } totalCount } stageHistory { at } } }"""
    assert await one.ask(query, id=deal.id) == {
        "__typename": "Deal",
        "id": deal.id,
        "name": "Part",
        "accountId": account.id,
        "account": {"name": "Acme"},
        "value": "1200.5",
        "currency": "EUR",
        "stageId": stage.id,
        "stage": {"name": "Open"},
        "status": "OPEN",
        "closeDate": "2026-05-01",
        "geoScope": "REGIONAL",
        "source": "fair",
        "championId": contact.id,
        "champion": {"lastName": "Doe"},
        "notes": "line\nline",
        "parentDealId": parent.id,
        "competitors": ["Rival", "Other"],
        "ownerId": "somebody",
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-01T00:00:00.001500Z",
        "version": 7,
        "contacts": {"totalCount": 0},
        "meetings": {"nodes": [{"subject": "Call"}], "totalCount": 1},
        "stageHistory": [],
    }
    assert (await one.ask(query, id=deal.id.upper()))["id"] == deal.id
    bare = await one.ask(query, id=parent.id)
    optional = ("accountId", "account", "value", "stageId", "stage", "closeDate", "geoScope", "source", "championId")
    assert {bare[name] for name in (*optional, "champion", "notes", "parentDealId", "ownerId")} == {None}
    assert (bare["competitors"], bare["currency"], bare["status"], bare["version"]) == ([], "USD", "OPEN", 1)
    assert (await one.ask(query, id=deal.id.replace("-", "")))["id"] == deal.id
    signed, spread = "+" + deal.id[1:], deal.id[0] + "----" + deal.id.replace("-", "")[1:]
    for identifier in (NOWHERE, "no uuid", "", account.id, signed, spread, f" {deal.id[1:]}", "\u0660" + deal.id[1:]):
        assert await one.ask(query, id=identifier) is None, identifier
    assert await two.ask(query, id=deal.id) is None
