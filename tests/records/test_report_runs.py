"""Runs of reports: files of one set of rows, all or none, for who may read them when they are made."""

from __future__ import annotations

import asyncio
import csv
import zipfile
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest

from contract.criteria import ListQuery
from contract.limits import REPORT_RUN_DAYS
from jobs import report_runs
from storage.base import new_id, now
from storage.queries import jobs
from storage.tables import Deal, Event, File, Job, PipelineStage, ReportRun
from tests.isolation.requests import ERRORS, Case, Rest, q
from tests.isolation.surfaces import Surfaces
from tests.support.record_types import RecordType
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

CREATE = f"mutation($i: ReportCreateInput!) {{ reportCreate(input: $i) {{ report {{ id }} {ERRORS} }} }}"
RUN = f"""mutation($id: ID!, $f: [ReportFormat!]! = [PDF]) {{
  reportRun(id: $id, formats: $f) {{ run {{ id status requestedBy }} job {{ id status }} {ERRORS} }} }}"""
FILES = "files { id name contentType bytes sha256 contentPath uploadedBy }"
SHOWN = f"id status error createdAt finishedAt requestedBy report {{ id }} job {{ status }} {FILES}"
READ = f"query($id: ID!) {{ reportRun(id: $id) {{ {SHOWN} }} }}"
DELETE = f"mutation($id: ID!) {{ reportDelete(id: $id) {{ deletedId {ERRORS} }} }}"
AT = datetime(2026, 3, 15, 12, tzinfo=UTC)
ENDED = ("SUCCEEDED", "FAILED")


async def saved(tenant: Tenant, **fields: Any) -> str:
    made = await tenant.ask(CREATE, i={"name": "Pipeline / stage", "kind": "PIPELINE_BY_STAGE", **fields})
    assert made["userErrors"] == []
    return str(made["report"]["id"])


async def queued(tenant: Tenant, report: str, *formats: str) -> str:
    asked = await tenant.ask(RUN, id=report, f=list(formats or ("PDF",)))
    assert asked["userErrors"] == []
    assert (asked["run"]["status"], asked["job"]["status"]) == ("QUEUED", "QUEUED")
    return str(asked["run"]["id"])


async def ended(tenant: Tenant, *runs: str, role: str = "member") -> list[Any]:
    """The runs once they have ended, by a worker that works meanwhile."""
    async with tenant.gateway.runtime.working(), asyncio.timeout(120):
        while True:
            found = [await tenant.ask(READ, tenant.headers(role), id=run) for run in runs]
            if all(run["status"] in ENDED for run in found):
                return found
            await asyncio.sleep(0.05)


async def content(tenant: Tenant, file: Any) -> Any:
    response = await tenant.gateway.http.get(file["contentPath"], headers=tenant.headers())
    assert response.status_code == 200
    assert len(response.content) == file["bytes"]
    return response


async def test_a_run_makes_files_of_the_same_rows(one: Tenant) -> None:
    stage = PipelineStage(name="=Late", probability=50)
    await one.add(stage)
    await one.add(
        Deal(name="a", stage_id=stage.id, value=Decimal("1234567.5"), currency="EUR"),
        Deal(name="b", stage_id=stage.id, value=Decimal("1.25"), currency="USD"),
        Deal(name="c", stage_id=stage.id, value=Decimal("999999999999999.9999"), currency="JPY"),
    )
    report = await saved(one)
    run = await queued(one, report, "CSV", "PDF", "SPREADSHEET")
    [done] = await ended(one, run)
    assert (done["status"], done["error"], done["report"]["id"]) == ("SUCCEEDED", None, report)
    assert (done["requestedBy"], done["job"]["status"]) == (one.subject(), "SUCCEEDED")
    assert done["finishedAt"] > done["createdAt"]
    kinds = [file["contentType"] for file in done["files"]]
    assert kinds == [
        "text/csv",
        "application/pdf",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ]
    day = now().date().isoformat()
    assert [file["name"] for file in done["files"]] == [f"Pipeline stage - {day}.{s}" for s in ("csv", "pdf", "xlsx")]
    table, pdf, book = [await content(one, file) for file in done["files"]]
    assert table.headers["content-disposition"].startswith("attachment")
    assert list(csv.reader(table.text.splitlines()))[1:] == [
        ["'=Late", "EUR", "1", "1234567.5", "617283.75"],
        ["'=Late", "JPY", "1", "999999999999999.9999", "499999999999999.99995"],
        ["'=Late", "USD", "1", "1.25", "0.625"],
    ]
    assert pdf.content.startswith(b"%PDF-1.7")
    sheet = zipfile.ZipFile(BytesIO(book.content)).read("xl/worksheets/sheet1.xml").decode()
    assert "<v>1234567.5</v>" in sheet
    assert "<f>" not in sheet  # a name that begins like a formula is a text
    texts = zipfile.ZipFile(BytesIO(book.content)).read("xl/sharedStrings.xml").decode()
    assert all(f"<t>{text}</t>" in texts for text in ("'=Late", "999999999999999.9999", "Sum in EUR", "Total"))
    told = [type for (type,) in await one.rows(Event.type)]
    assert (told.count("report_run"), told.count("file_uploaded")) == (1, 3)


async def test_a_run_is_of_the_rows_of_its_moment_and_stays_when_the_report_goes(one: Tenant) -> None:
    report = await saved(one)
    run = await queued(one, report)
    await one.add(Deal(name="later", value=Decimal(7), currency="EUR"))
    [done] = await ended(one, run)
    assert [file["contentType"] for file in done["files"]] == ["application/pdf"]
    listed = f"query($id: ID!) {{ report(id: $id) {{ runs {{ nodes {{ {SHOWN} }} totalCount }} }} }}"
    assert (await one.ask(listed, id=report))["runs"] == {"nodes": [done], "totalCount": 1}
    assert (await one.ask(DELETE, id=report))["userErrors"] == []
    assert await one.ask(READ, id=run) == {**done, "report": None}
    assert (await content(one, done["files"][0])).content.startswith(b"%PDF")


async def test_what_leads_nowhere_says_so_when_it_is_asked_for_and_when_it_runs(one: Tenant) -> None:
    stage = PipelineStage(name="Old")
    await one.add(stage)
    report, gone = await saved(one, parameters={"stageIds": [stage.id]}), await saved(one)
    runs = [await queued(one, report), await queued(one, gone)]
    drop = f"mutation($id: ID!) {{ pipelineStageDelete(id: $id) {{ {ERRORS} }} }}"
    await one.ask(drop, one.headers("admin"), id=stage.id)
    await one.ask(DELETE, id=gone)
    [refused] = (await one.ask(RUN, id=report))["userErrors"]
    assert (refused["code"], refused["field"], "a stage" in refused["message"]) == ("INVALID_STATE", ["id"], True)
    first, second = await ended(one, *runs)
    assert (first["status"], first["files"]) == ("FAILED", [])
    assert first["error"] == "The report is narrowed to a stage that does not exist any more"
    assert (second["status"], second["error"]) == ("FAILED", "The report does not exist any more")
    assert await one.rows(File.id) == []


async def test_a_run_does_what_its_asker_may_do_when_it_runs(one: Tenant) -> None:
    report = await saved(one, kind="ACTIVITY_BY_OWNER")
    run = await queued(one, report)
    await one.ask(
        f'mutation {{ memberDeactivate(id: "{one.subject()}") {{ member {{ state }} {ERRORS} }} }}',
        one.headers("admin"),
    )
    [done] = await ended(one, run, role="admin")
    assert (done["status"], done["files"]) == ("FAILED", [])
    assert done["error"] == "Who asked for it may not read any more what the report tells"


async def test_files_of_activities_are_for_who_may_read_these(one: Tenant) -> None:
    """As the rows are: what the file has is no less private (decision 850)."""
    runs = [
        await queued(one, await saved(one, kind=kind), "CSV") for kind in ("ACTIVITY_BY_OWNER", "PIPELINE_BY_STAGE")
    ]
    narrow, plain = await ended(one, *runs)
    reader, other = await one.scoped("deals:read", name="reader"), await one.scoped("api:read", name="other")
    for headers, run, status in ((reader, narrow, 200), (other, narrow, 404), (other, plain, 200)):
        [file] = run["files"]
        answer = await one.gateway.http.get(file["contentPath"], headers=headers)
        assert answer.status_code == status
    shown = await one.ask(READ, other, id=narrow["id"])
    assert (shown["status"], shown["files"]) == ("SUCCEEDED", [])


async def test_without_a_place_for_the_files_there_are_none(one: Tenant) -> None:
    run = await queued(one, await saved(one), "CSV", "PDF")
    ports = one.gateway.runtime.ports
    object.__setattr__(ports, "files_quota", 100)
    try:
        [done] = await ended(one, run)
    finally:
        object.__setattr__(ports, "files_quota", type(ports).__dataclass_fields__["files_quota"].default)
    assert (done["status"], done["files"]) == ("FAILED", [])
    assert "more than the 100 bytes" in done["error"]
    assert await one.rows(File.id) == []


async def test_a_run_whose_worker_died_too_often_has_failed(one: Tenant) -> None:
    """Nobody wrote its end: its job says where it stands, and once that is forgotten it was given up."""
    run = await queued(one, await saved(one))
    [(job_id,)] = await one.rows(ReportRun.job_id)
    async with one.gateway.world.database.writing(one.id) as session:
        job = await jobs.find(session, job_id, lock=True)
        assert job is not None
        await session.update(job, status="failed", error="It was cut off", finished_at=now())
        await jobs.remove(session, job_id)
    shown = await one.ask(READ, id=run)
    assert (shown["status"], shown["error"], shown["finishedAt"] is None) == ("FAILED", "It was cut off", False)
    async with one.gateway.world.database.writing(one.id) as session:
        await session.delete(job)
    shown = await one.ask(READ, id=run)
    assert (shown["status"], shown["job"]) == ("FAILED", None)


async def test_what_is_wrong_with_the_formats_is_told_and_nothing_is_queued(one: Tenant) -> None:
    report = await saved(one)
    for formats in ([], ["PDF", "PDF"]):
        [problem] = (await one.ask(RUN, id=report, f=formats))["userErrors"]
        assert (problem["code"], problem["field"]) == ("VALIDATION", ["formats"])
    [problem] = (await one.ask(RUN, id=new_id()))["userErrors"]
    assert problem["code"] == "NOT_FOUND"
    assert await one.rows(ReportRun.id) == await one.rows(Job.id) == []


async def test_runs_of_many_reports_are_a_constant_number_of_statements(one: Tenant) -> None:
    document = f"{{ reports {{ nodes {{ runs(first: 2) {{ nodes {{ {SHOWN} }} }} }} }} }}"
    counts = []
    for _ in range(2):
        for _ in range(3):
            await queued(one, await saved(one))
        with statements(one.gateway.world.database) as sent:
            await one.ask(document)
        counts.append(len(sent))
    assert counts[0] == counts[1]


async def test_old_runs_are_forgotten(one: Tenant) -> None:
    report = await saved(one)
    old = await queued(one, report)
    kept = await queued(one, report)
    async with one.gateway.world.database.writing(one.id) as session:
        row = await session.find(ReportRun, id=old)
        assert row is not None
        await session.update(row, created_at=now() - timedelta(days=REPORT_RUN_DAYS, seconds=1))
    assert await report_runs.prune(one.gateway.world.database, one.id) is True
    assert await report_runs.prune(one.gateway.world.database, one.id) is False
    assert await one.rows(ReportRun.id) == [(kept,)]


QUEUED = ["run_id", "job_id", "status_url"]
KEYS = ["id", "report_id", "status", "files", "mail", "error", "created_at", "finished_at"]


async def _run(surfaces: Surfaces) -> None:
    made = (await surfaces.rest("POST", "/reports", {"name": "R", "kind": "pipeline_by_stage"})).json()
    path = f"/reports/{made['id']}/run"
    asked = await surfaces.rest("POST", path, {"formats": ["csv", "spreadsheet"]})
    assert list(asked.json()) == QUEUED
    assert asked.headers["location"] == f"/report-runs/{asked.json()['run_id']}"
    assert asked.json()["status_url"] == f"/jobs/{asked.json()['job_id']}"
    by_default = (await surfaces.rest("POST", path, None)).json()
    found: dict[str, Any] = {}
    async with surfaces.gateway.runtime.working(), asyncio.timeout(120):
        for run, files in ((asked.json(), 2), (by_default, 1)):
            path_of_run = f"/report-runs/{run['run_id']}"
            while (found := (await surfaces.rest("GET", path_of_run)).json())["status"] in ("queued", "running"):  # noqa: ASYNC110  # a worker's own pace
                await asyncio.sleep(0.05)
            assert (list(found), found["status"], len(found["files"])) == (KEYS, "succeeded", files)
    twin = await surfaces.graphql(READ, id=by_default["run_id"])
    assert [file["id"] for file in found["files"]] == [file["id"] for file in twin["files"]]
    assert (twin["status"], twin["report"]["id"]) == ("SUCCEEDED", found["report_id"])
    for body, loc in (({"formats": ["pdf", "pdf"]}, ["body", "formats"]), ({"formats": ["x"]}, ["body", "formats", 0])):
        wrong = await surfaces.rest("POST", path, body)
        assert (wrong.status_code, wrong.json()["detail"][0]["loc"]) == (422, loc), wrong.text
    assert (await surfaces.rest("GET", f"/report-runs/{new_id()}")).status_code == 404


def _row(ids: Any, mark: str) -> ReportRun:
    return ReportRun(formats=["pdf"], requested_by=mark, job_id=new_id(), status="failed", error=mark, finished_at=AT)


RECORD = RecordType(
    typename="ReportRun",
    name="report run",
    row=_row,
    cases={
        "report_runs.get_report_run": Case(
            "CRM_READ",
            (
                Rest("GET", "/report-runs/<report run>"),
                q("query($id: ID!) { reportRun(id: $id) { id error files { id } } }", id="<report run>"),
            ),
        ),
        "report_runs.runs_of_report": Case(
            "CRM_READ",
            (q("query($id: ID!) { report(id: $id) { id runs { nodes { id error } } } }", id="<saved report>"),),
            below=("reports.get_report",),
            direct=("<saved report>", ListQuery()),
        ),
        "report_runs.run_report": Case(
            "CRM_MANAGE",
            (
                Rest("POST", "/reports/<saved report>/run", {"formats": ["csv"]}),
                q(f"mutation($id: ID!) {{ reportRun(id: $id) {{ run {{ id }} {ERRORS} }} }}", id="<saved report>"),
            ),
        ),
    },
    paths={
        ("POST", "/reports/{report_id}/run"): ("CRM_MANAGE", True, 202, "Mutation.reportRun"),
        ("GET", "/report-runs/{run_id}"): ("CRM_READ", True, 200, "Query.reportRun"),
    },
    keys={("/reports/{report_id}/run", "POST"): QUEUED, ("/report-runs/{run_id}", "GET"): KEYS},
    compared=dict.fromkeys(("Query.reportRun", "Mutation.reportRun"), _run),
)
