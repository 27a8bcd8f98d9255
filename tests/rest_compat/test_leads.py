"""The leads' paths (specification 4.2; decision 41)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from storage.tables import Account, Deal, Lead
from tests.support.world import World

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"
CONFIRM = "/cards/captures/confirm"
BODY = {
    "card_id": "card 1",
    "name": " Ada Park ",
    "title": "CTO",
    "company": "Acme",
    "company_domain": "acme.example",
    "email": "ada@acme.example",
    "phone": "+49 1",
    "linkedin": "in/ada",
    "notes": "n",
    "tags": ["a", "b", "a"],
    "capture_payload": {"a": 1},
    "source": "scan_badge",
}


def _member(world: World) -> dict[str, str]:
    return world.session("member@one", world.one)


async def _confirm(world: World, client: httpx.AsyncClient, **body: Any) -> str:
    response = await client.post(CONFIRM, json={"name": "N", **body}, headers=_member(world))
    assert response.status_code == 200, response.text
    assert list(response.json()) == ["lead_id"]
    identifier: str = response.json()["lead_id"]
    return identifier


async def _lead(world: World, client: httpx.AsyncClient, identifier: str) -> dict[str, Any]:
    response = await client.get(f"/leads/{identifier}", headers=_member(world))
    assert response.status_code == 200
    lead: dict[str, Any] = response.json()
    return lead


async def test_confirming_answers_the_lead_s_id(world: World, client: httpx.AsyncClient) -> None:
    identifier = await _confirm(world, client, **BODY)
    lead = await _lead(world, client, identifier)
    assert lead == {
        **BODY,
        "lead_id": identifier,
        "id": identifier,
        "org_id": world.one.id,
        "owner_id": "member@one",
        "status": "new",
        "name": "Ada Park",
        "tags": ["a", "b"],
        "disqualified_reason": None,
        "converted_at": None,
        "account_id": None,
        "contact_id": None,
        "deal_id": None,
        "created_at": lead["created_at"],
        "updated_at": lead["updated_at"],
        "version": 1,
    }
    bare = await _lead(world, client, await _confirm(world, client))
    assert (bare["source"], bare["tags"], bare["card_id"], bare["capture_payload"]) == ("scan_card", [], None, None)


async def test_the_same_card_answers_the_same_lead(world: World, client: httpx.AsyncClient) -> None:
    identifier = await _confirm(world, client, **BODY)
    assert await _confirm(world, client, **BODY) == identifier
    assert (await _lead(world, client, identifier))["version"] == 1
    assert await _confirm(world, client, card_id="card 1", name="M", notes=None) == identifier
    lead = await _lead(world, client, identifier)
    # What the request leaves out stays, the source with its default included.
    assert (lead["name"], lead["notes"], lead["title"], lead["source"], lead["version"]) == (
        "M",
        None,
        "CTO",
        "scan_badge",
        2,
    )
    assert await _confirm(world, client, card_id="Card 1") != identifier
    elsewhere = world.session("member@two", world.two)
    other = await client.post(CONFIRM, json=BODY, headers=elsewhere)
    assert other.json()["lead_id"] != identifier
    assert (await client.get(f"/leads/{identifier}", headers=elsewhere)).status_code == 404


async def test_a_form_that_sends_all_its_fields(world: World, client: httpx.AsyncClient) -> None:
    """Decision 206: blank means that it was not given, on a new card and on one that is known."""
    blanks: dict[str, Any] = dict.fromkeys(BODY, " \t") | {"tags": ["", " "], "name": "N", "card_id": " "}
    bare = await _lead(world, client, await _confirm(world, client, **blanks))
    assert (bare["card_id"], bare["source"], bare["tags"]) == (" ", "scan_card", [])
    assert {bare[name] for name in ("title", "company", "company_domain", "email", "phone", "linkedin", "notes")} == {
        None
    }
    identifier = await _confirm(world, client, **BODY)
    before = await _lead(world, client, identifier)
    again = {**blanks, "name": "Ada Park", "card_id": "card 1"}
    assert await _confirm(world, client, **again) == identifier
    assert await _lead(world, client, identifier) == before
    assert await _confirm(world, client, **{**again, "tags": ["", "c ", " "], "phone": "ask the desk"}) == identifier
    after = await _lead(world, client, identifier)
    assert (after["tags"], after["phone"], after["version"]) == (["c"], "ask the desk", 2)


async def test_a_card_of_500_characters(world: World, client: httpx.AsyncClient) -> None:
    identifier = await _confirm(world, client, card_id="é" * 500)
    assert await _confirm(world, client, card_id="é" * 500) == identifier


async def test_unknown_fields_are_named(world: World, client: httpx.AsyncClient) -> None:
    body = {"name": "N", "status": "converted", "owner_id": "x", "account_id": UNKNOWN}
    response = await client.post(CONFIRM, json=body, headers=_member(world))
    assert response.headers["x-ignored-fields"] == "status, owner_id, account_id"
    lead = await _lead(world, client, response.json()["lead_id"])
    assert (lead["status"], lead["owner_id"], lead["account_id"]) == ("new", "member@one", None)


REFUSED: list[tuple[str, tuple[Any, ...], str]] = [
    ("{}", ("name",), "missing"),
    ('{"name": null}', ("name",), "string_type"),
    ('{"name": " "}', ("name",), "string_too_short"),
    (f'{{"name": "{"n" * 201}"}}', ("name",), "string_too_long"),
    ('{"name": 5}', ("name",), "string_type"),
    ('{"name": "N", "card_id": ""}', ("card_id",), "string_too_short"),
    ('{"name": "N", "card_id": 7}', ("card_id",), "string_type"),
    ('{"name": "N", "email": "nobody"}', ("email",), "value_error"),
    (f'{{"name": "N", "card_id": "{"c" * 501}"}}', ("card_id",), "string_too_long"),
    (f'{{"name": "N", "phone": "{"1" * 101}"}}', ("phone",), "string_too_long"),
    ('{"name": "N", "tags": [" ", 5]}', ("tags", 1), "string_type"),
    ('{"name": "N", "tags": "a"}', ("tags",), "list_type"),
    ('{"name": "N", "title": [""]}', ("title",), "string_type"),
    ('{"name": "N", "tags": ["a", 5]}', ("tags", 1), "string_type"),
    ('{"name": "N", "source": "SCAN_CARD"}', ("source",), "enum"),
    ('{"name": "N", "source": null}', ("source",), "enum"),
    ('{"name": "N", "capture_payload": "x"}', ("capture_payload",), "value_error"),
    ('{"name": "N", "capture_payload": {"x": 1e99999999999999999999}}', ("capture_payload",), "value_error"),
    ('{"name": "N", "capture_payload": {"x": 1' + "0" * 400 + "}}", ("capture_payload",), "value_error"),
    ('{"name": "N", "capture_payload": {"x": "\\ud800"}}', ("capture_payload",), "value_error"),
    (f'{{"name": "N", "capture_payload": {{"x": "{"y" * 262_144}"}}}}', ("capture_payload",), "value_error"),
]


async def test_bad_captures(world: World, client: httpx.AsyncClient) -> None:
    before = await world.dump()
    for content, place, kind in REFUSED:
        response = await client.post(CONFIRM, content=content, headers=_member(world))
        assert response.status_code == 422, content[:100]
        [problem] = response.json()["detail"]
        assert (problem["loc"], problem["type"]) == (["body", *place], kind), content[:100]
    two = await client.post(CONFIRM, json={"name": "", "card_id": ""}, headers=_member(world))
    assert [problem["loc"] for problem in two.json()["detail"]] == [["body", "card_id"], ["body", "name"]]
    assert await world.dump() == before


async def test_a_payload_is_kept_to_the_last_digit(world: World, client: httpx.AsyncClient) -> None:
    number = "0.1000000000000000055511151231257827"
    content = f'{{"name": "N", "card_id": "c", "capture_payload": {{"x": {number}, "y": {2**70}, "z": true}}}}'
    for _ in range(2):
        made = await client.post(CONFIRM, content=content, headers=_member(world))
        text = (await client.get(f"/leads/{made.json()['lead_id']}", headers=_member(world))).text
        assert f'"capture_payload":{{"x":{number},"y":{2**70},"z":true}}' in text
        assert '"version":1,' in text


async def test_the_listing(world: World, client: httpx.AsyncClient) -> None:
    start = datetime(2026, 5, 1, tzinfo=UTC)
    rows = [
        Lead(name="a", tags=["x"], owner_id="o", created_at=start),
        Lead(name="b", source="manual", status="working", created_at=start + timedelta(1)),
        Lead(name="c", tags=["x y"], status="working", capture_payload={"k": 1}, created_at=start + timedelta(2)),
    ]
    await world.add(world.one, *rows)
    await world.tag(world.one, *rows)
    other = Lead(name="other", tags=["x"])
    await world.add(world.two, other)
    await world.tag(world.two, other)
    for query, names in [
        ("", "cba"),
        ("limit=2", "cb"),
        ("limit=1&offset=1", "b"),
        ("limit=0", ""),
        ("status=working", "cb"),
        ("status=working&source=manual", "b"),
        ("owner_id=o", "a"),
        ("tag=x", "a"),
        ("tag=X", ""),
        ("tag=x%20y", "c"),
        ("tag=", ""),
        ("unknown=1", "cba"),
    ]:
        response = await client.get(f"/leads?{query}", headers=_member(world))
        assert "".join(lead["name"] for lead in response.json()) == names, query
        assert "capture_payload" not in response.text
    for query, field in (
        ("limit=-1", "limit"),
        ("offset=x", "offset"),
        ("status=NEW", "status"),
        ("source=", "source"),
    ):
        response = await client.get(f"/leads?{query}", headers=_member(world))
        assert [problem["loc"] for problem in response.json()["detail"]] == [["query", field]]


async def test_leads_that_are_not_there(world: World, client: httpx.AsyncClient) -> None:
    for identifier in (UNKNOWN, "no-uuid"):
        for method, path in (("GET", f"/leads/{identifier}"), ("POST", f"/leads/{identifier}/convert")):
            response = await client.request(method, path, headers=_member(world))
            assert (response.status_code, response.json()["detail"]) == (404, "Not found")


async def test_converting(world: World, client: httpx.AsyncClient) -> None:
    identifier = await _confirm(world, client, **BODY)
    done = await client.post(f"/leads/{identifier}/convert", json={"deal_name": "Pilot"}, headers=_member(world))
    assert done.status_code == 200
    assert done.json()["lead_id"] == identifier
    lead = await _lead(world, client, identifier)
    assert {n: lead[n] for n in ("lead_id", "account_id", "contact_id", "deal_id")} == done.json()
    assert (lead["status"], lead["version"]) == ("converted", 2)
    deal = (await client.get(f"/deals/{lead['deal_id']}", headers=_member(world))).json()
    assert (deal["name"], deal["account_id"], deal["owner_id"]) == ("Pilot", lead["account_id"], "member@one")
    [notification] = world.notifications.handed
    assert (notification.type, notification.organization) == ("deal_created", world.one.external_id)
    for again in (None, {}, {"deal_name": "Other"}):
        content = {} if again is None else {"json": again}
        response = await client.post(f"/leads/{identifier}/convert", headers=_member(world), **content)  # type: ignore[arg-type]
        assert (response.status_code, response.json()) == (200, done.json())
    assert world.notifications.handed == [notification]


async def test_only_a_new_deal_is_announced(world: World, client: httpx.AsyncClient) -> None:
    deal = Deal(name="D")
    await world.add(world.one, deal)
    for body in ({"deal_id": deal.id}, {}):
        identifier = await _confirm(world, client)
        done = await client.post(f"/leads/{identifier}/convert", json=body, headers=_member(world))
        assert (done.status_code, done.json()["deal_id"]) == (200, body.get("deal_id"))
    assert world.notifications.handed == []


async def test_refused_conversions(world: World, client: httpx.AsyncClient) -> None:
    theirs, gone = Account(name="T"), Lead(name="N", status="disqualified")
    await world.add(world.two, theirs)
    await world.add(world.one, gone)
    identifier = await _confirm(world, client)
    before = await world.dump()
    for body, places in [
        ({"account_id": theirs.id}, ["account_id"]),
        ({"account_id": UNKNOWN, "contact_id": "x", "deal_id": UNKNOWN}, ["account_id", "contact_id", "deal_id"]),
        ({"deal_name": ""}, ["deal_name"]),
        ({"deal_name": 5, "deal_id": 5}, ["deal_id", "deal_name"]),
        ({"deal_name": "D", "deal_id": UNKNOWN}, ["deal_name", "deal_id"]),
    ]:
        response = await client.post(f"/leads/{identifier}/convert", json=body, headers=_member(world))
        assert response.status_code == 422
        assert [problem["loc"] for problem in response.json()["detail"]] == [["body", place] for place in places]
    refused = await client.post(f"/leads/{gone.id}/convert", headers=_member(world))
    assert (refused.status_code, refused.json()["code"], refused.json()["detail"]) == (
        409,
        "invalid_state",
        "A lead cannot go from DISQUALIFIED to CONVERTED",
    )
    malformed = await client.post(f"/leads/{identifier}/convert", content="[", headers=_member(world))
    assert malformed.json()["detail"][0]["loc"] == ["body"]
    assert await world.dump() == before


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
async def test_other_methods(world: World, client: httpx.AsyncClient, method: str) -> None:
    response = await client.request(method, f"/leads/{UNKNOWN}", headers=_member(world))
    assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")


async def test_what_is_kept_of_a_capture(world: World, client: httpx.AsyncClient) -> None:
    await _confirm(world, client, **BODY)
    async with world.database.reading(world.one.id) as session:
        [row] = await session.rows(select(Lead.name, Lead.tags).where(Lead.org_id == world.one.id))  # type: ignore[call-overload]
    assert tuple(row) == ("Ada Park", ["a", "b"])
