"""Connecting an account as a member does: begin, permit at the provider, come back, complete."""

from __future__ import annotations

from typing import Any

import httpx

from tests.support.feeds import work
from tests.support.google import Google
from tests.support.microsoft import Microsoft
from tests.support.provider_server import Account
from tests.support.slack import Slack, Workspace
from tests.support.tenants import Tenant
from tests.support.zoom import Zoom

CALLBACK = "/integrations/callback/google"
Elsewhere = Google | Microsoft | Zoom
JSON = {"Accept": "application/json"}


def named(provider: Elsewhere) -> str:
    """What the provider is called."""
    return type(provider).__name__.lower()


async def begin(tenant: Tenant, role: str = "member", **more: Any) -> Any:
    """What beginning a connection answers."""
    body = {"provider": "google", **more}
    response = await tenant.gateway.rest("POST", "/integrations", tenant.headers(role), body)
    assert response.status_code == 201, response.text
    return response.json()


async def come_back(tenant: Tenant, asked: dict[str, str], path: str = CALLBACK) -> httpx.Response:
    """The browser that the provider sends back, without any credential."""
    return await tenant.gateway.http.get(path, params=asked, headers=JSON)


async def complete(tenant: Tenant, told: Any, role: str = "member", **headers: str) -> httpx.Response:
    """Complete what came back."""
    body = {"completion_code": told["completion_code"]}
    path = f"/integrations/{told['integration_id']}/complete"
    return await tenant.gateway.rest("POST", path, tenant.headers(role) | headers, body)


async def workspace_connected(tenant: Tenant, slack: Slack, workspace: Workspace) -> str:
    """Connect the workspace for the organization, and have it read; the connection's identifier."""
    begun = await begin(tenant, "admin", provider="slack")
    asked = slack.consent(begun["authorization_url"], workspace)
    told = (await come_back(tenant, asked, "/integrations/callback/slack")).json()
    response = await complete(tenant, told, "admin")
    assert response.status_code == 200, response.text
    await work(tenant)
    identifier: str = response.json()["id"]
    return identifier


async def connected(tenant: Tenant, provider: Elsewhere, account: Account, role: str = "member", **more: Any) -> str:
    """Connect the account, and have it read; the connection's identifier."""
    begun = await begin(tenant, role, provider=named(provider), **more)
    asked = provider.consent(begun["authorization_url"], account)
    told = (await come_back(tenant, asked, f"/integrations/callback/{named(provider)}")).json()
    response = await complete(tenant, told, role)
    assert response.status_code == 200, response.text
    await work(tenant)
    identifier: str = response.json()["id"]
    return identifier
