"""The contacts on deals, and the board."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from storage.base import new_id
from storage.tables import Account, Activity, Contact, Deal, DealContact, PipelineStage
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = datetime(2026, 1, 1, tzinfo=UTC)
NOWHERE = "00000000-0000-7000-8000-000000000000"
LINK = """
mutation($deal: ID!, $contact: ID!, $role: String, $isPrimary: Boolean) {
  dealContactLink(dealId: $deal, contactId: $contact, role: $role, isPrimary: $isPrimary) {
    deal { id contacts { edges { role isPrimary linkedAt cursor node { id } } totalCount } }
    userErrors { code message field } } }
"""
UNLINK = """
mutation($deal: ID!, $contact: ID!) { dealContactUnlink(dealId: $deal, contactId: $contact) {
  dealId contactId userErrors { code message field } } }
"""
BOARD = """
query($filter: DealFilter, $first: Int) { dealBoard(filter: $filter) {
  columns { stage { name position type } totals { currency amount count }
            deals(first: $first) { nodes { name } totalCount } }
  unstaged { nodes { name } totalCount } } }
"""


def _problem(*field: str, message: str, code: str = "VALIDATION") -> dict[str, Any]:
    return {"code": code, "message": message, "field": list(field)}


async def test_linking_contacts(one: Tenant) -> None:
    deal, first, second = Deal(name="n"), Contact(last_name="1"), Contact(last_name="2")
    await one.add(deal, first, second)

    async def link(contact: Contact, **values: Any) -> list[tuple[str, str | None, bool]]:
        linked = await one.ask(LINK, deal=deal.id, contact=contact.id, **values)
        assert linked["userErrors"] == []
        found = linked["deal"]["contacts"]
        assert found["totalCount"] == len(found["edges"])
        names = {first.id: "1", second.id: "2"}
        return [(names[e["node"]["id"]], e["role"], e["isPrimary"]) for e in found["edges"]]

    assert await link(first) == [("1", None, False)]
    assert await link(first) == [("1", None, False)]
    assert await link(first, role="buyer", isPrimary=True) == [("1", "buyer", True)]
    assert await link(second, role="user") == [("1", "buyer", True), ("2", "user", False)]
    assert await link(second, isPrimary=True) == [("1", "buyer", False), ("2", "user", True)]
    assert await link(second, isPrimary=True) == [("1", "buyer", False), ("2", "user", True)]
    assert await link(second, role=None, isPrimary=None) == [("1", "buyer", False), ("2", None, False)]
    assert await one.rows(Deal.version) == [(1,)]


async def test_refused_links(one: Tenant, two: Tenant) -> None:
    deal, contact = Deal(name="n"), Contact(last_name="c")
    other_deal, other_contact = Deal(name="o"), Contact(last_name="o")
    await one.add(deal, contact)
    await two.add(other_deal, other_contact)
    no_deal = {"deal": None, "userErrors": [_problem("dealId", message="Not found", code="NOT_FOUND")]}
    no_contact = {"deal": None, "userErrors": [_problem("contactId", message="Not found", code="NOT_FOUND")]}
    for identifier in (NOWHERE, "no uuid", other_deal.id):
        assert await one.ask(LINK, deal=identifier, contact=contact.id) == no_deal
    for identifier in (NOWHERE, "no uuid", other_contact.id):
        assert await one.ask(LINK, deal=deal.id, contact=identifier) == no_contact
    for role, message in {
        "r" * 10_001: "must have at most 10000 characters",
        "\x00": "must not contain the NUL character",
    }.items():
        assert await one.ask(LINK, deal=deal.id, contact=contact.id, role=role) == {
            "deal": None,
            "userErrors": [_problem("role", message=message)],
        }
    assert await one.rows(DealContact.deal_id) == []


async def test_unlinking_succeeds_whatever_is_named(one: Tenant, two: Tenant) -> None:
    deal, contact, other = Deal(name="n"), Contact(last_name="c"), Contact(last_name="d")
    await one.add(deal, contact, other)
    await one.add(*(DealContact(deal_id=deal.id, contact_id=c.id) for c in (contact, other)))
    foreign_deal, foreign_contact = Deal(name="o"), Contact(last_name="o")
    await two.add(foreign_deal, foreign_contact)
    await two.add(DealContact(deal_id=foreign_deal.id, contact_id=foreign_contact.id))
    for pair in (
        (deal.id, contact.id),
        (deal.id, contact.id),
        (NOWHERE, NOWHERE),
        ("no uuid", ""),
        (foreign_deal.id, foreign_contact.id),
    ):
        named = {"dealId": pair[0], "contactId": pair[1]}
        assert await one.ask(UNLINK, deal=pair[0], contact=pair[1]) == {**named, "userErrors": []}
    assert await one.rows(DealContact.contact_id) == [(other.id,)]
    assert await two.rows(DealContact.contact_id) == [(foreign_contact.id,)]


async def test_pages_of_a_deals_contacts_and_meetings(one: Tenant) -> None:
    deal, empty = Deal(name="n"), Deal(name="e")
    contacts = [Contact(id=new_id(), last_name=str(i)) for i in range(5)]
    await one.add(deal, empty, *contacts)
    linked = [contacts[i] for i in (3, 1, 4)]
    await one.add(
        *(
            DealContact(deal_id=deal.id, contact_id=c.id, role=c.last_name, linked_at=START + timedelta(minutes=i))
            for i, c in enumerate(linked)
        ),
        *(Activity(subject=str(i), deal_id=deal.id, due_at=None if i == 1 else START + timedelta(i)) for i in range(3)),
    )
    query = """query($id: ID!, $first: Int, $after: String) { deal(id: $id) {
      contacts(first: $first, after: $after) {
        edges { cursor role linkedAt node { lastName } } pageInfo { hasNextPage hasPreviousPage endCursor } totalCount }
    } }"""
    found, after = [], None
    for has_previous, has_next in ((False, True), (True, True), (True, False)):
        page = (await one.ask(query, id=deal.id, first=1, after=after))["contacts"]
        [edge] = page["edges"]
        after = edge["cursor"]
        assert page["pageInfo"] == {"hasNextPage": has_next, "hasPreviousPage": has_previous, "endCursor": after}
        assert page["totalCount"] == 3
        found.append((edge["role"], edge["linkedAt"], edge["node"]["lastName"]))
    assert found == [
        ("3", "2026-01-01T00:00:00Z", "3"),
        ("1", "2026-01-01T00:01:00Z", "1"),
        ("4", "2026-01-01T00:02:00Z", "4"),
    ]
    rest = (await one.ask(query, id=deal.id, after=after))["contacts"]
    assert (rest["edges"], rest["pageInfo"]["hasPreviousPage"]) == ([], True)
    assert (await one.ask(query, id=empty.id))["contacts"]["totalCount"] == 0
    query = """query($id: ID!, $first: Int, $after: String) { deal(id: $id) {
      meetings(first: $first, after: $after) { nodes { subject } pageInfo { endCursor hasNextPage } totalCount } } }"""
    page = (await one.ask(query, id=deal.id, first=2))["meetings"]
    assert ([m["subject"] for m in page["nodes"]], page["totalCount"]) == (["2", "0"], 3)
    page = (await one.ask(query, id=deal.id, first=2, after=page["pageInfo"]["endCursor"]))["meetings"]
    assert ([m["subject"] for m in page["nodes"]], page["pageInfo"]["hasNextPage"]) == (["1"], False)


async def test_a_contact_of_several_deals_is_listed_once_below_each(one: Tenant) -> None:
    """With what it links to, in one statement for all deals (decision 1140)."""
    account = Account(name="A")
    contacts = [Contact(id=new_id(), last_name=str(i), account_id=account.id) for i in range(3)]
    deals = [Deal(id=new_id(), name=str(i)) for i in range(3)]
    await one.add(account, *contacts, *deals)
    pairs = {"0": (0, 1, 2), "1": (1, 2), "2": (2,)}
    await one.add(
        *(
            DealContact(
                deal_id=deals[int(name)].id, contact_id=contacts[i].id, role=name, linked_at=START + timedelta(i)
            )
            for name, numbers in pairs.items()
            for i in numbers
        )
    )
    query = """{ deals { nodes { name contacts(first: 2) {
      edges { role node { lastName account { name } } } pageInfo { hasNextPage } } } } }"""
    listed = {deal["name"]: deal["contacts"] for deal in (await one.ask(query))["nodes"]}
    for name, numbers in pairs.items():
        assert listed[name] == {
            "edges": [{"role": name, "node": {"lastName": str(i), "account": {"name": "A"}}} for i in numbers[:2]],
            "pageInfo": {"hasNextPage": len(numbers) > 2},
        }


async def test_the_board(one: Tenant, two: Tenant) -> None:
    stages = [PipelineStage(name=n, position=p) for n, p in (("second", 1), ("first", 0), ("empty", 2))]
    await one.add(*stages, Account(name="A"))
    await two.add(PipelineStage(name="other"), Deal(name="other", value=Decimal(1)))
    second, first, _ = stages

    def deal(name: str, minute: int, stage: PipelineStage | None, value: str | None, currency: str = "USD") -> Deal:
        return Deal(
            name=name,
            stage_id=stage and stage.id,
            value=None if value is None else Decimal(value),
            currency=currency,
            created_at=START + timedelta(minutes=minute),
        )

    await one.add(
        deal("a", 1, first, "999999999999999.9999"),
        deal("b", 2, first, "0.0001"),
        deal("c", 3, first, None),
        deal("d", 4, first, "12.5", "EUR"),
        deal("e", 5, second, None, "JPY"),
        deal("f", 6, second, "1"),
        deal("g", 7, None, "5"),
        deal("h", 8, None, None),
    )
    assert await one.ask(BOARD) == {
        "columns": [
            {
                "stage": {"name": "first", "position": 0, "type": "OPEN"},
                "totals": [
                    {"currency": "EUR", "amount": "12.5", "count": 1},
                    {"currency": "USD", "amount": "1000000000000000", "count": 3},
                ],
                "deals": {"nodes": [{"name": n} for n in "dcba"], "totalCount": 4},
            },
            {
                "stage": {"name": "second", "position": 1, "type": "OPEN"},
                "totals": [
                    {"currency": "JPY", "amount": "0", "count": 1},
                    {"currency": "USD", "amount": "1", "count": 1},
                ],
                "deals": {"nodes": [{"name": n} for n in "fe"], "totalCount": 2},
            },
            {
                "stage": {"name": "empty", "position": 2, "type": "OPEN"},
                "totals": [],
                "deals": {"nodes": [], "totalCount": 0},
            },
        ],
        "unstaged": {"nodes": [{"name": "h"}, {"name": "g"}], "totalCount": 2},
    }
    filtered = await one.ask(BOARD, filter={"value": {"isNull": False}}, first=1)
    assert [column["totals"] for column in filtered["columns"]] == [
        [
            {"currency": "EUR", "amount": "12.5", "count": 1},
            {"currency": "USD", "amount": "1000000000000000", "count": 2},
        ],
        [{"currency": "USD", "amount": "1", "count": 1}],
        [],
    ]
    assert [column["deals"] for column in filtered["columns"]] == [
        {"nodes": [{"name": "d"}], "totalCount": 3},
        {"nodes": [{"name": "f"}], "totalCount": 1},
        {"nodes": [], "totalCount": 0},
    ]
    assert filtered["unstaged"] == {"nodes": [{"name": "g"}], "totalCount": 1}


async def test_a_column_goes_on_behind_its_cursor(one: Tenant) -> None:
    stage = PipelineStage(name="S")
    await one.add(stage, *(Deal(name=str(i), stage_id=stage.id, created_at=START + timedelta(i)) for i in range(3)))
    await one.add(*(Deal(name=f"unstaged {i}", stage_id=None) for i in range(2)))
    query = """query($after: String) { dealBoard { columns {
      deals(first: 2, after: $after) { nodes { name } pageInfo { hasNextPage endCursor } } } } }"""
    page = (await one.ask(query))["columns"][0]["deals"]
    assert ([d["name"] for d in page["nodes"]], page["pageInfo"]["hasNextPage"]) == (["2", "1"], True)
    page = (await one.ask(query, after=page["pageInfo"]["endCursor"]))["columns"][0]["deals"]
    assert ([d["name"] for d in page["nodes"]], page["pageInfo"]["hasNextPage"]) == (["0"], False)


TOTALS = """query($filter: DealFilter) { dealBoard(filter: $filter) { columns { stage { name } dealCount
  weightedTotals { currency amount count } } totals { currency amount count }
  unstagedTotals { currency amount count } } }"""


async def test_the_totals_of_the_columns_and_of_the_board(one: Tenant) -> None:
    stages = [
        PipelineStage(name="weighed", position=0, probability=33),
        PipelineStage(name="unknown", position=1),
        PipelineStage(name="hopeless", position=2, probability=0),
        PipelineStage(name="won", position=3, type="won", probability=100),
    ]

    def deal(stage: PipelineStage | None, value: str | None, currency: str = "EUR") -> Deal:
        status = "open" if stage is None else stage.type
        amount = None if value is None else Decimal(value)
        return Deal(name="d", value=amount, currency=currency, stage_id=stage and stage.id, status=status)

    await one.add(
        *stages,
        deal(stages[0], "999999999999999.9999"),
        deal(stages[0], "0.0001"),
        deal(stages[0], None, "USD"),
        deal(stages[1], "5"),
        deal(stages[2], "7", "USD"),
        deal(stages[3], "11", "JPY"),
        deal(None, "13"),
        deal(None, None, "CHF"),
    )

    def total(currency: str, amount: str, count: int) -> dict[str, Any]:
        return {"currency": currency, "amount": amount, "count": count}

    board = await one.ask(TOTALS)
    assert [(column["dealCount"], column["weightedTotals"]) for column in board["columns"]] == [
        (3, [total("EUR", "330000000000000", 2), total("USD", "0", 1)]),
        (1, []),
        (1, [total("USD", "0", 1)]),
        (1, []),
    ]
    assert board["totals"] == [total("EUR", "1000000000000005", 3), total("JPY", "11", 1), total("USD", "7", 2)]
    assert board["unstagedTotals"] == [total("CHF", "0", 1), total("EUR", "13", 1)]
    filtered = await one.ask(TOTALS, filter={"value": {"gte": "11"}})
    assert filtered["totals"] == [total("EUR", "999999999999999.9999", 1), total("JPY", "11", 1)]
    assert filtered["columns"][0]["weightedTotals"] == [total("EUR", "329999999999999.999967", 1)]
    assert filtered["unstagedTotals"] == [total("EUR", "13", 1)]
