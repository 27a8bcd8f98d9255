"""Research runs from end to end: web sites on loopback, a worker, and both surfaces of the whole application."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx
import pytest

import jobs.research
from jobs import attempts
from jobs.cx import copywriting, signals, site
from providers.outbound import Outbound
from storage.queries import artifacts
from storage.tables import Artifact, CXReport, CXReportRevision, ResearchResult, ResearchRun
from storage.tenancy.sessions import TenantSession
from tests.support.companies import HOME, HTML, ask, begin, ended, open_company, open_working, until
from tests.support.gateway import Gateway, open_gateway
from tests.support.web import Asked, Reply

FILES = {
    "PDF": ("application/pdf", b"%PDF-"),
    "SPREADSHEET": ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", b"PK"),
    "DECK": ("application/vnd.openxmlformats-officedocument.presentationml.presentation", b"PK"),
}


@pytest.fixture
async def gateway(database_url: str, tmp_path: Path) -> AsyncIterator[Gateway]:
    async with open_working(database_url, tmp_path / "data") as gateway:
        yield gateway


async def patch(gateway: Gateway, run_id: str, result_id: str, body: Any) -> httpx.Response:
    headers = gateway.world.session("member@one", gateway.world.one)
    return await gateway.rest(
        "PATCH", f"/customer-intelligence/runs/{run_id}/results/{result_id}/cx-report", headers, body
    )


async def fetch(gateway: Gateway, report: dict[str, Any], revision: int) -> dict[str, bytes]:
    """The three files of the report, each what the report says of it."""
    found = {}
    for artifact in report["artifacts"]:
        response = await gateway.http.get(artifact["url"])
        assert response.status_code == 200
        content_type, beginning = FILES[artifact["kind"]]
        assert response.headers["content-type"] == artifact["contentType"] == content_type
        assert response.content.startswith(beginning)
        assert (len(response.content), artifact["revision"]) == (artifact["bytes"], revision)
        assert hashlib.sha256(response.content).hexdigest() == artifact["sha256"]
        found[artifact["kind"]] = response.content
    assert list(found) == list(FILES)
    return found


def slides(deck: bytes) -> str:
    with ZipFile(BytesIO(deck)) as archive:
        return "".join(archive.read(n).decode() for n in archive.namelist() if n.startswith("ppt/slides/slide"))


async def test_from_a_web_site_to_files_and_after_an_edit_to_others(gateway: Gateway) -> None:
    async with open_company() as web:
        domain = f"127.0.0.1:{web.port}"
        run_id = await begin(gateway, ("Harbor Coffee", domain))
        run = await until(gateway, run_id, ended)

        # robots.txt closes the questions, and one page is gone; nothing is asked for twice.
        assert web.paths == ["/robots.txt", "/", "/contact", "/help", "/about", "/privacy", "/logo.png"]
        assert {request.headers["user-agent"] for request in web.asked} == {"crm-gateway/0.0.1"}
    assert run["status"] == "COMPLETED"
    [result] = run["results"]["nodes"]
    assert (result["companyName"], result["domain"], result["status"]) == ("Harbor Coffee", domain, "SCORED")
    assert result["error"] is None
    scores = {factor["key"]: factor["score"] for factor in result["factors"]}
    response = scores.pop("response_time")
    assert scores == {
        "contact_channels": 80,
        "contact_page": 100,
        "self_service": 70,
        "page_weight": 100,
        "mobile": 25,
        "accessibility": 100,
        "languages": 60,
        "security": 0,
        "structured_data": 40,
        "transparency": 67,
        "reliability": 75,
    }
    weights = {factor["key"]: factor["weight"] for factor in result["factors"]}
    total = sum(round(100 * weights[key]) * score for key, score in (scores | {"response_time": response}).items())
    assert result["score"] == (total + 50) // 100
    report = result["cxReport"]
    assert report["revision"] == 1
    assert report["render"]["status"] == "SUCCEEDED"
    assert report["render"]["kind"] == "cx_report_render"
    assert report["brand"]["company"] == "Harbor Coffee"
    assert report["brand"]["colors"] == {"primary": "#0b5d4e", "accent": "#c8102e"}
    assert report["brand"]["logo"].startswith("data:image/png;base64,")
    assert report["copyBlobs"]["headline"].startswith(f"Harbor Coffee scores {result['score']} of 100")
    first = await fetch(gateway, report, 1)
    assert "Harbor Coffee scores" in slides(first["DECK"])

    edit = {"copy_blobs": {"headline": "Zażółć gęślą jaźń: 港コーヒー", "gaps": None}, "bpo_prefix": "Nordic CX"}
    answer = await patch(gateway, run_id, result["id"], edit)
    assert answer.status_code == 202
    body = answer.json()
    assert body == {
        "job_id": body["job_id"],
        "run_id": run_id,
        "result_id": result["id"],
        "revision": 2,
        "status": "queued",
        "status_url": f"/jobs/{body['job_id']}",
    }
    assert answer.headers["location"] == body["status_url"]
    run = await until(gateway, run_id, ended)
    again = run["results"]["nodes"][0]["cxReport"]
    assert (again["revision"], again["bpoPrefix"], again["render"]["id"]) == (2, "Nordic CX", body["job_id"])
    assert again["render"]["status"] == "SUCCEEDED"
    expected = {name: text for name, text in report["copyBlobs"].items() if name != "gaps"}
    assert again["copyBlobs"] == expected | {"headline": "Zażółć gęślą jaźń: 港コーヒー"}
    assert (again["analysis"], again["brand"]) == (report["analysis"], report["brand"])
    second = await fetch(gateway, again, 2)
    assert "港コーヒー" in slides(second["DECK"])
    assert all(second[kind] != first[kind] for kind in FILES)
    assert {a["url"] for a in again["artifacts"]}.isdisjoint(a["url"] for a in report["artifacts"])
    for artifact in report["artifacts"]:
        assert (await gateway.http.get(artifact["url"])).status_code == 404
    headers = gateway.world.session("member@one", gateway.world.one)
    assert (await gateway.rest("GET", body["status_url"], headers)).json()["status"] == "succeeded"


async def test_companies_that_cannot_be_looked_at(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its reason, none of them in the way of the others."""
    monkeypatch.setattr(jobs.research, "_TRIES", 1)
    closed = Reply(b"User-agent: crm-gateway\nDisallow: /\n", headers={"Content-Type": "text/plain"})
    async with (
        open_company() as good,
        open_company(**{"robots.txt": closed}) as shut,
        open_company(home=Reply(b"%PDF", headers={"Content-Type": "application/pdf"})) as pdf,
        open_company(home=Reply(b"no", 403, HTML)) as forbidding,
        open_company(home=Reply(b"no", 503, HTML)) as down,
        open_company(home=Reply(status=302, headers={"Location": "http://10.0.0.1/"})) as leading_inside,
    ):
        ports = [web.port for web in (good, shut, pdf, forbidding, down, leading_inside)]
        domains = [f"127.0.0.1:{port}" for port in ports]
        run_id = await begin(
            gateway,
            *((f"Company {n}", domain) for n, domain in enumerate(domains)),
            ("No domain", None),
            ("In", "10.0.0.1"),
        )
        run = await until(gateway, run_id, ended)
        assert shut.paths == ["/robots.txt"]
        assert down.paths == ["/robots.txt", "/"]
    results = run["results"]["nodes"]
    assert run["status"] == "PARTIAL"
    assert [result["status"] for result in results] == ["SCORED"] + ["FAILED"] * 7
    assert [result["error"] for result in results] == [
        None,
        f"the robots.txt of {domains[1]} asks not to be read",
        "127.0.0.1 answers with another type of content",
        f"{domains[3]} answers with status 403",
        f"{domains[4]} answers with status 503",
        "10.0.0.1 is not on the public internet",
        "No web site was named, and none is guessed",
        "10.0.0.1 is not on the public internet",
    ]
    assert [(r["score"] is None, r["cxReport"] is None) for r in results] == [(False, False)] + [(True, True)] * 7
    response = await patch(gateway, run_id, results[1]["id"], {"bpo_prefix": "x"})
    assert (response.status_code, response.json()["detail"]) == (404, "Not found")


async def test_what_a_redirect_leads_to_is_asked_for_its_robots_txt_first(gateway: Gateway) -> None:
    """Home pages and the pages behind them: what is closed is not read, on another host or on the same one."""
    closed = Reply(b"User-agent: *\nDisallow: /\n", headers={"Content-Type": "text/plain"})
    async with open_company(**{"robots.txt": closed}) as shut:
        away = Reply(status=302, headers={"Location": f"{shut.url}/"})
        inside = Reply(status=302, headers={"Location": "/private/help"})
        async with open_company(home=away) as moved, open_company(contact=away, help=inside) as partly:
            domains = [f"127.0.0.1:{web.port}" for web in (moved, partly)]
            run_id = await begin(gateway, *((f"Company {n}", domain) for n, domain in enumerate(domains)))
            run = await until(gateway, run_id, ended)
            assert (moved.paths, set(shut.paths)) == (["/robots.txt", "/"], {"/robots.txt"})
            assert partly.paths == ["/robots.txt", "/", "/contact", "/help", "/about", "/privacy", "/logo.png"]
    first, second = run["results"]["nodes"]
    assert (first["status"], first["error"]) == ("FAILED", f"the robots.txt of {domains[0]} asks not to be read")
    assert second["status"] == "SCORED"


async def test_a_run_without_a_scored_company_has_failed(gateway: Gateway) -> None:
    run_id = await begin(gateway, ("One", None), ("Two", None))
    run = await until(gateway, run_id, ended)

    assert run["status"] == "FAILED"
    events = (await ask(gateway, "{ events { nodes { type data } } }"))["events"]["nodes"]
    assert [event["type"] for event in events] == ["research_run_created", "research_run_completed"]
    assert events[1]["data"] == {"run_id": run_id, "name": "Cafés", "status": "failed"}


async def test_trouble_that_passes_is_tried_again(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_FIRST_PAUSE", 0.05)
    asked: list[Asked] = []

    def home(request: Asked) -> Reply:
        asked.append(request)
        return Reply(b"later", 503, HTML) if len(asked) == 1 else Reply(HOME.encode(), headers=HTML)

    async with open_company(home=home) as web:
        run_id = await begin(gateway, ("Harbor Coffee", f"127.0.0.1:{web.port}"))
        run = await until(gateway, run_id, ended)

    assert (run["status"], len(asked)) == ("COMPLETED", 2)


async def test_a_run_is_cancelled_while_it_works(gateway: Gateway) -> None:
    """What is read stops at its next step, what waits is taken back, and neither leaves a result."""
    arrived, cancelled = asyncio.Event(), asyncio.Event()

    def home(_request: Asked) -> Reply:
        arrived.set()
        return Reply(HOME.encode(), headers=HTML, until=cancelled)

    async with open_company(home=home) as web:
        domain = f"127.0.0.1:{web.port}"
        run_id = await begin(gateway, *((f"Company {n}", domain) for n in range(12)))
        await asyncio.wait_for(arrived.wait(), 60)
        cancel = (
            "mutation($id: ID!) { researchRunCancel(id: $id) { run { status } userErrors { code message field } } }"
        )
        first = (await ask(gateway, cancel, id=run_id))["researchRunCancel"]
        second = (await ask(gateway, cancel, id=run_id))["researchRunCancel"]
        assert first == second == {"run": {"status": "CANCELLED"}, "userErrors": []}
        cancelled.set()
        await asyncio.sleep(1.5)
        assert "/contact" not in web.paths
    run = await until(gateway, run_id, ended)
    assert run["status"] == "CANCELLED"
    assert {(r["status"], r["error"]) for r in run["results"]["nodes"]} == {
        ("FAILED", "The run was cancelled before the company was looked at")
    }
    events = (await ask(gateway, "{ events { nodes { type } } }"))["events"]["nodes"]
    assert [event["type"] for event in events] == ["research_run_created", "research_run_cancelled"]


async def _scored(gateway: Gateway) -> tuple[ResearchRun, ResearchResult]:
    """A run with a result that was scored long ago."""
    run = ResearchRun(name="Old", status="completed", result_count=1)
    result = ResearchResult(run_id=run.id, position=0, company_name="Ålesund Kaffe", status="scored", score=61)
    report = CXReport(result_id=result.id)
    content = CXReportRevision(
        report_id=report.id, revision=1, copy_blobs={"headline": "One"}, analysis={}, brand={"company": "Kaffe"}
    )
    await gateway.world.add(gateway.world.one, run, result, report, content)
    return run, result


@pytest.mark.parametrize("public", ["https://crm.example/api", "https://crm.example/api/"])
async def test_files_have_the_outside_address_where_there_is_one(
    database_url: str, tmp_path: Path, public: str
) -> None:
    """Decision 96; without the setting the tests above read files by their paths."""
    async with open_gateway(database_url, tmp_path / "data", public_url=public) as gateway:
        async with gateway.runtime.working():
            run, result = await _scored(gateway)
            await patch(gateway, run.id, result.id, {"bpo_prefix": "Out"})
            found = await until(gateway, run.id, _has_files)
        urls = [artifact["url"] for artifact in found["results"]["nodes"][0]["cxReport"]["artifacts"]]
        assert len(urls) == 3
        for url in urls:
            path = url.removeprefix("https://crm.example/api")
            assert re.fullmatch("/media/[0-9a-f]{32}", path)
            assert (await gateway.http.get(path)).status_code == 200


async def test_an_edit_reaches_the_render_step_only(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """No address is called, no page read, nothing scored, no copy drafted, and no other work is queued."""

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("an edit came here")

    monkeypatch.setattr(Outbound, "request", never)
    for module, name in (
        (site.SiteReader, "read"),
        (site.SiteReader, "logo"),
        (signals, "assess"),
        (copywriting, "draft"),
        (jobs.research, "assess"),
        (jobs.research, "draft"),
        (jobs.research, "brand_of"),
        (jobs.research, "SiteReader"),
    ):
        monkeypatch.setattr(module, name, never)
    run, result = await _scored(gateway)
    edited = await patch(gateway, run.id, result.id, {"copy_blobs": {"headline": "Two"}})
    assert edited.status_code == 202
    found = await until(gateway, run.id, lambda run: bool(run["results"]["nodes"][0]["cxReport"]["artifacts"]))
    report = found["results"]["nodes"][0]["cxReport"]
    assert "Two" in slides((await fetch(gateway, report, 2))["DECK"])
    jobs_there = (await gateway.world.dump())["jobs"]
    assert len(jobs_there) == 1
    assert "cx_report_render" in repr(jobs_there)


async def test_the_last_good_files_stay_where_a_render_fails(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """All three files are there or none: the third one cannot be stored, so the first two are taken back."""
    run, result = await _scored(gateway)
    await patch(gateway, run.id, result.id, {"bpo_prefix": "Good"})
    good = (await until(gateway, run.id, _has_files))["results"]["nodes"][0]["cxReport"]

    store = gateway.runtime.ports.artifacts
    put, stored = store.put, []

    async def failing(name: str, data: bytes) -> None:
        if name.endswith(".pptx"):
            raise OSError("the disk is full")
        stored.append(name)
        await put(name, data)

    monkeypatch.setattr(store, "put", failing)
    answer = await patch(gateway, run.id, result.id, {"bpo_prefix": "Bad"})
    job = answer.json()["job_id"]
    failed = await until(gateway, run.id, lambda run: run["results"]["nodes"][0]["cxReport"]["render"]["error"])
    assert failed["results"]["nodes"][0]["cxReport"]["render"] == {
        "id": job,
        "kind": "cx_report_render",
        "status": "QUEUED",
        "error": "Internal error",
    }
    assert len(stored) == 2
    folder = gateway.runtime.settings.data_dir / "artifacts"
    assert [name for name in stored if (folder / name).exists()] == []
    now = (await until(gateway, run.id, lambda _: True))["results"]["nodes"][0]["cxReport"]
    assert (now["revision"], now["bpoPrefix"]) == (3, "Bad")
    assert now["artifacts"] == good["artifacts"]
    await fetch(gateway, now, 2)


async def test_files_that_were_published_stay_whatever_ends_the_run_then(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that breaks off after its commit must not take back what readers see by now."""
    publish, published = artifacts.publish, []

    async def noted(session: TenantSession, *files: Artifact) -> list[str]:
        published.extend(files)
        return await publish(session, *files)

    def broken(_organization: str) -> None:
        if published:
            gateway.runtime.database.committed.remove(broken)
            raise ConnectionResetError

    monkeypatch.setattr(artifacts, "publish", noted)
    run, result = await _scored(gateway)
    gateway.runtime.database.committed.append(broken)
    await patch(gateway, run.id, result.id, {"bpo_prefix": "Kept"})
    await until(gateway, run.id, _has_files)
    found = await until(gateway, run.id, _is_rendered)  # by the run that comes after the broken one
    assert broken not in gateway.runtime.database.committed
    await fetch(gateway, found["results"]["nodes"][0]["cxReport"], 2)


def _is_rendered(run: dict[str, Any]) -> bool:
    return bool(run["results"]["nodes"][0]["cxReport"]["render"]["status"] == "SUCCEEDED")


def _has_files(run: dict[str, Any]) -> bool:
    return bool(run["results"]["nodes"][0]["cxReport"]["artifacts"])
