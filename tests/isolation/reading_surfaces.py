"""What the paths that list and show records answer beside their GraphQL twins, and linking a contact to a deal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

from storage.base import now
from storage.tables import (
    Account,
    Campaign,
    Contact,
    CXReport,
    CXReportRevision,
    Deal,
    PipelineStage,
    ResearchResult,
    ResearchRun,
)
from tests.isolation.surfaces import NOON, Surfaces, camel, plain, selection
from tests.support.documented import ACCOUNT, CAMPAIGN, CONTACT, STAGE

Questions = Mapping[str, str]
"""Query strings, each with the arguments of its twin."""


def unowned(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in plain(record).items() if key != "orgId"}


def _listing(
    path: str, field: str, keys: list[str], make: Callable[[], list[Any]], questions: Questions
) -> Callable[[Surfaces], Awaitable[None]]:
    async def compare(surfaces: Surfaces) -> None:
        world = surfaces.gateway.world
        await world.add(world.one, *make())
        fields = selection([key for key in keys if key != "org_id"])
        for query, arguments in questions.items():
            listed = (await surfaces.rest("GET", f"{path}?{query}")).json()
            page = await surfaces.graphql(f"{{ {field}({arguments}) {{ nodes {{ {fields} }} }} }}")
            assert [unowned(record) for record in listed] == page["nodes"], query
            assert listed or query == "limit=0", query

    return compare


def _one(
    path: str, field: str, keys: list[str], make: Callable[[], list[Any]]
) -> Callable[[Surfaces], Awaitable[None]]:
    async def compare(surfaces: Surfaces) -> None:
        world = surfaces.gateway.world
        records = make()
        await world.add(world.one, *records)
        fields = selection([key for key in keys if key != "org_id"])
        for record in records:
            shown = await surfaces.graphql(f"query($id: ID!) {{ {field}(id: $id) {{ {fields} }} }}", id=record.id)
            response = await surfaces.rest("GET", f"{path}/{record.id}")
            assert unowned(response.json()) == shown
            if "version" in keys:
                assert response.headers["etag"] == f'"{record.version}"'
        assert (await surfaces.rest("GET", f"{path}/no")).status_code == 404

    return compare


def _accounts() -> list[Any]:
    return [
        Account(name="Ärger", domain="arger.example", owner_id="admin@one", created_at=NOON),
        Account(name="ärger", industry="Power", created_at=NOON, updated_at=NOON + timedelta(days=1)),
        Account(name="Other", domain="other.example", created_at=NOON - timedelta(days=1)),
    ]


def _contacts() -> list[Any]:
    return [
        Contact(last_name="A", email="Ada@Example.com", owner_id="admin@one", created_at=NOON),
        Contact(first_name="B", phone="1", title="t", created_at=NOON, updated_at=NOON + timedelta(days=1)),
    ]


def _campaigns() -> list[Any]:
    return [Campaign(name=status, status=status, provider="local") for status in ("draft", "paused", "archived")]


_SINCE = NOON + timedelta(hours=1)
_CHANGED = f'filter: {{updatedAt: {{gte: "{_SINCE.isoformat()}"}}}}'
_CHANGED_QUERY = f"updated_since={_SINCE:%Y-%m-%dT%H:%M:%SZ}"
_FOLDED = "mode: IGNORE_CASE"


async def _stages(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    await world.add(
        world.one,
        *(PipelineStage(name=f"{n}", position=n, type="won" if n else "open", probability=n or None) for n in range(2)),
    )
    listed = (await surfaces.rest("GET", "/pipeline-stages")).json()
    shown = await surfaces.graphql(f"{{ pipelineStages {{ {selection(STAGE)} }} }}")
    assert [{**stage, "type": stage["type"].upper()} for stage in listed] == shown
    assert len(shown) == 2


async def _link(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    deals, people = [Deal(name=name) for name in "ab"], [Contact(last_name=name) for name in "cd"]
    await world.add(world.one, *deals, *people)
    bodies: list[Any] = [None, {}, {"role": "r", "is_primary": True}, {"role": None}, {"is_primary": False}]
    for body in bodies:
        for person in people:
            response = await surfaces.rest("PUT", f"/deals/{deals[0].id}/contacts/{person.id}", body)
            assert (response.status_code, response.json()["contact_id"]) == (200, person.id)
            given = {"role": "String", "isPrimary": "Boolean"}
            named = {name: value for name, value in _camel(body).items() if name in given}
            declared = ", ".join(["$d: ID!, $c: ID!", *(f"${name}: {given[name]}" for name in named)])
            passed = ", ".join(["dealId: $d, contactId: $c", *(f"{name}: ${name}" for name in named)])
            ids = {"d": deals[1].id, "c": person.id}
            await surfaces.change("dealContactLink", f"{declared} -> {passed}", "deal { id }", **ids, **named)
        links = [await _links(surfaces, deal.id) for deal in deals]
        assert links[0] == links[1], body
        listed = (await surfaces.rest("GET", f"/deals/{deals[0].id}/contacts")).json()
        assert [{"role": each["role"], "isPrimary": each["is_primary"]} for each in listed] == links[0]


def _camel(body: Any) -> dict[str, Any]:
    return {camel(name): value for name, value in (body or {}).items()}


async def _links(surfaces: Surfaces, deal_id: str) -> Any:
    document = "query($id: ID!) { deal(id: $id) { contacts { edges { role isPrimary } } } }"
    return (await surfaces.graphql(document, id=deal_id))["contacts"]["edges"]


async def _contacts_of(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    deal, people = Deal(name="a"), _contacts()
    await world.add(world.one, deal, *people)
    for person in people:
        await surfaces.rest("PUT", f"/deals/{deal.id}/contacts/{person.id}", {"role": "r"})
    fields = selection([key for key in CONTACT if key != "org_id"])
    document = f"query($id: ID!) {{ deal(id: $id) {{ contacts {{ edges {{ linkedAt node {{ {fields} }} }} }} }} }}"
    shown = (await surfaces.graphql(document, id=deal.id))["contacts"]["edges"]
    listed = (await surfaces.rest("GET", f"/deals/{deal.id}/contacts")).json()
    assert [record["linked_at"] for record in listed] == [edge["linkedAt"] for edge in shown]
    own = [{key: value for key, value in record.items() if key in CONTACT} for record in listed]
    assert [unowned(record) for record in own] == [edge["node"] for edge in shown]
    one = (await surfaces.rest("GET", f"/deals/{deal.id}/contacts?limit=1&offset=1")).json()
    assert [record["id"] for record in one] == [people[1].id]
    assert (await surfaces.rest("GET", f"/deals/{deal.id}/contacts?limit=0")).json() == []
    assert (await surfaces.rest("GET", f"/deals/{people[0].id}/contacts")).status_code == 404


async def _report(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    run = ResearchRun(name="r", result_count=2)
    scored, bare = (
        ResearchResult(run_id=run.id, position=at, company_name="c", domain="d", status="scored", score=50)
        for at in range(2)
    )
    report = CXReport(result_id=scored.id, updated_at=now())
    content = CXReportRevision(
        report_id=report.id, revision=1, copy_blobs={"headline": "h"}, analysis={"x": 1}, brand={}, bpo_prefix="p"
    )
    await world.add(world.one, run, scored, bare, report, content)
    path = "/customer-intelligence/runs/{}/results/{}/cx-report"
    shown = (await surfaces.rest("GET", path.format(run.id.upper(), scored.id))).json()
    fields = "revision copyBlobs analysis brand bpoPrefix updatedAt artifacts { url } render { status }"
    document = f"query($id: ID!) {{ researchResult(id: $id) {{ cxReport {{ {fields} }} }} }}"
    twin = (await surfaces.graphql(document, id=scored.id))["cxReport"]
    assert twin.pop("render") is None
    kept = {"runId": run.id, "resultId": scored.id, "renderStatus": None}
    assert plain(shown) == {**twin, **kept}
    for missing in (path.format(run.id, bare.id), path.format(scored.id, scored.id), path.format("no", scored.id)):
        assert (await surfaces.rest("GET", missing)).status_code == 404


async def _resume(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    campaigns = [Campaign(name="c", status=status, provider="local") for status in ("archived", "draft") for _ in "ab"]
    await world.add(world.one, *campaigns)
    for by_path, by_graph in (campaigns[:2], campaigns[2:]):
        response = await surfaces.rest("POST", f"/outreach/campaigns/{by_path.id}/resume")
        document = "mutation($id: ID!) { campaignResume(id: $id) { campaign { id } userErrors { code message } } }"
        [problem] = (await surfaces.graphql(document, id=by_graph.id))["userErrors"]
        assert (response.status_code, response.json()["code"]) == (409, problem["code"].lower())
        assert response.json()["detail"] == problem["message"]


async def _changes(surfaces: Surfaces) -> None:
    for name in ("A", "B"):
        assert (await surfaces.rest("POST", "/deals", {"name": name})).status_code == 201
    paths = (await surfaces.rest("GET", "/changes?since=2000-01-01T00:00:00Z&type=deal_created")).json()
    graph = await surfaces.graphql(
        """{ changes(since: "2000-01-01T00:00:00Z", types: ["deal_created"]) {
        nodes { id type actor occurredAt requestId data } } }"""
    )
    assert [{camel(key): value for key, value in event.items()} for event in paths] == graph["nodes"]
    assert len(paths) == 2


async def _tools(surfaces: Surfaces) -> None:
    paths = (await surfaces.rest("GET", "/chat/tools")).json()
    graph = await surfaces.graphql("{ chatTools { name description inputSchema effect operations documents } }")
    told = [{camel(key): value for key, value in tool.items()} for tool in paths]
    assert [tool | {"effect": tool["effect"].upper()} for tool in told] == graph
    assert len(told) > 5


COMPARED: dict[str, Callable[[Surfaces], Awaitable[None]]] = {
    "Query.changes": _changes,
    "Query.chatTools": _tools,
    "Query.accounts": _listing(
        "/accounts",
        "accounts",
        ACCOUNT,
        _accounts,
        {
            "": "first: 200",
            "limit=1&offset=1": "first: 1, offset: 1",
            "limit=0": "first: 0",
            "name=ÄRGER": f'filter: {{name: {{eq: "ÄRGER", {_FOLDED}}}}}',
            "domain=WWW.Other.example": f'filter: {{domain: {{eq: "WWW.Other.example", {_FOLDED}}}}}',
            "owner_id=admin@one": 'filter: {ownerId: {eq: "admin@one"}}',
            _CHANGED_QUERY: _CHANGED,
        },
    ),
    "Query.account": _one("/accounts", "account", ACCOUNT, _accounts),
    "Query.contacts": _listing(
        "/contacts",
        "contacts",
        CONTACT,
        _contacts,
        {
            "": "first: 200",
            "email=ADA@example.com": f'filter: {{email: {{eq: "ADA@example.com", {_FOLDED}}}}}',
            "owner_id=admin@one": 'filter: {ownerId: {eq: "admin@one"}}',
            _CHANGED_QUERY: _CHANGED,
        },
    ),
    "Query.contact": _one("/contacts", "contact", CONTACT, _contacts),
    "Query.campaigns": _listing(
        "/outreach/campaigns",
        "campaigns",
        CAMPAIGN,
        _campaigns,
        {"": "first: 200", "status=paused": "filter: {status: {eq: PAUSED}}", "limit=1": "first: 1"},
    ),
    "Query.campaign": _one("/outreach/campaigns", "campaign", CAMPAIGN, _campaigns),
    "Query.pipelineStages": _stages,
    "Deal.contacts": _contacts_of,
    "Mutation.dealContactLink": _link,
    "ResearchResult.cxReport": _report,
    "Mutation.campaignResume": _resume,
}
