"""Calls of tools: each answer is that of its document, each refusal names the argument, each write is made once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.tools import TOOL_RESULT_BYTES
from storage.tables import Account, Activity, Contact, Deal, Event, Lead, PipelineStage
from tests.mcp.calling import NOWHERE, call, data, errors, send
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def records(tenant: Tenant) -> dict[str, Any]:
    """One record of each kind, linked."""
    account = Account(name="Acme", domain="acme.example")
    stage, won = PipelineStage(name="Open", position=0), PipelineStage(name="Won", position=1, type="won")
    await tenant.add(account, stage, won)
    contact = Contact(first_name="Ann", last_name="Lee", email="ann@acme.example", account_id=account.id)
    deal = Deal(name="Rollout", account_id=account.id, stage_id=stage.id, value=1500, currency="EUR")
    lead = Lead(name="Lia Lead", company="Beta", source="manual")
    meeting = Activity(
        type="meeting", subject="Kickoff", account_id=account.id, due_at=datetime(2026, 11, 1, tzinfo=UTC)
    )
    await tenant.add(contact, deal, lead, meeting)
    found = {"account": account, "contact": contact, "deal": deal, "lead": lead, "meeting": meeting}
    return {kind: row.id for kind, row in found.items()} | {"stage": stage.id, "won": won.id}


async def test_every_reading_tool_gives_what_its_document_gives(one: Tenant) -> None:
    """`data` compares each answer with that of /graphql."""
    ids = await records(one)
    await one.ask("mutation($n: String!) { dealCreate(input: {name: $n}) { deal { id } } }", n="Told")
    assert (await data(one, "describe"))["viewer"]["subject"] == one.subject()
    hits = await data(one, "search", query="acme")
    assert ids["account"] in [hit["node"]["id"] for hit in hits]
    for kind in ("account", "contact", "deal", "lead", "meeting"):
        page = await data(one, "list_records", kind=kind)
        assert ids[kind] in [node["id"] for node in page["nodes"]]
        assert (await data(one, "get_record", kind=kind, id=ids[kind]))["id"] == ids[kind]
    assert (await data(one, "list_records", one.headers("admin"), kind="campaign"))["nodes"] == []
    some = await data(
        one,
        "list_records",
        kind="deal",
        where={"value": {"gte": "1000"}, "account": {"name": {"eq": "Acme"}}, "or": [{"currency": {"eq": "EUR"}}]},
        order={"field": "VALUE", "direction": "DESC"},
        first=1,
    )
    assert [node["value"] for node in some["nodes"]] == ["1500"]
    assert (await data(one, "deal_board"))["columns"][0]["stage"]["name"] == "Open"
    assert (await data(one, "account_health", id=ids["account"]))["health"] is None
    since = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    assert "deal_created" in [node["type"] for node in (await data(one, "changes", since=since))["nodes"]]


async def test_a_question_is_answered_by_the_assistant(one: Tenant) -> None:
    await records(one)
    answer = await data(one, "ask_data", one.headers("admin"), question="How many deals are open?")
    assert (answer["status"], answer["result"]["rows"]) == ("SUCCEEDED", [["1"]]) or answer["result"]["rows"] == [[1]]
    [error] = await errors(one, "ask_data", one.headers("admin"), question="deals by shoe size")
    assert error["field"] == ["question"]
    assert "shoe" in error["message"]
    [error] = await errors(one, "ask_data", one.headers("admin"), question=" ")
    assert error["field"] == ["question"]


async def test_pages_go_on_where_they_ended(one: Tenant) -> None:
    await one.add(*(Deal(name=f"Deal {number:02}") for number in range(7)))
    seen, after = [], None
    while True:
        more = {} if after is None else {"after": after}
        page = await data(one, "list_records", kind="deal", first=3, **more)
        seen += [node["id"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert len(seen) == len(set(seen)) == 7


async def test_what_is_too_long_is_cut_at_rows_and_goes_on_behind_them(one: Tenant) -> None:
    await one.add(*(Deal(name=f"{number:02} {'x' * 450}") for number in range(50)))
    found = (await call(one, "list_records", kind="deal", first=50))["structuredContent"]
    assert found["truncated"] is True
    names = [node["name"] for node in found["data"]["nodes"]]
    assert 20 < len(names) < 50
    rest = await call(one, "list_records", kind="deal", first=50, after=found["data"]["pageInfo"]["endCursor"])
    names += [node["name"] for node in rest["structuredContent"]["data"]["nodes"]]
    assert len(set(names)) == len(names) == 50
    meeting = Activity(type="meeting", subject="Long", body="ü" * 30_000)
    await one.add(meeting)
    found = await call(one, "get_record", kind="meeting", id=meeting.id)
    assert found["structuredContent"]["truncated"] is True
    assert found["structuredContent"]["data"]["body"] == "ü" * 1_000 + "…"
    assert len(found["content"][0]["text"].encode()) < TOOL_RESULT_BYTES + 1_000


async def test_wrong_arguments_and_missing_records_are_told_and_nothing_is_run(one: Tenant) -> None:
    ids = await records(one)
    with statements(one.gateway.world.database) as sent:
        [error] = await errors(one, "list_records", kind="deal", where={"nam": {"eq": "x"}})
        assert not [text for text in sent if "FROM deals" in text]
    assert (error["code"], error["field"]) == ("VALIDATION", ["where", "nam"])
    for kind in ("account", "deal", "meeting"):
        for missing in (NOWHERE, "no id"):
            [error] = await errors(one, "get_record", kind=kind, id=missing)
            assert (error["code"], error["field"]) == ("NOT_FOUND", ["id"])
    [error] = await errors(one, "move_deal", id=ids["deal"], stage="Nowhere")
    assert (error["field"], error["message"]) == (["stage"], "is no stage; there are Open, Won")
    [error] = await errors(one, "move_deal", id=ids["deal"], stage=ids["won"], expected_version=9)
    assert error["code"] == "PRECONDITION_FAILED"
    [error] = await errors(one, "update_record", kind="deal", id=ids["deal"], fields={"accountId": NOWHERE})
    assert (error["code"], error["field"]) == ("VALIDATION", ["fields", "accountId"])
    [error] = await errors(one, "create_record", kind="deal", fields={"name": "x", "value": "-1"})
    assert error["field"] == ["fields", "value"]
    [error] = await errors(one, "log_note", kind="deal", id=NOWHERE, text="x")
    assert error["field"] == ["id"]
    [error] = await errors(one, "changes", since="2026-11-02T00:00:00Z", until="2026-11-01T00:00:00Z")
    assert error["field"] == ["until"]


async def test_writes_are_those_of_their_documents_and_say_how_they_came(one: Tenant) -> None:
    ids = await records(one)
    made = await data(one, "create_record", kind="contact", fields={"firstName": "Bo", "lastName": "Ek"})
    contact = made["contact"]["id"]
    moved = await data(one, "move_deal", id=ids["deal"], stage="Won", expected_version=1)
    assert (moved["deal"]["stage"]["name"], moved["deal"]["version"]) == ("Won", 2)
    cleared = await data(
        one, "update_record", kind="deal", id=ids["deal"], fields={"value": None, "notes": "n"}, expected_version=2
    )
    assert (cleared["deal"]["value"], cleared["deal"]["version"]) == (None, 3)
    note = await data(one, "log_note", kind="account", id=ids["account"], text="They sign in May")
    assert note["note"]["account"]["id"] == ids["account"]
    linked = await data(one, "link_contact", deal_id=ids["deal"], contact_id=contact, role="Buyer", is_primary=True)
    assert linked["deal"]["contacts"]["edges"][0] == {
        "role": "Buyer",
        "isPrimary": True,
        "node": {"id": contact, "firstName": "Bo", "lastName": "Ek"},
    }
    converted = await data(one, "convert_lead", id=ids["lead"], account_id=ids["account"], deal_name="From lead")
    assert (converted["lead"]["status"], converted["deal"]["name"]) == ("CONVERTED", "From lead")
    told = await one.rows(Event.type, Event.actor, Event.data)
    assert {"contact_created", "deal_updated", "lead_converted"} <= {type for type, _, _ in told}
    assert all(event["via"] == "mcp" and actor == one.subject() for _, actor, event in told)


async def test_a_write_under_a_key_is_made_once(one: Tenant) -> None:
    arguments = {"kind": "account", "fields": {"name": "Once"}}
    for way in ({"_meta": {"crm-gateway/idempotencyKey": "k1"}}, {}):
        headers = one.headers() | ({} if way else {"Idempotency-Key": "k1"})
        response = await send(one, "tools/call", headers, name="create_record", arguments=arguments, **way)
        found = response.json()["result"]
        assert found["_meta"].get("crm-gateway/replayed", False) is not bool(way)
        assert ("idempotency-replayed" in response.headers) is not bool(way)
        assert found["structuredContent"]["data"]["account"]["name"] == "Once"
    assert await one.rows(Account.name) == [("Once",)]
    other = {"kind": "account", "fields": {"name": "Other"}}
    response = await send(
        one, "tools/call", one.headers() | {"Idempotency-Key": "k1"}, name="create_record", arguments=other
    )
    assert response.json()["result"]["structuredContent"]["errors"][0]["code"] == "VALIDATION"
    assert await one.rows(Account.name) == [("Once",)]
    both = one.headers() | {"Idempotency-Key": "k2"}
    response = await send(
        one, "tools/call", both, name="create_record", arguments=other, _meta={"crm-gateway/idempotencyKey": "k3"}
    )
    assert response.status_code == 400


async def test_another_organization_finds_nothing(one: Tenant, two: Tenant) -> None:
    ids = await records(one)
    for kind in ("account", "contact", "deal", "lead", "meeting"):
        assert (await data(two, "list_records", kind=kind))["nodes"] == []
        [error] = await errors(two, "get_record", kind=kind, id=ids[kind])
        assert error["code"] == "NOT_FOUND"
    for name, arguments in (
        ("update_record", {"kind": "deal", "id": ids["deal"], "fields": {"name": "Mine"}}),
        ("move_deal", {"id": ids["deal"], "stage": ids["won"]}),
        ("log_note", {"kind": "account", "id": ids["account"], "text": "Mine"}),
        ("convert_lead", {"id": ids["lead"]}),
        ("link_contact", {"deal_id": ids["deal"], "contact_id": ids["contact"]}),
    ):
        assert await errors(two, name, **arguments)
    assert await two.rows(Event.type) == []
    assert await data(two, "search", query="acme") == []


async def test_a_page_of_fifty_takes_as_many_statements_as_one_of_five(one: Tenant) -> None:
    account = Account(name="Acme")
    await one.add(account)
    await one.add(*(Deal(name=f"{number}", account_id=account.id) for number in range(50)))
    counts = []
    for first in (5, 50):
        await call(one, "list_records", kind="deal", first=first)
        with statements(one.gateway.world.database) as sent:
            await call(one, "list_records", kind="deal", first=first)
        counts.append(len(sent))
    assert counts[0] == counts[1]
