"""Saved queries: kept, shared, verified and run, by both doors, and what keeps one person's from another's."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from contract.limits import SAVED_QUERIES_MAX
from storage.base import new_id
from storage.tables import Deal, Event, PipelineStage, SavedQuery
from tests.analytics.asking import Asker
from tests.isolation.requests import ERRORS, Case, Rest, by_id, change, put, q
from tests.isolation.surfaces import Surfaces
from tests.support.record_types import RecordType
from tests.support.tenants import Tenant
from tests.support.world import Headers

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/analytics/saved-queries"
FIELDS = "id name description question query sql dialect ownerId isShared isVerified version"
CREATE = f"""mutation($i: SavedQueryInput!) {{
  savedQueryCreate(input: $i) {{ savedQuery {{ {FIELDS} }} userErrors {{ code message field }} }} }}"""
UPDATE = f"""mutation($id: ID!, $i: SavedQueryUpdateInput!) {{
  savedQueryUpdate(id: $id, input: $i) {{ savedQuery {{ {FIELDS} }} userErrors {{ code message field }} }} }}"""
RUN = """query($id: ID!, $n: Int) { savedQueryRun(id: $id, first: $n) {
  columns { name } rows truncated sql { dialect } } }"""
SEEN = "query($id: ID!) { savedQuery(id: $id) { id } node(id: $id) { __typename id } }"
BY_STAGE = {"entity": "deals", "measures": ["count"], "by": ["stage"], "order_by": [{"field": "count"}]}
AS_GRAPHQL = {**BY_STAGE, "orderBy": BY_STAGE["order_by"]}
del AS_GRAPHQL["order_by"]


async def call(tenant: Tenant, method: str, path: str, headers: Headers | None = None, **more: Any) -> httpx.Response:
    given = {**(headers or tenant.headers()), **more.pop("extra", {})}
    return await tenant.gateway.http.request(method, PATH + path, headers=given, **more)


async def saved(tenant: Tenant, headers: Headers | None = None, **body: Any) -> dict[str, Any]:
    response = await call(tenant, "POST", "", headers, json={"name": new_id(), **body})
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


async def mark(tenant: Tenant, made: dict[str, Any], what: str, yes: bool, role: str = "admin") -> httpx.Response:
    return await call(tenant, "PUT", f"/{made['id']}/{what}", tenant.headers(role), json={what: yes})


async def test_the_three_kinds_are_kept_and_run_by_both_doors(one: Tenant) -> None:
    stage = PipelineStage(name="Won")
    await one.add(stage, Deal(name="1", stage_id=stage.id), Deal(name="2", stage_id=stage.id))
    dialect = one.gateway.world.database.dialect
    kinds: list[tuple[dict[str, Any], list[Any]]] = [
        ({"question": " How many\n deals? "}, [[2]]),
        ({"query": BY_STAGE}, [["Won", stage.id, 2]]),
        ({"question": "What stands where?", "query": BY_STAGE}, [["Won", stage.id, 2]]),
        ({"sql": "SELECT name FROM deals ORDER BY name"}, [["1"], ["2"]]),
    ]
    for number, (body, rows) in enumerate(kinds):
        made = await saved(one, name=f"Query {number}", **body)
        shown = {k: v for k, v in made.items() if k not in ("id", "created_at", "updated_at")}
        question = body.get("question")
        assert shown == {
            "name": f"Query {number}",
            "description": None,
            "question": question and " ".join(question.split()),
            "query": body.get("query"),
            "sql": body.get("sql"),
            "dialect": dialect if "sql" in body else None,
            "owner_id": one.subject(),
            "is_shared": False,
            "is_verified": False,
            "version": 1,
        }
        ran = await call(one, "POST", f"/{made['id']}/run")
        assert (ran.status_code, ran.json()["rows"]) == (200, rows), ran.text
        assert (await one.ask(RUN, id=made["id"]))["rows"] == rows
        fewer = await one.ask(RUN, id=made["id"], n=1)
        assert (fewer["rows"], fewer["truncated"]) == (rows[:1], len(rows) > 1)
        ends = [await call(one, "POST", f"/{made['id']}/run?limit={limit}") for limit in (0, 10**9, -1)]
        assert [answer.status_code for answer in ends] == [200, 200, 422]
        assert [len(answer.json()["rows"]) for answer in ends[:2]] == [0, len(rows)]
        table = await call(one, "POST", f"/{made['id']}/run?format=csv")
        assert table.headers["content-type"].startswith("text/csv")
        assert len(table.text.splitlines()) == len(rows) + 1
    named = {"name": "By GraphQL", "query": AS_GRAPHQL | {"grain": "YEAR"}}
    graph = (await one.ask(CREATE, i=named))["savedQuery"]
    assert graph["query"] == AS_GRAPHQL | {"grain": "YEAR"}
    assert (await call(one, "GET", f"/{graph['id']}")).json()["query"] == BY_STAGE | {"grain": "year"}
    listed = (await call(one, "GET", "")).json()
    assert [each["name"] for each in listed] == ["By GraphQL", *(f"Query {n}" for n in range(4))]
    pages = await one.ask("{ savedQueries(first: 2) { totalCount nodes { name } pageInfo { hasNextPage } } }")
    assert pages == {
        "totalCount": 5,
        "nodes": [{"name": "By GraphQL"}, {"name": "Query 0"}],
        "pageInfo": {"hasNextPage": True},
    }


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({}, ["body"]),
        ({"sql": "SELECT name FROM deals", "question": "How many deals?"}, ["body", "sql"]),
        ({"question": "  "}, ["body", "question"]),
        ({"name": "x" * 201, "question": "q"}, ["body", "name"]),
        ({"name": "", "question": "q"}, ["body", "name"]),
        ({"description": "x" * 2_001, "question": "q"}, ["body", "description"]),
        ({"question": "x" * 1_001}, ["body", "question"]),
        ({"question": "a\0b"}, ["body", "question"]),
        ({"query": {"entity": "nothing"}}, ["body", "query", "entity"]),
        ({"query": {"entity": "deals", "measures": ["sise"]}}, ["body", "query", "measures", 0]),
        ({"query": []}, ["body", "query"]),
        ({"sql": "DELETE FROM deals"}, ["body", "sql"]),
        ({"sql": "SELECT org_id FROM deals"}, ["body", "sql"]),
    ],
)
async def test_what_cannot_be_kept_is_told_at_its_field(one: Tenant, body: dict[str, Any], loc: list[Any]) -> None:
    response = await call(one, "POST", "", json={"name": "N", **body})
    assert response.status_code == 422, response.text
    assert response.json()["detail"][0]["loc"] == loc
    assert await one.rows(SavedQuery.id) == []
    if "sql" in body:
        [error] = (await one.ask(CREATE, i={"name": "N", **body}))["userErrors"]
        assert (error["code"], error["field"]) == ("VALIDATION", ["input", "sql"])


async def test_a_colleague_sees_what_is_shared_and_changes_nothing(one: Tenant, two: Tenant) -> None:
    mine = await saved(one, query=BY_STAGE)
    colleague = await one.scoped("data:access", "deals:manage", "deals:read", name="colleague")
    path = f"/{mine['id']}"

    async def reached() -> list[int]:
        answers = [
            await call(one, "GET", path, colleague),
            await call(one, "POST", f"{path}/run", colleague),
            await call(one, "PATCH", path, colleague, json={"name": "Theirs"}),
            await call(one, "PUT", f"{path}/shared", colleague, json={"shared": True}),
            await call(one, "DELETE", path, colleague),
        ]
        return [answer.status_code for answer in answers]

    assert await reached() == [404] * 5
    assert await one.ask(SEEN, colleague, id=mine["id"]) == {"savedQuery": None, "node": None}
    assert (await call(one, "GET", path, one.headers("admin"))).status_code == 404
    shared = await mark(one, mine, "shared", True, "member")
    assert (shared.json()["is_shared"], shared.json()["version"]) == (True, 2)
    assert await reached() == [200, 200, 404, 404, 404]
    found = await one.ask(SEEN, colleague, id=mine["id"])
    assert found == {"savedQuery": {"id": mine["id"]}, "node": {"__typename": "SavedQuery", "id": mine["id"]}}
    assert [each["id"] for each in (await call(one, "GET", "", colleague)).json()] == [mine["id"]]
    assert (await call(two, "GET", path)).status_code == 404
    assert (await mark(one, mine, "shared", False, "member")).json()["is_shared"] is False
    assert await reached() == [404] * 5


async def test_who_runs_it_needs_the_scopes_of_what_it_reads(one: Tenant) -> None:
    meetings = await saved(one, query={"entity": "meetings", "measures": ["count"]})
    statement = await saved(one, sql="SELECT COUNT(*) AS n FROM activities")
    for made in (meetings, statement):
        await mark(one, made, "shared", True, "member")
    bare = await one.scoped("data:access", name="bare")
    assert (await call(one, "POST", f"/{meetings['id']}/run", bare)).status_code == 403
    refused = await call(one, "POST", f"/{statement['id']}/run", bare)
    assert (refused.status_code, refused.json()["detail"][0]["type"]) == (422, "analytics_refused")
    assert (await call(one, "POST", "", bare, json={"name": "N", "query": {"entity": "meetings"}})).status_code == 403


async def test_another_s_sql_is_not_run(one: Tenant) -> None:
    other = "postgresql" if one.gateway.world.database.dialect == "sqlite" else "sqlite"
    foreign = SavedQuery(name="Old", sql="SELECT 1", dialect=other, owner_id=one.subject(), name_key="old")
    await one.add(foreign)
    response = await call(one, "POST", f"/{foreign.id}/run")
    assert (response.status_code, response.json()["code"]) == (409, "invalid_state")
    assert other in response.json()["detail"]


async def test_a_question_that_cannot_be_read_is_kept_and_not_run(one: Tenant) -> None:
    made = await saved(one, question="Will we win Acme?")
    response = await call(one, "POST", f"/{made['id']}/run")
    assert (response.status_code, response.json()["code"]) == (409, "invalid_state")
    assert "Acme" in response.json()["detail"]


async def test_changes_hold_to_the_version_and_to_one_name(one: Tenant) -> None:
    first, second = await saved(one, name="First", query=BY_STAGE), await saved(one, name="Second", question="q")
    again = await call(one, "POST", "", json={"name": "  FIRST ", "question": "q"})
    assert (again.status_code, again.json()["code"]) == (409, "duplicate")
    errors = (await one.ask(CREATE, i={"name": "first", "question": "q"}))["userErrors"]
    assert [(e["code"], e["field"]) for e in errors] == [("DUPLICATE", ["input", "name"])]
    other = await saved(one, name="First?", question="q")
    assert (await call(one, "DELETE", f"/{other['id']}")).status_code == 204
    path = f"/{second['id']}"
    assert (await call(one, "PATCH", path, json={"name": "first"})).status_code == 409
    assert (await call(one, "PATCH", path, json={"name": "SECOND"})).json()["name"] == "SECOND"
    stale = await call(one, "PATCH", path, json={"name": "Third"}, extra={"If-Match": '"1"'})
    assert stale.status_code == 412
    assert (await one.ask(UPDATE, id=second["id"], i={"name": "3", "expectedVersion": 1}))["userErrors"][0]["code"] == (
        "PRECONDITION_FAILED"
    )
    assert (await call(one, "PATCH", path, json={"sql": "SELECT name FROM deals"})).status_code == 422
    turned = await call(one, "PATCH", path, json={"sql": "SELECT name FROM deals", "question": None})
    assert (turned.json()["question"], turned.json()["sql"], turned.json()["version"]) == (
        *(None, "SELECT name FROM deals"),
        3,
    )
    assert (await call(one, "PATCH", path, json={"sql": None})).status_code == 422
    assert (await call(one, "PATCH", path, json={"name": None})).status_code == 422
    same = await call(one, "PATCH", path, json={"name": "SECOND"})
    assert same.json()["version"] == 3
    assert (await call(one, "DELETE", path, extra={"If-Match": '"1"'})).status_code == 412
    assert (await call(one, "DELETE", path)).status_code == 204
    assert (await call(one, "GET", path)).status_code == 404
    assert [each["id"] for each in (await call(one, "GET", "")).json()] == [first["id"]]
    told = [row[0] for row in await one.rows(Event.type) if row[0].startswith("saved_query")]
    assert sorted(told) == [
        *(*["saved_query_created"] * 3, *["saved_query_deleted"] * 2),
        *["saved_query_updated"] * 2,
    ]


async def test_two_of_one_name_at_once_are_one(one: Tenant) -> None:
    bodies = [call(one, "POST", "", json={"name": "Same", "question": "q"}) for _ in range(5)]
    statuses = sorted([answer.status_code for answer in await asyncio.gather(*bodies)])
    assert statuses == [201, 409, 409, 409, 409]


async def test_there_is_an_end_to_them(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SAVED_QUERIES_MAX == 1_000
    monkeypatch.setattr("resolvers.saved_queries.SAVED_QUERIES_MAX", 1)
    await saved(one, question="q")
    response = await call(one, "POST", "", json={"name": "N", "question": "q"})
    assert (response.status_code, response.json()["detail"][0]["loc"]) == (422, ["body"])


async def test_a_verified_question_is_answered_by_its_query_first(one: Tenant) -> None:
    await one.add(Deal(name="1", status="won"), Deal(name="2"))
    query = {"entity": "deals", "measures": ["count"], "where": [{"field": "status", "value": "won"}]}
    question = "Where do we stand?"
    made = await saved(one, question=question, query=query)
    asker = Asker(one.gateway.http, one.gateway.app, one.headers())
    assert (await asker.ask(question)).json()["status"] == "declined"
    early = await mark(one, made, "verified", True)
    assert early.status_code == 404, "an administrator does not see what is not shared"
    await mark(one, made, "shared", True, "member")
    assert (await mark(one, made, "verified", True)).json()["is_verified"] is True
    for text in (question, "WHERE do we  stand"):
        run = (await asker.ask(text)).json()
        assert (run["status"], run["planner"], run["result"]["rows"]) == ("succeeded", "saved", [[1]])
    other = await saved(one, question="where do we stand", query=BY_STAGE)
    await mark(one, other, "shared", True, "member")
    assert (await mark(one, other, "verified", True)).json()["code"] == "duplicate"

    renamed = await call(one, "PATCH", f"/{made['id']}", json={"name": "Standing"})
    assert renamed.json()["is_verified"] is True
    changed = await call(one, "PATCH", f"/{made['id']}", json={"query": BY_STAGE})
    assert changed.json()["is_verified"] is False
    assert (await asker.ask(question)).json()["status"] == "declined"
    assert (await mark(one, made, "verified", True)).json()["is_verified"] is True
    assert (await mark(one, made, "shared", False, "member")).json()["is_verified"] is False
    for what in ({"query": BY_STAGE}, {"question": "Will we win Acme?"}):
        kept = await saved(one, **what)
        await mark(one, kept, "shared", True, "member")
        refused = await mark(one, kept, "verified", True)
        assert (refused.status_code, refused.json()["code"]) == (409, "invalid_state")
    read = await saved(one, question="How many deals?")
    await mark(one, read, "shared", True, "member")
    assert (await mark(one, read, "verified", True)).json()["is_verified"] is True
    run = (await asker.ask("how many deals")).json()
    assert (run["planner"], run["result"]["rows"]) == ("saved", [[2]])


async def test_who_may_not_read_what_a_verified_query_reads_is_answered_by_the_parser(one: Tenant) -> None:
    made = await saved(one, question="How many deals?", query={"entity": "meetings", "measures": ["count"]})
    await mark(one, made, "shared", True, "member")
    await mark(one, made, "verified", True)
    await one.add(Deal(name="1"))
    bare = await one.scoped("data:access", "leads:read", name="bare")
    run = (await Asker(one.gateway.http, one.gateway.app, bare).ask("how many deals")).json()
    assert (run["status"], run["planner"], run["result"]["rows"]) == ("succeeded", "parser", [[1]])


KEYS = [
    *("id", "name", "description", "question", "query", "sql", "dialect", "owner_id", "is_shared", "is_verified"),
    *("created_at", "updated_at", "version"),
]
SHARE = (
    f"mutation($id: ID!, $y: Boolean!) {{ savedQueryShare(id: $id, shared: $y) {{ savedQuery {{ id }} {ERRORS} }} }}"
)
VERIFY = (
    "mutation($id: ID!, $y: Boolean!) { savedQueryVerify(id: $id, verified: $y) "
    f"{{ savedQuery {{ id isVerified }} {ERRORS} }} }}"
)
_ONE = f"{PATH}/<saved query>"


async def _compared(surfaces: Surfaces) -> None:
    """Each path beside its twin, on records of their own."""
    made = []
    for number in range(2):
        body = {"name": f"N {number}", "question": f"Q {number}", "query": BY_STAGE}
        response = await surfaces.rest("POST", PATH, body)
        assert (response.status_code, response.headers["location"]) == (201, f"{PATH}/{response.json()['id']}")
        assert list(response.json()) == KEYS
        made.append(response.json())
    by_path, by_graph = made[0]["id"], made[1]["id"]
    input = {"name": "N 2", "question": "Q 2", "query": AS_GRAPHQL}
    twin = await surfaces.change("savedQueryCreate", "$i: SavedQueryInput! -> input: $i", "savedQuery { id }", i=input)

    async def same(*names: str) -> None:
        first = (await surfaces.rest("GET", f"{PATH}/{by_path}")).json()
        second = await surfaces.graphql(f"query($id: ID!) {{ savedQuery(id: $id) {{ {FIELDS} }} }}", id=by_graph)
        for name in ("isShared", "isVerified", "version", "description", *names):
            key = {"isShared": "is_shared", "isVerified": "is_verified"}.get(name, name)
            assert first[key] == second[name], name

    await same()
    arguments = "$id: ID!, $i: SavedQueryUpdateInput! -> id: $id, input: $i"
    await surfaces.rest("PATCH", f"{PATH}/{by_path}", {"description": "D"})
    await surfaces.change("savedQueryUpdate", arguments, "savedQuery { id }", id=by_graph, i={"description": "D"})
    await same()
    for what, field in (("shared", "savedQueryShare"), ("verified", "savedQueryVerify")):
        assert (await surfaces.rest("PUT", f"{PATH}/{by_path}/{what}", {what: True})).status_code == 200
        said = f"$id: ID!, $y: Boolean! -> id: $id, {what}: $y"
        await surfaces.change(field, said, "savedQuery { id }", id=by_graph, y=True)
        await same()
    ran = (await surfaces.rest("POST", f"{PATH}/{by_path}/run")).json()
    assert ran["rows"] == (await surfaces.graphql(RUN, id=by_graph))["rows"]
    listed = [each["id"] for each in (await surfaces.rest("GET", PATH)).json()]
    page = await surfaces.graphql("{ savedQueries { nodes { id } } }")
    assert listed == [each["id"] for each in page["nodes"]] == [by_path, by_graph, twin["savedQuery"]["id"]]
    assert (await surfaces.rest("DELETE", f"{PATH}/{by_path}")).status_code == 204
    await surfaces.change("savedQueryDelete", "$id: ID! -> id: $id", "deletedId", id=by_graph)
    assert len((await surfaces.rest("GET", PATH)).json()) == 1


_PATHS = {
    ("GET", PATH): ("DATA_ACCESS", True, 200, "Query.savedQueries"),
    ("POST", PATH): ("DATA_ACCESS", True, 201, "Mutation.savedQueryCreate"),
    ("GET", f"{PATH}/{{saved_query_id}}"): ("DATA_ACCESS", True, 200, "Query.savedQuery"),
    ("PATCH", f"{PATH}/{{saved_query_id}}"): ("DATA_ACCESS", True, 200, "Mutation.savedQueryUpdate"),
    ("DELETE", f"{PATH}/{{saved_query_id}}"): ("DATA_ACCESS", True, 204, "Mutation.savedQueryDelete"),
    ("POST", f"{PATH}/{{saved_query_id}}/run"): ("DATA_ACCESS", True, 200, "Query.savedQueryRun"),
    ("PUT", f"{PATH}/{{saved_query_id}}/shared"): ("CRM_MANAGE", True, 200, "Mutation.savedQueryShare"),
    ("PUT", f"{PATH}/{{saved_query_id}}/verified"): ("ORG_ADMIN", True, 200, "Mutation.savedQueryVerify"),
}
RECORD = RecordType(
    typename="SavedQuery",
    name="saved query",
    group="DATA_ACCESS",
    row=lambda ids, mark: SavedQuery(
        **dict.fromkeys(("name", "description", "question", "owner_id", "name_key", "question_key"), mark),
        query={"entity": "deals"},
        is_shared=True,
    ),
    cases={
        "saved_queries.get_saved_query": Case(
            "DATA_ACCESS",
            (Rest("GET", _ONE), q("query($id: ID!) { savedQuery(id: $id) { id name } }", id="<saved query>")),
        ),
        "saved_queries.list_saved_queries": Case(
            "DATA_ACCESS", (Rest("GET", PATH), q("{ savedQueries { nodes { name question } totalCount } }"))
        ),
        "saved_queries.run_saved_query": Case(
            "DATA_ACCESS",
            (Rest("POST", f"{_ONE}/run"), q("query($id: ID!) { savedQueryRun(id: $id) { rows } }", id="<saved query>")),
        ),
        "saved_queries.create_saved_query": Case(
            "DATA_ACCESS",
            (
                Rest("POST", PATH, {"name": "<name>", "question": "q"}),
                put("savedQueryCreate", "SavedQueryInput", "savedQuery { name }", name="<name>", question="q"),
            ),
        ),
        "saved_queries.update_saved_query": Case(
            "DATA_ACCESS",
            (
                Rest("PATCH", _ONE, {"name": "<name>"}),
                change(
                    "savedQueryUpdate", "SavedQueryUpdateInput", "savedQuery { name }", "<saved query>", name="<name>"
                ),
            ),
        ),
        "saved_queries.delete_saved_query": Case(
            "DATA_ACCESS", (Rest("DELETE", _ONE), by_id("savedQueryDelete", "saved query", "deletedId"))
        ),
        "saved_queries.share_saved_query": Case(
            "CRM_MANAGE",
            (Rest("PUT", f"{_ONE}/shared", {"shared": False}), q(SHARE, id="<saved query>", y=False)),
        ),
        "saved_queries.verify_saved_query": Case(
            "ORG_ADMIN",
            (Rest("PUT", f"{_ONE}/verified", {"verified": True}), q(VERIFY, id="<saved query>", y=True)),
        ),
    },
    paths=_PATHS,
    keys={
        **{(path, method): KEYS for (method, path) in _PATHS if method != "DELETE" and not path.endswith("/run")},
        (f"{PATH}/{{saved_query_id}}/run", "POST"): [
            *("columns", "rows", "row_count", "truncated", "sql", "chart", "duration_ms"),
        ],
    },
    compared=dict.fromkeys([twin for *_, twin in _PATHS.values()], _compared),
)
