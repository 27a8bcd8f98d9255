"""The MCP door under attack: what never ends, what floods it, what breaks within it, keys that are gone or reused."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import update
from sqlmodel import col

from contract.vocabulary import CredentialKind
from gateway.mcp.messages import METHODS, REVISIONS
from storage.base import now
from storage.tables import Account, Credential
from tests.mcp.calling import call, errors, result, send
from tests.support.clock import Clock
from tests.support.gateway import Gateway, open_gateway
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": REVISIONS[0],
    "io.modelcontextprotocol/clientCapabilities": {},
}
CREATE: dict[str, Any] = {"name": "create_record", "arguments": {"kind": "account", "fields": {"name": "Once"}}}
MANY = 50_000


async def modern(tenant: Tenant, method: str, **params: Any) -> httpx.Response:
    """The response to a message of the newer revision."""
    headers = {"MCP-Protocol-Version": REVISIONS[0], "Mcp-Method": method}
    return await send(tenant, method, tenant.headers() | headers, **params, _meta=ENVELOPE)


async def raw(tenant: Tenant, body: bytes, **headers: str) -> httpx.Response:
    told = tenant.headers() | {"Content-Type": "application/json"} | headers
    return await tenant.gateway.http.post("/mcp", content=body, headers=told)


async def test_what_the_library_would_never_end_is_refused_at_once(one: Tenant) -> None:
    """Decision 930. `subscriptions/listen` opened a stream that held the process for good."""
    async with asyncio.timeout(60):
        for method in ("subscriptions/listen", "resources/subscribe", "logging/setLevel", "completion/complete"):
            for response, status in (
                (await modern(one, method, filter={"toolsListChanged": True}), 404),
                (await send(one, method), 200),
            ):
                assert (response.status_code, response.json()["error"]["code"]) == (status, -32601), method
        assert (await result(one, "ping")) == {}
    assert "subscriptions/listen" not in METHODS


async def test_who_leaves_in_the_middle_of_a_message_leaves_nothing_behind(one: Tenant) -> None:
    """What comes behind a message's body is what the client does, not the body again."""
    before = len(asyncio.all_tasks())
    for _ in range(5):
        waiting = asyncio.create_task(send(one, "tools/list"))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert (await send(one, "tools/list")).status_code == 200
    await asyncio.sleep(0.1)
    assert len(asyncio.all_tasks()) <= before + 5


async def test_a_notification_does_nothing_whatever_it_says(one: Tenant) -> None:
    for method, params in (("tools/call", CREATE), ("resources/read", {"uri": "crm://kinds"}), ("no/such", {})):
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()
        response = await raw(one, body)
        assert (response.status_code, response.content) == (202, b""), method
    assert await one.rows(col(Account.id)) == []


async def test_parameters_are_told_by_their_field(one: Tenant) -> None:
    client = {"name": "c", "version": "1"}
    for method, params, field in (
        ("initialize", {}, "protocolVersion"),
        ("initialize", {"protocolVersion": 1, "capabilities": {}, "clientInfo": client}, "protocolVersion"),
        ("initialize", {"protocolVersion": REVISIONS[1], "capabilities": [], "clientInfo": client}, "capabilities"),
        ("initialize", {"protocolVersion": REVISIONS[1], "capabilities": {}, "clientInfo": {"name": 1}}, "clientInfo"),
        ("tools/list", {"cursor": 1}, "cursor"),
        ("tools/list", {"_meta": {"progressToken": []}}, "_meta.progressToken"),
        ("resources/read", {}, "uri"),
        ("resources/read", {"uri": ["crm://kinds"]}, "uri"),
        ("prompts/get", {}, "name"),
        ("prompts/get", {"name": "account_brief", "arguments": None}, "arguments"),
        ("prompts/get", {"name": "account_brief", "arguments": {"account": {}}}, "arguments.account"),
    ):
        response = await send(one, method, **params)
        error = response.json()["error"]
        assert (response.status_code, error["code"], response.json()["id"]) == (400, -32602, 1), (method, params)
        assert error["message"].startswith(f"params.{field} must be "), error
    for arguments, words in (
        ({}, "needs the argument account"),
        ({"account": " "}, "needs the argument account"),
        ({"account": "x", "accounts": "y"}, "has no argument accounts"),
    ):
        response = await send(one, "prompts/get", name="account_brief", arguments=arguments)
        assert words in response.json()["error"]["message"]
    hostile = "{0.__class__} {account} ».\n" + "x" * 10_000
    brief = await result(one, "prompts/get", name="account_brief", arguments={"account": hostile})
    text = brief["messages"][0]["content"]["text"]
    assert "{0.__class__} {account}" in text
    assert len(text) < 1_000


async def test_a_flood_of_what_is_wrong_is_told_in_short_and_soon(one: Tenant) -> None:
    """Each unknown name was looked up among the known ones, a hundred thousand of them for one point."""
    began = time.monotonic()
    unknown = {f"nam{number}": 1 for number in range(MANY)}
    for arguments, path in (
        ({"kind": "deal", **unknown}, ["nam0"]),
        ({"kind": "deal", "where": unknown}, ["where", "nam0"]),
        ({"kind": "deal", "where": {"name": {"in": [1] * MANY}}}, ["where", "name", "in", 0]),
    ):
        found = await errors(one, "list_records", **arguments)
        assert len(found) == 20
        assert found[0]["field"] == path
    [error] = await errors(one, "list_records", kind="deal", **{"n" * 500_000: 1})
    assert len(error["field"][0]) < 100
    response = await send(one, "tools/call", name="list_record" + "s" * 500_000, arguments={})
    assert response.json()["error"]["code"] == -32602
    assert time.monotonic() - began < 20  # each unknown one was compared with all known ones
    for depth in (130, 1_100, 200_000):
        body = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": ' + b"[" * depth + b"]" * depth + b"}}"
        error = (await raw(one, body)).json()["error"]
        assert (error["code"], error["message"]) == (-32600, "The body is nested deeper than 120 levels"), depth


async def test_what_breaks_within_is_told_without_a_word_of_it(
    one: Tenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await send(one, "tools/list")  # the library is there
    from gateway.mcp import server  # which imports it

    secret = "SELECT of /srv/secret"  # no password

    def broken(*_: object) -> None:
        raise RuntimeError(secret)

    monkeypatch.setattr(server, "_tool", broken)
    monkeypatch.setattr(server, "read_resource", broken)
    with caplog.at_level(logging.DEBUG):
        for response in (
            await send(one, "tools/list"),
            await send(one, "resources/read", uri="crm://kinds"),
            await modern(one, "tools/list"),
        ):
            assert "result" not in response.json()
            assert secret not in response.text
            assert "Traceback" not in response.text
    monkeypatch.undo()
    assert secret not in caplog.text


async def test_each_call_is_asked_for_its_credential_anew(one: Tenant) -> None:
    world, subject = one.gateway.world, one.subject()
    headers = await world.headers(subject, one.organization, CredentialKind.ORGANIZATION_KEY)
    assert (await call(one, "describe", headers))["isError"] is False
    async with world.database.directory(writing=True) as session:
        mine = col(Credential.owner_subject) == subject
        await session.execute(update(Credential).where(mine).values(revoked_at=now()))
    for method, params in (("tools/call", CREATE), ("tools/list", {}), ("ping", {})):
        response = await send(one, method, headers, **params)
        assert (response.status_code, response.json()["code"]) == (401, "unauthenticated"), method
    assert await one.rows(col(Account.id)) == []


async def test_a_key_is_its_members_in_its_organization_for_its_arguments(one: Tenant, two: Tenant) -> None:
    for tenant, headers, replayed in (
        (one, one.headers(), False),
        (one, one.headers(), True),
        (one, one.headers("admin"), False),
        (two, two.headers(), False),
    ):
        response = await send(tenant, "tools/call", headers | {"Idempotency-Key": "same"}, **CREATE)
        assert response.json()["result"]["isError"] is False
        assert ("idempotency-replayed" in response.headers) is replayed
    assert len(await one.rows(col(Account.id))) == 2
    assert len(await two.rows(col(Account.id))) == 1
    key = one.headers() | {"Idempotency-Key": "at-once"}
    answers = await asyncio.gather(*(send(one, "tools/call", key, **CREATE) for _ in range(8)))
    made = {answer.json()["result"]["structuredContent"]["data"]["account"]["id"] for answer in answers}
    assert len(made) == 1
    assert len(await one.rows(col(Account.id))) == 3
    for wrong in ("", "x" * 300, "a b", "k\tk"):
        response = await send(one, "tools/call", one.headers() | {"Idempotency-Key": wrong}, **CREATE)
        assert response.status_code == 400, wrong
    for wrong in (1, {}, "\0", ""):
        response = await send(one, "tools/call", **CREATE, _meta={"crm-gateway/idempotencyKey": wrong})
        assert response.status_code == 400, wrong
    assert len(await one.rows(col(Account.id))) == 3


async def test_a_session_is_neither_given_nor_needed(one: Tenant) -> None:
    for method in ("initialize", "tools/list", "ping"):
        params = {"protocolVersion": REVISIONS[0], "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        headers = one.headers() | {"Mcp-Session-Id": "another's", "Last-Event-ID": "1", "Accept": "text/html"}
        response = await send(one, method, headers, **(params if method == "initialize" else {}))
        assert response.status_code == 200, method
        assert "mcp-session-id" not in response.headers
        if method == "initialize":  # which the newest revision has not
            assert response.json()["result"]["protocolVersion"] == REVISIONS[1]


@pytest.fixture
async def small(tmp_path: Path, sqlite_template: Path) -> AsyncIterator[Gateway]:
    """An application of its own with budgets."""
    file = tmp_path / "crm.db"
    shutil.copyfile(sqlite_template, file)
    file.chmod(0o600)
    async with open_gateway(f"sqlite+aiosqlite:///{file}", tmp_path / "data", rate_limit=True) as gateway:
        yield gateway


@pytest.mark.asyncio(loop_scope="function")
async def test_a_budget_is_kept_to_the_point(small: Gateway) -> None:
    small.runtime.services.budget._buckets._clock = Clock()  # type: ignore[attr-defined]  # nothing comes back by itself
    tenant = await new_tenant(small)
    made = await send(tenant, "tools/call", **CREATE)
    cost = int(made.headers["x-request-cost"])
    read = await send(tenant, "resources/read", uri="crm://kinds")
    assert int(read.headers["x-request-cost"]) > 0
    left = int(made.headers["ratelimit-remaining"]) - int(read.headers["ratelimit-remaining"])
    assert left == int(read.headers["x-request-cost"])
    nothing = await send(tenant, "resources/read", uri="crm://nothing")
    assert nothing.headers["x-request-cost"] == "1"
    principal = await small.runtime.services.identity.authenticate(
        tenant.headers()["Authorization"], tenant.organization.external_id
    )
    budget = small.runtime.services.budget
    available = (await budget.settle(await budget.charge(principal, 0), 0)).available
    await budget.charge(principal, available - 2 * cost)
    answers = [await send(tenant, "tools/call", **CREATE) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[1].headers["ratelimit-remaining"] == "0"
    assert len(await tenant.rows(col(Account.id))) == 3
    assert (await send(tenant, "tools/list")).status_code == 429
