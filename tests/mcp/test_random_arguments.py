"""Random arguments, made of the definitions that clients are told: each answer is that of its document at /graphql."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from storage.tables import Account, Contact, Deal, Lead
from tests.mcp.calling import NOWHERE, result, send
from tests.support.tenants import Tenant

CALLS = 150
READING = ("list_records", "get_record", "search", "changes", "account_health", "deal_board", "describe")
_TEXTS = ("Acme", "acme", "1000", "0.0001", "EUR", "", "%", "2026-11-01", "2026-11-01T00:00:00Z", "ü")
_DEPTH = 3


class Arguments:
    """Values of a JSON Schema."""

    def __init__(self, random: Random, ids: list[str]) -> None:
        self._random = random
        self._ids = ids

    def of(self, schema: dict[str, Any], definitions: dict[str, Any], depth: int = 0) -> Any:
        random = self._random
        if "$ref" in schema:
            return self.of(definitions[schema["$ref"].rpartition("/")[2]], definitions, depth)
        if "anyOf" in schema:
            return self.of(random.choice(schema["anyOf"]), definitions, depth)
        if "enum" in schema:
            return random.choice(schema["enum"])
        match schema["type"]:
            case "object":
                return self._object(schema, definitions, depth)
            case "array":
                return [self.of(schema["items"], definitions, depth + 1) for _ in range(random.randint(0, 2))]
            case "integer":
                return random.choice((0, 1, 2, 20))
            case "boolean":
                return random.random() < 0.5
        if schema.get("format") == "date":
            return "2026-11-01"
        return "2026-11-01T00:00:00Z" if "format" in schema else random.choice((*_TEXTS, *self._ids, NOWHERE))

    def _object(self, schema: dict[str, Any], definitions: dict[str, Any], depth: int) -> dict[str, Any]:
        optional = [name for name in schema["properties"] if name not in schema.get("required", ())]
        chosen = self._random.sample(optional, min(len(optional), self._random.randint(0, 2))) if depth < _DEPTH else []
        names = [*schema.get("required", ()), *chosen]
        return {name: self.of(schema["properties"][name], definitions, depth + 1) for name in names}


@pytest.mark.asyncio(loop_scope="session")
async def test_each_answer_is_that_of_its_document(one: Tenant) -> None:
    account = Account(name="Acme", domain="acme.example")
    deals = [Deal(name=f"Acme {n}", value=n * 500, currency="EUR", account_id=account.id) for n in range(6)]
    await one.add(account, *deals, Contact(last_name="Acme", account_id=account.id), Lead(name="Acme"))
    admin = one.headers("admin")
    tools = {tool["name"]: tool["inputSchema"] for tool in (await result(one, "tools/list", admin))["tools"]}
    random = Random(20)
    arguments, served = Arguments(random, [account.id, *(deal.id for deal in deals)]), 0
    for _ in range(CALLS):
        name = random.choice(READING)
        given = arguments.of(tools[name], tools[name].get("$defs", {}))
        response = await send(one, "tools/call", admin, name=name, arguments=given)
        assert response.status_code == 200, (name, given, response.text)
        found = response.json()["result"]
        assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
        twin = found.get("_meta", {}).get("crm-gateway/twin")
        if twin is None:  # the arguments did not fit each other: fields of another kind, say
            assert found["isError"], (name, given)
            continue
        asked = {"query": twin["document"], "variables": twin["variables"]}
        answer = (await one.gateway.http.post("/graphql", json=asked, headers=admin)).json()
        if found["isError"]:
            told = {error["code"] for error in found["structuredContent"]["errors"]}
            assert {error["extensions"]["code"] for error in answer.get("errors", ())} == told - {"NOT_FOUND"}
            continue
        [*roots] = answer["data"].values()
        assert found["structuredContent"]["data"] == (roots[0] if len(roots) == 1 else answer["data"]), (name, given)
        served += 1
    assert served > CALLS / 3
