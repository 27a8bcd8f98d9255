"""Imports: CSV files become records, and every row that does not is in the ledger (decisions 530 to 537)."""

from __future__ import annotations

import csv
import io
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import delete
from sqlmodel import col

from contract.criteria import ListQuery
from contract.scopes import Role
from contract.vocabulary import JobStatus
from jobs.attempts import Outcome
from resolvers import import_work, imports
from storage.base import new_id
from storage.queries import members
from storage.tables import (
    Account,
    Contact,
    DataImport,
    Deal,
    Event,
    File,
    ImportRefusal,
    Job,
    Lead,
    QueuedJob,
    RecordChange,
    Tag,
    TagLink,
)
from tests.isolation.requests import Case, Rest, q
from tests.isolation.surfaces import Surfaces, camel
from tests.records.test_files import call, sent
from tests.support.due import work_off
from tests.support.record_types import RecordType
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

ERRORS = "userErrors { code message field }"
COUNTS = "rows created updated unchanged refused"
IMPORT = f"""id kind status dryRun {COUNTS} error requestedBy finishedAt file {{ id }} refusedFile {{ id name }}
  job {{ id status progress error }}"""
START = f"mutation($i: DataImportInput!) {{ dataImportCreate(input: $i) {{ dataImport {{ {IMPORT} }} {ERRORS} }} }}"
CANCEL = f"mutation($id: ID!) {{ dataImportCancel(id: $id) {{ dataImport {{ {IMPORT} }} {ERRORS} }} }}"
ONE = f"query($id: ID!) {{ dataImport(id: $id) {{ {IMPORT} }} }}"
REFUSALS = """query($id: ID!, $first: Int, $after: String) { dataImport(id: $id) {
  refusals(first: $first, after: $after) { totalCount pageInfo { hasNextPage endCursor }
    nodes { line values errors { code message field } } } } }"""
PREVIEW = f"""query($i: DataImportInput!) {{ dataImportPreview(input: $i) {{ encoding delimiter columns
  mapping {{ column field }} rows {{ line values outcome errors {{ code message field }} }} {ERRORS} }} }}"""
CONTACTS = "externalKey;First name;last_name;E-mail\n"


async def uploaded(tenant: Tenant, text: str | bytes, name: str = "contacts.csv") -> str:
    data = text.encode() if isinstance(text, str) else text
    made: str = (await sent(tenant, data, name, kind="text/csv"))["id"]
    return made


async def started(tenant: Tenant, text: str | bytes, kind: str = "CONTACT", **how: Any) -> str:
    file_id = await uploaded(tenant, text)
    done = await tenant.ask(START, i={"fileId": file_id, "kind": kind, **how})
    assert done["userErrors"] == [], done
    assert (done["dataImport"]["status"], done["dataImport"]["rows"]) == ("QUEUED", 0)
    made: str = done["dataImport"]["id"]
    return made


async def imported(tenant: Tenant, text: str | bytes, kind: str = "CONTACT", **how: Any) -> dict[str, Any]:
    import_id = await started(tenant, text, kind, **how)
    await work_off(tenant.gateway)
    done: dict[str, Any] = await tenant.ask(ONE, id=import_id)
    assert done["rows"] == done["created"] + done["updated"] + done["unchanged"] + done["refused"]
    return done


async def refused(tenant: Tenant, text: str | bytes, kind: str = "CONTACT", **how: Any) -> list[dict[str, Any]]:
    """The problems of a file that nothing is started of."""
    file_id = await uploaded(tenant, text)
    before = await tenant.rows(DataImport.id), await tenant.rows(Job.id)
    done = await tenant.ask(START, i={"fileId": file_id, "kind": kind, **how})
    shown = await tenant.ask(PREVIEW, i={"fileId": file_id, "kind": kind, **how})
    assert done["dataImport"] is None
    assert (shown["rows"], shown["userErrors"]) == ([], done["userErrors"])
    assert (await tenant.rows(DataImport.id), await tenant.rows(Job.id)) == before
    problems: list[dict[str, Any]] = done["userErrors"]
    return problems


def counts(done: dict[str, Any]) -> tuple[int, ...]:
    return tuple(done[name] for name in COUNTS.split())


async def content(tenant: Tenant, file_id: str) -> list[dict[str, str]]:
    answer = await call(tenant, "GET", f"/files/{file_id}/content")
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.content.decode(), newline="")))


async def test_a_file_of_a_spreadsheet_program_becomes_deals(one: Tenant) -> None:
    """Semicolons, a BOM, days and decimals of another country, headings of nobody's making."""
    await one.add(Account(name="A", external_key="a-1"), Tag(name="fair"))
    text = (
        "\ufeffexternal key;Titel;Betrag;Abschluss;currency;Geo Scope;account_key;Tags;leer\r\n"
        "1;Erster;1.234,50;31.12.2026;eur;LOCAL;a-1;vip; \r\n"
        '2;"Mit; ""Zeichen""\r\nund Zeile";,5;31.12.2026;;;;;\r\n'
        "3;Dritter;7,25;31.02.2026;EUR;;;;\r\n"
        ";;;;;;;;\r\n\r\n"
        "4;Vierter;;;;;;a/b;\r\n"
    )
    how = {
        "mapping": [
            {"column": "Titel", "field": "name"},
            {"column": "Betrag", "field": "value"},
            {"column": "Abschluss", "field": "closeDate"},
        ],
        "dateFormat": "DD.MM.YYYY",
        "decimalSign": ",",
        "listSeparator": "/",
        "tags": ["Fair", "vip"],
    }
    file_id = await uploaded(one, text)
    shown = await one.ask(PREVIEW, i={"fileId": file_id, "kind": "DEAL", **how})
    assert (shown["encoding"], shown["delimiter"], shown["userErrors"]) == ("utf-8", ";", [])
    assert {each["column"]: each["field"] for each in shown["mapping"]} == {
        "external key": "externalKey",
        "Titel": "name",
        "Betrag": "value",
        "Abschluss": "closeDate",
        "currency": "currency",
        "Geo Scope": "geoScope",
        "account_key": "accountKey",
        "Tags": "tags",
        "leer": None,
    }
    outcomes = [(row["line"], row["outcome"], [e["field"] for e in row["errors"]]) for row in shown["rows"]]
    assert outcomes == [
        (2, "CREATED", []),
        (3, "FAILED", [["value"]]),
        (5, "FAILED", [["closeDate"]]),
        (8, "CREATED", []),
    ]
    assert list(shown["rows"][0]["values"])[:3] == ["external key", "Titel", "Betrag"]
    assert await one.rows(Deal.id) == []
    done = await imported(one, text, "DEAL", **how)
    assert (done["status"], counts(done), done["job"]["status"]) == ("COMPLETED", (4, 2, 0, 0, 2), "SUCCEEDED")
    assert (done["requestedBy"], done["dryRun"], done["job"]["progress"]) == (one.subject(), False, 1.0)
    rows = await one.rows(Deal.external_key, Deal.name, Deal.value, Deal.close_date, Deal.currency, Deal.source)
    assert sorted(rows) == [
        ("1", "Erster", Decimal("1234.5"), date(2026, 12, 31), "EUR", "import"),
        ("4", "Vierter", None, None, "USD", "import"),
    ]
    tags = await one.ask("{ deals(orderBy: {field: NAME, direction: ASC}) { nodes { tags } } }")
    assert [node["tags"] for node in tags["nodes"]] == [["vip", "fair"], ["a", "b", "fair", "vip"]]
    ledger = (await one.ask(REFUSALS, id=done["id"]))["refusals"]
    assert ledger["totalCount"] == 2
    assert ledger["nodes"] == [
        {"line": row["line"], "values": row["values"], "errors": row["errors"]}
        for row in shown["rows"]
        if row["outcome"] == "FAILED"
    ]
    assert ledger["nodes"][0]["values"]["Titel"] == 'Mit; "Zeichen"\r\nund Zeile'
    assert ledger["nodes"][1]["errors"] == [
        {"code": "VALIDATION", "message": "must be a date of the form DD.MM.YYYY", "field": ["closeDate"]}
    ]
    rows_of_file = await content(one, done["refusedFile"]["id"])
    assert [row["line"] for row in rows_of_file] == ["3", "5"]
    assert rows_of_file[0]["Titel"] == 'Mit; "Zeichen"\r\nund Zeile'
    assert rows_of_file[1]["error"] == "close_date: must be a date of the form DD.MM.YYYY"
    path = await call(one, "GET", f"/imports/{done['id']}/refusals?format=csv")
    assert list(csv.DictReader(io.StringIO(path.content.decode(), newline=""))) == rows_of_file
    events = dict(await one.rows(Event.type, Event.data))
    assert events["import_completed"]["refused"] == 2
    assert events["deals_upserted"]["import_id"] == done["id"]


async def test_what_was_refused_is_corrected_and_imported_again(one: Tenant) -> None:
    text = CONTACTS + "1;Ada;Park;ada@example.com\n2;=1+1;Lee;no address\n3;Bo;Ng;bo@example.com;too;many\n4;Cy\n"
    done = await imported(one, text)
    assert counts(done) == (4, 1, 0, 0, 3)
    [made] = await one.rows(Contact.first_name, Contact.owner_id)
    assert made == ("Ada", one.subject())
    rows = await content(one, done["refusedFile"]["id"])
    assert [row["error"] for row in rows] == [
        "email: must look like an e-mail address",
        "has 6 cells, and there are 4 columns",
        "has 2 cells, and there are 4 columns",
    ]
    assert (rows[1]["5"], rows[1]["6"], rows[2]["E-mail"]) == ("too", "many", "")
    assert rows[0]["First name"] == "'=1+1"  # which no spreadsheet takes for a formula
    answer = await call(one, "GET", f"/files/{done['refusedFile']['id']}/content")
    again = await imported(one, answer.content.replace(b"no address", b"lee@example.com"))
    assert counts(again) == (3, 3, 0, 0, 0)
    names = await one.rows(Contact.external_key, Contact.first_name, Contact.email)
    assert sorted(names) == [
        ("1", "Ada", "ada@example.com"),
        ("2", "=1+1", "lee@example.com"),
        ("3", "Bo", "bo@example.com"),
        ("4", "Cy", None),
    ]
    assert counts(await imported(one, answer.content.replace(b"no address", b"lee@example.com"))) == (3, 0, 0, 3, 0)
    third = await imported(one, answer.content)
    [left] = await content(one, third["refusedFile"]["id"])
    assert (left["line"], left["line 2"], left["error 2"]) == ("3", "2", "email: must look like an e-mail address")


@pytest.mark.parametrize(
    ("encoding", "told", "found"),
    [
        ("utf-8", None, "utf-8"),
        ("utf-8-sig", None, "utf-8"),
        ("utf-16", None, "utf-16"),
        ("utf-16-le", None, "utf-16-le"),
        ("utf-16-be", None, "utf-16-be"),
        ("cp1252", None, "windows-1252"),
        ("cp1252", "Windows-1252", "windows-1252"),
        ("iso8859-15", "latin9", "iso8859-15"),
        ("utf-8-sig", "UTF-8", "utf-8"),
        ("shift_jis", "shift-jis", "shift_jis"),
    ],
)
@pytest.mark.parametrize(("delimiter", "end"), [(",", "\n"), (";", "\r\n"), ("\t", "\r"), ("|", "\n")])
async def test_encodings_delimiters_and_ends_of_lines(
    one: Tenant, encoding: str, told: str | None, found: str, delimiter: str, end: str
) -> None:
    name = "株式会社" if encoding == "shift_jis" else "Müller, Söhne; Co"
    cells = [["name", "domain"], [f'"{name}"', "example.com"], ["plain", ""]]
    data = "".join(delimiter.join(row) + end for row in cells).encode(encoding)
    file_id = await uploaded(one, data)
    how = {} if told is None else {"encoding": told}
    shown = await one.ask(PREVIEW, i={"fileId": file_id, "kind": "ACCOUNT", **how})
    assert (shown["encoding"], shown["delimiter"], shown["userErrors"]) == (found, delimiter, [])
    assert [row["values"]["name"] for row in shown["rows"]] == [name, "plain"]
    assert [row["line"] for row in shown["rows"]] == [2, 3]


@pytest.mark.parametrize(
    ("text", "how", "field", "words"),
    [
        ("", {}, "fileId", "is empty: it has neither headings nor rows"),
        (CONTACTS + '1;"Ada;Park;x\n2;B;C;d\n', {}, "fileId", "Line 2: a quote in the row that begins here is never"),
        (CONTACTS + '1;Ada;"Park" x;x\n', {}, "fileId", "Line 2: something stands between a closing quote"),
        (CONTACTS + "1;A\0da;Park;x\n", {"encoding": "utf-8"}, "fileId", "Line 2: has a NUL character"),
        (b"last_name,email\n\xffx,y\n", {"encoding": "utf-8"}, "fileId", "Line 2: is not written in utf-8"),
        (b"last_name,email\nx,y\n", {"encoding": "utf-16"}, "fileId", "Line 1: is not written in utf-16"),
        ("name;email;name\n", {}, "fileId", "has the heading name in columns 1 and 3"),
        ("email;E-mail\n", {}, "mapping", "E-mail is the second column for email"),
        ("a;b\n1;2\n", {}, "mapping", "must name a field: no column has the name of one"),
        ("email\n", {"mapping": [{"column": "Mail", "field": "email"}]}, "column", "there is no column Mail"),
        ("email\n", {"mapping": [{"column": "email", "field": "mail"}]}, "field", "there is no field mail"),
        (
            "a;b\n",
            {"mapping": [{"column": "a", "field": "email"}, {"column": "b", "field": "email"}]},
            "field",
            "is that of another column, too",
        ),
        (
            "email\n",
            {"mapping": [{"column": "email", "field": None}, {"column": "email", "field": "email"}]},
            "column",
            "is named twice",
        ),
        ("email\n", {"matchOn": "domain"}, "matchOn", "must be one of externalKey, id, email"),
        ("email\n", {"encoding": "idna"}, "encoding", "is no encoding that is known here"),
        ("email\n", {"delimiter": '"'}, "delimiter", "must be no quote, blank or line break"),
        ("email\n", {"delimiter": ";;"}, "delimiter", "must have at most 1 character"),
        ("email\n", {"dateFormat": "DD.MM"}, "dateFormat", "must have YYYY, MM or M, and DD or D, each once"),
        ("email\n", {"decimalSign": "'"}, "decimalSign", "must be '.' or ','"),
        (";".join(f"c{n}" for n in range(201)) + "\n", {}, "fileId", "has more than 200 columns"),
        (CONTACTS + ";" * 300_000 + "x\n", {}, "fileId", "Line 2: the row has more than 1000 cells"),
        (CONTACTS + ";" * 300_000 + "\n", {}, "fileId", "Line 2: the row has more than 1000 cells"),
        ("email;" + "h" * 256 + "\n", {}, "fileId", "has a heading of more than 255 characters in column 2"),
        (CONTACTS + "1;" + "x" * 500_001 + "\n", {}, "fileId", "Line 2: a cell has more than 500000 characters"),
    ],
)
async def test_a_broken_file_is_a_clear_error_and_nothing_begins(
    one: Tenant, text: str | bytes, how: dict[str, Any], field: str, words: str
) -> None:
    problems = await refused(one, text, **how)
    assert [problem["code"] for problem in problems] == ["VALIDATION"]
    assert problems[0]["field"][-1] == field
    assert problems[0]["message"].startswith(words)


async def test_a_heading_alone_is_an_import_of_no_rows(one: Tenant) -> None:
    done = await imported(one, CONTACTS)
    assert (done["status"], counts(done), done["refusedFile"]) == ("COMPLETED", (0, 0, 0, 0, 0), None)


async def test_a_file_without_headings_has_numbered_columns(one: Tenant) -> None:
    how = {"hasHeader": False, "mapping": [{"column": "2", "field": "lastName"}, {"column": "1", "field": "email"}]}
    done = await imported(one, "a@example.com,Park\nb@example.com,Lee,x\n", **how)
    assert counts(done) == (2, 1, 0, 0, 1)
    assert await one.rows(Contact.last_name, Contact.email) == [("Park", "a@example.com")]
    [row] = (await one.ask(REFUSALS, id=done["id"]))["refusals"]["nodes"]
    assert (row["line"], row["values"]) == (2, {"1": "b@example.com", "2": "Lee", "3": "x"})


async def test_a_file_that_breaks_far_behind_its_beginning_writes_nothing(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resolvers.import_source.IMPORT_HEAD_BYTES", 200)
    monkeypatch.setattr(import_work, "IMPORT_BATCH", 2)
    text = CONTACTS + "".join(f"{n};A;B;\n" for n in range(50)) + '51;"A;B;\n'
    done = await imported(one, text)
    assert (done["status"], counts(done), done["job"]["status"]) == ("FAILED", (0, 0, 0, 0, 0), "FAILED")
    assert done["error"] == done["job"]["error"] == "Line 52: a quote in the row that begins here is never closed"
    assert await one.rows(Contact.id) == []
    monkeypatch.setattr(import_work, "IMPORT_ROWS_MAX", 49)
    done = await imported(one, CONTACTS + "".join(f"{n};A;B;\n" for n in range(50)))
    assert (done["error"], done["rows"]) == ("The file has more than 49 rows", 0)
    assert await one.rows(Contact.id) == []


async def test_one_value_to_match_by_twice_is_refused_wherever_it_stands(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its line, also where the first one was written in an earlier transaction (decision 534)."""
    monkeypatch.setattr(import_work, "IMPORT_BATCH", 2)
    text = "last_name,email\n" + "A,a@example.com\nB,b@example.com\nC,c@example.com\nD,A@example.com\nE,\nF,\n"
    done = await imported(one, text, matchOn="email")
    assert counts(done) == (6, 5, 0, 0, 1)
    [row] = (await one.ask(REFUSALS, id=done["id"]))["refusals"]["nodes"]
    assert (row["line"], row["errors"]) == (
        5,
        [{"code": "DUPLICATE", "message": "is that of line 2, too", "field": ["email"]}],
    )


async def test_rows_change_what_there_is_and_an_empty_cell_says_nothing(one: Tenant) -> None:
    account, tag = Account(name="old", domain="example.com", industry="kept", external_key="1"), Tag(name="kept")
    await one.add(account, tag)
    await one.add(TagLink(kind="account", record_id=account.id, tag_id=tag.id))
    text = "external_key,name,industry\n1,new,\n2,second,\n"
    dry = await imported(one, text, "ACCOUNT", dryRun=True, tags=["added"])
    assert (counts(dry), dry["dryRun"]) == ((2, 1, 1, 0, 0), True)
    assert await one.rows(Account.name) == [("old",)]
    assert await one.rows(Tag.name) == [("kept",)]
    done = await imported(one, text, "ACCOUNT", tags=["added"])
    assert counts(done) == (2, 1, 1, 0, 0)
    assert sorted(await one.rows(Account.name, Account.industry)) == [("new", "kept"), ("second", None)]
    [(actor, fields)] = await one.rows(RecordChange.actor, RecordChange.fields)
    assert (actor, fields) == (one.subject(), {"name": ["old", "new"], "tags": [["kept"], ["kept", "added"]]})
    tags = await one.ask("{ accounts(orderBy: {field: NAME, direction: ASC}) { nodes { tags } } }")
    assert [node["tags"] for node in tags["nodes"]] == [["kept", "added"], ["added"]]
    assert counts(await imported(one, text, "ACCOUNT", tags=["added"])) == (2, 0, 0, 2, 0)


async def test_a_transaction_has_fewer_long_rows(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that neither the rows in hand nor a page of the ledger are many times as large as one of them."""
    monkeypatch.setattr("resolvers.import_source.IMPORT_BATCH_CHARACTERS", 1_000)
    monkeypatch.setattr(import_work, "IMPORT_LEDGER_PAGE", 2)
    whole, sizes = import_work._write_batch, []

    async def noted(*arguments: Any) -> None:
        sizes.append(len(arguments[3]))
        await whole(*arguments)

    monkeypatch.setattr(import_work, "_write_batch", noted)
    done = await imported(one, CONTACTS + "".join(f"{n};{'x' * 300};{'y' * 300};?\n" for n in range(7)))
    assert (sizes, counts(done)) == ([2, 2, 2, 1], (7, 0, 0, 0, 7))
    assert [row["line"] for row in await content(one, done["refusedFile"]["id"])] == [str(n + 2) for n in range(7)]


async def test_leads_are_imported_by_the_rules_of_leads(one: Tenant) -> None:
    done = await imported(one, "name,status,tags\nAda,WORKING,a;b\nBo,converted,\n", "LEAD")
    assert counts(done) == (2, 1, 0, 0, 1)
    assert await one.rows(Lead.name, Lead.status, Lead.source, Lead.tags) == [("Ada", "working", "manual", ["a", "b"])]


class Cut(Exception):
    """What a killed process leaves: the transaction that was not committed is gone."""


@pytest.mark.parametrize("commits", [0, 1, 2, 3, 4])
async def test_an_import_that_was_cut_off_goes_on_where_it_stood(
    one: Tenant, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    """Each row is written or refused once, and the figures agree, wherever it was cut off."""
    monkeypatch.setattr(import_work, "IMPORT_BATCH", 3)
    monkeypatch.setattr("jobs.attempts.pause", lambda _: import_work.timedelta())
    bad = {2, 5, 7, 11}
    rows = [f"{n};;{'' if n in bad else 'x'};\n" for n in range(13)]
    import_id = await started(one, CONTACTS + "".join(rows))
    whole, calls = import_work._write_batch, 0

    async def cut(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == commits + 1:
            raise Cut
        await whole(*arguments)

    monkeypatch.setattr(import_work, "_write_batch", cut)
    outcomes = await work_off(one.gateway)
    done = await one.ask(ONE, id=import_id)
    assert outcomes[-2:] == [Outcome.RETRIED, Outcome.SUCCEEDED]
    assert (done["status"], counts(done)) == ("COMPLETED", (13, 9, 0, 0, 4))
    keys = [key for (key,) in await one.rows(Contact.external_key)]
    assert sorted(keys, key=int) == [str(n) for n in range(13) if n not in bad]
    assert sorted(await one.rows(ImportRefusal.line)) == [(n + 2,) for n in sorted(bad)]
    assert [row["line"] for row in await content(one, done["refusedFile"]["id"])] == ["4", "7", "9", "13"]


async def test_an_import_that_is_cut_off_for_good_says_so(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.attempts.pause", lambda _: import_work.timedelta())

    async def cut(*_: Any) -> None:
        raise Cut

    monkeypatch.setattr(import_work, "_write_batch", cut)
    import_id = await started(one, CONTACTS + "1;A;B;\n")
    await work_off(one.gateway)
    done = await one.ask(ONE, id=import_id)
    assert (done["status"], done["error"], done["rows"]) == ("FAILED", "Internal error", 0)
    assert done["finishedAt"] is not None


async def test_imports_wait_for_one_another(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "IMPORTS_WAITING_MAX", 1)
    first = await started(one, CONTACTS + "1;A;B;\n")
    async with one.gateway.world.database.writing(one.id) as session:
        row = await session.find(DataImport, id=first)
        assert row is not None
        await session.update(row, status="running")
        own = col(QueuedJob.org_id) == one.id, col(QueuedJob.job_id) == row.job_id
        await session.execute(delete(QueuedJob).where(*own))
    second = await started(one, CONTACTS + "1;C;D;\n")
    third = await one.ask(START, i={"fileId": await uploaded(one, CONTACTS), "kind": "CONTACT"})
    assert [(e["code"], e["message"]) for e in third["userErrors"]] == [("INVALID_STATE", "1 imports wait already")]
    assert Outcome.RELEASED in await work_off(one.gateway)
    assert (await one.ask(ONE, id=second))["status"] == "QUEUED"
    assert [a for i, a in await one.rows(Job.id, Job.attempts) if i != row.job_id] == [0]
    assert (await one.ask(CANCEL, id=first))["dataImport"]["status"] == "CANCELLED"


async def test_what_is_cancelled_stops_and_what_is_written_stays(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = await started(one, CONTACTS + "1;A;B;\n")
    done = await one.ask(CANCEL, id=waiting)
    assert (done["dataImport"]["status"], done["dataImport"]["job"]["status"]) == ("CANCELLED", "SUPERSEDED")
    assert [e["code"] for e in (await one.ask(CANCEL, id=waiting))["userErrors"]] == ["INVALID_STATE"]
    assert [e["code"] for e in (await one.ask(CANCEL, id=new_id()))["userErrors"]] == ["NOT_FOUND"]
    monkeypatch.setattr(import_work, "IMPORT_BATCH", 2)
    whole, cancelled = import_work._write_batch, []

    async def cancel(*arguments: Any) -> None:
        await whole(*arguments)
        if not cancelled:
            cancelled.append(await one.ask(CANCEL, id=import_id))

    monkeypatch.setattr(import_work, "_write_batch", cancel)
    import_id = await started(one, CONTACTS + "1;A;B;\n2;;;\n3;A;B;\n")
    await work_off(one.gateway)
    done = await one.ask(ONE, id=import_id)
    assert (done["status"], counts(done), done["job"]["status"]) == ("CANCELLED", (2, 1, 0, 0, 1), "SUCCEEDED")
    assert [row["line"] for row in await content(one, done["refusedFile"]["id"])] == ["3"]
    assert await one.rows(Contact.external_key) == [("1",)]


async def test_a_job_acts_as_who_asked_for_it(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_work, "IMPORT_BATCH", 1)
    whole = import_work._write_batch

    async def lose(*arguments: Any) -> None:
        await whole(*arguments)
        async with one.gateway.world.database.writing(one.id) as session:
            await members.put_membership(session, one.subject(), role=Role.VIEWER, scopes=Role.VIEWER.scopes)

    monkeypatch.setattr(import_work, "_write_batch", lose)
    import_id = await started(one, CONTACTS + "1;;;\n2;A;B;\n3;A;B;\n")
    await work_off(one.gateway)
    done = await one.ask(ONE, one.headers("admin"), id=import_id)
    assert (done["status"], counts(done)) == ("FAILED", (1, 0, 0, 0, 1))
    assert done["error"] == "Who asked for it may not write records any more"
    assert done["refusedFile"] is not None


async def test_another_organizations_file_import_and_refusals_are_nobodys(one: Tenant, two: Tenant) -> None:
    done = await imported(one, CONTACTS + "1;;;\n")
    file_id = done["file"]["id"]
    for asked in (file_id, new_id(), "x"):
        problems = (await two.ask(START, i={"fileId": asked, "kind": "CONTACT"}))["userErrors"]
        assert [(e["message"], e["field"]) for e in problems] == [
            ("does not exist in this organization", ["input", "fileId"])
        ]
    assert await two.ask(ONE, id=done["id"]) is None
    assert [e["code"] for e in (await two.ask(CANCEL, id=done["id"]))["userErrors"]] == ["NOT_FOUND"]
    for path in ("", "/refusals", "/refusals?format=csv"):
        assert (await call(two, "GET", f"/imports/{done['id']}{path}")).status_code == 404
    assert (await two.ask("{ dataImports { totalCount nodes { id } } }")) == {"totalCount": 0, "nodes": []}
    listed = await one.ask("{ dataImports(first: 5) { totalCount nodes { id refused } } }")
    assert listed["nodes"][0] == {"id": done["id"], "refused": 1}


async def test_refusals_come_in_pages_and_by_path(one: Tenant) -> None:
    done = await imported(one, CONTACTS + "".join(f"{n};;;\n" for n in range(5)))
    first = (await one.ask(REFUSALS, id=done["id"], first=3))["refusals"]
    rest = (await one.ask(REFUSALS, id=done["id"], first=3, after=first["pageInfo"]["endCursor"]))["refusals"]
    assert [n["line"] for n in [*first["nodes"], *rest["nodes"]]] == [2, 3, 4, 5, 6]
    path = (await call(one, "GET", f"/imports/{done['id']}/refusals?limit=2&offset=3")).json()
    assert [(row["line"], row["values"]["externalKey"]) for row in path] == [(5, "3"), (6, "4")]
    assert path[0]["errors"][0].keys() == {"field", "msg", "type"}


async def test_the_paths_do_what_the_fields_do(one: Tenant) -> None:
    file_id = await uploaded(one, CONTACTS + "1;Ada;Park;ada@example.com\n2;;;\n")
    body = {"file_id": file_id, "kind": "contact", "match_on": "external_key"}
    shown = (await call(one, "POST", "/imports/preview", json=body)).json()
    assert [(row["line"], row["outcome"]) for row in shown["rows"]] == [(2, "created"), (3, "failed")]
    assert shown["mapping"][3] == {"column": "E-mail", "field": "email"}
    answer = await call(one, "POST", "/imports", json=body)
    assert answer.status_code == 202
    made = answer.json()
    assert made["status_url"] == f"/imports/{made['import_id']}"
    await work_off(one.gateway)
    record = (await call(one, "GET", made["status_url"])).json()
    assert (record["status"], record["job_id"]) == ("completed", made["job_id"])
    assert (record["rows"], record["refused"]) == (2, 1)
    assert (await call(one, "POST", f"/imports/{made['import_id']}/cancel")).status_code == 409
    wrong = await call(one, "POST", "/imports", json={**body, "mapping": [{"column": "x", "field": "email"}]})
    assert (wrong.status_code, wrong.json()["detail"][0]["loc"]) == (422, ["body", "mapping", 0, "column"])
    assert (await call(one, "POST", "/imports", one.headers("viewer"), json=body)).status_code == 403


async def test_the_file_may_go_while_the_import_waits(one: Tenant) -> None:
    import_id = await started(one, CONTACTS + "1;A;B;\n")
    [(file_id,)] = await one.rows(DataImport.file_id)
    for path in (f"/files/{file_id}", f"/files/{file_id}/trash"):
        assert (await call(one, "DELETE", path)).status_code == 204
    await work_off(one.gateway)
    done = await one.ask(ONE, id=import_id)
    assert (done["status"], done["error"], done["file"]) == ("FAILED", "The file is there no more", None)
    assert done["job"]["status"] == JobStatus.FAILED.name
    assert await one.rows(File.id) == []


NOT_CARRIED = {
    *("id", "created_at", "updated_at", "version", "owner_id", "account_id", "stage_id", "champion_id", "closed_at"),
    *("contact_id", "deal_id", "parent_deal_id", "converted_at"),
}
"""Identifiers and times, and what only the organization itself can say."""


async def exported(tenant: Tenant, noun: str) -> tuple[bytes, list[dict[str, str]]]:
    answer = await call(tenant, "GET", f"/export/{noun}?format=csv")
    assert answer.status_code == 200, answer.text
    rows = list(csv.DictReader(io.StringIO(answer.content.decode(), newline="")))
    carried = [{name: cell for name, cell in row.items() if name not in NOT_CARRIED} for row in rows]
    return answer.content, sorted(carried, key=lambda row: row["external_key"])


async def test_what_was_exported_and_imported_elsewhere_is_exported_alike(one: Tenant, two: Tenant) -> None:
    """Texts with quotes, line breaks and what looks like a formula, decimals to the last digit, days, tags."""
    odd = ("=1+1", "-x", 'Müller "& Söhne", Co', "two\r\nlines", " blank ", "0012", "株式会社", "+49 30 1", "'x")
    value = Decimal("999999999999999.9999")
    records: dict[str, list[Any]] = {
        "accounts": [Account(name=t, industry=t, external_key=f"a{n}") for n, t in enumerate(odd)],
        "contacts": [Contact(last_name=t, phone=t, external_key=f"c{n}") for n, t in enumerate(odd)],
        "deals": [
            Deal(name=t, notes=t, value=value, close_date=date(2026, 2, n + 1), currency="EUR", external_key=f"d{n}")
            for n, t in enumerate(odd)
        ],
        "leads": [Lead(name=t.strip(), notes=t, source="manual", external_key=f"l{n}") for n, t in enumerate(odd)],
    }
    tags = [Tag(name=name) for name in ("=vip", "b;c", "d\\", '"e"', "f, g", "\\;")]
    await one.add(*tags, *(record for each in records.values() for record in each))
    for kind in ("account", "contact", "deal", "lead"):
        linked = records[f"{kind}s"][0].id
        await one.add(*(TagLink(kind=kind, record_id=linked, tag_id=tag.id, position=n) for n, tag in enumerate(tags)))
    for noun, kept in records.items():
        content, rows = await exported(one, noun)
        left_out = NOT_CARRIED - {"id", "created_at", "updated_at", "version", "converted_at", "closed_at"}
        heading = content.decode().splitlines()[0].split(",")
        mapping = [{"column": name, "field": None} for name in heading if name in left_out]
        done = await imported(two, content, noun[:-1].upper(), mapping=mapping)
        assert (done["created"], done["refused"]) == (len(kept), 0), await two.ask(REFUSALS, id=done["id"])
        assert (await exported(two, noun))[1] == rows
        assert len(rows) == len(odd)
        again = await imported(two, content, noun[:-1].upper(), mapping=mapping)
        assert again["unchanged"] == len(kept)


async def _compared(surfaces: Surfaces) -> None:
    """Each path beside its twin, on files of their own."""
    http, gateway = surfaces.gateway.http, surfaces.gateway
    file = {"file": ("c.csv", (CONTACTS + "1;Ada;;\n2;;;\n").encode(), "text/csv")}
    file_id = (await http.post("/files", headers=surfaces.headers, files=file)).json()["id"]
    body = {"file_id": file_id, "kind": "contact", "mapping": [{"column": "E-mail", "field": None}]}
    mapping = [{"column": "E-mail", "field": None}]
    asked = {"fileId": file_id, "kind": "CONTACT", "mapping": mapping}
    shown = (await surfaces.rest("POST", "/imports/preview", body)).json()
    twin = await surfaces.graphql(PREVIEW, i=asked)
    assert [shown[n] for n in ("encoding", "delimiter", "columns")] == [
        twin[n] for n in ("encoding", "delimiter", "columns")
    ]
    assert [camel(one["field"]) for one in shown["mapping"] if one["field"]] == [
        one["field"] for one in twin["mapping"] if one["field"]
    ]
    for ours, theirs in zip(shown["rows"], twin["rows"], strict=True):
        assert (ours["line"], ours["values"], ours["outcome"].upper()) == (
            theirs["line"],
            theirs["values"],
            theirs["outcome"],
        )
        assert [e["msg"] for e in ours["errors"]] == [e["message"] for e in theirs["errors"]]
    by_path = (await surfaces.rest("POST", "/imports", body)).json()["import_id"]
    by_graph = (await surfaces.graphql(START, i=asked))["dataImport"]["id"]
    cancelled = [
        (await surfaces.rest("POST", f"/imports/{i}/cancel")).json()["status"].upper()
        for i in [(await surfaces.rest("POST", "/imports", body)).json()["import_id"]]
    ]
    third = (await surfaces.graphql(START, i=asked))["dataImport"]["id"]
    cancelled.append((await surfaces.graphql(CANCEL, id=third))["dataImport"]["status"])
    assert cancelled == ["CANCELLED", "CANCELLED"]
    await work_off(gateway)
    for import_id in (by_path, by_graph):
        record = (await surfaces.rest("GET", f"/imports/{import_id}")).json()
        graph = await surfaces.graphql(ONE, id=import_id)
        names = ("id", "dry_run", "rows", "created", "updated", "unchanged", "refused", "error", "requested_by")
        assert [record[n] for n in names] == [graph[camel(n)] for n in names]
        assert (record["kind"].upper(), record["status"].upper()) == (graph["kind"], graph["status"])
        rows = (await surfaces.rest("GET", f"/imports/{import_id}/refusals")).json()
        nodes = (await surfaces.graphql(REFUSALS, id=import_id))["refusals"]["nodes"]
        assert [(r["line"], r["values"]) for r in rows] == [(n["line"], n["values"]) for n in nodes]
        assert rows


_ONE = "/imports/<import>"
_ONLY = [{"column": "1", "field": "last_name"}]
_FILE_OF_ONE_ROW = {"file_id": "<file>", "kind": "contact", "has_header": False, "mapping": _ONLY}
_ONE_ROW = {"fileId": "<file>", "kind": "CONTACT", "hasHeader": False, "mapping": _ONLY}
_KEYS = [
    *("id", "kind", "status", "dry_run", "file_id", "job_id", "rows", "created", "updated", "unchanged"),
    *("refused", "refused_file_id", "error", "requested_by", "created_at", "finished_at"),
]
_PATHS: dict[tuple[str, str], tuple[str | None, bool, int, str | None]] = {
    ("POST", "/imports/preview"): ("CRM_MANAGE", True, 200, "Query.dataImportPreview"),
    ("POST", "/imports"): ("CRM_MANAGE", True, 202, "Mutation.dataImportCreate"),
    ("GET", "/imports/{import_id}"): ("CRM_READ", True, 200, "Query.dataImport"),
    ("POST", "/imports/{import_id}/cancel"): ("CRM_MANAGE", True, 200, "Mutation.dataImportCancel"),
    ("GET", "/imports/{import_id}/refusals"): ("CRM_READ", True, 200, "DataImport.refusals"),
}
RECORD = RecordType(
    typename="DataImport",
    name="import",
    row=lambda ids, mark: DataImport(
        **dict.fromkeys(("error", "requested_by"), mark),
        kind="contact",
        file_id=new_id(),
        job_id=new_id(),
        definition={
            "input": {"file_id": new_id(), "kind": "contact"},
            "encoding": "utf-8",
            "delimiter": ",",
            "columns": [mark],
            "mapping": [[mark, None]],
            "match": "external_key",
        },
    ),
    cases={
        "imports.get_import": Case("CRM_READ", (Rest("GET", _ONE), q(ONE, id="<import>"))),
        "imports.list_imports": Case("CRM_READ", (q("{ dataImports { nodes { error } totalCount } }"),)),
        "imports.refusals_of_import": Case(
            "CRM_READ",
            (
                Rest("GET", f"{_ONE}/refusals"),
                Rest("GET", f"{_ONE}/refusals?format=csv"),
                q(REFUSALS, id="<import>"),
            ),
            below=("imports.get_import",),
            direct=("<import>", ListQuery()),
        ),
        "imports.preview_import": Case(
            "CRM_MANAGE",
            (
                Rest("POST", "/imports/preview", _FILE_OF_ONE_ROW),
                q(PREVIEW, i=_ONE_ROW),
            ),
        ),
        "imports.create_import": Case(
            "CRM_MANAGE",
            (
                Rest("POST", "/imports", _FILE_OF_ONE_ROW),
                q(START, i=_ONE_ROW),
            ),
        ),
        "imports.cancel_import": Case("CRM_MANAGE", (Rest("POST", f"{_ONE}/cancel"), q(CANCEL, id="<import>"))),
    },
    paths=_PATHS,
    keys={
        ("/imports/preview", "POST"): ["encoding", "delimiter", "columns", "mapping", "rows"],
        ("/imports", "POST"): ["import_id", "job_id", "status_url"],
        ("/imports/{import_id}", "GET"): _KEYS,
        ("/imports/{import_id}/cancel", "POST"): _KEYS,
        ("/imports/{import_id}/refusals", "GET"): ["line", "values", "errors"],
    },
    compared=dict.fromkeys([twin for *_, twin in _PATHS.values() if twin], _compared),
)
