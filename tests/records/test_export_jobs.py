"""Exports as jobs: a file with each record once or none, for who may read the list alone (decisions 850 to 853)."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
import pytest
from sqlalchemy import select

from contract.limits import EXPORT_DAYS
from identity.file_links import SIGNED
from jobs import exports_upkeep
from resolvers import export_reading, export_work
from storage.base import new_id, now
from storage.queries import members
from storage.tables import Account, Activity, Campaign, DataExport, Deal, Event, File, FileUsage, Job, Leftover
from tests.isolation.requests import ERRORS, Case, Rest, put, q
from tests.isolation.surfaces import Surfaces
from tests.records.test_files import call
from tests.support.due import work_off
from tests.support.record_types import RecordType
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

FILE = "file { id name contentType bytes sha256 uploadedBy folderId }"
SHOWN = (
    f"id kind format status rows complete error requestedBy createdAt finishedAt {FILE} job {{ id status progress }}"
)
START = f"mutation($i: DataExportInput!) {{ dataExportCreate(input: $i) {{ dataExport {{ {SHOWN} }} {ERRORS} }} }}"
READ = f"query($id: ID!) {{ dataExport(id: $id) {{ {SHOWN} }} }}"


async def started(tenant: Tenant, kind: str = "DEAL", **how: Any) -> str:
    done = await tenant.ask(START, i={"kind": kind, **how})
    assert done["userErrors"] == [], done
    made = done["dataExport"]
    assert (made["status"], made["rows"], made["complete"], made["file"]) == ("QUEUED", 0, False, None)
    return str(made["id"])


async def exported(tenant: Tenant, kind: str = "DEAL", **how: Any) -> dict[str, Any]:
    export_id = await started(tenant, kind, **how)
    await work_off(tenant.gateway)
    done: dict[str, Any] = await tenant.ask(READ, id=export_id)
    return done


async def content(tenant: Tenant, done: dict[str, Any]) -> bytes:
    answer = await call(tenant, "GET", f"/files/{done['file']['id']}/content")
    assert answer.status_code == 200, answer.text
    assert len(answer.content) == done["file"]["bytes"]
    return answer.content


def lines(text: bytes) -> list[Any]:
    return [orjson.loads(line) for line in text.splitlines()]


async def refused(tenant: Tenant, **input: Any) -> list[tuple[str, list[str]]]:
    done = await tenant.ask(START, i=input)
    assert done["dataExport"] is None
    assert await tenant.rows(DataExport.id) == await tenant.rows(Job.id) == []
    return [(problem["code"], problem["field"]) for problem in done["userErrors"]]


async def test_a_list_becomes_a_file_with_its_own_filter(one: Tenant) -> None:
    await one.add(
        Deal(name="=1+1", value=Decimal("999999999999999.9999"), currency="EUR"),
        Deal(name="b", value=Decimal("0.0001"), currency="EUR"),
        Deal(name="c", value=Decimal(7), currency="USD", status="won"),
    )
    done = await exported(
        one, format="JSONL", columns=["id", "name", "value", "closeDate"], deals={"currency": {"eq": "EUR"}}
    )
    assert (done["status"], done["complete"], done["rows"], done["error"]) == ("SUCCEEDED", True, 2, None)
    assert (done["job"]["status"], done["job"]["progress"]) == ("SUCCEEDED", 1.0)
    assert (done["requestedBy"], done["finishedAt"] > done["createdAt"]) == (one.subject(), True)
    day = now().date().isoformat()
    named = {"name": f"deals-{day}.jsonl", "contentType": "application/jsonl", "uploadedBy": one.subject()}
    assert done["file"].items() >= named.items()
    text = await content(one, done)
    assert b'"value":999999999999999.9999' in text
    assert b'"value":0.0001' in text
    assert [(list(row), row["name"]) for row in sorted(lines(text), key=lambda row: str(row["name"]))] == [
        (["id", "name", "value", "close_date"], name) for name in ("=1+1", "b")
    ]
    both = {
        "or": [{"status": {"eq": "WON"}}, {"value": {"lt": "1"}}],
        "not": {"createdAt": {"gt": "2099-01-01T00:00:00Z"}},
    }
    table = await exported(one, columns=["name"], deals=both)
    assert (await content(one, table)).decode().split() in (["name", "b", "c"], ["name", "c", "b"])
    table = await exported(one, columns=["name", "value"])
    rows = list(csv.reader(io.StringIO((await content(one, table)).decode())))
    assert ["'=1+1", "999999999999999.9999"] in rows
    told = await one.rows(Event.type, Event.data)
    [event] = [data for type, data in told if type == "export_completed" and data["export_id"] == done["id"]]
    assert event == {"export_id": done["id"], "kind": "deal", "file_id": done["file"]["id"], "rows": 2}


async def test_the_file_of_a_list_is_what_the_stream_writes(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_reading, "EXPORT_BATCH", 3)
    monkeypatch.setattr(export_work, "EXPORT_PIECE_BYTES", 1)
    await one.add(*(Account(name=f"a{n}", domain=f"{n}.example") for n in range(10)), Activity(subject="m"))
    await one.add(Campaign(name="c", provider="local"), Deal(name="d", competitors=["x"]))
    for kind, noun in (("ACCOUNT", "accounts"), ("MEETING", "meetings"), ("CAMPAIGN", "campaigns"), ("LEAD", "leads")):
        for form in ("CSV", "JSONL"):
            done = await exported(one, kind, format=form)
            stream = await call(one, "GET", f"/export/{noun}?format={form.lower()}")
            assert (await content(one, done), done["complete"]) == (stream.content, True)


async def test_what_comes_after_the_start_is_not_in_it_and_what_goes_is_no_gap(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_reading, "EXPORT_BATCH", 2)
    deals = [Deal(name=f"{n}") for n in range(5)]
    await one.add(*deals)
    deals.sort(key=lambda deal: deal.id)
    export_id = await started(one, columns=["name"])
    await one.add(Deal(name="later"))
    await one.ask("mutation($id: ID!) { dealDelete(id: $id) { deletedId } }", id=deals[2].id)
    await work_off(one.gateway)
    done = await one.ask(READ, id=export_id)
    assert (await content(one, done)).decode().split() == ["name", *(deals[n].name for n in (0, 1, 3, 4))]
    assert (done["rows"], done["complete"]) == (4, True)


async def test_an_export_of_nothing_is_a_file(one: Tenant) -> None:
    table, nothing = await exported(one, columns=["id"]), await exported(one, format="JSONL")
    assert (await content(one, table), table["rows"], table["complete"]) == (b"id\r\n", 0, True)
    assert (nothing["file"]["bytes"], nothing["complete"]) == (0, True)


async def test_an_export_that_was_cut_off_goes_on_where_it_stood(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever step is the last of an attempt: each record is in the file once, and the bytes of no other attempt."""
    monkeypatch.setattr(export_reading, "EXPORT_BATCH", 2)
    monkeypatch.setattr(export_work, "EXPORT_PIECE_BYTES", 1)
    monkeypatch.setattr("jobs.attempts.pause", lambda _: timedelta())
    await one.add(*(Deal(name=f"{n}") for n in range(9)))
    store = one.gateway.runtime.ports.artifacts
    put_stream, calls = store.put_stream, []

    async def cut_off(name: str, pieces: Any) -> None:
        calls.append(name)
        if len(calls) % 2:
            if len(calls) % 4 == 1:  # all of it lies there, and nobody knows
                await put_stream(name, pieces)
            raise OSError("away")
        await put_stream(name, pieces)

    monkeypatch.setattr(store, "put_stream", cut_off)
    export_id = await started(one, columns=["name"])
    seen = []
    for _ in range(16):
        await work_off(one.gateway, most=1)
        seen.append(await one.ask(READ, id=export_id))
        if seen[-1]["status"] == "SUCCEEDED":
            break
    assert all((each["complete"], each["file"]) == (False, None) for each in seen[:-1])
    assert [each["rows"] for each in seen] == sorted(each["rows"] for each in seen)
    assert (await content(one, seen[-1])).decode().split()[:1] == ["name"]
    assert sorted((await content(one, seen[-1])).decode().split()[1:]) == [f"{n}" for n in range(9)]
    assert len(calls) > 6
    async with one.gateway.world.database.directory() as session:
        left = await session.rows(select(Leftover.gone_after, Leftover.storage_name))
    ours = [row for row in left if row.storage_name in calls]
    assert len(ours) == len(calls) - 1  # all pieces are removed, the file alone stays


async def test_pieces_that_are_gone_are_written_again(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_reading, "EXPORT_BATCH", 2)
    monkeypatch.setattr(export_work, "EXPORT_PIECE_BYTES", 1)
    monkeypatch.setattr("jobs.attempts.pause", lambda _: timedelta())
    await one.add(*(Deal(name=f"{n}") for n in range(5)))
    export_id = await started(one, columns=["name"])
    joined, times = export_work._joined, []

    async def gone_once(run: Any, task: Any) -> Any:
        times.append(task)
        if len(times) == 1:
            await run.ports.artifacts.delete(task.made.pieces[1]["name"])
        return await joined(run, task)

    monkeypatch.setattr(export_work, "_joined", gone_once)
    await work_off(one.gateway)
    done = await one.ask(READ, id=export_id)
    assert (done["complete"], done["rows"], len(times)) == (True, 5, 2)
    first, *rows = (await content(one, done)).decode().split()
    assert (first, sorted(rows)) == ("name", [f"{n}" for n in range(5)])


async def test_what_is_wrong_is_told_at_its_field_and_nothing_begins(one: Tenant) -> None:
    wrong = {"accounts": {"name": {"eq": "a"}}}
    assert await refused(one, kind="DEAL", **wrong) == [("VALIDATION", ["input", "accounts"])]
    assert await refused(one, kind="DEAL", deals={}, leads={}) == [("VALIDATION", ["input", "leads"])]
    assert await refused(one, kind="DEAL", columns=["name", "nothing"]) == [("VALIDATION", ["input", "columns", "1"])]
    assert await refused(one, kind="DEAL", columns=["closeDate", "close_date"]) == [
        ("VALIDATION", ["input", "columns", "1"])
    ]
    assert await refused(one, kind="DEAL", columns=[]) == [("VALIDATION", ["input", "columns"])]
    null = {"status": {"in": None}}
    assert await refused(one, kind="DEAL", deals=null) == [("VALIDATION", ["input", "deals", "status", "in"])]
    for body, loc in (
        ({"kind": "deal", "accounts": {"name": "a"}}, ["body", "accounts"]),
        ({"kind": "deal", "columns": ["x"]}, ["body", "columns", 0]),
        ({"kind": "webhook"}, ["body", "kind"]),
        ({"kind": "deal", "format": "xml"}, ["body", "format"]),
        ({"kind": "deal", "deals": {"status": "lost?"}}, ["body", "deals", "status"]),
        ({"kind": "deal", "deals": {"stage": "x"}}, ["body", "deals", "stage"]),
        ({"format": "csv"}, ["body", "kind"]),
    ):
        answer = await call(one, "POST", "/exports", json=body)
        assert (answer.status_code, [each["loc"] for each in answer.json()["detail"]]) == (422, [loc]), body
    assert await one.rows(DataExport.id) == []


async def test_without_a_place_there_is_no_file(one: Tenant) -> None:
    await one.add(*(Deal(name="x" * 100) for _ in range(3)))
    ports = one.gateway.runtime.ports
    object.__setattr__(ports, "files_quota", 100)
    try:
        done = await exported(one)
    finally:
        object.__setattr__(ports, "files_quota", type(ports).__dataclass_fields__["files_quota"].default)
    assert (done["status"], done["complete"], done["file"], done["job"]["status"]) == ("FAILED", False, None, "FAILED")
    assert done["error"] == "The file would be more than what the organization's files may take up"
    assert await one.rows(File.id) == []


async def test_an_export_does_what_its_asker_may_do_when_it_runs(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_reading, "EXPORT_BATCH", 2)
    await one.add(*(Deal(name=f"{n}") for n in range(5)))
    scopes_of, looks = members.scopes_of, []

    async def lost(session: Any, subjects: Any) -> Any:
        looks.append(subjects)
        return await scopes_of(session, subjects) if len(looks) < 4 else {}

    monkeypatch.setattr(export_work.members, "scopes_of", lost)
    done = await exported(one)
    assert (done["status"], done["complete"], done["file"]) == ("FAILED", False, None)
    assert done["error"] == "Who asked for it may not read the list any more"


async def test_two_of_an_organization_run_and_others_wait(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resolvers.export_jobs.EXPORTS_WAITING_MAX", 3)
    first = [await started(one) for _ in range(3)]
    done = await one.ask(START, i={"kind": "DEAL"})
    assert [problem["code"] for problem in done["userErrors"]] == ["INVALID_STATE"]
    for _ in range(2):
        await work_off(one.gateway)
    assert {(await one.ask(READ, id=i))["status"] for i in first} == {"SUCCEEDED"}


async def test_after_seven_days_export_and_file_are_gone(one: Tenant) -> None:
    old, kept = await exported(one), await exported(one)
    database = one.gateway.world.database
    async with database.writing(one.id) as session:
        row = await session.find(DataExport, id=old["id"])
        assert row is not None
        past = now() - timedelta(days=EXPORT_DAYS, seconds=1)
        await session.update(row, created_at=past, finished_at=past)
    assert await exports_upkeep.prune(database, one.id) is True
    assert await exports_upkeep.prune(database, one.id) is False
    assert await one.rows(DataExport.id) == [(kept["id"],)]
    assert await one.rows(File.id) == [(kept["file"]["id"],)]
    assert await one.rows(FileUsage.files, FileUsage.bytes) == [(1, kept["file"]["bytes"])]


LINK = f"mutation($id: ID!) {{ fileLinkCreate(id: $id) {{ url {ERRORS} }} }}"


async def _ways(tenant: Tenant, file_id: str, deal_id: str, folder_id: str, headers: Any) -> dict[str, bool]:
    """On which ways to a file a caller meets this one."""

    async def path(url: str, method: str = "GET") -> bool:
        answer = await call(tenant, method, url, headers)
        assert answer.status_code in (200, 201, 403, 404), answer.text
        return answer.is_success and (file_id in answer.text or "/content" in url or "/links" in url)

    async def field(selection: str, shown: str = file_id, **ids: str) -> bool:
        declared = ", ".join(f"${name}: ID!" for name in ids)
        document = f"query({declared}) {{ {selection} }}" if ids else f"{{ {selection} }}"
        return shown in (await tenant.post(document, headers, **ids)).text

    return {
        "file": await path(f"/files/{file_id}"),
        "content": await path(f"/files/{file_id}/content"),
        "list": await path("/files"),
        "list of a record": await path(f"/files?attached_to={deal_id}"),
        "list of a folder": await path(f"/files?folder_id={folder_id}"),
        "link": await path(f"/files/{file_id}/links", "POST"),
        "link by the other door": SIGNED in (await tenant.post(LINK, headers, id=file_id)).text,
        "timeline by its path": await path(f"/deals/{deal_id}/timeline"),
        "field": await field("file(id: $id) { id }", id=file_id),
        "node": await field("node(id: $id) { id }", id=file_id),
        "files": await field("files { nodes { id } }"),
        "total": await field("files { totalCount }", '"totalCount":1'),
        "of a record": await field("deal(id: $id) { files { nodes { id } totalCount } }", id=deal_id),
        "of a folder": await field("folder(id: $id) { files { nodes { id } } }", id=folder_id),
        "timeline": await field("deal(id: $id) { timeline { nodes { fileId: file { id } } } }", id=deal_id),
        "kinds of items": await field("deal(id: $id) { timeline { nodes { kind } } }", '"FILE"', id=deal_id),
        "search": await field('search(query: "kept", types: [FILE]) { node { id } }'),
    }


@pytest.mark.parametrize(
    ("kind", "with_it", "without"),
    [
        ("MEETING", "deals:read", "api:read"),
        ("ACTIVITY", "activities:read", "leads:read outreach:read"),
        ("CAMPAIGN", "activities:read outreach:read", "activities:read"),
    ],
)
async def test_a_file_is_shown_to_who_may_read_its_list_and_on_no_way_to_others(
    one: Tenant, kind: str, with_it: str, without: str
) -> None:
    deal = Deal(name="d")
    await one.add(deal, Activity(subject="m"), Campaign(name="c", provider="local"))
    done = await exported(one, kind)
    file_id = done["file"]["id"]
    folder = (await call(one, "POST", "/folders", json={"name": "f"})).json()["id"]
    moved = await call(one, "PATCH", f"/files/{file_id}", json={"name": "kept.csv", "folder_id": folder})
    attached = await call(one, "PUT", f"/records/{deal.id}/files/{file_id}")
    assert (moved.status_code, attached.status_code) == (200, 204)
    for scopes, is_shown in ((with_it, True), (without, False)):
        headers = await one.scoped(*scopes.split(), name=scopes.replace(":", " "))
        ways = await _ways(one, file_id, deal.id, folder, headers)
        assert set(ways.values()) == {is_shown}, ways
        export = await call(one, "GET", f"/exports/{done['id']}", headers)
        assert export.status_code == (200 if is_shown else 403)
        shown = await one.body("query($id: ID!) { dataExport(id: $id) { file { id } } }", headers, id=done["id"])
        assert ("errors" in shown, file_id in str(shown)) == (not is_shown, is_shown)
        by_node = await one.body("query($id: ID!) { node(id: $id) { id } }", headers, id=done["id"])
        assert (by_node["data"]["node"] is not None) is is_shown
        asked = await call(one, "POST", "/exports", headers, json={"kind": kind.lower()})
        assert asked.status_code == (202 if is_shown else 403)


async def test_a_file_is_nothing_to_be_changed_for_who_may_not_read_its_list(one: Tenant) -> None:
    deal = Deal(name="d")
    await one.add(deal, Campaign(name="c", provider="local"))
    file_id = (await exported(one, "CAMPAIGN"))["file"]["id"]
    headers = await one.scoped("api:manage")
    for method, path, body in (
        ("PATCH", f"/files/{file_id}", {"name": "x"}),
        ("DELETE", f"/files/{file_id}", None),
        ("PUT", f"/records/{deal.id}/files/{file_id}", None),
        ("POST", f"/files/{file_id}/restore", None),
        ("DELETE", f"/files/{file_id}/trash", None),
    ):
        assert (await call(one, method, path, headers, json=body)).status_code == 404, path
    for path in ("/imports", "/imports/preview"):
        answer = await call(one, "POST", path, headers, json={"file_id": file_id, "kind": "lead"})
        assert [each["loc"] for each in answer.json()["detail"]] == [["body", "file_id"]]
    signal = {"type": "signed", "record_id": file_id}
    assert (await call(one, "POST", "/notifications", headers, json=signal)).status_code == 422
    assert (await call(one, "GET", f"/files/{file_id}/content")).status_code == 200


async def test_another_organizations_export_and_file_are_nobodys(one: Tenant, two: Tenant) -> None:
    done = await exported(one)
    assert await two.ask(READ, id=done["id"]) is None
    for path in (
        f"/exports/{done['id']}",
        f"/files/{done['file']['id']}/content",
        f"/exports/{new_id()}",
        "/exports/x",
    ):
        assert (await call(two, "GET", path, two.headers("admin"))).status_code == 404


STARTED = ["export_id", "job_id", "status_url"]
KEYS = ["id", "kind", "format", "status", "rows", "complete", "file", "error", "created_at", "finished_at"]


async def _compared(surfaces: Surfaces) -> None:
    asked = await surfaces.rest("POST", "/exports", {"kind": "deal", "format": "jsonl", "deals": {"status": "open"}})
    assert (asked.status_code, list(asked.json())) == (202, STARTED)
    path = asked.json()["status_url"]
    assert asked.headers["location"] == path == f"/exports/{asked.json()['export_id']}"
    twin = await surfaces.graphql(START, i={"kind": "DEAL", "format": "JSONL", "deals": {"status": {"eq": "OPEN"}}})
    made = twin["dataExport"]["id"]
    await work_off(surfaces.gateway)
    found, other = [(await surfaces.rest("GET", one)).json() for one in (path, f"/exports/{made}")]
    shown = await surfaces.graphql(READ, id=found["id"])
    assert list(found) == KEYS
    assert (found["status"], found["complete"], found["kind"]) == ("succeeded", True, "deal")
    assert (shown["status"], shown["complete"], shown["rows"]) == ("SUCCEEDED", True, found["rows"])
    assert (shown["file"]["id"], shown["file"]["sha256"]) == (found["file"]["id"], other["file"]["sha256"])


RECORD = RecordType(
    typename="DataExport",
    name="export",
    row=lambda ids, mark: DataExport(
        kind="deal",
        format="csv",
        status="failed",
        job_id=new_id(),
        finished_at=datetime(2026, 3, 15, 12, tzinfo=UTC),
        **dict.fromkeys(("error", "requested_by"), mark),
    ),
    cases={
        "export_jobs.get_export": Case(
            "CRM_READ",
            (
                Rest("GET", "/exports/<export>"),
                q("query($id: ID!) { dataExport(id: $id) { id error } }", id="<export>"),
            ),
        ),
        "export_jobs.create_export": Case(
            "CRM_READ",
            (
                Rest("POST", "/exports", {"kind": "account", "columns": ["<own column>"]}),
                put(
                    "dataExportCreate", "DataExportInput", "dataExport { id }", kind="ACCOUNT", columns=["<own column>"]
                ),
            ),
        ),
    },
    paths={
        ("POST", "/exports"): ("CRM_READ", True, 202, "Mutation.dataExportCreate"),
        ("GET", "/exports/{export_id}"): ("CRM_READ", True, 200, "Query.dataExport"),
    },
    keys={("/exports", "POST"): STARTED, ("/exports/{export_id}", "GET"): KEYS},
    compared=dict.fromkeys(("Query.dataExport", "Mutation.dataExportCreate"), _compared),
)
