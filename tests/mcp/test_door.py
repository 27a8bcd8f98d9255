"""The MCP door: who is let in, in which order what is wrong is told, and that strangers cost it nothing."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.mcp.messages import REVISIONS
from storage.tables import Account, Deal
from tests.mcp.calling import NOWHERE, call, data, result, send
from tests.support.clock import Clock
from tests.support.gateway import Gateway, open_gateway
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
METADATA = "/.well-known/oauth-protected-resource"


async def post(tenant: Tenant, body: Any, path: str = "/mcp", **headers: str) -> httpx.Response:
    """The response to a body, as the member unless told otherwise; a header that is empty is left out."""
    told = tenant.headers() | {"Content-Type": "application/json"}
    told = {n: v for n, v in {**told, **{n.replace("_", "-"): v for n, v in headers.items()}}.items() if v}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await tenant.gateway.http.post(path, content=content, headers=told)


async def test_strangers_are_told_where_credentials_come_from(one: Tenant) -> None:
    for path in ("/mcp", "/mcp/read"):
        for credential in ("", "Bearer nobody"):
            response = await post(one, LIST, path, Authorization=credential)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == f'Bearer resource_metadata="http://gateway{METADATA}{path}"'
            assert response.json()["code"] == "unauthenticated"
        document = (await one.gateway.http.get(f"{METADATA}{path}")).json()
        assert document["resource"] == f"http://gateway{path}"
        assert document["authorization_servers"] == ["http://gateway"]
        assert document["bearer_methods_supported"] == ["header"]
        assert "deals:read" in document["scopes_supported"]
        assert {"resource_name", "resource_documentation"} <= document.keys()


async def test_whom_no_tool_is_offered_is_told_the_scopes(one: Tenant) -> None:
    headers = await one.scoped("pats:read", name="nothing")
    response = await one.gateway.http.post("/mcp", json=LIST, headers=headers)
    assert response.status_code == 403
    assert (response.json()["code"], response.json()["granted_scopes"]) == ("forbidden", ["pats:read"])
    limited = await one.scoped("outreach:read", name="limited")
    response = await send(one, "tools/call", limited, name="list_records", arguments={"kind": "deal"})
    assert response.status_code == 403
    scopes = response.json()["required_scopes"]
    assert response.headers["www-authenticate"] == (
        f'Bearer error="insufficient_scope", scope="{" ".join(scopes)}", '
        f'resource_metadata="http://gateway{METADATA}/mcp"'
    )
    assert (await data(one, "list_records", limited, kind="campaign"))["nodes"] == []
    reader = await one.scoped("deals:read", name="reader")
    for name, arguments in (
        ("create_record", {"kind": "deal", "fields": {"name": "x"}}),
        ("ask_data", {"question": "x"}),
    ):
        response = await send(one, "tools/call", reader, name=name, arguments=arguments)
        assert response.status_code == 403, name
    assert await one.rows(Deal.name) == []


async def test_each_credential_is_refused_as_on_the_other_doors(one: Tenant, two: Tenant) -> None:
    world = one.gateway.world
    key = await world.credential(one.subject(), one.organization)
    assert (await post(one, LIST, Authorization=f"Bearer {key}")).status_code == 200
    response = await post(one, LIST, Authorization=f"Bearer {key}", X_Service_Org=one.organization.external_id)
    assert (response.status_code, response.json()["code"]) == (400, "organization_not_accepted")
    token = await world.credential(one.subject(), None)
    response = await post(one, LIST, Authorization=f"Bearer {token}", X_Service_Org="")
    assert (response.status_code, response.json()["code"]) == (400, "organization_required")
    response = await post(one, LIST, Authorization=f"Bearer {token}", X_Service_Org=two.organization.external_id)
    assert response.status_code == 403
    response = await post(one, LIST, Authorization=f"Bearer {token}", X_Service_Org=one.organization.external_id)
    assert response.status_code == 200


async def test_pages_of_other_origins_may_not_call(one: Tenant) -> None:
    for origin, status in (
        ("https://evil.example", 403),
        ("null", 403),
        ("http://[", 403),
        ("http://gateway", 200),
        ("", 200),
    ):
        response = await post(one, LIST, Origin=origin)
        assert response.status_code == status, origin
        if status == 403:
            assert response.json()["code"] == "forbidden_origin"


async def test_what_is_no_message_is_told_in_our_words(one: Tenant) -> None:
    deep: Any = {}
    for _ in range(130):
        deep = {"a": deep}
    call_of: Any = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    for body, code in (
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        ([LIST], -32600),
        ([], -32600),
        ("text", -32600),
        ({"id": 1, "method": "tools/list"}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, -32600),
        (LIST | {"params": deep}, -32600),
        (LIST | {"params": []}, -32602),
        (call_of, -32602),
        (call_of | {"params": {"name": 1}}, -32602),
        (call_of | {"params": {"name": "describe", "arguments": []}}, -32602),
        (call_of | {"params": {"name": "describe", "_meta": 1}}, -32602),
    ):
        response = await post(one, body)
        assert response.status_code == 400, body
        error = response.json()["error"]
        assert error["code"] == code, (body, error)
        if code == -32602:  # the message could be read, so who asked has to find the answer to it
            assert response.json()["id"] == 1
        assert not any(word in error["message"].lower() for word in ("pydantic", "validation error", "orjson", "mcp."))
    assert (await post(one, LIST, Content_Type="text/plain")).status_code == 415
    assert (await post(one, b" " * (1024 * 1024 + 1))).status_code == 413
    for method in ("GET", "DELETE", "PUT"):
        response = await one.gateway.http.request(method, "/mcp", headers=one.headers())
        assert (response.status_code, response.headers["allow"]) == (405, "POST")


async def test_two_revisions_are_spoken(one: Tenant) -> None:
    response = await post(one, LIST, MCP_Protocol_Version="2024-11-05")
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32022
    assert response.json()["error"]["data"] == {"supported": list(REVISIONS), "requested": "2024-11-05"}
    assert (await post(one, LIST, MCP_Protocol_Version=REVISIONS[1])).status_code == 200
    for asked, given in ((REVISIONS[1], REVISIONS[1]), ("2025-06-18", REVISIONS[1]), ("1", REVISIONS[1])):
        params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        found = await result(one, "initialize", **params)
        assert found["protocolVersion"] == given
        assert found["serverInfo"]["name"] == "crm-gateway"
        assert found["serverInfo"]["version"]
    meta = {"io.modelcontextprotocol/protocolVersion": REVISIONS[0], "io.modelcontextprotocol/clientCapabilities": {}}
    message = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "describe", "_meta": meta}}
    response = await post(one, message, MCP_Protocol_Version=REVISIONS[0], Mcp_Method="tools/call", Mcp_Name="describe")
    assert response.json()["result"]["structuredContent"]["operation"] == "viewer"
    response = await post(one, message, MCP_Protocol_Version=REVISIONS[0], Mcp_Method="tools/call", Mcp_Name="search")
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32020)
    for method, params, names in (
        ("tools/list", {}, {"Mcp_Method": "tools/call"}),
        ("tools/list", {}, {}),
        ("resources/read", {"uri": "crm://kinds"}, {"Mcp_Method": "resources/read", "Mcp_Name": "crm://deals"}),
        ("prompts/get", {"name": "pipeline_review"}, {"Mcp_Method": "prompts/get"}),
    ):
        message = {"jsonrpc": "2.0", "id": 6, "method": method, "params": {**params, "_meta": meta}}
        error = (await post(one, message, MCP_Protocol_Version=REVISIONS[0], **names)).json()["error"]
        assert error["code"] == -32020
        assert error["message"].startswith("The header Mcp-")
    uri = f"=?base64?{b64encode(b'crm://kinds').decode()}?="
    message = {"jsonrpc": "2.0", "id": 7, "method": "resources/read", "params": {"uri": "crm://kinds", "_meta": meta}}
    named = {"Mcp_Method": "resources/read", "Mcp_Name": uri}
    assert "result" in (await post(one, message, MCP_Protocol_Version=REVISIONS[0], **named)).json()
    ping = {"jsonrpc": "2.0", "id": 8, "method": "ping", "params": {"_meta": meta}}
    response = await post(one, ping, MCP_Protocol_Version=REVISIONS[0], Mcp_Method="ping")
    assert (response.status_code, response.json()["error"]["message"]) == (404, "There is no method of this name here")
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    response = await post(one, notification)
    assert (response.status_code, response.content) == (202, b"")


async def test_unknown_tools_and_writes_at_the_reading_door(one: Tenant) -> None:
    for path, name, words in (
        ("/mcp", "list_record", "did you mean list_records?"),
        ("/mcp/read", "create_record", "There is no tool of this name here; did you mean get_record?"),
        ("/mcp/read", "log_note", "did you mean "),
        ("/mcp", "x", "did you mean "),
        ("/mcp/read", "get_recrd", "did you mean get_record?"),
    ):
        response = await send(one, "tools/call", path=path, name=name, arguments={})
        error = response.json()["error"]
        assert error["code"] == -32602
        assert words in error["message"]
    response = await send(one, "no/such")
    assert response.json()["error"]["code"] == -32601


async def test_resources_and_prompts(one: Tenant, two: Tenant) -> None:
    account = Account(name="Acme")
    await one.add(account)
    [kinds] = (await result(one, "resources/list"))["resources"]
    text = (await result(one, "resources/read", uri=kinds["uri"]))["contents"][0]["text"]
    told = {each["kind"]: each for each in json.loads(text)["kinds"]}
    assert set(told) == {"account", "contact", "deal", "lead", "meeting", "campaign"}
    assert told["deal"]["vocabularies"]["DealStatus"] == ["OPEN", "WON", "LOST"]
    assert "closeDate" in [each["name"] for each in told["deal"]["fields"]]
    [template] = (await result(one, "resources/templates/list"))["resourceTemplates"]
    assert template["uriTemplate"] == "crm://{kind}/{id}"
    found = (await result(one, "resources/read", uri=f"crm://account/{account.id}"))["contents"][0]["text"]
    assert json.loads(found)["name"] == "Acme"
    for tenant, uri in (
        (two, f"crm://account/{account.id}"),
        (one, f"crm://account/{NOWHERE}"),
        (one, "crm://credential/x"),
        (one, "file:///etc/passwd"),
    ):
        response = await send(tenant, "resources/read", uri=uri)
        assert "error" in response.json(), uri
        assert "Acme" not in response.text
    prompts = (await result(one, "prompts/list"))["prompts"]
    assert [prompt["name"] for prompt in prompts] == ["account_brief", "meeting_preparation", "pipeline_review"]
    brief = await result(one, "prompts/get", name="account_brief", arguments={"account": "Acme {x}"})
    assert "«Acme {x}»" in brief["messages"][0]["content"]["text"]
    response = await send(one, "prompts/get", name="account_brief", arguments={})
    assert response.json()["error"]["code"] == -32602


async def test_tools_say_what_they_do(one: Tenant) -> None:
    hints = {t["name"]: t["annotations"] for t in (await result(one, "tools/list", one.headers("admin")))["tools"]}
    assert all(hints[name]["readOnlyHint"] for name in ("describe", "search", "list_records", "get_record", "changes"))
    assert not any(hints[name]["readOnlyHint"] for name in ("create_record", "update_record", "log_note"))
    assert hints["update_record"]["destructiveHint"]
    assert not hints["create_record"]["idempotentHint"]


@pytest.fixture
async def small(tmp_path: Path, sqlite_template: Path) -> AsyncIterator[Gateway]:
    """An application of its own with budgets."""
    file = tmp_path / "crm.db"
    shutil.copyfile(sqlite_template, file)
    file.chmod(0o600)
    async with open_gateway(f"sqlite+aiosqlite:///{file}", tmp_path / "data", rate_limit=True) as gateway:
        yield gateway


@pytest.mark.asyncio(loop_scope="function")
async def test_budgets_are_those_of_every_door(small: Gateway) -> None:
    small.runtime.services.budget._buckets._clock = Clock()  # type: ignore[attr-defined]  # nothing comes back by itself
    tenant = await new_tenant(small)
    listed = await send(tenant, "tools/list")
    assert (listed.headers["x-request-cost"], listed.headers["ratelimit-limit"]) == ("1", "2000")
    found = await send(tenant, "tools/call", name="deal_board", arguments={})
    cost = found.json()["result"]["structuredContent"]["cost"]
    assert int(found.headers["x-request-cost"]) == cost > 0
    principal = await small.runtime.services.identity.authenticate(
        tenant.headers()["Authorization"], tenant.organization.external_id
    )
    budget = small.runtime.services.budget
    left = (await budget.settle(await budget.charge(principal, 0), 0)).available
    await budget.charge(principal, left - 3)
    refused = await send(
        tenant, "tools/call", name="create_record", arguments={"kind": "deal", "fields": {"name": "x"}}
    )
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert int(refused.headers["retry-after"]) >= 1
    assert await tenant.rows(Deal.name) == []


@pytest.mark.asyncio(loop_scope="function")
async def test_a_call_that_runs_no_document_costs_a_point(small: Gateway) -> None:
    small.runtime.services.budget._buckets._clock = Clock()  # type: ignore[attr-defined]  # nothing comes back by itself
    tenant = await new_tenant(small)
    reads = await tenant.scoped("deals:read", name="reads")
    before = int((await send(tenant, "tools/list")).headers["ratelimit-remaining"])
    for number, (headers, name, arguments) in enumerate(
        (
            (None, "nothing", {}),
            (None, "list_records", {}),
            (None, "move_deal", {"id": NOWHERE, "stage": "nothing"}),
            (reads, "log_note", {"kind": "deal", "id": NOWHERE, "text": "x"}),
        ),
        1,
    ):
        await send(tenant, "tools/call", headers, name=name, arguments=arguments)
        after = int((await send(tenant, "tools/list")).headers["ratelimit-remaining"])
        if headers is None:
            assert before - after == 2 * number, name
    answer = await send(tenant, "tools/list", reads)
    assert int(answer.headers["ratelimit-limit"]) - int(answer.headers["ratelimit-remaining"]) == 2


@pytest.mark.asyncio(loop_scope="function")
@pytest.mark.parametrize("mode", ["read", "off"])
async def test_the_operator_may_narrow_or_close_the_door(mode: str, tmp_path: Path, sqlite_template: Path) -> None:
    shutil.copyfile(sqlite_template, tmp_path / "crm.db")
    (tmp_path / "crm.db").chmod(0o600)
    async with open_gateway(f"sqlite+aiosqlite:///{tmp_path / 'crm.db'}", tmp_path / "data", mcp=mode) as gateway:
        tenant = await new_tenant(gateway)
        response = await send(tenant, "tools/list")
        if mode == "off":
            assert response.status_code == 404
            assert (await gateway.http.get(f"{METADATA}/mcp")).status_code == 404
            return
        assert "create_record" not in response.text
        assert (await call(tenant, "deal_board"))["isError"] is False


@pytest.mark.asyncio(loop_scope="function")
async def test_the_first_callers_wait_for_one_start(small: Gateway) -> None:
    tenant = await new_tenant(small)
    answers = await asyncio.gather(*(send(tenant, "tools/list") for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}


UNASKED = """
import asyncio, sys
import httpx
from gateway.app import application
from gateway.runtime import Runtime
from gateway.settings import Settings

def resident():
    return int(open("/proc/self/status").read().split("VmRSS:")[1].split()[0])

async def main():
    runtime = Runtime(Settings(_env_file=None, data_dir=sys.argv[1]))
    app = application(runtime)
    transport = httpx.ASGITransport(app=app)
    async with runtime.running(), httpx.AsyncClient(transport=transport, base_url="http://x") as http:
        asked = (("POST", "/mcp"), ("GET", "/mcp"), ("POST", "/mcp/read"), ("GET", "/llms.txt"))
        for method, path in asked:
            print((await http.request(method, path, json={})).status_code)
        before = resident()
        for _ in range(100):
            for method, path in asked:
                await http.request(method, path, json={})
        print(resident() - before)
    print(sorted(name for name in sys.modules if name.split(".")[0] in ("mcp", "mcp_types", "httpx2", "opentelemetry")))

asyncio.run(main())
"""


@pytest.mark.asyncio(loop_scope="function")
async def test_strangers_never_cause_the_import(tmp_path: Path) -> None:
    found = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", UNASKED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    *told, grown, imported = found.stdout.split()
    assert (told, imported) == (["401", "405", "401", "200"], "[]")
    assert int(grown) < 4_096  # KiB; the library takes five times as much
