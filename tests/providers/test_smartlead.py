"""Smartlead by its API v1, against a server that speaks the shapes which it publishes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.outreach_vocabulary import DomainStatus, EnrollmentStatus, MailboxStatus
from providers.sequencing import Garbage, Gone, Lead, Move, Outline, Refused, Running, State, Step
from providers.smartlead import SmartleadSequencing
from tests.support.loopback import Asked, Loopback, Reply, serving

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
OUTLINE = Outline(
    key="01993f5e-8c00-7a11-9d52-6f0f3f1c2b0a",
    name="Spring",
    steps=[Step(0, "Hello {{first_name}}", "One\nTwo"), Step(3, "Again", "Three")],
    mailboxes=["ada@acme.com", "max@acme.com"],
    daily_limit=40,
    timezone="Europe/Paris",
    stop_on_reply=True,
)
NOT_FOUND = Reply({"error": "Campaign not found - Invalid campaign_id."}, 404)
DONE = {"success": True, "data": {}}


class Smartlead:
    """As much of the service as is asked for."""

    def __init__(self) -> None:
        self.campaigns: dict[str, dict[str, Any]] = {}
        self.leads: list[dict[str, Any]] = []
        self.accounts = {"ada@acme.com": 456, "max@acme.com": 457, "old@acme.com": 458}
        self.connected = True
        self.domains: list[Any] = []

    def __call__(self, asked: Asked) -> Reply:
        if asked.query.get("api_key") != "key":
            return Reply({"message": "Invalid API Key"}, 401)
        match [asked.method, *asked.path.removeprefix("/api/v1/").rstrip("/").split("/")]:
            case ["POST", "campaigns", "create"]:
                made = {"id": 125, "name": asked.body["name"], "status": "DRAFTED", "sequences": [], "senders": []}
                self.campaigns["125"] = made
                return Reply({"ok": True, "id": 125, "name": made["name"], "created_at": "2026-05-01T12:00:00Z"})
            case ["GET", "campaigns"]:
                return Reply(list(self.campaigns.values()))
            case [method, "campaigns", identifier, *rest]:
                if identifier not in self.campaigns:
                    return NOT_FOUND
                return self._campaign(method, identifier, rest, asked)
            case ["GET", "email-accounts"]:
                return Reply([])
            case ["GET", "email-accounts", "fetch-email-account-details"]:
                number = self.accounts.get(asked.query["email"])
                if number is None:
                    return Reply({"error": "Email account not found"}, 404)
                marks = {"is_smtp_success": True, "is_imap_success": self.connected}
                return Reply({"id": number, "from_email": asked.query["email"], "type": "GMAIL", **marks})
            case ["GET", "smart-senders", "get-domain-list"]:
                return Reply({"ok": True, "data": self.domains})
        return Reply({"error": "Resource not found"}, 404)

    def _campaign(self, method: str, identifier: str, rest: list[str], asked: Asked) -> Reply:
        campaign = self.campaigns[identifier]
        match [method, *rest]:
            case ["GET"]:
                return Reply({k: v for k, v in campaign.items() if k in ("id", "name", "status")})
            case ["DELETE"]:
                if campaign["status"] == "ACTIVE":
                    problem = {"code": "CAMPAIGN_ACTIVE", "message": "Cannot delete active campaign."}
                    return Reply({"success": False, "error": problem})
                del self.campaigns[identifier]
                return Reply({"success": True, "message": "Campaign deleted successfully"})
            case ["POST", "status"]:
                campaign["status"] = {"START": "ACTIVE"}.get(asked.body["status"], asked.body["status"])
                return Reply({"success": True, "campaign": {"id": 125, "status": campaign["status"]}})
            case ["POST", "settings" | "schedule"]:
                campaign[rest[0]] = asked.body
                return Reply(DONE)
            case ["GET", "sequences"]:
                return Reply(campaign["sequences"])
            case ["POST", "sequences"]:
                return self._sequences(campaign, asked.body["sequences"])
            case ["GET", "email-accounts"]:
                return Reply([{"id": n, "from_email": "x"} for n in campaign["senders"]])
            case ["POST", "email-accounts"]:
                campaign["senders"] += asked.body["email_account_ids"]
                return Reply(DONE)
            case ["DELETE", "email-accounts"]:
                campaign["senders"] = [n for n in campaign["senders"] if n not in asked.body["email_account_ids"]]
                return Reply(DONE)
            case ["POST", "leads"]:
                return self._add(asked.body)
            case ["GET", "leads"]:
                return self._leads(asked.query)
            case ["DELETE", "leads", lead]:
                self.leads = [each for each in self.leads if str(each["lead"]["id"]) != lead]
                return Reply({"success": True, "message": "Lead deleted from campaign successfully"})
        return Reply({"error": "Resource not found"}, 404)

    def _sequences(self, campaign: dict[str, Any], sent: list[dict[str, Any]]) -> Reply:
        if campaign["status"] == "ACTIVE":
            return Reply({"error": "Cannot modify sequences while campaign is active"}, 400)
        for sequence in sent:
            known = [s for s in campaign["sequences"] if s["id"] == sequence["id"]]
            if known:
                known[0].update(sequence)
            else:
                campaign["sequences"].append({**sequence, "id": 1000 + len(campaign["sequences"])})
        return Reply({"ok": True, "data": campaign["sequences"]})

    def _add(self, body: dict[str, Any]) -> Reply:
        known = {each["lead"]["email"] for each in self.leads}
        new = [lead for lead in body["lead_list"] if lead["email"] not in known]
        for lead in new:
            self.leads.append({"status": "STARTED", "marks": [], "lead": {"id": 700 + len(self.leads), **lead}})
        return Reply({"success": True, "added_count": len(new), "skipped_count": len(body["lead_list"]) - len(new)})

    def _leads(self, query: dict[str, str]) -> Reply:
        found = [each for each in self.leads if query.get("emailStatus") in (None, *each["marks"])]
        offset, limit = int(query["offset"]), int(query["limit"])
        page = [{"status": each["status"], "lead": each["lead"]} for each in found[offset : offset + limit]]
        return Reply({"total_leads": str(len(found)), "offset": offset, "limit": limit, "data": page})


@pytest.fixture
def service() -> Smartlead:
    return Smartlead()


@pytest.fixture
async def server(service: Smartlead) -> AsyncIterator[Loopback]:
    async with serving(service) as server:
        yield server


@pytest.fixture
async def smartlead(server: Loopback) -> AsyncIterator[SmartleadSequencing]:
    sequencing = SmartleadSequencing("key", server.url, clock=lambda: NOON, pause=0.001)
    yield sequencing
    await sequencing.close()


def running() -> Running:
    return Running("125", OUTLINE, [], 0, None)


async def test_a_campaign_is_put_together(smartlead: SmartleadSequencing, service: Smartlead, server: Loopback) -> None:
    assert await smartlead.create(OUTLINE) == "125"
    await smartlead.update("125", OUTLINE)
    campaign = service.campaigns["125"]
    assert campaign["settings"] == {
        "name": "Spring · 01993f5e-8c00-7a11-9d52-6f0f3f1c2b0a",
        "sending_limit": 40,
        "stop_lead_settings": "REPLY_TO_AN_EMAIL",
    }
    assert campaign["schedule"] == {
        "schedule": {
            "timezone": "Europe/Paris",
            "days": [0, 1, 2, 3, 4, 5, 6],
            "start_hour": "09:00",
            "end_hour": "17:00",
        }
    }
    assert [
        (s["seq_number"], s["subject"], s["email_body"], s["seq_delay_details"]) for s in campaign["sequences"]
    ] == [
        (1, "Hello {{first_name}}", "One<br/>Two", {"delay_in_days": 0}),
        (2, "Again", "Three", {"delay_in_days": 3}),
    ]
    assert campaign["senders"] == [456, 457]
    assert campaign["status"] == "DRAFTED"
    assert all(asked.query["api_key"] == "key" for asked in server.asked)


async def test_an_update_changes_what_is_there_and_pauses_first(
    smartlead: SmartleadSequencing, service: Smartlead
) -> None:
    await smartlead.create(OUTLINE)
    await smartlead.update("125", OUTLINE)
    await smartlead.activate("125")
    changed = Outline(
        key=OUTLINE.key,
        name="Summer",
        steps=[Step(1, "New", "N"), Step(3, "Again", "Three"), Step(9, "More", "M")],
        mailboxes=["max@acme.com", "old@acme.com"],
        daily_limit=5,
        timezone="UTC",
        stop_on_reply=False,
    )
    await smartlead.update("125", changed)
    campaign = service.campaigns["125"]
    assert campaign["status"] == "PAUSED"
    assert [(s["id"], s["subject"]) for s in campaign["sequences"]] == [(1000, "New"), (1001, "Again"), (1002, "More")]
    assert sorted(campaign["senders"]) == [457, 458]
    assert campaign["settings"]["stop_lead_settings"] == "NEVER"
    with pytest.raises(Refused, match="cannot take messages away"):
        await smartlead.update("125", OUTLINE)


async def test_a_mailbox_that_smartlead_does_not_have(smartlead: SmartleadSequencing, service: Smartlead) -> None:
    await smartlead.create(OUTLINE)
    del service.accounts["max@acme.com"]
    with pytest.raises(Refused, match=r"has no mailbox max@acme\.com"):
        await smartlead.update("125", OUTLINE)


async def test_it_is_found_by_its_key(smartlead: SmartleadSequencing) -> None:
    assert await smartlead.find(OUTLINE.key) is None
    await smartlead.create(OUTLINE)
    assert await smartlead.find(OUTLINE.key) == "125"


async def test_the_way_through_its_states(smartlead: SmartleadSequencing, service: Smartlead) -> None:
    await smartlead.create(OUTLINE)
    await smartlead.activate("125")
    assert service.campaigns["125"]["status"] == "ACTIVE"
    await smartlead.pause("125")
    assert service.campaigns["125"]["status"] == "PAUSED"
    await smartlead.activate("125")
    await smartlead.delete("125")  # which stops it first
    assert service.campaigns == {}
    for call in (smartlead.delete, smartlead.pause, smartlead.activate):
        with pytest.raises(Gone):
            await call("125")


async def test_a_refusal_with_the_status_of_a_success(smartlead: SmartleadSequencing, server: Loopback) -> None:
    for body in ({"success": False}, {"ok": False, "error": {"code": "CAMPAIGN_ACTIVE"}}):
        server.answer = lambda _, body=body: Reply(body)
        with pytest.raises(Refused):
            await smartlead.pause("125")


async def test_leads(smartlead: SmartleadSequencing, service: Smartlead, server: Loopback) -> None:
    await smartlead.create(OUTLINE)
    leads = [Lead("a@example.com", {"first_name": "Ada", "score": 7, "phone_number": None}), Lead("b@example.com")]
    for _ in range(2):
        await smartlead.add_leads("125", leads)
    assert server.asked[-1].body == {
        "lead_list": [
            {"email": "a@example.com", "first_name": "Ada", "custom_fields": {"score": 7}},
            {"email": "b@example.com"},
        ],
        "settings": {"ignore_duplicate_leads_in_other_campaign": True},
    }
    await smartlead.remove_lead("125", "A@example.com")
    await smartlead.remove_lead("125", "nobody@example.com")
    assert [each["lead"]["email"] for each in service.leads] == ["b@example.com"]


async def test_progress(smartlead: SmartleadSequencing, service: Smartlead) -> None:
    await smartlead.create(OUTLINE)
    await smartlead.activate("125")
    statuses = {
        "STARTED": "pending",
        "INPROGRESS": "active",
        "COMPLETED": "completed",
        "PAUSED": "paused",
        "STOPPED": "failed",
        "BLOCKED": "bounced",
    }
    marks = {"is_replied": "replied", "is_bounced": "bounced", "is_unsubscribed": "unsubscribed"}
    service.leads = [
        {"status": s, "marks": [], "lead": {"id": n, "email": f"{s}@example.com"}} for n, s in enumerate(statuses)
    ] + [
        {"status": "COMPLETED", "marks": [m], "lead": {"id": 50 + n, "email": f"{m}@example.com"}}
        for n, m in enumerate(marks)
    ]
    service.leads.append({"status": "UNHEARD", "marks": [], "lead": {"id": 99, "email": "u@example.com"}})
    progress = await smartlead.progress(running())
    assert (progress.state, progress.reason, progress.again) == (State.RUNNING, None, NOON + timedelta(minutes=5))
    assert {move.email: move.status.value for move in progress.moves} == {
        f"{name}@example.com": status for name, status in (statuses | marks).items()
    }
    assert Move("is_replied@example.com", EnrollmentStatus.REPLIED) in progress.moves


async def test_all_pages_are_read(smartlead: SmartleadSequencing, service: Smartlead) -> None:
    await smartlead.create(OUTLINE)
    service.leads = [
        {"status": "STARTED", "marks": [], "lead": {"id": n, "email": f"{n}@example.com"}} for n in range(200)
    ]
    assert len((await smartlead.progress(running())).moves) == 200


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("ACTIVE", State.RUNNING),
        ("COMPLETED", State.COMPLETED),
        ("DRAFTED", State.STOPPED),
        ("PAUSED", State.STOPPED),
        ("STOPPED", State.STOPPED),
        ("ARCHIVED", State.STOPPED),
    ],
)
async def test_the_states(smartlead: SmartleadSequencing, service: Smartlead, status: str, state: State) -> None:
    service.campaigns["125"] = {"id": 125, "name": "n", "status": status}
    assert (await smartlead.progress(running())).state is state


async def test_whether_it_is_blocked(smartlead: SmartleadSequencing, service: Smartlead, server: Loopback) -> None:
    await smartlead.create(OUTLINE)
    assert await smartlead.blocked("125") is None
    assert await smartlead.blocked(None) is None
    server.answer = lambda _: Reply({"message": "Invalid API Key"}, 401)
    for sequence_id in ("125", None):
        assert await smartlead.blocked(sequence_id) == "Smartlead does not accept the API key"


@pytest.mark.parametrize("body", [None, [], {}, {"id": None}, {"ok": True}, {"id": True}, "c1", 1])
async def test_a_campaign_without_an_identifier_is_garbage(
    smartlead: SmartleadSequencing, server: Loopback, body: Any
) -> None:
    server.answer = lambda _: Reply(body)
    with pytest.raises(Garbage):
        await smartlead.create(OUTLINE)


@pytest.mark.parametrize(
    "body", [None, [], {}, {"data": None}, {"data": [1]}, {"data": [{"status": "STARTED"}]}, {"data": [{"lead": 7}]}]
)
async def test_a_list_without_leads_is_garbage(smartlead: SmartleadSequencing, server: Loopback, body: Any) -> None:
    server.answer = lambda asked: Reply(body if asked.path.endswith("/leads") else {"status": "ACTIVE"})
    with pytest.raises(Garbage):
        await smartlead.progress(running())


async def test_domains_and_mailboxes_are_those_that_smartlead_has(
    smartlead: SmartleadSequencing, service: Smartlead
) -> None:
    with pytest.raises(Refused, match="buy it there"):
        await smartlead.purchase_domain("acme.com")
    for listed in ("acme.com", {"domain_name": "ACME.com"}, {"domain": "acme.com"}):
        service.domains = [listed]
        assert (await smartlead.purchase_domain("acme.com")).status is DomainStatus.ACTIVE
    with pytest.raises(Refused, match="connect it there"):
        await smartlead.provision_mailbox("new@acme.com", None)
    assert await smartlead.provision_mailbox("ada@acme.com", None) is MailboxStatus.ACTIVE
    service.connected = False
    assert await smartlead.provision_mailbox("ada@acme.com", None) is MailboxStatus.ERROR
