"""Creating, changing and deleting deals."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from storage.tables import Account, Activity, Contact, Deal, DealContact, PipelineStage, StageChange, Tag, TagLink
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = datetime(2026, 1, 1, tzinfo=UTC)
NOWHERE = "00000000-0000-7000-8000-000000000000"
CREATE = """
mutation($input: DealCreateInput!) { dealCreate(input: $input) {
  deal { id name accountId value currency stageId status closeDate geoScope source championId notes parentDealId
         competitors ownerId createdAt updatedAt version account { name } stage { name } champion { id }
         contacts { nodes { id } } meetings { nodes { id } }
         stageHistory { fromStage { name } toStage { name } by at } }
  userErrors { code message field } } }
"""
UPDATE = """
mutation($id: ID!, $input: DealUpdateInput!) { dealUpdate(id: $id, input: $input) {
  deal { id name accountId value currency stageId status closeDate geoScope source championId notes version updatedAt
         stageHistory { fromStage { name } toStage { name } by } }
  userErrors { code message field } } }
"""
DELETE = "mutation($id: ID!) { dealDelete(id: $id) { deletedId userErrors { code message field } } }"


async def test_creation_keeps_what_the_input_has(one: Tenant) -> None:
    account, stage = Account(name="Acme"), PipelineStage(name="Closed", type="won")
    await one.add(account, stage)
    before = datetime.now(UTC)
    made = await one.ask(
        CREATE,
        input={
            "name": "Fleet",
            "accountId": account.id.upper(),
            "value": "123456789012345.6789",
            "stageId": stage.id,
            "closeDate": "2026-02-28",
            "currency": "eur",
            "geoScope": "LOCAL",
        },
    )
    deal = made["deal"]
    assert made["userErrors"] == []
    created = datetime.fromisoformat(deal.pop("createdAt"))
    assert before <= created <= datetime.now(UTC)
    assert datetime.fromisoformat(deal.pop("updatedAt")) - created < timedelta(seconds=1)
    [move] = deal.pop("stageHistory")
    assert created - timedelta(seconds=1) < datetime.fromisoformat(move.pop("at"))
    assert move == {"fromStage": None, "toStage": {"name": "Closed"}, "by": one.subject()}
    identifier = deal.pop("id")
    assert deal == {
        "name": "Fleet",
        "accountId": account.id,
        "value": "123456789012345.6789",
        "currency": "EUR",
        "stageId": stage.id,
        "status": "WON",
        "closeDate": "2026-02-28",
        "geoScope": "LOCAL",
        "source": None,
        "championId": None,
        "notes": None,
        "parentDealId": None,
        "competitors": [],
        "ownerId": one.subject(),
        "version": 1,
        "account": {"name": "Acme"},
        "stage": {"name": "Closed"},
        "champion": None,
        "contacts": {"nodes": []},
        "meetings": {"nodes": []},
    }
    query = "query($id: ID!) { deal(id: $id) { value currency status ownerId geoScope closeDate } }"
    assert await one.ask(query, id=identifier) == {
        name: deal[name] for name in ("value", "currency", "status", "ownerId", "geoScope", "closeDate")
    }


async def test_creation_with_the_name_alone(one: Tenant) -> None:
    await one.add(PipelineStage(name="First"))
    deal = (await one.ask(CREATE, input={"name": " "}))["deal"]
    assert (deal["name"], deal["currency"], deal["status"], deal["version"]) == (" ", "USD", "OPEN", 1)
    assert {deal[name] for name in ("accountId", "value", "stageId", "closeDate", "geoScope", "stage")} == {None}
    assert deal["stageHistory"] == []
    nulls = {"accountId": None, "value": None, "stageId": None, "closeDate": None, "geoScope": None}
    deal = (await one.ask(CREATE, input={"name": "n", **nulls}))["deal"]
    assert {deal[name] for name in nulls} == {None}


@pytest.mark.parametrize("field", ["source", "championId", "notes", "parentDealId", "competitors", "ownerId", "status"])
async def test_what_creation_drops_is_not_in_its_input(one: Tenant, field: str) -> None:
    error = await one.error(CREATE, input={"name": "n", field: "x"})
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert field in error["message"]
    assert await one.rows(Deal.id) == []


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ('"0"', "0"),
        ('"-0.0"', "0"),
        ("0", "0"),
        ("1500", "1500"),
        ("12.50", "12.5"),
        ('"0.0001"', "0.0001"),
        ("1e3", "1000"),
        ('"1E+3"', "1000"),
        ("123456789012345.6789", "123456789012345.6789"),
        ("999999999999999.9999", "999999999999999.9999"),
        ('"999999999999999.9999"', "999999999999999.9999"),
        ('"1.50000000"', "1.5"),
    ],
)
async def test_money_is_exact_as_a_literal(one: Tenant, given: str, kept: str) -> None:
    query = f'mutation {{ dealCreate(input: {{name: "n", value: {given}}}) {{ deal {{ id value }} }} }}'
    deal = (await one.ask(query))["deal"]
    assert deal["value"] == kept
    assert await one.ask("query($id: ID!) { deal(id: $id) { value } }", id=deal["id"]) == {"value": kept}
    assert await one.ask(f"{{ deals(filter: {{value: {{eq: {given}}}}}) {{ totalCount }} }}") == {"totalCount": 1}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        *((0, "0"), (12.5, "12.5"), (0.1, "0.1"), ("0.10", "0.1"), (10**14, str(10**14))),
        *(("+1.5", "1.5"), ("-0", "0"), (".5", "0.5"), ("5.", "5"), ("1.5E1", "15"), ("1e-3", "0.001")),
        *((3.3000000000000003, "3.3"), ("0.00005", "0"), ("0.00015", "0.0002"), ("0.00025", "0.0002")),  # decision 207
        *(("-0.00005", "0"), ("999999999999999.99994999", "999999999999999.9999")),
    ],
)
async def test_money_is_exact_as_a_variable(one: Tenant, given: Any, kept: str) -> None:
    assert (await one.ask(CREATE, input={"name": "n", "value": given}))["deal"]["value"] == kept


def _problem(*field: str, message: str, code: str = "VALIDATION") -> dict[str, Any]:
    return {"code": code, "message": message, "field": list(field)}


MISSING = "does not exist in this organization"
REFUSED: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    ({"name": ""}, [_problem("input", "name", message="must not be empty")]),
    ({"name": "n" * 10_001}, [_problem("input", "name", message="must have at most 10000 characters")]),
    ({"name": "a\x00b"}, [_problem("input", "name", message="must not contain the NUL character")]),
    ({"currency": "XXXX"}, [_problem("input", "currency", message="must be an ISO 4217 currency code")]),
    ({"currency": ""}, [_problem("input", "currency", message="must be an ISO 4217 currency code")]),
    ({"value": "-0.0001"}, [_problem("input", "value", message="must not be negative")]),
    ({"value": "-0.00006"}, [_problem("input", "value", message="must not be negative")]),
    ({"value": "999999999999999.99995"}, [_problem("input", "value", message="must be less than 10^15")]),
    ({"value": "-1e40"}, [_problem("input", "value", message="must not be negative")]),
    ({"value": "1e40"}, [_problem("input", "value", message="must be less than 10^15")]),
    ({"value": "1000000000000000"}, [_problem("input", "value", message="must be less than 10^15")]),
    ({"accountId": NOWHERE}, [_problem("input", "accountId", message=MISSING)]),
    ({"accountId": "no uuid"}, [_problem("input", "accountId", message=MISSING)]),
    ({"stageId": NOWHERE}, [_problem("input", "stageId", message=MISSING)]),
    (
        {"accountId": "x", "stageId": ""},
        [_problem("input", "accountId", message=MISSING), _problem("input", "stageId", message=MISSING)],
    ),
    (
        {"name": "", "value": -1, "currency": "?"},
        [
            _problem("input", "name", message="must not be empty"),
            _problem("input", "value", message="must not be negative"),
            _problem("input", "currency", message="must be an ISO 4217 currency code"),
        ],
    ),
]


@pytest.mark.parametrize(("fields", "problems"), REFUSED)
async def test_refused_creations_and_updates(one: Tenant, fields: dict[str, Any], problems: list[Any]) -> None:
    assert await one.ask(CREATE, input={"name": "n", **fields}) == {"deal": None, "userErrors": problems}
    assert await one.rows(Deal.id) == []
    deal = Deal(name="kept")
    await one.add(deal)
    assert await one.ask(UPDATE, id=deal.id, input=fields) == {"deal": None, "userErrors": problems}
    assert await one.rows(Deal.name, Deal.version) == [("kept", 1)]


async def test_references_of_another_organization_are_missing(one: Tenant, two: Tenant) -> None:
    account, stage, contact = Account(name="A"), PipelineStage(name="S"), Contact(last_name="C")
    mine = Deal(name="mine")
    await two.add(account, stage, contact)
    await one.add(mine)
    fields = {"accountId": account.id, "stageId": stage.id}
    problems = [_problem("input", name, message=MISSING) for name in fields]
    assert await one.ask(CREATE, input={"name": "n", **fields}) == {"deal": None, "userErrors": problems}
    problems.append(_problem("input", "championId", message=MISSING))
    refused = await one.ask(UPDATE, id=mine.id, input={**fields, "championId": contact.id})
    assert refused == {"deal": None, "userErrors": problems}
    assert await one.rows(Deal.account_id, Deal.stage_id, Deal.champion_id) == [(None, None, None)]


async def test_an_update_changes_what_is_given_and_clears_what_is_null(one: Tenant) -> None:
    account, stage, contact = Account(name="A"), PipelineStage(name="S", type="lost"), Contact(last_name="C")
    deal = Deal(name="before", updated_at=START)
    await one.add(account, stage, contact, deal)
    full = {
        "name": "after",
        "accountId": account.id,
        "value": "9.9999",
        "stageId": stage.id,
        "closeDate": "2027-01-31",
        "currency": "CHF",
        "geoScope": "INTERNATIONAL",
        "source": "web",
        "championId": contact.id,
        "notes": "n",
    }
    changed = (await one.ask(UPDATE, id=deal.id, input=full))["deal"]
    assert {name: changed[name] for name in full} == full
    assert (changed["id"], changed["status"], changed["version"]) == (deal.id, "LOST", 2)
    assert datetime.fromisoformat(changed["updatedAt"]) > START
    same = (await one.ask(UPDATE, id=deal.id, input={"notes": "m"}))["deal"]
    assert {name: same[name] for name in full} == full | {"notes": "m"}
    assert same["version"] == 3
    nulls = dict.fromkeys(set(full) - {"name", "currency"})
    cleared = (await one.ask(UPDATE, id=deal.id, input=nulls))["deal"]
    assert {name: cleared[name] for name in full} == {**nulls, "name": "after", "currency": "CHF"}
    assert (cleared["status"], cleared["version"]) == ("OPEN", 4)
    assert [(m["fromStage"], m["toStage"]) for m in cleared["stageHistory"]] == [
        (None, {"name": "S"}),
        ({"name": "S"}, None),
    ]


async def test_an_update_that_changes_nothing_keeps_the_version(one: Tenant) -> None:
    deal = Deal(name="same", value=Decimal(5), updated_at=START)
    await one.add(deal)
    for fields in ({}, {"name": "same"}, {"value": "5.0000", "notes": None, "stageId": None}):
        kept = (await one.ask(UPDATE, id=deal.id, input=fields))["deal"]
        assert (kept["version"], kept["updatedAt"]) == (1, "2026-01-01T00:00:00Z")
        assert kept["stageHistory"] == []


async def test_null_for_what_a_deal_must_have(one: Tenant) -> None:
    deal = Deal(name="n")
    await one.add(deal)
    refused = await one.ask(UPDATE, id=deal.id, input={"name": None, "currency": None})
    message = "must not be null"
    assert refused == {
        "deal": None,
        "userErrors": [_problem("input", "name", message=message), _problem("input", "currency", message=message)],
    }
    created = await one.ask(CREATE, input={"name": "n", "currency": None})
    assert created["deal"] is None
    assert [(e["code"], e["field"]) for e in created["userErrors"]] == [("VALIDATION", ["input", "currency"])]


async def test_an_update_under_a_version(one: Tenant) -> None:
    deal = Deal(name="n", version=4)
    await one.add(deal)
    stale = {
        "deal": None,
        "userErrors": [
            _problem(
                "input",
                "expectedVersion",
                message="The record has changed since it was read",
                code="PRECONDITION_FAILED",
            )
        ],
    }
    for version in (3, 5, 0, -1):
        assert await one.ask(UPDATE, id=deal.id, input={"name": "m", "expectedVersion": version}) == stale
    changed = await one.ask(UPDATE, id=deal.id, input={"name": "m", "expectedVersion": 4})
    assert (changed["deal"]["name"], changed["deal"]["version"]) == ("m", 5)
    assert await one.ask(UPDATE, id=deal.id, input={"name": "o", "expectedVersion": 4}) == stale
    changed = await one.ask(UPDATE, id=deal.id, input={"name": "o", "expectedVersion": None})
    assert changed["deal"]["version"] == 6


async def test_updating_and_deleting_what_is_not_there(one: Tenant, two: Tenant) -> None:
    other = Deal(name="other")
    await two.add(other)
    problems = [_problem("id", message="Not found", code="NOT_FOUND")]
    for identifier in (NOWHERE, "no uuid", "", other.id):
        assert await one.ask(UPDATE, id=identifier, input={"name": "n"}) == {"deal": None, "userErrors": problems}
        assert await one.ask(DELETE, id=identifier) == {"deletedId": None, "userErrors": problems}
    assert await two.rows(Deal.name) == [("other",)]


async def test_the_way_through_the_stages(one: Tenant) -> None:
    stages = [
        PipelineStage(name=n, type=t, position=i)
        for i, (n, t) in enumerate([("A", "open"), ("B", "won"), ("C", "lost")])
    ]
    await one.add(*stages)
    deal = (await one.ask(CREATE, input={"name": "n", "stageId": stages[0].id}))["deal"]
    seen = []
    for stage in (stages[1], stages[1], stages[2], None, stages[0]):
        changed = await one.ask(UPDATE, id=deal["id"], input={"stageId": stage and stage.id})
        seen.append((changed["deal"]["status"], changed["deal"]["version"]))
    assert seen == [("WON", 2), ("WON", 2), ("LOST", 3), ("OPEN", 4), ("OPEN", 5)]
    history = changed["deal"]["stageHistory"]
    names = [tuple(move[end] and move[end]["name"] for end in ("fromStage", "toStage")) for move in history]
    assert names == [(None, "A"), ("A", "B"), ("B", "C"), ("C", None), (None, "A")]
    assert {move["by"] for move in history} == {one.subject()}


async def test_deletion_takes_links_and_history_and_leaves_the_rest(one: Tenant) -> None:
    stage, contact = PipelineStage(name="S"), Contact(last_name="C")
    await one.add(stage, contact)
    deal = (await one.ask(CREATE, input={"name": "n", "stageId": stage.id}))["deal"]["id"]
    child, meeting = Deal(name="child", parent_deal_id=deal), Activity(subject="m", deal_id=deal)
    await one.add(child, meeting, DealContact(deal_id=deal, contact_id=contact.id))
    assert await one.ask(DELETE, id=deal.upper()) == {"deletedId": deal, "userErrors": []}
    assert await one.rows(Deal.name, Deal.parent_deal_id) == [("child", None)]
    assert await one.rows(Activity.subject, Activity.deal_id) == [("m", None)]
    assert await one.rows(DealContact.deal_id) == []
    assert await one.rows(StageChange.id) == []
    assert await one.rows(Contact.last_name) == [("C",)]
    problems = [_problem("id", message="Not found", code="NOT_FOUND")]
    assert await one.ask(DELETE, id=deal) == {"deletedId": None, "userErrors": problems}


async def test_a_deletion_takes_along_what_was_being_put_on_the_record(one: Tenant) -> None:
    """Somebody holds the record and tags it, or makes another that names it, while it is to be deleted."""
    deal, account, tag = Deal(name="d"), Account(name="a"), Tag(name="vip")
    await one.add(deal, account, tag)
    document = """mutation($deal: ID!, $account: ID!) {
      dealDelete(id: $deal) { userErrors { code } } accountDelete(id: $account) { userErrors { code } } }"""
    async with one.gateway.world.database.writing(one.id) as session:
        for model, record in ((Deal, deal), (Account, account)):
            assert await session.find(model, id=record.id, lock=True)
        deletion = asyncio.create_task(one.ask(document, deal=deal.id, account=account.id))
        await asyncio.sleep(0.2)  # for it to wait for the lock; a slower machine proves less and fails nothing
        await session.insert(TagLink(kind="deal", record_id=deal.id, tag_id=tag.id))
        await session.insert(TagLink(kind="account", record_id=account.id, tag_id=tag.id))
        await session.insert(Contact(last_name="C", account_id=account.id), Activity(subject="m", deal_id=deal.id))
    assert await deletion == {"dealDelete": {"userErrors": []}, "accountDelete": {"userErrors": []}}
    assert await one.rows(TagLink.record_id) == []
    assert await one.rows(Contact.last_name, Contact.account_id) == [("C", None)]
    assert await one.rows(Activity.subject, Activity.deal_id) == [("m", None)]
