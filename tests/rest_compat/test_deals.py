"""The deals' paths (specification 2.2, 4.4, 4.5, 4.11)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx
import orjson
import pytest
from sqlalchemy import select

from contract.vocabulary import CredentialKind
from storage.tables import Account, Contact, Deal, DealContact, PipelineStage
from tests.support.world import World

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


@pytest.fixture
async def rows(world: World) -> dict[str, Any]:
    """Records to refer to; `foreign` ones are the other organization's."""
    found = {
        "account": Account(name="Acme"),
        "contact": Contact(first_name="Ada"),
        "stage": PipelineStage(name="Open"),
        "won": PipelineStage(name="Won", type="won", position=1),
    }
    foreign = {"foreign_account": Account(name="F"), "foreign_stage": PipelineStage(name="F"), "foreign": Contact()}
    await world.add(world.one, *found.values())
    await world.add(world.two, *foreign.values())
    return {name: record.id for name, record in (found | foreign).items()}


def _member(world: World) -> dict[str, str]:
    return world.session("member@one", world.one)


async def _create(world: World, client: httpx.AsyncClient, **body: Any) -> str:
    response = await client.post("/deals", json={"name": "Deal"} | body, headers=_member(world))
    assert response.status_code == 201, response.text
    identifier: str = response.json()["id"]
    return identifier


async def _deal(world: World, client: httpx.AsyncClient, identifier: str) -> dict[str, Any]:
    response = await client.get(f"/deals/{identifier}", headers=_member(world))
    assert response.status_code == 200
    deal: dict[str, Any] = response.json()
    return deal


async def test_create_answers_only_the_id(world: World, client: httpx.AsyncClient, rows: dict[str, Any]) -> None:
    body = {
        "name": "Renewal",
        "account_id": rows["account"].upper(),
        "value": 1500.25,
        "stage_id": rows["stage"],
        "close_date": "2026-12-31",
        "currency": "eur",
        "geo_scope": "regional",
    }
    response = await client.post("/deals", json=body, headers=_member(world))
    assert response.status_code == 201
    identifier = response.json()["id"]
    assert response.json() == {"id": identifier}
    assert response.headers["location"] == f"/deals/{identifier}"
    assert "x-ignored-fields" not in response.headers
    deal = await _deal(world, client, identifier)
    assert deal == {
        "id": identifier,
        "org_id": world.one.id,
        "owner_id": "member@one",
        "name": "Renewal",
        "account_id": rows["account"],
        "value": 1500.25,
        "stage_id": rows["stage"],
        "close_date": "2026-12-31",
        "currency": "EUR",
        "geo_scope": "regional",
        "source": None,
        "champion_id": None,
        "notes": None,
        "parent_deal_id": None,
        "competitors": [],
        "status": "open",
        "created_at": deal["created_at"],
        "updated_at": deal["updated_at"],
        "version": 1,
        "closed_at": None,
        "external_key": None,
        "tags": [],
    }
    assert list(deal)[-3:] == ["closed_at", "external_key", "tags"]
    [notification] = world.notifications.handed
    assert (notification.type, notification.organization) == ("deal_created", world.one.external_id)


async def test_create_with_a_name_alone(world: World, client: httpx.AsyncClient) -> None:
    deal = await _deal(world, client, await _create(world, client))
    nulls = ["account_id", "value", "stage_id", "close_date", "geo_scope", "source", "champion_id", "notes"]
    assert {name: deal[name] for name in nulls} == dict.fromkeys(nulls)
    assert (deal["currency"], deal["status"], deal["owner_id"]) == ("USD", "open", "member@one")


async def test_dropped_and_unknown_fields_are_named(
    world: World, client: httpx.AsyncClient, rows: dict[str, Any]
) -> None:
    body = {
        "notes": "n",
        "name": "Deal",
        "source": "fair",
        "owner_id": "someone",
        "champion_id": rows["contact"],
        "parent_deal_id": None,
        "competitors": ["a"],
        "status": "won",
        "expected_version": "x",
        "a,b%\r\nSet-Cookie: x=1": 1,
        "é\ud800": 2,
        "": 3,
    }
    content = orjson.dumps(
        {n: v for n, v in body.items() if "\ud800" not in n}, option=orjson.OPT_NON_STR_KEYS
    ).replace(b'"":3', b'"\xc3\xa9\\ud800":2,"":3')
    response = await client.post("/deals", content=content, headers=_member(world))
    assert response.status_code == 201
    assert response.headers["x-ignored-fields"] == (
        "notes, source, owner_id, champion_id, parent_deal_id, competitors, status, expected_version, "
        "a%2Cb%25%0D%0ASet-Cookie:%20x=1, %C3%A9?"
    )
    deal = await _deal(world, client, response.json()["id"])
    assert [deal[n] for n in ("notes", "source", "owner_id", "champion_id", "parent_deal_id", "competitors")] == [
        None,
        None,
        "member@one",
        None,
        None,
        [],
    ]
    assert (deal["status"], deal["version"]) == ("open", 1)


async def test_the_header_of_ignored_fields_is_bounded(world: World, client: httpx.AsyncClient) -> None:
    body = {"name": "Deal"} | {f"field_{n}": n for n in range(1000)} | {"é" * 100_000: 1}
    response = await client.post("/deals", json=body, headers=_member(world))
    names = response.headers["x-ignored-fields"]
    assert names.startswith("field_0, field_1, ")
    assert names.endswith(", ...")
    assert len(names) <= 1005
    huge = await client.post("/deals", json={"name": "Deal", "é" * 100_000: 1}, headers=_member(world))
    assert huge.headers["x-ignored-fields"] == "..."


AMOUNTS = {
    "123456789012345.6789": "123456789012345.6789",
    "999999999999999.9999": "999999999999999.9999",
    "0.0001": "0.0001",
    "0": "0",
    "12.5": "12.5",
    "1e3": "1000",
    "1500.2500": "1500.25",
    "-0.0": "0",
    "7e-4": "0.0007",
    "3.3000000000000003": "3.3",  # decision 207
    "0.00005": "0",
    "0.00015": "0.0002",
    "0.00025": "0.0002",
    "-0.00005": "0",
    "999999999999999.99994999": "999999999999999.9999",
}


async def test_amounts_are_exact(world: World, client: httpx.AsyncClient) -> None:
    for given, expected in AMOUNTS.items():
        body = f'{{"name": "Deal", "value": {given}}}'
        response = await client.post("/deals", content=body, headers=_member(world))
        assert response.status_code == 201, given
        path = f"/deals/{response.json()['id']}"
        assert f'"value":{expected},' in (await client.get(path, headers=_member(world))).text
        body = f'{{"value": {given}, "notes": "x"}}'
        assert f'"value":{expected},' in (await client.patch(path, content=body, headers=_member(world))).text
        patched = await client.patch(path, content=b'{"value": 8.10}', headers=_member(world))
        assert '"value":8.1,' in patched.text
        assert '"value":8.1,' in (await client.get("/deals?limit=1", headers=_member(world))).text


REFUSED: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("{}", [("name", "missing")]),
    ('{"name": ""}', [("name", "string_too_short")]),
    ('{"name": null}', [("name", "string_type")]),
    ('{"name": 5}', [("name", "string_type")]),
    ('{"name": "a\\u0000b"}', [("name", "value_error")]),
    ('{"name": "\\ud800"}', [("name", "string_unicode")]),
    ('{"name": "D", "value": -1}', [("value", "value_error")]),
    ('{"name": "D", "value": "5"}', [("value", "value_error")]),
    ('{"name": "D", "value": true}', [("value", "value_error")]),
    ('{"name": "D", "value": -0.00006}', [("value", "value_error")]),
    ('{"name": "D", "value": 999999999999999.99995}', [("value", "value_error")]),
    ('{"name": "D", "value": 1e15}', [("value", "value_error")]),
    ('{"name": "D", "value": 1e999}', [("value", "value_error")]),
    ('{"name": "D", "value": 1e99999999999999999999}', [("value", "value_error")]),
    ('{"name": "D", "value": 1e9999999}', [("value", "value_error")]),
    ('{"name": "D", "value": -1e9999999}', [("value", "value_error")]),
    ('{"name": "D", "value": 1e-99999999999999999999}', [("value", "value_error")]),
    ('{"name": "D", "value": ' + "9" * 5000 + "}", [("value", "value_error")]),
    ('{"name": "D", "currency": "XXZ"}', [("currency", "value_error")]),
    ('{"name": "D", "currency": null}', [("currency", "string_type")]),
    ('{"name": "D", "close_date": "2026-02-30"}', [("close_date", "value_error")]),
    ('{"name": "D", "close_date": "31.12.2026"}', [("close_date", "value_error")]),
    ('{"name": "D", "close_date": "2026-12-31T00:00:00Z"}', [("close_date", "value_error")]),
    ('{"name": "D", "geo_scope": "LOCAL"}', [("geo_scope", "enum")]),
    ('{"name": "D", "account_id": 5}', [("account_id", "string_type")]),
    ('{"name": "D", "source": 5}', [("source", "string_type")]),
    ('{"name": "D", "champion_id": []}', [("champion_id", "string_type")]),
    ('{"name": "D", "notes": {}}', [("notes", "string_type")]),
    ('{"name": "D", "parent_deal_id": 1.5}', [("parent_deal_id", "string_type")]),
    ('{"name": "D", "competitors": "a"}', [("competitors", "list_type")]),
    ('{"name": "D", "competitors": ["a", 2]}', [("competitors", 1, "string_type")]),
    ('{"name": "D", "account_id": "no-uuid"}', [("account_id", "reference")]),
    (f'{{"name": "D", "account_id": "{UNKNOWN}"}}', [("account_id", "reference")]),
    ('{"name": "D", "account_id": "\\u0000"}', [("account_id", "reference")]),
    ('{"name": "D", "account_id": "\\ud800"}', [("account_id", "reference")]),
    ('{"name": "D", "stage_id": "{foreign_stage}"}', [("stage_id", "reference")]),
    (
        '{"name": "D", "account_id": "{foreign_account}", "stage_id": ""}',
        [("account_id", "reference"), ("stage_id", "reference")],
    ),
    (
        '{"value": "x", "currency": "?", "close_date": 1, "notes": 1}',
        [
            ("name", "missing"),
            ("value", "value_error"),
            ("close_date", "value_error"),
            ("currency", "value_error"),
            ("notes", "string_type"),
        ],
    ),
]


async def test_what_create_refuses(world: World, client: httpx.AsyncClient, rows: dict[str, Any]) -> None:
    before = await world.dump()
    for body, expected in REFUSED:
        for name, identifier in rows.items():
            body = body.replace("{" + name + "}", identifier)
        # Under a key, so that what is compared under it may be anything, too.
        response = await client.post("/deals", content=body, headers=_member(world) | {"Idempotency-Key": uuid4().hex})
        assert response.status_code == 422, body
        found = [(*problem["loc"], problem["type"]) for problem in response.json()["detail"]]
        assert found == [("body", *where) for where in expected], body
    assert await world.dump() == before
    assert world.notifications.handed == []


async def test_the_list(world: World, client: httpx.AsyncClient, rows: dict[str, Any]) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    same = [f"01890a5d-ac96-774b-bcce-b302099a805{n}" for n in (3, 1, 2)]
    deals = [
        Deal(name="old", created_at=start, account_id=rows["account"], owner_id="rep"),
        Deal(name="new", created_at=start + timedelta(days=9), stage_id=rows["stage"], value=Decimal("1.5000")),
        *(Deal(id=i, name=i[-1], created_at=start + timedelta(days=1), owner_id="") for i in same),
    ]
    await world.add(world.one, *deals)
    await world.add(world.two, Deal(name="foreign"))

    async def names(query: str) -> list[str]:
        response = await client.get(f"/deals?{query}", headers=world.session("viewer@one", world.one))
        assert response.status_code == 200
        return [deal["name"] for deal in response.json()]

    assert await names("") == ["new", "1", "2", "3", "old"]
    assert await names("limit=2&offset=1") == ["1", "2"]
    assert await names(f"stage_id={rows['stage']}") == ["new"]
    assert await names(f"account_id={rows['account']}") == ["old"]
    assert await names("owner_id=rep") == ["old"]
    assert await names("owner_id=") == ["1", "2", "3"]
    assert await names("unstaged=true") == ["1", "2", "3", "old"]
    assert await names("unstaged=0&limit=1") == ["new"]
    assert await names(f"unstaged=true&stage_id={rows['stage']}") == []
    assert await names("stage_id=nothing") == []
    assert await names(f"stage_id={rows['foreign_stage']}") == []
    assert await names("offset=99999999999999999999") == []
    response = await client.get("/deals?limit=x&offset=-1&unstaged=", headers=_member(world))
    assert [problem["loc"] for problem in response.json()["detail"]] == [
        ["query", "limit"],
        ["query", "offset"],
        ["query", "unstaged"],
    ]


async def test_change(world: World, client: httpx.AsyncClient, rows: dict[str, Any]) -> None:
    identifier = await _create(world, client, value=5, account_id=rows["account"], geo_scope="local")
    body = {
        "name": "Other",
        "stage_id": rows["won"],
        "source": "fair",
        "champion_id": rows["contact"],
        "notes": "n",
        "currency": "chf",
        "close_date": "2027-01-01",
        "account_id": None,
        "value": None,
        "geo_scope": None,
        "parent_deal_id": 5,
        "competitors": {"any": "thing"},
        "expected_version": 77,
        "id": UNKNOWN,
        "org_id": "me",
    }
    response = await client.patch(f"/deals/{identifier}", json=body, headers=_member(world))
    assert response.status_code == 200, response.text
    assert response.headers["x-ignored-fields"] == "parent_deal_id, competitors, expected_version, id, org_id"
    assert response.headers["etag"] == '"2"'
    deal = response.json()
    assert deal == await _deal(world, client, identifier)
    assert deal == {
        "id": identifier,
        "org_id": world.one.id,
        "owner_id": "member@one",
        "name": "Other",
        "account_id": None,
        "value": None,
        "stage_id": rows["won"],
        "close_date": "2027-01-01",
        "currency": "CHF",
        "geo_scope": None,
        "source": "fair",
        "champion_id": rows["contact"],
        "notes": "n",
        "parent_deal_id": None,
        "competitors": [],
        "status": "won",
        "created_at": deal["created_at"],
        "updated_at": deal["updated_at"],
        "version": 2,
        "closed_at": deal["closed_at"],
        "external_key": None,
        "tags": [],
    }
    assert deal["created_at"] < deal["closed_at"]
    for body in ({}, {"name": "Other"}):
        same = await client.patch(f"/deals/{identifier}", json=body, headers=_member(world))
        assert (same.status_code, same.json(), same.headers["etag"]) == (200, deal, '"2"')
        assert "x-ignored-fields" not in same.headers


async def test_what_change_refuses(world: World, client: httpx.AsyncClient, rows: dict[str, Any]) -> None:
    identifier = await _create(world, client)
    before = await world.dump()

    async def refused(body: dict[str, Any]) -> list[list[Any]]:
        response = await client.patch(f"/deals/{identifier}", json=body, headers=_member(world))
        assert response.status_code == 422
        return [problem["loc"] for problem in response.json()["detail"]]

    assert await refused({"name": None, "currency": None, "value": -1}) == [
        ["body", "name"],
        ["body", "value"],
        ["body", "currency"],
    ]
    assert await refused({"champion_id": rows["foreign"]}) == [["body", "champion_id"]]
    assert await refused({"source": 5, "notes": [], "stage_id": 1}) == [
        ["body", "stage_id"],
        ["body", "source"],
        ["body", "notes"],
    ]
    assert await world.dump() == before


IF_MATCH = [
    ("*", 200),
    (" * ", 200),
    ('"2"', 200),
    ('"1", "2"', 200),
    ('"x","2","7"', 200),
    ('"1"', 412),
    ('"3"', 412),
    ('W/"2"', 412),
    ('W/"2", "1"', 412),
    ("2", 412),
    ('"02"', 412),
    ('"2', 412),
    ("", 412),
    ('""', 412),
    ('"99999999999999999999999999"', 412),
]


async def test_if_match(world: World, client: httpx.AsyncClient) -> None:
    for if_match, status in IF_MATCH:
        identifier = await _create(world, client)
        await client.patch(f"/deals/{identifier}", json={"notes": "first"}, headers=_member(world))
        before = await world.dump()
        headers = _member(world) | {"If-Match": if_match}
        response = await client.patch(f"/deals/{identifier}", json={"notes": "second"}, headers=headers)
        assert response.status_code == status, if_match
        if status == 412:
            assert response.json()["detail"] == "The record has changed since it was read"
            assert response.json()["code"] == "precondition_failed"
            assert await world.dump() == before
        else:
            assert (response.json()["notes"], response.headers["etag"]) == ("second", '"3"')
        missing = await client.patch(f"/deals/{UNKNOWN}", json={"notes": "x"}, headers=headers)
        assert missing.status_code == 404
        invalid = await client.patch(f"/deals/{identifier}", json={"notes": 5}, headers=headers)
        assert invalid.status_code == 422


async def test_if_none_match(world: World, client: httpx.AsyncClient) -> None:
    identifier = await _create(world, client)

    async def status(value: str) -> int:
        response = await client.get(f"/deals/{identifier}", headers=_member(world) | {"If-None-Match": value})
        assert response.headers["etag"] == '"1"'
        return response.status_code

    assert [await status(v) for v in ('"1"', 'W/"1"', '"7", "1"', "*")] == [304, 304, 304, 304]
    assert [await status(v) for v in ('"2"', "1", "", '"01"')] == [200, 200, 200, 200]


async def test_unlink_is_idempotent(world: World, client: httpx.AsyncClient, rows: dict[str, Any]) -> None:
    identifier = await _create(world, client)
    other = Contact()
    await world.add(
        world.one,
        other,
        DealContact(deal_id=identifier, contact_id=rows["contact"]),
        DealContact(deal_id=identifier, contact_id=other.id),
    )
    foreign = Deal(name="F")
    await world.add(world.two, foreign, DealContact(deal_id=foreign.id, contact_id=rows["foreign"]))
    before = await world.dump()
    for path in (
        f"/deals/{UNKNOWN}/contacts/{rows['contact']}",
        f"/deals/{identifier}/contacts/{UNKNOWN}",
        f"/deals/{foreign.id}/contacts/{rows['foreign']}",
        "/deals/x/contacts/%00",
    ):
        assert (await client.delete(path, headers=_member(world))).status_code == 204
    assert await world.dump() == before
    for _ in range(2):
        path = f"/deals/{identifier.upper()}/contacts/{rows['contact']}"
        response = await client.delete(path, headers=_member(world))
        assert (response.status_code, response.content) == (204, b"")
    async with world.database.reading(world.one.id) as session:
        left = await session.rows(select(DealContact.contact_id).where(DealContact.org_id == world.one.id))
    assert [row.contact_id for row in left] == [other.id]


@pytest.mark.parametrize("kind", CredentialKind)
async def test_a_viewer_changes_nothing(
    world: World, client: httpx.AsyncClient, rows: dict[str, Any], kind: CredentialKind
) -> None:
    identifier = await _create(world, client)
    await world.add(world.one, DealContact(deal_id=identifier, contact_id=rows["contact"]))
    headers = await world.headers("viewer@one", world.one, kind)
    before = await world.dump()
    responses = [
        await client.post("/deals", json={"name": "x"}, headers=headers),
        await client.patch(f"/deals/{identifier}", json={"name": "x"}, headers=headers),
        await client.delete(f"/deals/{identifier}/contacts/{rows['contact']}", headers=headers),
        await client.post(f"/accounts/{rows['account']}/health/refresh", headers=headers),
    ]
    assert [(r.status_code, r.json()["detail"]) for r in responses] == [(403, "Insufficient permissions")] * 4
    assert await world.dump() == before
    assert (await client.get(f"/deals/{identifier}", headers=headers)).status_code == 200
