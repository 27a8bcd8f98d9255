"""Huddles of linked Slack channels become meetings of the record, and nothing else of Slack is kept."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from contract.integrations import HISTORY_PAUSE_SECONDS
from providers.accounts.slack import SlackAccounts
from storage.tables import (
    Activity,
    Contact,
    Event,
    Integration,
    IntegrationAccount,
    StreamLink,
    SyncedMeeting,
    SyncItem,
    SyncOccurrence,
    SyncStream,
)
from tests.support.consents import begin, come_back, complete, workspace_connected
from tests.support.feeds import connection, event, hurry, meetings, upload, work
from tests.support.google import Fault
from tests.support.slack import SCOPES, Slack, Workspace, tell
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")
CALLBACK = "/integrations/callback/slack"
LINK = (
    "mutation($i: IntegrationChannelLinkInput!) { integrationChannelLink(input: $i) { integration { version channels "
    "{ channelId name account { id name } deal { id } } } userErrors { code field message } } }"
)
UNLINK = (
    "mutation($id: ID!, $channel: String!) { integrationChannelUnlink(integrationId: $id, channelId: $channel) "
    "{ integration { channels { channelId } } userErrors { code } } }"
)


async def account(tenant: Tenant, name: str = "Acme") -> str:
    asked = "mutation($i: AccountCreateInput!) { accountCreate(input: $i) { account { id } userErrors { message } } }"
    made: str = (await tenant.ask(asked, i={"name": name}))["account"]["id"]
    return made


async def deal(tenant: Tenant, account_id: str) -> str:
    asked = "mutation($i: DealCreateInput!) { dealCreate(input: $i) { deal { id } userErrors { message } } }"
    stage = "mutation($i: PipelineStageInput!) { pipelineStageCreate(input: $i) { stage { id } } }"
    made_stage = await tenant.ask(stage, tenant.headers("admin"), i={"name": "Open"})
    given = {"name": "Deal", "accountId": account_id, "stageId": made_stage["stage"]["id"]}
    made: str = (await tenant.ask(asked, i=given))["deal"]["id"]
    return made


async def link(tenant: Tenant, mine: str, channel: str, role: str = "admin", **target: Any) -> Any:
    path = f"/integrations/{mine}/channels/{channel}"
    return await tenant.gateway.rest("PUT", path, tenant.headers(role), target)


async def linked(tenant: Tenant, slack: Slack, workspace: Workspace) -> tuple[str, str, str]:
    """A connection, a channel of it that is linked, and the account that it is about."""
    mine = await workspace_connected(tenant, slack, workspace)
    channel, acme = slack.channel(workspace), await account(tenant)
    response = await link(tenant, mine, channel, account_id=acme)
    assert response.status_code == 200, response.text
    await work(tenant)
    return mine, channel, acme


async def sync(tenant: Tenant, mine: str, **body: Any) -> None:
    response = await tenant.gateway.rest("POST", f"/integrations/{mine}/sync", tenant.headers("admin"), body)
    assert response.status_code == 202, response.text
    await work(tenant)


async def test_channels_wait_to_be_linked(one: Tenant, slack: Slack) -> None:
    """As streams, by whose identifiers they are linked (decision 984)."""
    workspace = slack.workspace()
    slack.page = 2
    names = [f"deal-{number}" for number in range(5)]
    made = [slack.channel(workspace, name) for name in names]
    slack.channel(workspace, "elsewhere", is_member=False)
    before = [slack.count(name) for name in ("users.conversations", "conversations.history")]
    mine = await workspace_connected(one, slack, workspace)

    async def streams() -> dict[str, Any]:
        return {each["name"]: each for each in (await connection(one, mine, role="admin"))["streams"]}

    shown = await streams()
    assert {name: each["enabled"] for name, each in shown.items()} == dict.fromkeys(names, False)
    after = [slack.count(name) for name in ("users.conversations", "conversations.history")]
    assert (after[0] - before[0], after[1] - before[1]) == (3, 0)
    change = {"streams": [{"id": shown["deal-0"]["id"], "enabled": True}]}
    refused = await one.gateway.rest("PATCH", f"/integrations/{mine}", one.headers("admin"), change)
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "streams", 0, "enabled"])
    acme = await account(one)
    answer = await link(one, mine, shown["deal-1"]["id"], account_id=acme)
    assert [each["channel_id"] for each in answer.json()["channels"]] == [made[1]]
    assert (await link(one, mine, mine, account_id=acme)).status_code == 404
    workspace.channels[made[2]]["name"] = "deal-two"
    workspace.channels[made[3]]["is_member"] = False
    slack.channel(workspace, "deal-new")
    await sync(one, mine)
    found = {"deal-0": False, "deal-1": True, "deal-two": False, "deal-4": False, "deal-new": False}
    assert {name: each["enabled"] for name, each in (await streams()).items()} == found
    rows, asked = await one.rows(SyncStream.id, SyncStream.name), slack.count("users.conversations")
    await work(one, anyway=True)  # which nobody asked for, and lists nothing
    assert (await one.rows(SyncStream.id, SyncStream.name), slack.count("users.conversations")) == (rows, asked)
    path = f"/integrations/{mine}/channels/{shown['deal-1']['id']}"
    assert (await one.gateway.rest("DELETE", path, one.headers("admin"))).status_code == 204
    assert (await connection(one, mine, role="admin"))["channels"] == []


LINK_PROBLEMS = (
    "mutation($i: IntegrationChannelLinkInput!) { integrationChannelLink(input: $i) { userErrors { code field } } }"
)
UNLINK_PROBLEMS = """mutation($i: ID!) {
  integrationChannelUnlink(integrationId: $i, channelId: "C1") { userErrors { code field } }
}"""


async def test_a_connection_of_no_chat_is_told_where_it_was_named(one: Tenant) -> None:
    acme = await account(one)
    mine = await upload(one, event("a"))

    async def told(document: str, **given: Any) -> Any:
        [problem] = (await one.ask(document, one.headers(), **given))["userErrors"]
        return problem["code"], problem["field"]

    for named, code in ((acme, "NOT_FOUND"), (mine, "INVALID_STATE")):
        body = {"integrationId": named, "channelId": "C1", "accountId": acme}
        assert await told(LINK_PROBLEMS, i=body) == (code, ["input", "integrationId"])
    assert await told(UNLINK_PROBLEMS, i=acme) == ("NOT_FOUND", ["integrationId"])


async def test_a_workspace_is_the_organizations(one: Tenant, slack: Slack) -> None:
    """Its administrators alone change it (decision 913)."""
    workspace = slack.workspace()
    refused = await one.gateway.rest("POST", "/integrations", one.headers(), {"provider": "slack"})
    assert (refused.status_code, "organizations:manage" in refused.text) == (403, True)
    mine = await workspace_connected(one, slack, workspace)
    shown = await connection(one, mine, role="admin")
    assert (shown["ownership"], shown["owner_id"], shown["status"]) == ("organization", None, "active")
    assert (shown["account_label"], shown["channels"], shown["push"]) == (workspace.name, [], True)
    assert [each["id"] for each in (await one.gateway.rest("GET", "/integrations", one.headers())).json()] == [mine]
    assert (await connection(one, mine))["account_label"] is None
    for method, path, body in [
        ("PATCH", "", {"name": "Theirs"}),
        *(("POST", f"/{verb}", None) for verb in ("pause", "resume", "sync", "reconnect")),
        ("PUT", "/channels/C1", {"account_id": mine}),
        ("DELETE", "/channels/C1", None),
        ("DELETE", "", None),
    ]:
        answer = await one.gateway.rest(method, f"/integrations/{mine}{path}", one.headers(), body)
        assert answer.status_code == 403, (method, path, answer.text)
    listed = (await one.gateway.rest("GET", "/integrations/providers", one.headers())).json()
    assert [(p["provider"], p["available"], p["push"]) for p in listed if p["provider"] == "slack"] == [
        ("slack", True, True)
    ]


async def test_only_who_began_completes(one: Tenant, slack: Slack) -> None:
    """Without PKCE it is the completion code that holds (decision 910)."""
    workspace = slack.workspace()
    begun = await begin(one, "admin", provider="slack")
    asked = slack.consent(begun["authorization_url"], workspace)
    told = (await come_back(one, asked, CALLBACK)).json()
    other = await one.scoped("organizations:manage", "contacts:manage", name="another")
    path = f"/integrations/{told['integration_id']}/complete"
    body = {"completion_code": told["completion_code"]}
    for given in (body, {"completion_code": "wrong"}):
        assert (await one.gateway.http.post(path, json=given, headers=other)).status_code == 404
    assert (await complete(one, told)).status_code == 403
    assert (await complete(one, told, "admin")).status_code == 200
    again = await begin(one, "admin", provider="slack")
    told = (await come_back(one, slack.consent(again["authorization_url"], workspace), CALLBACK)).json()
    assert (await complete(one, told, "admin")).json()["code"] == "duplicate"
    missing = await begin(one, "admin", provider="slack")
    asked = slack.consent(missing["authorization_url"], slack.workspace(), SCOPES[:1])
    refused = await complete(one, (await come_back(one, asked, CALLBACK)).json(), "admin")
    assert (refused.status_code, "channels:history" in refused.text) == (409, True)
    assert len(await one.rows(Integration.id)) == len(await one.rows(IntegrationAccount.integration_id)) == 1


async def test_a_huddle_of_a_linked_channel_is_a_meeting_of_the_record(one: Tenant, slack: Slack) -> None:
    """Whoever takes part (decision 915)."""
    workspace = slack.workspace()
    mine = await workspace_connected(one, slack, workspace)
    channel, other, acme = slack.channel(workspace), slack.channel(workspace, "random"), await account(one)
    ann, bob = slack.person(workspace, "ann@crm.example", "Ann"), slack.person(workspace, "bob@out.example", "Bob Out")
    start = time.time() - 86_400
    slack.message(workspace, channel, "CanaryOfWords", start)
    slack.huddle(
        workspace, channel, ann, bob, slack.person(workspace, None), start=start, end=start + 1_500, name="Plan"
    )
    slack.huddle(workspace, channel, ann, start=start + 9_000, end=start + 9_060)
    slack.huddle(workspace, other, ann, bob, start=start, end=start + 60, name="CanaryOfAnotherChannel")
    asked = {"integrationId": mine, "channelId": channel, "accountId": acme}
    told = await one.ask(LINK, one.headers("admin"), i=asked)
    assert told["userErrors"] == []
    assert told["integration"]["channels"] == [
        {"channelId": channel, "name": "deal-acme", "account": {"id": acme, "name": "Acme"}, "deal": None}
    ]
    await work(one)
    found = await meetings(one)
    assert set(found) == {"Plan"}
    plan = found["Plan"]
    assert (plan["source"], plan["accountId"], plan["dealId"], plan["ownerId"]) == ("SLACK", acme, None, None)
    assert (plan["durationMinutes"], plan["state"], plan["dueAt"]) == (
        25,
        "COMPLETED",
        f"{datetime.fromtimestamp(int(start), UTC):%Y-%m-%dT%H:%M:%S}Z",
    )
    assert [(p["email"], p["isOrganizer"]) for p in plan["participants"]] == [
        ("ann@crm.example", True),
        ("bob@out.example", False),
    ]
    shown = await connection(one, mine, role="admin")
    assert shown["channels"] == [{"channel_id": channel, "name": "deal-acme", "account_id": acme, "deal_id": None}]
    followed = [each for each in shown["streams"] if each["enabled"]]
    assert [(each["kind"], each["name"], each["window_from"]) for each in followed] == [("channel", "deal-acme", None)]
    assert shown["counts"]["skipped_by"] == [{"reason": "not_a_meeting", "count": 1}]
    listed = await one.gateway.rest("GET", f"/integrations/{mine}/items?outcome=taken", one.headers())
    assert [(each["kind"], each["subject"]) for each in listed.json()] == [("channel", "Plan")]
    for column in (
        SyncItem.body,
        SyncOccurrence.subject,
        Event.data,
        Activity.subject,
        Activity.body,
        SyncedMeeting.uid,
    ):
        assert "CanaryOf" not in str(await one.rows(column))
    assert "words" not in str(await one.rows(SyncItem.body)).lower()

    its_deal = await deal(one, acme)
    assert (await link(one, mine, channel, deal_id=its_deal)).status_code == 200
    slack.huddle(workspace, channel, ann, bob, start=start + 20_000, end=start + 21_000, name="Again")
    await work(one)
    found = await meetings(one)
    assert (found["Again"]["dealId"], found["Again"]["accountId"], found["Plan"]["dealId"]) == (its_deal, acme, None)


async def test_a_huddle_that_goes_on_ends_when_slack_says_so(one: Tenant, slack: Slack) -> None:
    workspace = slack.workspace()
    mine, channel, _ = await linked(one, slack, workspace)
    ann, bob = slack.person(workspace, "ann@crm.example"), slack.person(workspace, "bob@out.example")
    started = time.time() - 1_200
    told = slack.huddle(workspace, channel, ann, bob, start=started)
    event = {"type": "message", "subtype": "huddle_thread", "channel": channel, "ts": told["ts"]}
    assert (await tell(one.gateway.http, workspace, event)).status_code == 204
    await work(one)
    assert await meetings(one) == {}
    await sync(one, mine, full=True)  # which does not forget that it goes on
    assert await meetings(one) == {}
    del workspace.messages[channel][told["ts"]]  # as Slack does where nobody gave it a topic
    gone = {"type": "message", "subtype": "message_deleted", "channel": channel, "previous_message": told}
    assert (await tell(one.gateway.http, workspace, gone)).status_code == 204
    await work(one)
    huddle = (await meetings(one))["Huddle"]
    assert huddle["durationMinutes"] in (20, 21)

    told = slack.huddle(workspace, channel, ann, bob, start=started, room="RSTAYS")
    await sync(one, mine)
    assert len(await meetings(one)) == 1
    workspace.messages[channel].pop(told["ts"])
    told["room"] |= {"date_end": int(started) + 600, "has_ended": True, "name": "Stayed"}
    workspace.messages[channel][told["ts"]] = told
    await sync(one, mine)
    assert (await meetings(one))["Stayed"]["durationMinutes"] == 10


async def test_what_cannot_be_linked_says_why(
    one: Tenant, two: Tenant, slack: Slack, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = slack.workspace()
    mine = await workspace_connected(one, slack, workspace)
    channel, acme = slack.channel(workspace), await account(one)
    outside, old = slack.channel(workspace, is_member=False), slack.channel(workspace)
    workspace.channels[old]["is_archived"] = True
    theirs = await account(two)
    cases: list[tuple[str, dict[str, str], int, list[object]]] = [
        (channel, {}, 422, []),
        (channel, {"account_id": acme, "deal_id": acme}, 422, []),
        (channel, {"account_id": theirs}, 422, ["body", "account_id"]),
        (channel, {"deal_id": acme}, 422, ["body", "deal_id"]),
        *(("C0NOTTHERE", {"account_id": acme}, 404, []), (outside, {"account_id": acme}, 404, [])),
        *((old, {"account_id": acme}, 404, []), ("a%2Fb", {"account_id": acme}, 404, [])),
    ]
    for name, body, status, at in cases:
        answer = await link(one, mine, name, **body)
        assert answer.status_code == status, (name, body, answer.text)
        if at:
            assert [each["loc"] for each in answer.json()["detail"]] == [at]
    slack.faults.append(Fault("/api/conversations.info", 503))
    assert (await link(one, mine, channel, account_id=acme)).status_code == 502
    body = {"name": "Feed", "content": "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n"}
    feed = (await one.gateway.rest("POST", "/integrations/feeds", one.headers(), body)).json()["id"]
    refused = await link(one, feed, channel, role="member", account_id=acme)
    assert (refused.status_code, refused.json()["code"]) == (409, "invalid_state")
    monkeypatch.setattr("resolvers.integration_channels.CHANNELS_MAX", 0)
    assert (await link(one, mine, channel, account_id=acme)).status_code == 409
    assert await one.rows(StreamLink.stream_id) == []
    path = f"/integrations/{mine}/channels/{channel}"
    for method, body in (("PUT", {"account_id": theirs}), ("DELETE", None)):
        assert (await one.gateway.rest(method, path, two.headers("admin"), body)).status_code == 404


async def test_linking_is_idempotent_and_unlinking_keeps_what_came(one: Tenant, slack: Slack) -> None:
    workspace = slack.workspace()
    mine, channel, acme = await linked(one, slack, workspace)
    version = (await connection(one, mine, role="admin"))["version"]
    assert (await link(one, mine, channel, account_id=acme)).json()["version"] == version
    key = one.headers("admin") | {"Idempotency-Key": "once"}
    other = await account(one, "Other")
    path = f"/integrations/{mine}/channels/{channel}"
    first = await one.gateway.rest("PUT", path, key, {"account_id": other})
    second = await one.gateway.rest("PUT", path, key, {"account_id": other})
    assert (first.status_code, first.json()) == (200, second.json())
    ann, bob = slack.person(workspace, "ann@crm.example"), slack.person(workspace, "bob@out.example")
    slack.huddle(workspace, channel, ann, bob, start=time.time() - 900, end=time.time() - 60, name="Came")
    await sync(one, mine)
    asked = slack.count("conversations.history")
    for _ in range(2):
        assert (await one.gateway.rest("DELETE", path, one.headers("admin"))).status_code == 204
    told = await one.ask(UNLINK, one.headers("admin"), id=mine, channel="CNOTTHERE")
    assert (told["userErrors"], told["integration"]["channels"]) == ([], [])
    slack.huddle(workspace, channel, ann, bob, start=time.time() - 500, end=time.time() - 60, name="Not")
    await sync(one, mine)
    assert (set(await meetings(one)), slack.count("conversations.history")) == ({"Came"}, asked)
    assert (await one.rows(SyncStream.enabled), await one.rows(StreamLink.stream_id)) == ([(False,)], [])
    changed = [data for type, data in await one.rows(Event.type, Event.data) if type == "integration_updated"]
    assert sum(each["changed"] == ["channels"] for each in changed) == 3


async def test_the_channel_of_an_account_that_is_deleted_is_not_read(one: Tenant, slack: Slack) -> None:
    workspace = slack.workspace()
    mine, channel, acme = await linked(one, slack, workspace)
    delete = "mutation($id: ID!) { accountDelete(id: $id) { userErrors { message } } }"
    assert (await one.ask(delete, id=acme))["userErrors"] == []
    people = [slack.person(workspace, f"p{n}@out.example") for n in range(2)]
    slack.huddle(workspace, channel, *people, start=time.time() - 900, end=time.time() - 60, name="Not")
    await sync(one, mine)
    assert (await meetings(one), (await connection(one, mine, role="admin"))["channels"]) == ({}, [])


async def test_a_channel_that_is_not_shown_holds_up_no_other(one: Tenant, slack: Slack) -> None:
    workspace = slack.workspace()
    mine, first, acme = await linked(one, slack, workspace)
    second = slack.channel(workspace, "second")
    assert (await link(one, mine, second, account_id=acme)).status_code == 200
    workspace.channels[first]["is_member"] = False
    people = [slack.person(workspace, f"p{n}@out.example") for n in range(2)]
    slack.huddle(workspace, second, *people, start=time.time() - 900, end=time.time() - 60, name="Seen")
    await sync(one, mine)
    shown = await connection(one, mine, role="admin")
    assert (set(await meetings(one)), shown["status"]) == ({"Seen"}, "active")
    assert (shown["problem"]["code"], "invite the app" in shown["problem"]["message"]) == ("forbidden", True)


async def test_words_of_slack_become_problems(one: Tenant, slack: Slack) -> None:
    workspace = slack.workspace()
    mine, _, _ = await linked(one, slack, workspace)
    history = "/api/conversations.history"

    def no(error: str) -> Fault:
        return Fault(history, 200, json.dumps({"ok": False, "error": error}).encode())

    for fault, status, code in [
        (Fault(history, 429, headers={"Retry-After": "90"}), "active", "rate_limited"),
        (no("internal_error"), "active", "provider_unavailable"),
        (no("something_new"), "active", "provider_answer"),
        (Fault(history, 200, b'{"ok": tr'), "active", None),
        (no("missing_scope"), "action_required", "scopes_missing"),
    ]:
        slack.faults.append(fault)
        await hurry(one)
        await sync(one, mine)
        shown = await connection(one, mine, role="admin")
        problem = shown["problem"] and shown["problem"]["code"]
        assert (shown["status"], problem) == (status, code), fault
    begun = await one.gateway.rest("POST", f"/integrations/{mine}/reconnect", one.headers("admin"))
    asked = slack.consent(begun.json()["authorization_url"], workspace)
    done = await complete(one, (await come_back(one, asked, CALLBACK)).json(), "admin")
    assert done.json()["status"] == "active"
    slack.access.clear()
    await work(one)
    shown = await connection(one, mine, role="admin")
    assert (shown["status"], shown["problem"]["code"]) == ("action_required", "reauthorize")
    assert "connect again" in shown["problem"]["message"]


async def test_tokens_that_rotate_are_renewed(one: Tenant, slack: Slack) -> None:
    slack.rotates = True
    workspace = slack.workspace()
    mine, channel, _ = await linked(one, slack, workspace)
    people = [slack.person(workspace, f"p{n}@out.example") for n in range(2)]
    slack.huddle(workspace, channel, *people, start=time.time() - 900, end=time.time() - 60, name="Seen")
    slack.access = {token: (each, 0.0) for token, (each, _) in slack.access.items()}
    await sync(one, mine)
    assert set(await meetings(one)) == {"Seen"}


async def test_one_look_a_minute_takes_turns(one: Tenant, slack: Slack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decision 916."""
    workspace = slack.workspace()
    mine, first, acme = await linked(one, slack, workspace)
    second = slack.channel(workspace, "second")
    assert (await link(one, mine, second, account_id=acme)).status_code == 200
    await work(one)
    [provider] = [p for p in one.gateway.runtime.ports.accounts.providers.values() if isinstance(p, SlackAccounts)]
    monkeypatch.setattr(provider, "history_pause", HISTORY_PAUSE_SECONDS)
    people = [slack.person(workspace, f"p{n}@out.example") for n in range(2)]
    for number in range(20):
        slack.message(workspace, second, "Words", time.time() - 300 + number)
    told = slack.huddle(workspace, second, *people, start=time.time() - 200, end=time.time() - 100, name="Told of")
    asked = slack.count("conversations.history")
    event = {"type": "message", "subtype": "message_changed", "channel": second, "message": told}
    assert (await tell(one.gateway.http, workspace, event)).status_code == 204
    assert await work(one) == ["released"]  # the minute since the last look is not over
    await sync(one, mine)
    assert (set(await meetings(one)), slack.count("conversations.history")) == ({"Told of"}, asked + 1)
    params = [asked for path, asked in slack.asked if path.endswith("conversations.history")][-1]
    assert (params["channel"], params["limit"]) == (second, "15")
    await sync(one, mine)
    assert [asked for path, asked in slack.asked if path.endswith("conversations.history")][-1]["channel"] == first


async def test_disconnecting_revokes_and_notices_lead_nowhere(one: Tenant, slack: Slack) -> None:
    workspace = slack.workspace()
    mine, channel, _ = await linked(one, slack, workspace)
    assert (await one.gateway.rest("DELETE", f"/integrations/{mine}", one.headers("admin"))).status_code == 204
    assert await one.rows(IntegrationAccount.integration_id) == []
    await work(one)
    assert [token for token, (each, _) in slack.access.items() if each is workspace] == []
    assert await one.rows(Integration.id) == []
    event = {"type": "message", "subtype": "huddle_thread", "channel": channel, "ts": "1.1"}
    assert (await tell(one.gateway.http, workspace, event)).status_code == 204
    assert await work(one) == []
    assert await one.rows(Contact.id) == []
