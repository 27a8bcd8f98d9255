"""Research runs and CX reports on the GraphQL surface: what is created, shown, refused; no worker runs here."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from storage.tables import CXReport, CXReportRevision, Job, ResearchResult, ResearchRun
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

CREATE = """mutation($i: ResearchRunInput!) { researchRunCreate(input: $i) {
  run { id name status resultCount createdBy createdAt completedAt
        results { nodes { id runId companyName domain status score factors error cxReport { revision } } totalCount } }
  userErrors { code message field } } }"""
CANCEL = """mutation($id: ID!) { researchRunCancel(id: $id) { run { status completedAt results {
  nodes { status error } } } userErrors { code message field } } }"""
EDIT = """mutation($run: ID!, $result: ID!, $i: CXReportEditInput!) {
  cxReportEdit(runId: $run, resultId: $result, input: $i) {
  report { revision copyBlobs analysis brand bpoPrefix artifacts { kind } render { id status } }
  job { id kind status attempts } userErrors { code message field } } }"""


async def created(one: Tenant, *targets: dict[str, Any], name: str = "Run") -> dict[str, Any]:
    payload = await one.ask(CREATE, i={"name": name, "targets": list(targets)})
    assert payload["userErrors"] == []
    run: dict[str, Any] = payload["run"]
    return run


async def scored(one: Tenant, **content: Any) -> tuple[str, str, str]:
    """The identifiers of a run, of its one scored result, and of its report."""
    run = ResearchRun(name="Run", status="completed", result_count=1)
    result = ResearchResult(run_id=run.id, position=0, company_name="Kaffe", status="scored", score=61, factors=[])
    report = CXReport(result_id=result.id)
    values = {"copy_blobs": {"headline": "One"}, "analysis": {"pages": 1}, "brand": {"company": "Kaffe"}} | content
    await one.add(run, result, report, CXReportRevision(report_id=report.id, revision=1, **values))
    return run.id, result.id, report.id


async def edit(one: Tenant, run: str, result: str, **input: Any) -> dict[str, Any]:
    payload: dict[str, Any] = await one.ask(EDIT, run=run, result=result, i=input)
    return payload


async def test_a_run_with_a_result_and_a_job_for_each_company(one: Tenant) -> None:
    run = await created(
        one, {"companyName": " Kaffe ", "domain": " Kaffe.Example:8443 "}, {"companyName": "Ohne"}, name="  Häfen  "
    )

    assert (run["name"], run["status"], run["resultCount"]) == ("Häfen", "QUEUED", 2)
    assert (run["createdBy"], run["completedAt"]) == (one.subject(), None)
    empty = {"runId": run["id"], "status": "PENDING", "score": None, "factors": None, "error": None, "cxReport": None}
    found = [{k: v for k, v in result.items() if k != "id"} for result in run["results"]["nodes"]]
    assert found == [
        {"companyName": "Kaffe", "domain": "kaffe.example:8443"} | empty,
        {"companyName": "Ohne", "domain": None} | empty,
    ]
    assert run["results"]["totalCount"] == 2
    jobs = await one.rows(Job.kind, Job.status, Job.arguments)
    ids = [result["id"] for result in run["results"]["nodes"]]
    assert sorted(jobs, key=repr) == sorted((("research_company", "queued", {"result_id": i}) for i in ids), key=repr)
    again = await one.ask("query($id: ID!) { researchRun(id: $id) { id name } }", id=run["id"])
    assert again == {"id": run["id"], "name": "Häfen"}
    node = await one.ask("query($id: ID!) { node(id: $id) { __typename id } }", id=ids[0])
    assert node == {"__typename": "ResearchResult", "id": ids[0]}
    events = (await one.ask("{ events { nodes { type actor data } } }"))["nodes"]
    assert events == [
        {
            "type": "research_run_created",
            "actor": one.subject(),
            "data": {"run_id": run["id"], "name": "Häfen", "result_count": 2},
        }
    ]


async def test_runs_are_listed_newest_first(one: Tenant) -> None:
    names = [(await created(one, {"companyName": "A"}, name=name))["name"] for name in ("1", "2", "3")]
    page = await one.ask("{ researchRuns(first: 2) { nodes { name } totalCount pageInfo { hasNextPage endCursor } } }")
    assert [node["name"] for node in page["nodes"]] == names[:0:-1]
    assert (page["totalCount"], page["pageInfo"]["hasNextPage"]) == (3, True)
    rest = await one.ask(
        "query($c: String!) { researchRuns(first: 2, after: $c) { nodes { name } } }", c=page["pageInfo"]["endCursor"]
    )
    assert rest == {"nodes": [{"name": "1"}]}
    back = await one.ask("{ researchRuns(last: 1) { edges { node { name } } } }")
    assert back == {"edges": [{"node": {"name": "1"}}]}


@pytest.mark.parametrize(
    ("input", "problems"),
    [
        ({"name": "", "targets": [{"companyName": "A"}]}, {"input.name"}),
        ({"name": "  ", "targets": [{"companyName": "A"}]}, {"input.name"}),
        ({"name": "n" * 201, "targets": [{"companyName": "A"}]}, {"input.name"}),
        ({"name": "n", "targets": []}, {"input.targets"}),
        ({"name": "n", "targets": [{"companyName": "A"}] * 201}, {"input.targets"}),
        ({"name": "n\0", "targets": [{"companyName": "\0"}]}, {"input.name", "input.targets.0.companyName"}),
        (
            {"name": "n", "targets": [{"companyName": "A"}, {"companyName": " "}, {"companyName": "c" * 201}]},
            {"input.targets.1.companyName", "input.targets.2.companyName"},
        ),
    ],
)
async def test_runs_that_are_not_begun(one: Tenant, input: dict[str, Any], problems: set[str]) -> None:
    payload = await one.ask(CREATE, i=input)

    assert payload["run"] is None
    assert {".".join(error["field"]) for error in payload["userErrors"]} == problems
    assert {error["code"] for error in payload["userErrors"]} == {"VALIDATION"}
    assert await one.rows(ResearchRun.id) == await one.rows(ResearchResult.id) == await one.rows(Job.id) == []


@pytest.mark.parametrize(
    "domain",
    [
        "",
        "https://a.example",
        "a.example/path",
        "a b.example",
        "me@a.example",
        "a..example",
        "a.example:port",
        "-a.example",
        "a" * 64 + ".example",
        "x." * 127 + "example",
        "a.example?q",
        "[::1]",
        "a.example:123456",
        "_.example",
    ],
)
async def test_domains_that_are_none(one: Tenant, domain: str) -> None:
    payload = await one.ask(CREATE, i={"name": "n", "targets": [{"companyName": "A", "domain": domain}]})
    assert payload["userErrors"] == [
        {
            "code": "VALIDATION",
            "message": "must be a domain such as example.com, without a scheme or a path",
            "field": ["input", "targets", "0", "domain"],
        }
    ]


async def test_as_many_companies_as_there_may_be(one: Tenant) -> None:
    run = await created(one, *({"companyName": f"Company {n}", "domain": "bücher.example"} for n in range(200)))
    assert (run["resultCount"], run["results"]["totalCount"], len(run["results"]["nodes"])) == (200, 200, 50)
    assert len(await one.rows(Job.id)) == 200


async def test_a_run_is_cancelled_before_it_begins(one: Tenant) -> None:
    run = await created(one, {"companyName": "A"}, {"companyName": "B"})
    payload = await one.ask(CANCEL, id=run["id"])
    failed = {"status": "FAILED", "error": "The run was cancelled before the company was looked at"}
    assert payload["userErrors"] == []
    assert (payload["run"]["status"], payload["run"]["results"]["nodes"]) == ("CANCELLED", [failed, failed])
    assert await one.rows(Job.status) == [("superseded",), ("superseded",)]
    assert (await one.ask(CANCEL, id=run["id"]))["run"] == payload["run"]


@pytest.mark.parametrize("status", ["completed", "partial", "failed"])
async def test_a_run_that_has_ended_is_not_cancelled(one: Tenant, status: str) -> None:
    run = ResearchRun(name="Run", status=status, result_count=0)
    await one.add(run)
    assert await one.ask(CANCEL, id=run.id) == {
        "run": None,
        "userErrors": [{"code": "INVALID_STATE", "message": "The run has ended", "field": ["id"]}],
    }
    assert await one.rows(ResearchRun.status) == [(status,)]


async def test_a_cancelled_run_keeps_what_is_scored(one: Tenant) -> None:
    run = ResearchRun(name="Run", status="running", result_count=2)
    rows = [
        ResearchResult(run_id=run.id, position=n, company_name="A", status=status)
        for n, status in enumerate(("scored", "pending"))
    ]
    await one.add(run, *rows)
    payload = await one.ask(CANCEL, id=run.id)
    assert [node["status"] for node in payload["run"]["results"]["nodes"]] == ["SCORED", "FAILED"]


async def test_an_edit_merges_and_queues_one_render(one: Tenant) -> None:
    run, result, report = await scored(one, analysis={"pages": [1], "findings": ["a"], "old": {"x": 1, "y": 2}})
    payload = await edit(
        one,
        run,
        result,
        copyBlobs={"headline": None, "next_steps": ["Do", "Check"]},
        analysisPatch={"old": {"x": None, "z": 3.5}, "benchmarks": [{"name": "Peers", "score": 61}]},
        brandPatch={"colors": {"primary": "#0b3d5c"}},
        bpoPrefix="Nordic",
    )

    assert payload["userErrors"] == []
    assert payload["report"] == {
        "revision": 2,
        "copyBlobs": {"next_steps": ["Do", "Check"]},
        "analysis": {
            "pages": [1],
            "findings": ["a"],
            "old": {"y": 2, "z": 3.5},
            "benchmarks": [{"name": "Peers", "score": 61}],
        },
        "brand": {"company": "Kaffe", "colors": {"primary": "#0b3d5c"}},
        "bpoPrefix": "Nordic",
        "artifacts": [],
        "render": {"id": payload["job"]["id"], "status": "QUEUED"},
    }
    assert {k: payload["job"][k] for k in ("kind", "status", "attempts")} == {
        "kind": "cx_report_render",
        "status": "QUEUED",
        "attempts": 0,
    }
    assert await one.rows(Job.kind, Job.arguments) == [("cx_report_render", {"report_id": report, "revision": 2})]
    kept = await one.rows(CXReportRevision.revision, CXReportRevision.copy_blobs, CXReportRevision.created_by)
    assert sorted(kept) == [
        (1, {"headline": "One"}, None),
        (2, {"next_steps": ["Do", "Check"]}, one.subject()),
    ]
    [event] = (await one.ask("{ events { nodes { type data } } }"))["nodes"]
    assert event == {"type": "cx_report_edited", "data": {"run_id": run, "result_id": result, "revision": 2}}


async def test_a_newer_edit_takes_the_place_of_a_render_that_waits(one: Tenant) -> None:
    run, result, _ = await scored(one)
    first = (await edit(one, run, result, bpoPrefix="A"))["job"]["id"]
    second = (await edit(one, run, result, copyBlobs={"headline": "Two"}))["job"]["id"]
    third = await edit(one, run, result, bpoPrefix=None)

    assert dict(await one.rows(Job.id, Job.status)) == {
        first: "superseded",
        second: "superseded",
        third["job"]["id"]: "queued",
    }
    assert (third["report"]["revision"], third["report"]["bpoPrefix"]) == (4, None)
    assert third["report"]["copyBlobs"] == {"headline": "Two"}
    assert third["report"]["render"]["id"] == third["job"]["id"]


async def test_slots_may_nest(one: Tenant) -> None:
    """Decision 219: what no template knows is kept as it was given."""
    run, result, _ = await scored(one)
    slots = {"headline": {"text": "One", "by": ["Ada", 2]}, "prices": [[1.5, None], {"a": {"b": False}}]}
    kept = (await edit(one, run, result, copyBlobs=slots))["report"]["copyBlobs"]
    assert kept == slots
    merged = (await edit(one, run, result, copyBlobs={"headline": {"by": None}}))["report"]["copyBlobs"]
    assert merged == slots | {"headline": {"text": "One"}}


async def test_edits_at_the_same_time_all_count(one: Tenant) -> None:
    run, result, _ = await scored(one)
    await asyncio.gather(*(edit(one, run, result, copyBlobs={f"slot_{n}": str(n)}) for n in range(4)))
    report = (await edit(one, run, result, bpoPrefix="Last"))["report"]
    assert report["revision"] == 6
    assert report["copyBlobs"] == {"headline": "One"} | {f"slot_{n}": str(n) for n in range(4)}
    statuses = [status for (status,) in await one.rows(Job.status)]
    assert sorted(statuses) == ["queued", *["superseded"] * 4]


@pytest.mark.parametrize(
    ("input", "field", "message"),
    [
        ({}, "input", "at least one of copyBlobs, analysisPatch, brandPatch, bpoPrefix"),
        ({"copyBlobs": None}, "input", "at least one of copyBlobs, analysisPatch, brandPatch, bpoPrefix"),
        ({"copyBlobs": []}, "input.copyBlobs", "must be an object"),
        ({"analysisPatch": "x"}, "input.analysisPatch", "must be an object"),
        ({"copyBlobs": {"headline": ["x" * 20_001]}}, "input.copyBlobs.headline.0", None),
        ({"copyBlobs": {"headline": "\0"}}, "input.copyBlobs", "must not contain the NUL character"),
        ({"brandPatch": {"colors": {"primary": "blue"}}}, "input.brandPatch.colors.primary", None),
        ({"brandPatch": {"logo": "https://example.com/logo.png"}}, "input.brandPatch.logo", None),
        ({"analysisPatch": {"benchmarks": [{"score": 101}]}}, "input.analysisPatch.benchmarks.0.score", None),
        ({"bpoPrefix": "p" * 81}, "input.bpoPrefix", "must have at most 80 characters"),
    ],
)
async def test_edits_that_are_refused_change_nothing(
    one: Tenant, input: dict[str, Any], field: str, message: str | None
) -> None:
    run, result, _ = await scored(one)
    payload = await edit(one, run, result, **input)

    assert (payload["report"], payload["job"]) == (None, None)
    [error] = payload["userErrors"]
    assert (error["code"], ".".join(error["field"])) == ("VALIDATION", field)
    assert message is None or error["message"] == message
    assert await one.rows(CXReportRevision.revision) == [(1,)]
    assert await one.rows(Job.id) == []


async def test_a_report_that_grows_too_large(one: Tenant) -> None:
    run, result, _ = await scored(one, analysis={"big": "x" * 900_000})
    payload = await edit(one, run, result, analysisPatch={"more": "x" * 200_000})
    [error] = payload["userErrors"]
    assert (error["code"], error["field"]) == ("VALIDATION", ["input"])
    assert error["message"].endswith("bytes as JSON text, more than 1048576")


async def test_a_deeply_nested_patch(one: Tenant) -> None:
    run, result, _ = await scored(one)
    patch: dict[str, Any] = {}
    for _ in range(40):
        patch = {"a": patch}
    [error] = (await edit(one, run, result, analysisPatch=patch))["userErrors"]
    assert (error["field"], error["message"]) == (["input", "analysisPatch"], "must not nest deeper than 32 levels")


async def test_reports_that_are_not_there(one: Tenant, two: Tenant) -> None:
    """Another run's result, another organization's, one without a report, and no identifier at all."""
    run, result, _ = await scored(one)
    other_run, other, _ = await scored(two)
    elsewhere, _, _ = await scored(one)
    pending = await created(one, {"companyName": "A"})
    for run_id, result_id in (
        (elsewhere, result),
        (other_run, other),
        (run, other),
        (other_run, result),
        (pending["id"], pending["results"]["nodes"][0]["id"]),
        (run, "nonsense"),
        ("nonsense", result),
    ):
        payload = await edit(one, run_id, result_id, bpoPrefix="x")
        assert payload["userErrors"] == [{"code": "NOT_FOUND", "message": "Not found", "field": ["resultId"]}]
    assert await two.rows(CXReportRevision.revision) == [(1,)]
