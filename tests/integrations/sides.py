"""The providers whose accounts are connected by consent, each as the tests that hold for all of them see it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from tests.integrations.test_slack import account as crm_account
from tests.integrations.test_slack import link
from tests.support import google, microsoft, slack, zoom
from tests.support.consents import begin, come_back, complete
from tests.support.feeds import at, work
from tests.support.tenants import Tenant

NAMES = ("google", "microsoft", "zoom", "slack")
Ready = Callable[[Tenant, str], Awaitable[None]]
BOB = "bob@out.example"


async def _nothing(tenant: Tenant, mine: str) -> None:
    """There is nothing to be done once the account is connected."""


@dataclass
class Side:
    """A provider with one account. `told` is what nobody may find beside what it gave out; `seen` what its owner may.

    `partial` are the permissions of somebody who has unticked one. `ready` does what it takes for the account to be
    read, and has the provider tell of a change where it does.
    """

    name: str
    fake: Any  # each is of its own kind
    account: Any
    partial: tuple[str, ...]
    token: str
    reads: str
    told: frozenset[str]
    settings: Mapping[str, str]
    seen: str
    role: str = "member"
    ready: Ready = field(default=_nothing)

    async def come_back(
        self, tenant: Tenant, scopes: tuple[str, ...] | None = None, error: str | None = None
    ) -> tuple[dict[str, str], Any]:
        """Begin and permit, or refuse: what the provider told, and what the callback answered."""
        if self.name == "microsoft":
            self.fake.tries = microsoft.tried_by(tenant.gateway.http)
        begun = await begin(tenant, self.role, provider=self.name)
        more = {} if scopes is None else {"scopes": scopes}
        asked = self.fake.consent(begun["authorization_url"], self.account, error=error, **more)
        return asked, (await come_back(tenant, asked, f"/integrations/callback/{self.name}")).json()

    async def connect(self, tenant: Tenant) -> str:
        """Connect the account, and have it read; the connection's identifier."""
        response = await self.completed(tenant, (await self.come_back(tenant))[1])
        assert response.status_code == 200, response.text
        mine: str = response.json()["id"]
        await work(tenant)
        return mine

    async def completed(self, tenant: Tenant, told: Any) -> httpx.Response:
        """Complete what came back."""
        return await complete(tenant, told, self.role)

    async def sync(self, tenant: Tenant, mine: str) -> list[str]:
        """Ask for a run, and have it done."""
        answer = await tenant.gateway.rest("POST", f"/integrations/{mine}/sync", tenant.headers(self.role), {})
        assert answer.status_code == 202, answer.text
        return await work(tenant)


def side(name: str, request: pytest.FixtureRequest) -> Side:
    """The provider of this name, with a new account in which there is something that is nobody's business."""
    made: Side = globals()[f"_{name}"](request.getfixturevalue(name))
    return made


def _google(fake: google.Google) -> Side:
    account = fake.account()
    private = google.meeting("p", at(3), subject="CanaryOfADentist", visibility="private")
    fake.put(account, google.meeting("a", at(3), organizer={"email": BOB}), private)

    async def ready(tenant: Tenant, mine: str) -> None:
        for name in [name for name, each in fake.channels.items() if each["account"] == account]:
            answer = await tenant.gateway.http.post("/integrations/hooks/google", headers=fake.notice(name))
            assert answer.status_code == 204

    told = frozenset({google.CLIENT_SECRET, "CanaryOfADentist"})
    settings = _settings("google", google.CLIENT_ID, google.CLIENT_SECRET, fake.url)
    partial = google.ALL[:2]
    return Side("google", fake, account, partial, "/token", "/events", told, settings, account.email, ready=ready)


def _microsoft(fake: microsoft.Microsoft) -> Side:
    account = fake.account()
    bob = {"emailAddress": {"address": BOB, "name": "Bob"}}
    private = microsoft.meeting("p", at(3), subject="CanaryOfADentist", sensitivity="private")
    fake.put(account, microsoft.meeting("a", at(3), organizer=bob), private)

    async def ready(tenant: Tenant, mine: str) -> None:
        for name in fake.of(account):
            answer = await tenant.gateway.http.post("/integrations/hooks/microsoft", json=fake.notice(name))
            assert answer.status_code == 204

    told = frozenset({microsoft.CLIENT_SECRET, "CanaryOfADentist"})
    settings = _settings("microsoft", microsoft.CLIENT_ID, microsoft.CLIENT_SECRET, fake.url)
    settings["microsoft_tenant"] = "organizations"
    partial = microsoft.ALL[:2]
    email = account.email
    return Side("microsoft", fake, account, partial, "/token", "/delta", told, settings, email, ready=ready)


def _zoom(fake: zoom.Zoom) -> Side:
    account = fake.account()
    fake.record(account, 87_565_330_005, at(-1), ("Bob", BOB))
    fake.record(account, 87_565_330_006, at(-2), topic="CanaryOfAnotherHost", host="https://elsewhere.example")

    async def ready(tenant: Tenant, mine: str) -> None:
        assert (await zoom.tell(tenant.gateway.http, "recording.completed", account)).status_code == 204

    told = frozenset({zoom.CLIENT_SECRET, zoom.SECRET_TOKEN, "elsewhere.example"})
    settings = _settings("zoom", zoom.CLIENT_ID, zoom.CLIENT_SECRET, fake.url)
    return Side(
        "zoom", fake, account, zoom.ALL[:2], "/token", "/recordings", told, settings, account.email, ready=ready
    )


def _slack(fake: slack.Slack) -> Side:
    fake.rotates = True
    workspace = fake.workspace()
    channel = fake.channel(workspace)

    async def ready(tenant: Tenant, mine: str) -> None:
        linked = await link(tenant, mine, channel, account_id=await crm_account(tenant))
        assert linked.status_code == 200, linked.text
        await work(tenant)
        people = [fake.person(workspace, f"p{n}@out.example") for n in range(2)]
        fake.message(workspace, channel, "CanaryOfWords")
        message = fake.huddle(workspace, channel, *people, start=time.time() - 900)
        event = {"type": "message", "subtype": "huddle_thread", "channel": channel, "ts": message["ts"]}
        assert (await slack.tell(tenant.gateway.http, workspace, event)).status_code == 204

    told = frozenset({slack.CLIENT_SECRET, slack.SIGNING_SECRET, "CanaryOfWords"})
    settings = _settings("slack", slack.CLIENT_ID, slack.CLIENT_SECRET, fake.url)
    partial = slack.SCOPES[:3]
    made = Side("slack", fake, workspace, partial, "/oauth.v2.access", "/history", told, settings, workspace.name)
    made.role, made.ready = "admin", ready
    return made


def _settings(name: str, client_id: str, secret: str, url: str) -> dict[str, str]:
    own = {"client_id": client_id, "client_secret": secret, "base_url": url}
    return {"public_url": "http://gateway"} | {f"{name}_{setting}": value for setting, value in own.items()}
