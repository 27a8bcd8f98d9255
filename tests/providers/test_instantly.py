"""Instantly by its API v2, against a server that speaks the shapes which it publishes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.outreach_vocabulary import DomainStatus, EnrollmentStatus, MailboxStatus
from providers.instantly import InstantlySequencing, zone_for
from providers.sequencing import Garbage, Gone, Lead, Move, Outline, Refused, Running, State, Step
from tests.support.loopback import Asked, Loopback, Reply, serving

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
CAMPAIGN = "019942fb-7274-725e-8405-06c71b951d75"
OUTLINE = Outline(
    key="01993f5e-8c00-7a11-9d52-6f0f3f1c2b0a",
    name="Spring",
    steps=[Step(2, "Hello {{first_name}}", "One\nTwo"), Step(3, "Again", "Three"), Step(4, "Last", "Four")],
    mailboxes=["ada@acme.com", "max@acme.com"],
    daily_limit=40,
    timezone="Europe/Paris",
    stop_on_reply=False,
)
ERROR = {404: {"statusCode": 404, "error": "Not Found", "message": "Resource not found"}}


class Instantly:
    """As much of the service as is asked for."""

    def __init__(self) -> None:
        self.campaigns: dict[str, dict[str, Any]] = {}
        self.leads: list[dict[str, Any]] = []
        self.accounts: dict[str, int] = {}
        self.orders: list[dict[str, Any]] = []
        self.ordered: list[dict[str, Any]] = []
        self.sells = True
        self.order_placed = True

    def __call__(self, asked: Asked) -> Reply:
        if asked.headers.get("authorization") != "Bearer key":
            return Reply({"statusCode": 401, "error": "Unauthorized", "message": "Invalid API key"}, 401)
        path = asked.path.removeprefix("/api/v2")
        match [asked.method, *path.strip("/").split("/")]:
            case ["POST", "campaigns"]:
                self.campaigns[CAMPAIGN] = {"id": CAMPAIGN, "status": 0, **asked.body}
                return Reply(self.campaigns[CAMPAIGN])
            case ["GET", "campaigns"]:
                found = [c for c in self.campaigns.values() if asked.query["search"] in c["name"]]
                return self._page(found, asked.query)
            case [method, "campaigns", identifier, *rest]:
                return self._campaign(method, identifier, rest, asked.body)
            case ["POST", "leads", "add"]:
                known = {lead["email"] for lead in self.leads}
                new = [lead for lead in asked.body["leads"] if lead["email"] not in known]
                self.leads += [
                    {"id": f"lead-{lead['email']}", "status": 1, "email_reply_count": 0, **lead} for lead in new
                ]
                return Reply({"status": "success", "leads_uploaded": len(new), "total_sent": len(asked.body["leads"])})
            case ["POST", "leads", "list"]:
                found = [lead for lead in self.leads if asked.body.get("search", "") in (lead["email"] or "")]
                return self._page(found, asked.body)
            case ["DELETE", "leads", identifier]:
                found = [lead for lead in self.leads if lead["id"] == identifier]
                self.leads = [lead for lead in self.leads if lead["id"] != identifier]
                return Reply(found[0]) if found else Reply(ERROR[404], 404)
            case ["GET", "accounts"]:
                return Reply({"items": []})
            case ["GET", "accounts", email]:
                if email not in self.accounts:
                    return Reply(ERROR[404], 404)
                return Reply({"email": email, "status": self.accounts[email], "provider_code": 2})
            case ["GET", "dfy-email-account-orders"]:
                return self._page(self.orders, asked.query)
            case ["GET", "dfy-email-account-orders", "accounts"]:
                return self._page(self.ordered, asked.query)
            case ["POST", "dfy-email-account-orders", "domains", "check"]:
                return Reply({"results": [{"domain": d, "available": self.sells} for d in asked.body["domains"]]})
            case ["POST", "dfy-email-account-orders"]:
                return self._order(asked.body)
        return Reply(ERROR[404], 404)

    def _campaign(self, method: str, identifier: str, rest: list[str], body: Any) -> Reply:
        if identifier not in self.campaigns:
            return Reply(ERROR[404], 404)
        campaign = self.campaigns[identifier]
        if method == "DELETE":
            del self.campaigns[identifier]
        elif method == "PATCH":
            campaign |= body
        elif rest:
            campaign["status"] = {"activate": 1, "pause": 2}[rest[0]]
        return Reply(campaign)

    def _page(self, items: list[Any], asked: dict[str, Any]) -> Reply:
        start = int(asked.get("starting_after", 0))
        page = items[start : start + int(asked["limit"])]
        # Also the last page names a next one, which is empty.
        return Reply({"items": page, **({"next_starting_after": str(start + len(page))} if page else {})})

    def _order(self, body: dict[str, Any]) -> Reply:
        if not self.order_placed:
            return Reply({"order_placed": False, "order_is_valid": True, "order_error": "payment_failed"})
        for item in body["items"]:
            if body["order_type"] == "dfy":
                self.orders.append({"domain": item["domain"], "timestamp_created": "2026-04-17T16:56:43.508Z"})
            for account in item["accounts"]:
                email = f"{account['email_address_prefix']}@{item['domain']}"
                self.ordered.append({"id": email, "email": email, "domain": item["domain"]})
        return Reply({"order_placed": True, "order_is_valid": True, "number_of_accounts_ordered": 1})


@pytest.fixture
def service() -> Instantly:
    return Instantly()


@pytest.fixture
async def server(service: Instantly) -> AsyncIterator[Loopback]:
    async with serving(service) as server:
        yield server


@pytest.fixture
async def instantly(server: Loopback) -> AsyncIterator[InstantlySequencing]:
    sequencing = InstantlySequencing("key", server.url, clock=lambda: NOON, pause=0.001)
    yield sequencing
    await sequencing.close()


def running(sequence_id: str = CAMPAIGN) -> Running:
    return Running(sequence_id, OUTLINE, [], 0, None)


async def test_a_campaign_is_made_as_a_draft(
    instantly: InstantlySequencing, service: Instantly, server: Loopback
) -> None:
    assert await instantly.create(OUTLINE) == CAMPAIGN
    [asked] = server.asked
    assert asked.headers["authorization"] == "Bearer key"
    assert asked.body == {
        "name": "Spring · 01993f5e-8c00-7a11-9d52-6f0f3f1c2b0a",
        "campaign_schedule": {
            "start_date": "2026-05-03",
            "schedules": [
                {
                    "name": "Every day",
                    "timing": {"from": "09:00", "to": "17:00"},
                    "days": {str(day): True for day in range(7)},
                    "timezone": asked.body["campaign_schedule"]["schedules"][0]["timezone"],
                }
            ],
        },
        "sequences": [
            {
                "steps": [
                    {
                        "type": "email",
                        "delay": 3,
                        "variants": [{"subject": "Hello {{first_name}}", "body": "One<br/>Two"}],
                    },
                    {"type": "email", "delay": 4, "variants": [{"subject": "Again", "body": "Three"}]},
                    {"type": "email", "delay": 0, "variants": [{"subject": "Last", "body": "Four"}]},
                ]
            }
        ],
        "email_list": ["ada@acme.com", "max@acme.com"],
        "daily_limit": 40,
        "stop_on_reply": False,
    }
    assert service.campaigns[CAMPAIGN]["status"] == 0


async def test_it_is_found_by_its_key(instantly: InstantlySequencing) -> None:
    assert await instantly.find(OUTLINE.key) is None
    await instantly.create(OUTLINE)
    assert await instantly.find(OUTLINE.key) == CAMPAIGN
    assert await instantly.find(OUTLINE.key[:-1]) is None


async def test_the_way_through_its_states(instantly: InstantlySequencing, service: Instantly) -> None:
    await instantly.create(OUTLINE)
    await instantly.activate(CAMPAIGN)
    assert service.campaigns[CAMPAIGN]["status"] == 1
    await instantly.pause(CAMPAIGN)
    assert service.campaigns[CAMPAIGN]["status"] == 2
    await instantly.update(CAMPAIGN, OUTLINE)
    await instantly.delete(CAMPAIGN)
    assert service.campaigns == {}
    for call in (instantly.delete, instantly.pause, instantly.activate):
        with pytest.raises(Gone):
            await call(CAMPAIGN)


async def test_leads(instantly: InstantlySequencing, service: Instantly, server: Loopback) -> None:
    leads = [
        Lead("a@example.com", {"first_name": "Ada", "score": 7, "vip": True, "phone": None}),
        Lead("b@example.com"),
    ]
    for _ in range(2):
        await instantly.add_leads(CAMPAIGN, leads)
    assert server.asked[0].body == {
        "campaign_id": CAMPAIGN,
        "skip_if_in_campaign": True,
        "leads": [
            {"email": "a@example.com", "first_name": "Ada", "custom_variables": {"score": 7, "vip": True}},
            {"email": "b@example.com"},
        ],
    }
    assert len(service.leads) == 2
    await instantly.remove_lead(CAMPAIGN, "A@EXAMPLE.com".lower())
    await instantly.remove_lead(CAMPAIGN, "nobody@example.com")
    assert [lead["email"] for lead in service.leads] == ["b@example.com"]


async def test_progress(instantly: InstantlySequencing, service: Instantly) -> None:
    await instantly.create(OUTLINE)
    await instantly.activate(CAMPAIGN)
    statuses = {1: "active", 2: "paused", 3: "completed", -1: "bounced", -2: "unsubscribed", -3: "failed"}
    service.leads = [
        {"id": str(n), "email": f"{n}@example.com", "status": n, "email_reply_count": 0} for n in statuses
    ] + [
        {"id": "r", "email": "r@example.com", "status": 3, "email_reply_count": 1},
        {"id": "u", "email": "u@example.com", "status": 99, "email_reply_count": 0},
        {"id": "n", "email": None, "status": 1, "email_reply_count": 0},
    ]
    progress = await instantly.progress(running())
    assert progress.state is State.RUNNING
    assert progress.again == NOON + timedelta(minutes=5)
    assert progress.moves == [
        *(Move(f"{n}@example.com", EnrollmentStatus(status)) for n, status in statuses.items()),
        Move("r@example.com", EnrollmentStatus.REPLIED),
    ]


async def test_all_pages_are_read(instantly: InstantlySequencing, service: Instantly, server: Loopback) -> None:
    await instantly.create(OUTLINE)
    service.leads = [
        {"id": str(n), "email": f"{n}@example.com", "status": 1, "email_reply_count": 0} for n in range(250)
    ]
    assert len((await instantly.progress(running())).moves) == 250
    assert server.lines.count("POST /api/v2/leads/list") == 4


@pytest.mark.parametrize(
    ("status", "state", "reason"),
    [
        (0, State.STOPPED, None),
        (1, State.RUNNING, None),
        (2, State.STOPPED, None),
        (3, State.COMPLETED, None),
        (4, State.RUNNING, None),
        (-99, State.BLOCKED, "Instantly has suspended the account"),
        (-1, State.BLOCKED, "Instantly finds the mailboxes unhealthy"),
        (-2, State.BLOCKED, "Instantly has stopped the campaign because too many messages bounced"),
    ],
)
async def test_the_states(
    instantly: InstantlySequencing, service: Instantly, status: int, state: State, reason: str | None
) -> None:
    service.campaigns[CAMPAIGN] = {"id": CAMPAIGN, "name": "n", "status": status}
    progress = await instantly.progress(running())
    assert (progress.state, progress.reason) == (state, reason)
    assert await instantly.blocked(CAMPAIGN) == reason


async def test_whether_the_account_is_blocked(instantly: InstantlySequencing, server: Loopback) -> None:
    assert await instantly.blocked(None) is None
    server.answer = lambda _: Reply({}, 402)
    assert await instantly.blocked(None) == "Instantly asks for a paid plan"


@pytest.mark.parametrize(
    "body", [None, [], {}, {"id": 7.5}, {"id": ""}, {"id": None}, {"id": True}, {"status": 1}, "c1", 1]
)
async def test_a_campaign_without_an_identifier_is_garbage(
    instantly: InstantlySequencing, server: Loopback, body: Any
) -> None:
    server.answer = lambda _: Reply(body)
    with pytest.raises(Garbage):
        await instantly.create(OUTLINE)


@pytest.mark.parametrize("body", [None, [], {}, {"items": None}, {"items": [1]}, {"items": {"a": 1}}])
async def test_a_list_without_items_is_garbage(instantly: InstantlySequencing, server: Loopback, body: Any) -> None:
    server.answer = lambda asked: Reply({"status": 1}) if asked.method == "GET" else Reply(body)
    with pytest.raises(Garbage):
        await instantly.progress(running())


@pytest.mark.parametrize("body", [None, [], {}, {"status": "1"}, {"status": 17}])
async def test_a_campaign_without_a_status_is_garbage(
    instantly: InstantlySequencing, server: Loopback, body: Any
) -> None:
    server.answer = lambda _: Reply(body)
    with pytest.raises(Garbage):
        await instantly.progress(running())


async def test_a_domain_is_sold_with_its_first_mailbox(
    instantly: InstantlySequencing, service: Instantly, server: Loopback
) -> None:
    assert (await instantly.purchase_domain("acme.com")).status is DomainStatus.PENDING
    assert await instantly.provision_mailbox("ada@acme.com", "Ada Park") is MailboxStatus.PENDING
    assert server.asked[-1].body == {
        "items": [
            {
                "domain": "acme.com",
                "email_provider": 1,
                "accounts": [{"email_address_prefix": "ada", "first_name": "Ada", "last_name": "Park"}],
            }
        ],
        "order_type": "dfy",
    }
    assert (await instantly.purchase_domain("acme.com")).status is DomainStatus.ACTIVE
    # Asked again, nothing is bought twice.
    assert await instantly.provision_mailbox("ada@acme.com", "Ada Park") is MailboxStatus.PENDING
    assert await instantly.provision_mailbox("max@acme.com", None) is MailboxStatus.PENDING
    orders = [asked.body for asked in server.asked if asked.line == "POST /api/v2/dfy-email-account-orders"]
    assert [order["order_type"] for order in orders] == ["dfy", "extra_accounts"]
    assert orders[1]["items"][0]["accounts"] == [
        {"email_address_prefix": "max", "first_name": "max", "last_name": "max"}
    ]
    service.accounts["ada@acme.com"] = 1
    assert await instantly.provision_mailbox("ada@acme.com", "Ada Park") is MailboxStatus.ACTIVE


@pytest.mark.parametrize(
    ("status", "expected"), [(1, "active"), (2, "paused"), (3, "paused"), (-1, "error"), (-3, "error")]
)
async def test_the_states_of_an_account(
    instantly: InstantlySequencing, service: Instantly, status: int, expected: str
) -> None:
    service.accounts["ada@acme.com"] = status
    assert await instantly.provision_mailbox("ada@acme.com", None) == expected


async def test_what_instantly_does_not_sell(instantly: InstantlySequencing, service: Instantly) -> None:
    service.sells = False
    with pytest.raises(Refused, match="does not sell this domain"):
        await instantly.purchase_domain("acme.com")
    service.sells, service.order_placed = True, False
    with pytest.raises(Refused, match="did not take the order"):
        await instantly.provision_mailbox("ada@acme.com", None)


def test_time_zones() -> None:
    """Instantly takes some of them; for any other there has to be one whose clocks show the same."""
    assert zone_for("America/Chicago") == "America/Chicago"
    assert zone_for("UTC") in ("America/Danmarkshavn", "Africa/Abidjan")
    assert zone_for("Europe/Paris") == "Arctic/Longyearbyen"
    assert zone_for("America/New_York") == "America/Detroit"
    assert zone_for("Asia/Tokyo") in ("Asia/Chita", "Asia/Dili")
    with pytest.raises(Refused, match="does not know the time zone Pacific/Chatham"):
        zone_for("Pacific/Chatham")
