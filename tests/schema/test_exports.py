"""Exports: each record of a list once, with the list's own filters, exact and harmless (decisions 416 and 417)."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from contract.bulk_vocabulary import ExportKind
from contract.criteria import EVERYTHING
from contract.errors import TooManyRuns, Unavailable
from providers.artifacts import Pieces
from resolvers import export_reading
from resolvers.export_rows import EXPORTED
from resolvers.exports import Export, ExportStream, export_deals
from storage.queries import row_size_limit
from storage.tables import (
    Account,
    Activity,
    Campaign,
    Contact,
    DataExport,
    DataImport,
    Deal,
    Lead,
    Merge,
    Report,
    Tag,
    TagLink,
)
from tests.support.gateway import open_gateway
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

RECORDS: dict[str, Any] = {
    "accounts": lambda n: Account(name=f"a{n}", domain=f"{n}.example"),
    "contacts": lambda n: Contact(last_name=f"c{n}"),
    "deals": lambda n: Deal(name=f"d{n}", value=Decimal("999999999999999.9999"), close_date=date(2026, 2, 3)),
    "leads": lambda n: Lead(name=f"l{n}"),
    "meetings": lambda n: Activity(subject=f"m{n}"),
    "activities": lambda n: Activity(subject=f"m{n}", type="task"),
    "campaigns": lambda n: Campaign(name=f"g{n}", provider="local"),
}


async def export(tenant: Tenant, path: str) -> httpx.Response:
    return await tenant.gateway.http.get(f"/export/{path}", headers=tenant.headers("admin"))


def lines(response: httpx.Response) -> list[dict[str, Any]]:
    assert response.status_code == 200, response.text
    return [orjson.loads(line) for line in response.content.splitlines()]


@pytest.mark.parametrize("noun", RECORDS)
async def test_each_record_of_the_list_is_there_once(
    one: Tenant, two: Tenant, noun: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_reading, "EXPORT_BATCH", 5)
    await one.add(*(RECORDS[noun](n) for n in range(12)))
    await two.add(RECORDS[noun](99))
    page = await one.ask(f"{{ {noun} {{ nodes {{ id }} }} }}", one.headers("admin"))
    before = datetime.now(UTC)
    answer = await export(one, f"{noun}?format=jsonl")
    found = lines(answer)
    assert [each["id"] for each in found] == sorted(node["id"] for node in page["nodes"])
    assert len(found) == 12
    assert list(found[0]) == list(EXPORTED[ExportKind(noun[:-3] + "y" if noun == "activities" else noun[:-1])].plain)
    assert "org_id" not in found[0]
    assert answer.headers["content-type"] == "application/jsonl"
    bound = datetime.fromisoformat(answer.headers["x-export-bound"])
    assert before <= bound <= datetime.now(UTC)
    rows = list(csv.DictReader(io.StringIO((await export(one, noun)).text)))
    assert [row["id"] for row in rows] == [each["id"] for each in found]
    head = await one.gateway.http.head(f"/export/{noun}", headers=one.headers("admin"))
    assert (head.status_code, "content-length" in head.headers) == (200, False)


async def test_the_filters_are_those_of_the_list(one: Tenant) -> None:
    won = Deal(name="won", status="won", value=Decimal("0.0001"), source="fair")
    tag = Tag(name="vip")
    await one.add(won, Deal(name="open"), tag)
    await one.add(TagLink(kind="deal", record_id=won.id, tag_id=tag.id))
    for filters in ("status=won", "tag=VIP", "source=fair", "status=won&tag=vip&limit=0&order=x"):
        [row] = lines(await export(one, f"deals?format=jsonl&{filters}&columns=name,tags,value"))
        assert row == {"name": "won", "tags": ["vip"], "value": 0.0001}
    assert lines(await export(one, "deals?format=jsonl&status=lost")) == []
    assert (await export(one, "deals?status=lost&columns=id,name")).text == "id,name\r\n"
    await one.add(Activity(type="task", subject="t"), Activity(subject="m"), Activity(type="note", body="n"))
    types = {r["type"] for r in lines(await export(one, "activities?format=jsonl&type=task,note"))}
    assert types == {"task", "note"}
    assert [r["subject"] for r in lines(await export(one, "activities?format=jsonl&task_state=open"))] == ["t"]
    assert [r["subject"] for r in lines(await export(one, "meetings?format=jsonl&unlinked_account=true"))] == ["m"]


async def test_lines_are_exact_and_cells_run_nothing(one: Tenant) -> None:
    names = ["=1+1", "-5", "+49 30 1", "@x", "\tx", "a,b", 'say "x"', "two\nlines", " blank", "-1.50", "＝x", "Zoë"]
    await one.add(*(Deal(name=name, value=Decimal("12.5000")) for name in names))
    found = lines(await export(one, "deals?format=jsonl&columns=name,value"))
    assert sorted(row["name"] for row in found) == sorted(names)
    text = (await export(one, "deals?format=jsonl&columns=value")).text
    assert set(text.splitlines()) == {'{"value":12.5}'}
    sheet = io.StringIO((await export(one, "deals?columns=name")).text, newline="")
    harmful = {"=1+1", "+49 30 1", "@x", "\tx", "＝x"}
    expected = [f"'{name}" if name in harmful else name for name in names]
    assert sorted(row["name"] for row in csv.DictReader(sheet)) == sorted(expected)


async def test_what_is_wrong_is_told_at_its_parameter(one: Tenant) -> None:
    for query, loc in (
        ("columns=name,nothing", ["query", "columns", 1]),
        ("columns=name&columns=name", ["query", "columns", 1]),
        ("columns=org_id", ["query", "columns", 0]),
        ("columns=folded_name", ["query", "columns", 0]),
        ("format=xml", ["query", "format"]),
        ("status=closed", ["query", "status"]),
    ):
        answer = await export(one, f"deals?{query}")
        assert (answer.status_code, [each["loc"] for each in answer.json()["detail"]]) == (422, [loc]), query
    assert (await export(one, "webhooks")).status_code == 404


async def opened(tenant: Tenant) -> ExportStream:
    context = await tenant.gateway.world.context(tenant.subject("admin"), tenant.organization)
    return await (await export_deals(context, Export(EVERYTHING, ["name"]))).open()


async def rest_of(pieces: Pieces) -> str:
    return b"".join([piece async for piece in pieces]).decode()


async def test_what_comes_later_is_not_in_it_and_what_goes_is_no_gap(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_reading, "EXPORT_BATCH", 2)
    deals = [Deal(name=f"{n}") for n in range(6)]
    await one.add(*deals)
    deals.sort(key=lambda deal: deal.id)
    stream = await opened(one)
    await one.add(Deal(name="later"))
    gone = "mutation($id: ID!) { dealDelete(id: $id) { deletedId } }"
    await one.ask(gone, id=deals[4].id)
    assert await rest_of(stream) == "".join(f"{n}\r\n" for n in ("name", *(deals[i].name for i in (0, 1, 2, 3, 5))))
    await stream.aclose()


async def test_an_export_that_breaks_does_not_end(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_reading, "EXPORT_BATCH", 2)
    await one.add(*(Deal(name=f"{n}") for n in range(6)))
    batch, calls = export_reading.statements.batch, []

    async def breaks(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 2:
            raise Unavailable
        return await batch(*args)

    monkeypatch.setattr(export_reading.statements, "batch", breaks)
    with pytest.raises(Unavailable):
        await export(one, "deals?columns=name")
    calls.append(None)
    assert len((await export(one, "deals?columns=name")).text.splitlines()) == 7  # its place was given back


async def test_two_of_an_organization_run_at_once(one: Tenant, two: Tenant) -> None:
    first, second = await opened(one), await opened(one)
    with pytest.raises(TooManyRuns):
        await opened(one)
    assert (await export(one, "accounts")).status_code == 429
    other = await opened(two)
    await first.aclose()
    await first.aclose()
    third = await opened(one)
    for stream in (second, third, other):
        await stream.aclose()
    assert (await export(one, "accounts")).status_code == 200


async def test_texts_that_are_too_long_together_are_read_in_smaller_parts(one: Tenant) -> None:
    await one.add(*(Deal(name=f"{n}", notes="x" * 500_000) for n in range(25)))
    assert row_size_limit.ROWS_MAX_BYTES < 25 * 500_000
    found = lines(await export(one, "deals?format=jsonl&columns=name,notes"))
    assert sorted(int(row["name"]) for row in found) == list(range(25))
    assert {len(row["notes"]) for row in found} == {500_000}


async def test_a_thousand_rows_are_a_statement(one: Tenant) -> None:
    await one.add(*(Deal(name=f"{n}") for n in range(1001)))
    with statements(one.gateway.world.database) as sent:
        assert len(lines(await export(one, "deals?format=jsonl&columns=name"))) == 1001
    assert len([each for each in sent if "FROM deals" in each]) == 3  # the last identifier, and two batches


async def test_who_may_not_read_the_list_any_more_gets_no_more_of_it(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_reading, "EXPORT_BATCH", 2)
    await one.add(*(Deal(name=f"{n}") for n in range(6)))
    context = await one.gateway.world.context(one.subject("admin"), one.organization)

    async def look() -> Any:
        raise PermissionError("the credential was revoked")

    context.look = look
    stream = await (await export_deals(context, Export(EVERYTHING, ["name"]))).open()
    with pytest.raises(PermissionError):
        await rest_of(stream)
    await stream.aclose()


async def test_a_metered_export_tells_its_cost(database_url: str, tmp_path: Path) -> None:
    async with open_gateway(database_url, tmp_path, rate_limit=True) as metered:
        world = metered.world
        await world.add(world.one, Deal(name="d"))
        headers = world.session("admin@one", world.one)
        answer = await metered.http.get("/export/deals?columns=name", headers=headers)
    assert (answer.status_code, answer.text) == (200, "name\r\nd\r\n")
    assert answer.headers["x-request-cost"] == "50"


async def test_a_misspelled_name_lets_nothing_more_in(one: Tenant) -> None:
    """Decision 991: of exports, and of what else is written to, read or sent on a large scale."""
    await one.add(Deal(name="d"))
    some = "00000000-0000-7000-8000-000000000001"
    schedule = {"frequency": "daily", "to": ["a@example.com"], "tme_zone": "Europe/Berlin"}
    report = {"name": "R", "kind": "pipeline_by_stage"}
    for path, body, loc in (
        ("/exports", {"kind": "deal", "deal": {"status": "open"}}, ["deal"]),
        ("/exports", {"kind": "deal", "deals": {"state": "open"}}, ["deals", "state"]),
        ("/exports", {"kind": "deal", "colums": ["id"]}, ["colums"]),
        ("/imports", {"file_id": some, "kind": "deal", "policy": "x"}, ["policy"]),
        ("/imports/preview", {"file_id": some, "kind": "deal", "maping": []}, ["maping"]),
        ("/deals/upsert", {"rows": [{"name": "n", "external_key": "k"}], "dryrun": True}, ["dryrun"]),
        ("/merges", {"kind": "account", "into": some, "from": [some], "chose": []}, ["chose"]),
        ("/merges/preview", {"kind": "account", "into": some, "from": [some], "chose": []}, ["chose"]),
        ("/reports", {**report, "paramaters": {"currency": "EUR"}}, ["paramaters"]),
        ("/reports", {**report, "parameters": {"owner_id": "x"}}, ["parameters", "owner_id"]),
        ("/reports", {**report, "schedule": schedule}, ["schedule", "tme_zone"]),
        (f"/files/{some}/links", {"ttl": 60}, ["ttl"]),
        (f"/reports/{some}/run", {"format": ["pdf"]}, ["format"]),
        (f"/reports/{some}/email", {"to": ["a@example.com"], "format": ["csv"]}, ["format"]),
    ):
        answer = await one.gateway.http.post(path, json=body, headers=one.headers("admin"))
        assert answer.status_code == 422, (path, answer.text)
        assert ["body", *loc] in [each["loc"] for each in answer.json()["detail"]], (path, answer.text)
    for table in (DataExport, DataImport, Report, Merge):
        assert await one.rows(table.id) == []
    assert len(await one.rows(Deal.id)) == 1


async def test_an_unknown_name_in_rows_is_told(one: Tenant) -> None:
    """Decision 991: the rows are written without it, and the header names it once."""
    rows = [{"external_key": f"k{n}", "name": "n", "emial": "x", "vat id": "y"} for n in range(2)]
    answer = await one.gateway.http.post("/accounts/upsert", json={"rows": rows}, headers=one.headers("admin"))
    assert (answer.json()["created"], answer.headers["x-ignored-fields"]) == (2, "emial, vat%20id")
    known = [{"external_key": "k1", "name": "m"}, None]
    answer = await one.gateway.http.post("/accounts/upsert", json={"rows": known}, headers=one.headers("admin"))
    assert (answer.json()["updated"], answer.json()["failed"]) == (1, 1)
    assert "x-ignored-fields" not in answer.headers
