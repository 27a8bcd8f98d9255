"""Sends messages to the MCP door."""

from __future__ import annotations

from typing import Any

import httpx

from tests.support.tenants import Tenant
from tests.support.world import Headers

NOWHERE = "00000000-0000-7000-8000-000000000000"


async def send(
    tenant: Tenant, method: str, headers: Headers | None = None, path: str = "/mcp", **params: Any
) -> httpx.Response:
    """The response to a message; of the member unless other headers are given."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await tenant.gateway.http.post(path, json=message, headers=tenant.headers() if headers is None else headers)


async def result(tenant: Tenant, method: str, headers: Headers | None = None, **params: Any) -> dict[str, Any]:
    """The result of a message."""
    response = await send(tenant, method, headers, **params)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    assert "result" in body, body
    found: dict[str, Any] = body["result"]
    return found


async def call(tenant: Tenant, name: str, headers: Headers | None = None, **arguments: Any) -> dict[str, Any]:
    """The result of a call of a tool."""
    return await result(tenant, "tools/call", headers, name=name, arguments=arguments)


async def data(tenant: Tenant, name: str, headers: Headers | None = None, **arguments: Any) -> Any:
    """What a tool gives, which its document gives too."""
    found = await call(tenant, name, headers, **arguments)
    assert found["isError"] is False, found
    content = found["structuredContent"]
    twin = found["_meta"]["crm-gateway/twin"]
    if not twin["document"].startswith("mutation"):
        asked = {"query": twin["document"], "variables": twin["variables"]}
        answer = await tenant.gateway.http.post("/graphql", json=asked, headers=headers or tenant.headers())
        [*roots] = answer.json()["data"].values()
        assert content["data"] == (roots[0] if len(roots) == 1 else answer.json()["data"])
    return content["data"]


async def errors(tenant: Tenant, name: str, headers: Headers | None = None, **arguments: Any) -> list[dict[str, Any]]:
    """Why a call gave nothing."""
    found = await call(tenant, name, headers, **arguments)
    assert found["isError"] is True, found
    told: list[dict[str, Any]] = found["structuredContent"]["errors"]
    return told
