"""Connections as records: whose they are, who sees and changes them, by both doors."""

from __future__ import annotations

from typing import Any

import pytest
from sqlmodel import col

from storage.queries import webhooks
from storage.queries.records import lock_organization
from storage.tables import Event, Integration, Job, QueuedJob
from tests.isolation.requests import ERRORS, Case, Rest, by_id, change, of, put, q
from tests.isolation.surfaces import Surfaces
from tests.support.feeds import connection, event, feed, items, upload, work
from tests.support.record_types import RecordType
from tests.support.tenants import Tenant
from tests.support.waiting import meets_writer

pytestmark = pytest.mark.asyncio(loop_scope="session")

FIELDS = "id name status ownerId provider ownership accountLabel version settings { visibility }"


async def test_another_members_connection_is_a_missing_one(one: Tenant) -> None:
    mine = await upload(one, event("a", subject="Taken"), event("s", subject="Alone", guest=""))
    colleague = await one.scoped("contacts:manage", "activities:read", name="colleague")
    http = one.gateway.http
    path = f"/integrations/{mine}"
    found = await items(one, mine)
    taken, alone = found["Taken"], found["Alone"]
    asked = [
        *(("GET", path, None), ("GET", f"{path}/runs", None), ("GET", f"{path}/items", None)),
        *(("PATCH", path, {"name": "Theirs"}), ("POST", f"{path}/pause", None), ("POST", f"{path}/resume", None)),
        *(("POST", f"{path}/sync", None), ("DELETE", path, None), ("POST", f"{path}/items/{alone['id']}/take", None)),
    ]
    for method, where, body in asked:
        more = {} if body is None else {"json": body}
        answer = await http.request(method, where, headers=colleague, **more)
        assert (answer.status_code, answer.json()["detail"]) == (404, "Not found"), (method, where)
    assert (await http.get("/integrations", headers=colleague)).json() == []
    assert (await http.get("/integrations?all=true", headers=colleague)).status_code == 403
    seen = "query($id: ID!, $i: ID!) { integration(id: $id) { id } node(id: $id) { id } item: node(id: $i) { id } }"
    gone = {"integration": None, "node": None, "item": None}
    assert await one.ask(seen, colleague, id=mine, i=alone["id"]) == gone

    admin = one.headers("admin")
    assert [each["id"] for each in (await http.get("/integrations?all=true", headers=admin)).json()] == [mine]
    assert (await http.get("/integrations", headers=admin)).json() == []
    listed = await items(one, mine, role="admin")
    assert set(listed) == {"Taken", None}
    assert await items(one, mine, role="admin", subject="alone") == {}
    for method, where, body in asked[3:]:
        if where.endswith(("/pause", "/resume")) or method == "DELETE":
            continue
        more = {} if body is None else {"json": body}
        assert (await http.request(method, where, headers=admin, **more)).status_code == 404, where
    assert (await http.post(f"{path}/pause", headers=admin)).json()["status"] == "paused"
    assert (await http.post(f"{path}/resume", headers=admin)).json()["status"] == "active"
    assert (await http.delete(path, headers=admin)).status_code == 204
    assert taken["outcome"] == "taken"


async def test_paused_resumed_and_read_now(one: Tenant) -> None:
    mine = await upload(one, event("a"))
    rest = one.gateway.rest
    for _ in range(2):
        assert (await rest("POST", f"/integrations/{mine}/pause", one.headers())).json()["status"] == "paused"
    refused = await rest("POST", f"/integrations/{mine}/sync", one.headers())
    assert (refused.status_code, refused.json()["code"]) == (409, "invalid_state")
    assert (await connection(one, mine))["next_sync_at"] is None
    for _ in range(2):
        assert (await rest("POST", f"/integrations/{mine}/resume", one.headers())).json()["status"] == "active"
    await work(one)
    first = (await rest("POST", f"/integrations/{mine}/sync", one.headers())).json()
    second = (await rest("POST", f"/integrations/{mine}/sync", one.headers(), {"full": True})).json()
    assert (first["id"], first["mode"], second["mode"]) == (second["id"], "incremental", "full")
    await work(one)
    runs = (await rest("GET", f"/integrations/{mine}/runs", one.headers())).json()
    assert (runs[0]["id"], runs[0]["status"]) == (first["id"], "succeeded")
    types = [type for (type,) in await one.rows(Event.type)]
    assert (types.count("integration_paused"), types.count("integration_resumed")) == (1, 1)


async def test_a_change_is_for_the_version_that_was_seen(one: Tenant) -> None:
    mine = await upload(one, event("a"))
    headers = one.headers() | {"If-Match": '"9"'}
    stale = await one.gateway.rest("PATCH", f"/integrations/{mine}", headers, {"name": "New"})
    assert stale.status_code == 412
    unknown = {"streams": [{"id": mine, "enabled": False}]}
    refused = await one.gateway.rest("PATCH", f"/integrations/{mine}", one.headers(), unknown)
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "streams", 0, "id"])
    [stream] = (await connection(one, mine))["streams"]
    body = {"name": "New", "streams": [{"id": stream["id"], "enabled": False}]}
    changed = (await one.gateway.rest("PATCH", f"/integrations/{mine}", one.headers(), body)).json()
    assert (changed["name"], changed["version"], changed["streams"][0]["enabled"]) == ("New", 2, False)


async def test_the_connections_of_who_leaves_stop(one: Tenant) -> None:
    """The log tells of those that had not stopped before (decision 1013)."""
    await one.scoped("contacts:manage", "activities:read", name="leaver")
    headers = one.gateway.world.session(one.subject("leaver"), one.organization)
    body = {"name": "Theirs", "content": feed(event("a"))}
    made = (await one.gateway.http.post("/integrations/feeds", json=body, headers=headers)).json()["id"]
    other = (await one.gateway.http.post("/integrations/feeds", json=body, headers=headers)).json()["id"]
    assert (await one.gateway.http.post(f"/integrations/{other}/pause", headers=headers)).status_code == 200
    await work(one)
    before = len(await one.rows(Event.id))
    remove = "mutation($id: ID!) { memberRemove(id: $id) { userErrors { message } } }"
    assert (await one.ask(remove, one.headers("admin"), id=one.subject("leaver")))["userErrors"] == []
    assert await one.rows(Integration.status, Integration.sealed) == [("paused", None)] * 2
    told = sorted(await one.rows(Event.sequence, Event.type, Event.area, Event.data))[before:]
    assert [(type, area, data.get("integration_id")) for _, type, area, data in told] == [
        ("integration_paused", "crm", made),
        ("member_removed", "admin", None),
    ]
    resumed = await one.gateway.rest("POST", f"/integrations/{made}/resume", one.headers("admin"))
    assert resumed.status_code == 409
    assert len((await one.ask("{ meetings { nodes { id } } }"))["nodes"]) == 1


_PATH = "/integrations"
_ONE = f"{_PATH}/<integration>"
_SEEN = ("integrations.get_integration",)
_FEED = {"name": "<name>", "content": feed()}
KEYS = [
    *("id", "org_id", "provider", "ownership", "owner_id", "name", "account_label", "status", "problem", "settings"),
    *("streams", "channels", "progress", "counts", "last_synced_at", "next_sync_at", "push", "created_at"),
    *("updated_at", "version"),
]
_RUN = [
    *("id", "mode", "status", "queued_at", "started_at", "finished_at", "calls", "processed", "created", "updated"),
    *("removed", "skipped", "problem"),
]
_ITEM = [
    *("id", "integration_id", "kind", "outcome", "reason", "explanation", "subject", "starts_at", "ends_at", "all_day"),
    *("is_recurring", "decision", "meeting_id", "seen_at"),
]
_POLICY = ["internal_domains", "allowed_providers", "defaults", "widest_visibility", "version"]


async def _compared(surfaces: Surfaces) -> None:
    """Each path beside its twin, on connections of their own."""
    made = []
    for number in range(2):
        body = {"name": f"N {number}", "content": feed(event("a", guest=""))}
        response = await surfaces.rest("POST", f"{_PATH}/feeds", body)
        assert (response.status_code, response.headers["location"]) == (201, f"{_PATH}/{response.json()['id']}")
        assert list(response.json()) == KEYS
        made.append(response.json()["id"])
    by_path, by_graph = made
    input = {"name": "N 2", "content": feed()}
    made_by_graph = await surfaces.change(
        "integrationFeedConnect", "$i: IntegrationFeedInput! -> input: $i", "integration { id }", i=input
    )

    async def same() -> None:
        first = (await surfaces.rest("GET", f"{_PATH}/{by_path}")).json()
        second = await surfaces.graphql(f"query($id: ID!) {{ integration(id: $id) {{ {FIELDS} }} }}", id=by_graph)
        assert (first["status"], first["version"]) == (second["status"].lower(), second["version"])
        assert first["settings"]["visibility"] == second["settings"]["visibility"].lower()

    await same()
    await surfaces.rest("PATCH", f"{_PATH}/{by_path}", {"settings": {"visibility": "nothing"}})
    given = {"settings": {"visibility": "NOTHING"}}
    arguments = "$id: ID!, $i: IntegrationUpdateInput! -> id: $id, input: $i"
    await surfaces.change("integrationUpdate", arguments, "integration { id }", id=by_graph, i=given)
    await same()
    for verb in ("pause", "resume"):
        assert (await surfaces.rest("POST", f"{_PATH}/{by_path}/{verb}")).status_code == 200
        field = f"integration{verb.capitalize()}"
        await surfaces.change(field, "$id: ID! -> id: $id", "integration { id }", id=by_graph)
        await same()
    ran = (await surfaces.rest("POST", f"{_PATH}/{by_path}/sync")).json()
    assert list(ran) == _RUN
    twin = await surfaces.change("integrationSync", "$id: ID! -> id: $id", "run { mode status }", id=by_graph)
    assert {k: twin["run"][k].lower() for k in ("mode", "status")} == {k: ran[k] for k in ("mode", "status")}
    listed = [each["id"] for each in (await surfaces.rest("GET", _PATH)).json()]
    page = await surfaces.graphql("{ integrations { nodes { id } } }")
    assert listed == [each["id"] for each in page["nodes"]]
    assert {by_path, by_graph, made_by_graph["integration"]["id"]} <= set(listed)
    providers = (await surfaces.rest("GET", f"{_PATH}/providers")).json()
    named = await surfaces.graphql("{ integrationProviders { provider name available missingSettings } }")
    assert [(p["provider"].upper(), p["name"], p["available"], p["missing_settings"]) for p in providers] == [
        (p["provider"], p["name"], p["available"], p["missingSettings"]) for p in named
    ]
    refused = await surfaces.rest("PUT", f"{_PATH}/{by_path}/channels/C1", {"account_id": by_path})
    link = {"integrationId": by_graph, "channelId": "C1", "accountId": by_path}
    document = (
        "mutation($i: IntegrationChannelLinkInput!) { integrationChannelLink(input: $i) { userErrors { code } } }"
    )
    twin = await surfaces.graphql(document, i=link)
    assert [each["code"].lower() for each in twin["userErrors"]] == [refused.json()["code"]] == ["invalid_state"]
    assert (await surfaces.rest("DELETE", f"{_PATH}/{by_path}/channels/C1")).status_code == 204
    arguments = "$id: ID!, $c: String! -> integrationId: $id, channelId: $c"
    await surfaces.change("integrationChannelUnlink", arguments, "integration { id }", id=by_graph, c="C1")
    policy = (await surfaces.rest("GET", f"{_PATH}/policy")).json()
    shown = await surfaces.graphql("{ integrationPolicy { internalDomains version } }")
    assert list(policy) == _POLICY
    assert (policy["internal_domains"], policy["version"]) == (shown["internalDomains"], shown["version"])
    runs = (await surfaces.rest("GET", f"{_PATH}/{by_path}/runs")).json()
    assert [list(run) for run in runs] == [_RUN] * len(runs)
    assert (await surfaces.rest("DELETE", f"{_PATH}/{by_path}")).status_code == 204
    await surfaces.change("integrationDisconnect", "$id: ID! -> id: $id", "disconnectedId", id=by_graph)


_PATHS = {
    ("GET", f"{_PATH}/providers"): ("CRM_READ", True, 200, "Query.integrationProviders"),
    ("GET", f"{_PATH}/policy"): ("CRM_READ", True, 200, "Query.integrationPolicy"),
    ("PATCH", f"{_PATH}/policy"): ("ORG_ADMIN", True, 200, "Mutation.integrationPolicyUpdate"),
    ("POST", f"{_PATH}/feeds"): ("CRM_MANAGE", True, 201, "Mutation.integrationFeedConnect"),
    ("POST", _PATH): ("CRM_MANAGE", True, 201, "Mutation.integrationConnect"),
    ("POST", f"{_PATH}/{{integration_id}}/complete"): ("CRM_MANAGE", True, 200, "Mutation.integrationComplete"),
    ("POST", f"{_PATH}/{{integration_id}}/reconnect"): ("CRM_MANAGE", True, 200, "Mutation.integrationReconnect"),
    ("GET", _PATH): ("CRM_READ", True, 200, "Query.integrations"),
    ("GET", f"{_PATH}/{{integration_id}}"): ("CRM_READ", True, 200, "Query.integration"),
    ("PATCH", f"{_PATH}/{{integration_id}}"): ("CRM_MANAGE", True, 200, "Mutation.integrationUpdate"),
    ("DELETE", f"{_PATH}/{{integration_id}}"): ("CRM_MANAGE", True, 202, "Mutation.integrationDisconnect"),
    ("PUT", f"{_PATH}/{{integration_id}}/feed"): ("CRM_MANAGE", True, 200, "Mutation.integrationFeedReplace"),
    ("POST", f"{_PATH}/{{integration_id}}/pause"): ("CRM_MANAGE", True, 200, "Mutation.integrationPause"),
    ("POST", f"{_PATH}/{{integration_id}}/resume"): ("CRM_MANAGE", True, 200, "Mutation.integrationResume"),
    ("POST", f"{_PATH}/{{integration_id}}/sync"): ("CRM_MANAGE", True, 202, "Mutation.integrationSync"),
    ("PUT", f"{_PATH}/{{integration_id}}/channels/{{channel_id}}"): (
        *("CRM_MANAGE", True, 200),
        "Mutation.integrationChannelLink",
    ),
    ("DELETE", f"{_PATH}/{{integration_id}}/channels/{{channel_id}}"): (
        *("CRM_MANAGE", True, 204),
        "Mutation.integrationChannelUnlink",
    ),
    ("GET", f"{_PATH}/{{integration_id}}/runs"): ("CRM_READ", True, 200, "Integration.runs"),
    ("GET", f"{_PATH}/{{integration_id}}/items"): ("MEETINGS_READ", True, 200, "Query.integrationItems"),
    **{
        ("POST", f"{_PATH}/{{integration_id}}/items/{{item_id}}/{verb}"): (
            *("CRM_MANAGE", True, 200),
            f"Mutation.integrationItem{verb.capitalize()}",
        )
        for verb in ("take", "ignore")
    },
    ("POST", "/activities/meetings/{meeting_id}/sync/release"): (
        *("CRM_MANAGE", True, 200),
        "Mutation.meetingSyncRelease",
    ),
}
_MEETING = [
    *("id", "type", "subject", "body", "occurred_at", "account_id", "deal_id", "contact_id", "lead_id", "owner_id"),
    *("source", "created_at", "updated_at", "version"),
]
_ITEMS = "query($id: ID!) { integrationItems(integrationId: $id) { nodes { id subject } totalCount } }"
_SHOWN = ("Connect", "Replace", "Update", "Pause", "Resume", "Link", "integration", "integrations")
_NODES = (Rest("GET", f"{_ONE}/items"), q(_ITEMS, id="<integration>"))
_UNLINK = (
    "mutation($id: ID!, $c: String!) { integrationChannelUnlink(integrationId: $id, channelId: $c) "
    f"{{ integration {{ id }} {ERRORS} }} }}"
)
_RELEASE = f"mutation($id: ID!) {{ meetingSyncRelease(id: $id) {{ meeting {{ id }} {ERRORS} }} }}"
_REPLACE = (
    "mutation($id: ID!, $c: String!) { integrationFeedReplace(id: $id, content: $c) "
    f"{{ integration {{ id }} {ERRORS} }} }}"
)


def _row(ids: Any, mark: str) -> Integration:
    return Integration(
        **dict.fromkeys(("name", "account_key", "problem_message"), mark),  # the organization's own
        provider="ical",
        status="active",
        sealed=mark.encode(),
        poll_seconds=900,
    )


def _below(field: str) -> Any:
    return of("integration", field)


RECORD = RecordType(
    typename="Integration",
    name="integration",
    row=_row,
    cases={
        "integrations.list_providers": Case(
            "CRM_READ", (Rest("GET", f"{_PATH}/providers"), q("{ integrationProviders { provider } }"))
        ),
        "integrations.get_integration": Case("CRM_READ", (Rest("GET", _ONE), of("integration", "name status"))),
        "integrations.list_integrations": Case(
            "CRM_READ", (Rest("GET", _PATH), q("{ integrations { nodes { id name } totalCount } }"))
        ),
        "integrations.label_of_integration": Case(
            "CRM_READ", (_below("accountLabel"),), below=_SEEN, direct=("<integration>",)
        ),
        "integrations.streams_of_integration": Case(
            "CRM_READ", (_below("streams { id }"),), below=_SEEN, direct=("<integration>",)
        ),
        "integrations.runs_of_integration": Case(
            "CRM_READ", (_below("runs { id }"),), below=_SEEN, direct=("<integration>",)
        ),
        "integrations.list_runs": Case(
            "CRM_READ",
            (Rest("GET", f"{_ONE}/runs"), _below("runs { status }")),
            below=_SEEN,
            direct=("<integration>",),
        ),
        "integration_views.counts_of_integration": Case(
            "CRM_READ", (_below("counts { meetings }"),), below=_SEEN, direct=("<integration>",)
        ),
        "integration_views.is_told": Case("CRM_READ", (_below("push"),), below=_SEEN, direct=("<integration>",)),
        "integration_channels.channels_of_integration": Case(
            "CRM_READ", (_below("channels { channelId }"),), below=_SEEN, direct=("<integration>",)
        ),
        "integration_channels.link_channel": Case(
            "CRM_MANAGE",
            (
                Rest("PUT", f"{_ONE}/channels/C1", {"account_id": "<account>"}),
                put(
                    *("integrationChannelLink", "IntegrationChannelLinkInput", "integration { id }"),
                    integrationId="<integration>",
                    channelId="C1",
                    accountId="<account>",
                ),
                put(
                    *("integrationChannelLink", "IntegrationChannelLinkInput", "integration { id }"),
                    integrationId="<integration>",
                    channelId="C1",
                    dealId="<deal>",
                ),
            ),
        ),
        "integration_channels.unlink_channel": Case(
            "CRM_MANAGE", (Rest("DELETE", f"{_ONE}/channels/C1"), q(_UNLINK, id="<integration>", c="C1"))
        ),
        "integration_views.progress_shown": Case(
            "CRM_READ", (_below("progress { processed }"),), below=_SEEN, direct=("<integration>",)
        ),
        "integrations.update_integration": Case(
            "CRM_MANAGE",
            (
                Rest("PATCH", _ONE, {"name": "<name>"}),
                change(
                    *("integrationUpdate", "IntegrationUpdateInput", "integration { id }", "<integration>"),
                    name="<name>",
                    streams=[{"id": "<stream>", "enabled": False}],
                ),
            ),
        ),
        **{
            f"integrations.{verb}_integration": Case(
                "CRM_MANAGE",
                (
                    Rest("POST", f"{_ONE}/{verb}"),
                    by_id(f"integration{verb.capitalize()}", "integration", "integration { id }"),
                ),
            )
            for verb in ("pause", "resume", "sync")
        },
        "integrations.disconnect_integration": Case(
            "CRM_MANAGE", (Rest("DELETE", _ONE), by_id("integrationDisconnect", "integration", "disconnectedId"))
        ),
        "integration_feeds.connect_feed": Case(
            "CRM_MANAGE",
            (
                Rest("POST", f"{_PATH}/feeds", _FEED),
                put("integrationFeedConnect", "IntegrationFeedInput", "integration { id }", **_FEED),
            ),
        ),
        "integration_consent.connect_integration": Case(
            "CRM_MANAGE",
            (
                Rest("POST", _PATH, {"provider": "google", "name": "<name>"}),
                put(
                    *("integrationConnect", "IntegrationConnectInput", "integration { id }"),
                    provider="GOOGLE",
                    name="<name>",
                ),
            ),
        ),
        "integration_consent.complete_integration": Case(
            "CRM_MANAGE",
            (
                Rest("POST", f"{_ONE}/complete", {"completion_code": "<name>"}),
                put(
                    *("integrationComplete", "IntegrationCompleteInput", "integration { id }"),
                    id="<integration>",
                    completionCode="<name>",
                ),
            ),
        ),
        "integration_consent.reconnect_integration": Case(
            "CRM_MANAGE",
            (
                Rest("POST", f"{_ONE}/reconnect"),
                by_id("integrationReconnect", "integration", "integration { id }"),
            ),
        ),
        "integration_feeds.replace_feed": Case(
            "CRM_MANAGE",
            (Rest("PUT", f"{_ONE}/feed", feed()), q(_REPLACE, id="<integration>", c=feed())),
        ),
        "integration_items.list_items": Case("MEETINGS_READ", _NODES),
        "integration_items.subject_of_item": Case(
            "MEETINGS_READ",
            (q(_ITEMS, id="<integration>"),),
            below=("integration_items.list_items",),
            direct=("<item>",),
        ),
        **{
            f"integration_items.{verb}_item": Case(
                "CRM_MANAGE",
                (
                    Rest("POST", f"{_ONE}/items/<item>/{verb}"),
                    by_id(f"integrationItem{verb.capitalize()}", "item", "item { id }"),
                ),
            )
            for verb in ("take", "ignore")
        },
        "integration_policy.get_policy": Case(
            "CRM_READ", (Rest("GET", f"{_PATH}/policy"), q("{ integrationPolicy { version } }"))
        ),
        "integration_policy.update_policy": Case(
            "ORG_ADMIN",
            (
                Rest("PATCH", f"{_PATH}/policy", {"internal_domains": ["<name>.com"]}),
                put(
                    *("integrationPolicyUpdate", "IntegrationPolicyInput", "policy { version }"),
                    internalDomains=["<name>.com"],
                ),
            ),
        ),
        "meeting_sync.release_meeting": Case(
            "CRM_MANAGE",
            (Rest("POST", "/activities/meetings/<meeting>/sync/release"), q(_RELEASE, id="<meeting>")),
        ),
    },
    paths=_PATHS,
    keys={
        **{(path, method): KEYS for (method, path), (*_, twin) in _PATHS.items() if str(twin).endswith(_SHOWN)},
        (f"{_PATH}/policy", "GET"): _POLICY,
        (f"{_PATH}/policy", "PATCH"): _POLICY,
        (f"{_PATH}/providers", "GET"): [
            *("provider", "name", "ownership", "kinds", "available", "missing_settings", "permissions", "push"),
        ],
        (f"{_PATH}/{{integration_id}}", "DELETE"): ["job_id", "status_url"],
        (f"{_PATH}/{{integration_id}}/sync", "POST"): _RUN,
        (f"{_PATH}/{{integration_id}}/runs", "GET"): _RUN,
        (f"{_PATH}/{{integration_id}}/items", "GET"): _ITEM,
        **{(f"{_PATH}/{{integration_id}}/items/{{item_id}}/{verb}", "POST"): _ITEM for verb in ("take", "ignore")},
    },
    compared=dict.fromkeys([str(twin) for *_, twin in _PATHS.values()], _compared),
)


@pytest.mark.parametrize("more", [{}, {"Idempotency-Key": "k1"}], ids=["", "under a key"])
async def test_who_removes_a_connection_and_its_worker_do_not_wait_for_each_other(
    one: Tenant, more: dict[str, str]
) -> None:
    """A worker has the job's place in the queue before the connection (decision 1200)."""
    headers = await one.scoped("contacts:manage", "activities:read")
    body = {"name": "Theirs", "content": feed(event("a"))}
    made = (await one.gateway.rest("POST", "/integrations/feeds", headers, body)).json()["id"]
    [job] = [row_id for row_id, key in await one.rows(col(Job.id), col(Job.key)) if key == made]
    answer = await meets_writer(
        one,
        lambda s: s.find(QueuedJob, job_id=job, lock=True),
        lambda s: s.find(Integration, id=made, lock=True),
        one.gateway.rest("DELETE", f"/integrations/{made}", headers | more),
    )
    assert answer.is_success, answer.text


async def test_who_removes_a_member_and_who_changes_a_webhook_of_theirs_do_not_wait_for_each_other(one: Tenant) -> None:
    """A writer locks the webhook and then the organization (decision 1200); of the removal two kinds of rows tell."""
    theirs = await one.scoped("contacts:manage", "activities:read", "organizations:manage", name="leaves")
    rest = one.gateway.rest
    created = 'mutation { webhookCreate(input: {url: "https://1.1.1.1/hook"}) { webhook { id } } }'
    hook = (await one.ask(created, theirs))["webhook"]["id"]
    feeds = await rest("POST", "/integrations/feeds", theirs, {"name": "Theirs", "content": feed(event("a"))})
    assert feeds.status_code == 201, feeds.text
    answer = await meets_writer(
        one,
        lambda s: webhooks.find(s, hook, lock=True),
        lock_organization,
        rest("DELETE", f"/members/{one.subject('leaves')}", one.headers("admin")),
    )
    assert answer.is_success, answer.text
    told = [kind for (kind,) in await one.rows(col(Event.type))]
    assert told.count("webhook_disabled") == 1
