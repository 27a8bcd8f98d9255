"""The catalogue of tools: its size, its order, what it never reaches, and what each caller is offered."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from jsonschema import Draft202012Validator

from contract.scopes import ScopeGroup
from contract.tools import TOOL_ROWS_MAX, Effect
from schema.declare import rules_of
from schema.tools import Catalogue, Wrong
from tests.mcp.calling import result
from tests.support.schemas import built
from tests.support.tenants import Tenant

ORDER = (
    *("describe", "search", "list_records", "get_record", "deal_board", "account_health", "changes", "ask_data"),
    *("create_record", "update_record", "move_deal", "log_note", "convert_lead", "link_contact"),
)
READING = ORDER[:8]
BYTES = 16_000
"""What the definitions for an administrator may take: 4,000 tokens."""
ALLOWED = {ScopeGroup.CRM_READ, ScopeGroup.CRM_MANAGE, ScopeGroup.MEETINGS_READ, ScopeGroup.DATA_ACCESS, None}
PRINTED = Path(__file__).parents[2] / "schema" / "tools.json"


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue(built().graphql)


def test_definitions_are_few_short_and_in_the_order_of_the_contract(catalogue: Catalogue) -> None:
    offers = catalogue.offered()
    assert tuple(offer.tool.name for offer in offers) == ORDER
    told = [
        {"name": told.name, "description": told.description, "inputSchema": told.input_schema}
        for told in (offer.told for offer in offers)
    ]
    assert len(orjson.dumps(told)) <= BYTES
    for one in told:
        Draft202012Validator.check_schema(one["inputSchema"])
    assert PRINTED.read_bytes() == catalogue.print()


def test_no_tool_reaches_what_costs_money_leaves_the_organization_or_is_gone_after(catalogue: Catalogue) -> None:
    """Credentials, webhooks, members, purchases, launches and deletion: no document has such a field."""
    rules = rules_of(built().graphql)
    for offer in catalogue.offered():
        for document in offer.documents.values():
            for name in document.operations:
                rule = rules.get(f"Query.{name}") or rules[f"Mutation.{name}"]
                group = rule.group
                assert group in ALLOWED or (group is ScopeGroup.OUTREACH_READ and name in ("campaign", "campaigns"))
                words = ("delete", "launch", "resume", "enroll", "webhook", "credential", "token", "key", "member")
                assert not [word for word in words if word in name.lower()]
                assert rule.writes is (offer.tool.effect is Effect.WRITE), name


def test_schemas_take_what_the_inputs_have_and_nothing_else(catalogue: Catalogue) -> None:
    offers = {offer.tool.name: offer for offer in catalogue.offered()}
    good = {
        "list_records": {"kind": "deal", "where": {"value": {"gte": "100"}, "or": [{"name": {"eq": "A"}}]}, "first": 5},
        "update_record": {"kind": "deal", "id": "x", "fields": {"notes": None, "geoScope": "LOCAL"}},
        "move_deal": {"id": "x", "stage": "Won", "expected_version": 3},
        "changes": {"since": "2026-11-01T00:00:00Z", "types": ["deal_created"]},
    }
    for name, arguments in good.items():
        Draft202012Validator(offers[name].definition).validate(arguments)
        assert isinstance(offers[name].read(arguments), tuple)
    wrong = [
        ("list_records", {"kind": "deal", "where": {"valu": {"gte": "1"}}}, ("where", "valu"), "did you mean value?"),
        ("list_records", {"kind": "deals"}, ("kind",), "must be one of account, contact, deal"),
        ("list_records", {}, ("kind",), "must be one of account"),
        ("list_records", {"kind": "deal", "frist": 1}, ("frist",), "did you mean first?"),
        ("list_records", {"kind": "deal", "first": TOOL_ROWS_MAX + 1}, ("first",), "between 0 and 50"),
        ("list_records", {"kind": "deal", "first": -1}, ("first",), "between 0 and 50"),
        ("list_records", {"kind": "deal", "first": "1"}, ("first",), "Int"),
        ("list_records", {"kind": "deal", "order": {"field": "SIZE"}}, ("order", "field"), "SIZE"),
        ("search", {"query": "x", "first": 21}, ("first",), "between 0 and 20"),
        ("get_record", {"kind": "deal"}, ("id",), "is required"),
        (
            "update_record",
            {"kind": "deal", "id": "x", "fields": {"expectedVersion": 1}},
            ("fields", "expectedVersion"),
            "",
        ),
        ("update_record", {"kind": "meeting", "id": "x", "fields": {"metadata": {}}}, ("fields", "metadata"), ""),
        ("describe", {"x": 1}, ("x",), "is no argument"),
        ("ask_data", {"id": "x"}, ("id",), "is no argument"),
    ]
    for name, arguments, path, words in wrong:
        found = offers[name].read(arguments)
        assert isinstance(found, list), (name, arguments)
        assert found[0].path == path, found
        assert words in found[0].words, found
        # A comparator that filters have, and definitions leave out, is taken all the same.
        assert not Draft202012Validator(offers[name].definition).is_valid(arguments), (name, arguments)
    for fields in ({}, {"name": None}):  # which fields of another kind would be
        [missing] = offers["create_record"].read({"kind": "account", "fields": fields})
        assert isinstance(missing, Wrong)
        assert (missing.path, missing.words) == (("fields", "name"), "is required")


def test_offers_are_right_after_their_cache_has_forgotten_them(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Catalogue(built().graphql)
    monkeypatch.setattr(small._offers, "entries", 2)
    rules = sorted(catalogue.rules, key=lambda rule: rule.line)
    for _ in range(2):
        for count in range(len(rules) + 1):
            passed = frozenset(rules[:count])
            names = [offer.tool.name for offer in small.offered(passed)]
            assert names == [offer.tool.name for offer in catalogue.offered(passed)]
            assert len(small._offers) <= 2


@pytest.mark.asyncio(loop_scope="session")
async def test_each_caller_is_offered_what_its_scopes_reach_at_every_door(one: Tenant) -> None:
    callers = {
        ("deals:read",): READING[:7],
        ("deals:read", "data:access"): READING,
        ("api:read",): (*READING[:5], "changes"),  # no meeting, and no health
        ("deals:manage",): tuple(name for name in ORDER if name != "ask_data"),
        ("outreach:read",): ("list_records", "get_record"),
    }
    for scopes, expected in callers.items():
        headers = await one.scoped(*scopes, name="-".join(scopes))
        tools = (await result(one, "tools/list", headers))["tools"]
        assert tuple(tool["name"] for tool in tools) == expected, scopes
        reading = (await one.gateway.http.post("/mcp/read", json=_LIST, headers=headers)).json()["result"]["tools"]
        assert [tool["name"] for tool in reading] == [name for name in expected if name in READING]
        graph = await one.post("{ chatTools { name description inputSchema effect operations documents } }", headers)
        path = await one.gateway.http.get("/chat/tools", headers=headers)
        if scopes == ("outreach:read",):
            assert (graph.json()["errors"][0]["extensions"]["code"], path.status_code) == ("FORBIDDEN", 403)
            continue
        told = graph.json()["data"]["chatTools"]
        assert [(t["name"], t["description"], t["inputSchema"]) for t in tools] == [
            (t["name"], t["description"], t["inputSchema"]) for t in told
        ]
        assert json.dumps(path.json()).replace("input_schema", "inputSchema") == json.dumps(
            [tool | {"effect": tool["effect"].lower()} for tool in told]
        )
    limited = await one.scoped("outreach:read", name="campaigns")
    [listing, _] = (await result(one, "tools/list", limited))["tools"]
    assert listing["inputSchema"]["properties"]["kind"] == {"enum": ["campaign"]}
    narrow = await one.scoped("api:read", name="narrow")
    listing = (await result(one, "tools/list", narrow))["tools"][2]
    assert listing["inputSchema"]["properties"]["kind"] == {"enum": ["account", "contact", "deal", "lead"]}


_LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
