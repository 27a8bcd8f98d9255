"""Reports that are mailed: once, to members alone unless an administrator says so; each recipient's fate is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update
from sqlmodel import col

from contract.limits import MAIL_ATTACHED_MAX_BYTES, MAIL_TEXT_MAX, REPORT_RUN_DAYS
from identity.file_links import SIGNED
from jobs import mails
from jobs.mails import PAUSES
from jobs.work import KINDS
from providers.mail import Letter, MailAway, MailError, MailRefused, Outbox
from storage.base import new_id, now
from storage.new_rows import new_row
from storage.queries import jobs
from storage.queries.records import lock_organization
from storage.tables import Event, Job, Mail, QueuedJob, Report, ReportRun
from tests.isolation.requests import ERRORS, Case, Rest, q
from tests.isolation.surfaces import Surfaces
from tests.records.test_report_runs import AT, saved
from tests.support.record_types import RecordType
from tests.support.tenants import Tenant
from tests.support.waiting import meets_writer

pytestmark = pytest.mark.asyncio(loop_scope="session")

MAIL = "mail { id subject to status attempts error createdAt sentAt }"
EMAIL = f"""mutation($id: ID!, $i: ReportEmailInput!) {{
  reportEmail(id: $id, input: $i) {{ run {{ id status requestedBy {MAIL} }} job {{ id status }} {ERRORS} }} }}"""
READ = f"query($id: ID!) {{ reportRun(id: $id) {{ id status error files {{ id name }} {MAIL} }} }}"
ONE = "query($id: ID!) { mail(id: $id) { id subject to status attempts error createdAt sentAt } }"


class Script:
    """A mail server that answers as it is told, and keeps what it was sent."""

    def __init__(self, *answers: Mapping[str, int] | MailError) -> None:
        self.answers = list(answers)
        self.letters: list[Letter] = []

    async def send(self, letter: Letter) -> Mapping[str, int]:
        self.letters.append(letter)
        answer = self.answers.pop(0) if self.answers else {}
        if isinstance(answer, MailError):
            raise answer
        return answer

    async def check(self) -> str:
        return "is a script"


@dataclass
class Own:
    """A port for the messages of one organization: nobody gets those of others, whom a worker works for as well."""

    tenant: Tenant
    port: Any

    async def send(self, letter: Letter) -> Mapping[str, int]:
        is_own = (letter.id,) in await self.tenant.rows(Mail.id)
        return await self.port.send(letter) if is_own else {}

    async def check(self) -> str:
        return str(await self.port.check())


@asynccontextmanager
async def mailing(tenant: Tenant, port: Any) -> AsyncIterator[Any]:
    """Messages of the organization go there meanwhile; what others have waiting is left out."""
    async with tenant.gateway.world.database.directory(writing=True) as session:
        await session.execute(delete(QueuedJob).where(col(QueuedJob.org_id) != tenant.id))
    ports = tenant.gateway.runtime.ports
    before = ports.mail
    object.__setattr__(ports, "mail", Own(tenant, port))
    try:
        yield port
    finally:
        object.__setattr__(ports, "mail", before)


async def asked(tenant: Tenant, report: str, role: str = "member", **fields: Any) -> str:
    answer = await tenant.ask(EMAIL, tenant.headers(role), id=report, i={"to": ["viewer@example.com"], **fields})
    assert answer["userErrors"] == []
    return str(answer["run"]["id"])


async def settled(tenant: Tenant, run: str, *, due: bool = False) -> Any:
    """The run once its message has ended; `due` has what is to be tried again tried at once."""
    async with tenant.gateway.runtime.working(), asyncio.timeout(120):
        while True:
            found = await tenant.ask(READ, id=run)
            if found["mail"]["status"] != "QUEUED":
                return found
            if due:
                await hasten(tenant)
            await asyncio.sleep(0.05)


async def hasten(tenant: Tenant) -> None:
    async with tenant.gateway.world.database.writing(tenant.id) as session:
        own = col(QueuedJob.org_id) == session.org_id, col(QueuedJob.holder).is_(None)
        await session.execute(update(QueuedJob).where(*own).values(due_at=now()))


def outbox(tenant: Tenant) -> dict[str, EmailMessage]:
    """The messages in the outbox, by the identifiers of their mails."""
    port = tenant.gateway.runtime.ports.mail
    assert isinstance(port, Outbox)
    files = sorted(port.folder.glob("*.eml")) if port.folder.exists() else []
    return {_id(file): message_from_bytes(file.read_bytes(), policy=policy.default) for file in files}  # type: ignore[misc]


def _id(file: Path) -> str:
    return file.stem.partition("-")[2]


async def test_a_report_is_mailed_and_lies_in_the_outbox(one: Tenant) -> None:
    report = await saved(one, name="Pipeline\u2028by  stage – für Köln")
    answer = await one.ask(
        EMAIL,
        id=report,
        i={
            "to": ["VIEWER@example.com", "admin@example.com", "viewer@Example.com"],
            "message": ".\nGrüße\n.",
            "formats": ["PDF", "CSV"],
        },
    )
    assert answer["userErrors"] == []
    shown = answer["run"]["mail"]
    assert (shown["status"], shown["attempts"], shown["sentAt"], shown["error"]) == ("QUEUED", 0, None, None)
    assert shown["to"] == ["viewer@example.com", "admin@example.com"]  # each once, as its member has it
    assert (answer["run"]["requestedBy"], answer["job"]["status"]) == (one.subject(), "QUEUED")
    done = await settled(one, answer["run"]["id"])
    mail = done["mail"]
    assert (done["status"], mail["status"], mail["attempts"], mail["error"]) == ("SUCCEEDED", "SENT", 1, None)
    assert mail["sentAt"] >= mail["createdAt"]
    message = outbox(one)[mail["id"]]
    assert message["subject"] == mail["subject"] == "Pipeline by stage – für Köln"
    assert message["to"] == "viewer@example.com, admin@example.com"
    assert message["from"] == "crm@localhost"
    assert message["message-id"] == f"<{mail['id']}@localhost>"
    text, pdf, table = message.iter_parts()
    assert text.get_content().replace("\r\n", "\n") == ".\nGrüße\n.\n"
    assert [part.get_filename() for part in (pdf, table)] == [file["name"] for file in done["files"]]
    assert pdf.get_content().startswith(b"%PDF-1.7")
    assert (table.get_content_type(), pdf.get_content_type()) == ("text/csv", "application/pdf")
    assert await one.ask(ONE, one.headers("viewer"), id=mail["id"]) == mail
    told = dict(await one.rows(Event.type, Event.data))
    assert told["report_emailed"] == {"report_id": report, "run_id": done["id"], "mail_id": mail["id"]}


async def test_only_members_are_written_to_unless_an_administrator_says_otherwise(one: Tenant) -> None:
    report = await saved(one)
    to = ["viewer@example.com", "stranger@elsewhere.example", "admin@example.com", "x@example.org"]
    before = await one.rows(Mail.id), await one.rows(ReportRun.id), await one.rows(Job.id), await one.rows(Event.id)
    refused = await one.ask(EMAIL, id=report, i={"to": to})
    assert refused["run"] is refused["job"] is None
    assert [p["field"] for p in refused["userErrors"]] == [["input", "to", "1"], ["input", "to", "3"]]
    assert {p["code"] for p in refused["userErrors"]} == {"VALIDATION"}
    after = await one.rows(Mail.id), await one.rows(ReportRun.id), await one.rows(Job.id), await one.rows(Event.id)
    assert before == after
    run = await asked(one, report, role="admin", to=to)
    done = await settled(one, run)
    assert (done["mail"]["status"], done["mail"]["to"]) == ("SENT", to)


async def test_a_name_or_an_address_like_an_encoded_word_makes_no_header(one: Tenant) -> None:
    """Decision 953: in the outbox, as it would go to a mail server; the odd address is refused, the other gets it."""
    odd = "=?utf-8?q?a=0D=0ABcc:_x@evil.example?="
    report = await saved(one, name=odd)
    run = await asked(one, report, role="admin", to=["viewer@example.com", "=?utf-8?q?a?=@example.com"])
    done = await settled(one, run)
    assert done["mail"]["status"] == "SENT"
    assert done["mail"]["error"] == "Refused: =?utf-8?q?a?=@example.com (not an address for this mail server)"
    message = outbox(one)[done["mail"]["id"]]
    assert (message["To"], message["Bcc"]) == ("viewer@example.com", None)
    assert message["Subject"].replace("\u2060", "") == odd
    [file] = message.iter_attachments()
    assert file.keys() == ["Content-Type", "Content-Transfer-Encoding", "Content-Disposition", "MIME-Version"]


async def test_who_is_no_member_any_more_when_it_is_sent_gets_nothing_and_it_is_told(one: Tenant) -> None:
    run = await asked(one, await saved(one), to=["viewer@example.com", "admin@example.com"])
    gone = f'mutation {{ memberDeactivate(id: "{one.subject("viewer")}") {{ {ERRORS} }} }}'
    await one.ask(gone, one.headers("admin"))
    async with mailing(one, Script()) as script:
        done = await settled(one, run)
    assert [letter.still_to for letter in script.letters] == [["admin@example.com"]]
    assert done["mail"]["status"] == "SENT"
    assert done["mail"]["error"] == "Refused: viewer@example.com (no member's)"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"to": []}, ["input", "to"]),
        ({"to": [f"a{n}@example.com" for n in range(21)]}, ["input", "to"]),
        ({"to": ["viewer@example.com", "nobody"]}, ["input", "to", "1"]),
        ({"to": ["viewer@example.com\r\nBcc: x@example.org"]}, ["input", "to", "0"]),
        ({"to": ["The viewer <viewer@example.com>"]}, ["input", "to", "0"]),
        *(
            ({"subject": f"a{c}Bcc: x@example.org"}, ["input", "subject"])
            for c in "\n\r\x0b\x0c\x1c\x85\u2028\u2029\x00\t"
        ),
        ({"subject": "a\n"}, ["input", "subject"]),
        ({"subject": " "}, ["input", "subject"]),
        ({"subject": "a" * 256}, ["input", "subject"]),
        ({"message": "a" * (MAIL_TEXT_MAX + 1)}, ["input", "message"]),
        ({"message": "a\x00"}, ["input", "message"]),
        ({"formats": []}, ["input", "formats"]),
        ({"formats": ["PDF", "PDF"]}, ["input", "formats"]),
    ],
)
async def test_what_is_wrong_is_told_at_its_field_and_nothing_is_mailed(
    one: Tenant, fields: dict[str, Any], field: list[str]
) -> None:
    report = await saved(one)
    before = await one.rows(Event.id)
    answer = await one.ask(EMAIL, one.headers("admin"), id=report, i={"to": ["viewer@example.com"], **fields})
    assert [(p["code"], p["field"]) for p in answer["userErrors"]] == [("VALIDATION", field)]
    assert await one.rows(Mail.id) == await one.rows(ReportRun.id) == await one.rows(Job.id) == []
    assert await one.rows(Event.id) == before


async def test_an_idempotency_key_mails_nothing_twice(one: Tenant) -> None:
    report = await saved(one)
    headers = one.headers() | {"Idempotency-Key": new_id()}
    given = {"to": ["viewer@example.com"]}
    first, second, *more = await asyncio.gather(*(one.ask(EMAIL, headers, id=report, i=given) for _ in range(5)))
    assert {answer["run"]["id"] for answer in (first, second, *more)} == {first["run"]["id"]}
    async with mailing(one, Script()) as script:
        await settled(one, first["run"]["id"])
        assert (await one.ask(EMAIL, headers, id=report, i=given))["run"]["id"] == first["run"]["id"]
    assert len(script.letters) == len(await one.rows(Mail.id)) == len(await one.rows(ReportRun.id)) == 1


async def test_a_refused_recipient_is_told_and_the_others_get_it_once(one: Tenant) -> None:
    to = ["viewer@example.com", "member@example.com", "admin@example.com"]
    run = await asked(one, await saved(one), to=to)
    answers = {"member@example.com": 550, "admin@example.com": 450}, MailAway("hides at 10.0.0.7"), {}
    async with mailing(one, Script(*answers)) as script:
        done = await settled(one, run, due=True)
    mail = done["mail"]
    assert (mail["status"], mail["attempts"]) == ("SENT", 3)
    assert mail["error"] == "Refused: member@example.com (550)"
    assert [letter.still_to for letter in script.letters] == [to, to[2:], to[2:]]
    assert {letter.id for letter in script.letters} == {mail["id"]}  # one Message-ID


async def test_what_nobody_gets_has_failed_with_the_codes(one: Tenant) -> None:
    run = await asked(one, await saved(one), to=["viewer@example.com", "admin@example.com"])
    refusal = MailRefused("5.7.1 internal-relay-7 says no")
    refusal.code = 554
    async with mailing(one, Script(refusal)):
        done = await settled(one, run)
    assert (done["status"], done["mail"]["status"], done["mail"]["sentAt"]) == ("SUCCEEDED", "FAILED", None)
    assert done["mail"]["error"] == "Refused: admin@example.com (554), viewer@example.com (554)"
    assert len(done["files"]) == 1  # the report did not fail


async def test_a_server_that_is_away_is_tried_eight_times_within_six_hours(one: Tenant) -> None:
    run = await asked(one, await saved(one))
    async with mailing(one, Script(*[MailAway("is at 10.0.0.7")] * 9)) as script:
        done = await settled(one, run, due=True)
    assert (done["mail"]["status"], done["mail"]["attempts"]) == ("FAILED", 8)
    assert done["mail"]["error"] == "The mail server cannot be reached"
    assert len(script.letters) == len(PAUSES) + 1 == 8
    assert timedelta(hours=5) < sum(PAUSES, timedelta()) <= timedelta(hours=6)
    assert KINDS["mail"].attempts == 8


async def test_what_does_not_become_a_report_is_mailed_to_nobody(one: Tenant) -> None:
    report = await saved(one)
    run = await asked(one, report)
    await one.ask(f"mutation($id: ID!) {{ reportDelete(id: $id) {{ {ERRORS} }} }}", id=report)
    async with mailing(one, Script()) as script:
        done = await settled(one, run)
    assert (done["status"], done["mail"]["status"]) == ("FAILED", "FAILED")
    assert done["mail"]["error"] == "There is no report to send: The report does not exist any more"
    assert script.letters == []


async def test_a_deleted_file_is_not_mailed(one: Tenant) -> None:
    run = await asked(one, await saved(one))
    async with mailing(one, Script(MailAway("is away"))) as script:
        async with one.gateway.runtime.working(), asyncio.timeout(60):
            while not (await one.ask(READ, id=run))["mail"]["error"]:  # noqa: ASYNC110  # a worker's own pace
                await asyncio.sleep(0.05)
        [file] = (await one.ask(READ, id=run))["files"]
        await one.ask(f'mutation {{ fileDelete(id: "{file["id"]}") {{ {ERRORS} }} }}')
        done = await settled(one, run, due=True)
    assert (done["mail"]["status"], done["mail"]["error"]) == ("FAILED", "A file of the message was deleted")
    assert len(script.letters) == 1


async def test_large_files_are_linked_for_seven_days(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.mails.MAIL_ATTACHED_MAX_BYTES", 100)
    ports = one.gateway.runtime.ports
    object.__setattr__(ports, "public_url", "http://gateway")
    try:
        async with mailing(one, Script()) as script:
            done = await settled(one, await asked(one, await saved(one), message="Hello", formats=["PDF", "CSV"]))
    finally:
        object.__setattr__(ports, "public_url", "")
    [letter] = script.letters
    assert [file.content_type for file in letter.attachments] == ["text/csv"]
    first, link = letter.text.rstrip().splitlines()[-2:]
    assert letter.text.startswith("Hello\n\n")
    assert first.startswith(done["files"][0]["name"])
    assert link.startswith(f"http://gateway{SIGNED}")
    answer = await one.gateway.http.get(link)
    assert (answer.status_code, answer.content[:5]) == (200, b"%PDF-")
    ends = datetime.fromtimestamp(int(link.split(".")[3]), UTC)
    assert timedelta(days=6, hours=23) < ends - now() <= timedelta(days=7)
    assert MAIL_ATTACHED_MAX_BYTES == 10 * 1024 * 1024


async def test_an_organization_has_its_messages_of_a_day(one: Tenant, two: Tenant) -> None:
    report, other = await saved(one), await saved(two)
    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
    await one.add(
        *(Mail(subject="x", recipients=[], asked_by="x", created_at=midnight) for _ in range(49)),
        *(Mail(subject="x", recipients=[], asked_by="x", created_at=midnight - timedelta(seconds=1)) for _ in range(9)),
    )
    assert (await one.ask(EMAIL, id=report, i={"to": ["viewer@example.com"]}))["userErrors"] == []
    error = await one.error(EMAIL, id=report, i={"to": ["viewer@example.com"]})
    assert (error["extensions"]["code"], 0 < error["extensions"]["retryAfter"] <= 86_400) == ("MAILS_SPENT", True)
    answer = await one.gateway.rest("POST", f"/reports/{report}/email", one.headers(), {"to": ["viewer@example.com"]})
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 86_400
    assert len(await one.rows(Mail.id)) == 59
    assert (await two.ask(EMAIL, id=other, i={"to": ["viewer@example.com"]}))["userErrors"] == []


async def test_another_organization_has_no_say_in_who_is_a_member(one: Tenant, two: Tenant) -> None:
    report = await saved(one)
    await two.ask(
        f"""mutation {{ memberAdd(input: {{name: "x", email: "their@example.net"}}) {{ {ERRORS} }} }}""",
        two.headers("admin"),
    )
    refused = await one.ask(EMAIL, id=report, i={"to": ["their@example.net"]})
    assert [p["field"] for p in refused["userErrors"]] == [["input", "to", "0"]]
    mine = await asked(one, report)
    mail = (await one.ask(READ, id=mine))["mail"]["id"]
    assert await two.ask(ONE, id=mail) is None
    [missing] = (await two.ask(EMAIL, id=report, i={"to": ["viewer@example.com"]}))["userErrors"]
    assert (missing["code"], missing["field"]) == ("NOT_FOUND", ["id"])


async def test_a_message_that_ended_is_not_sent_again(one: Tenant) -> None:
    """A worker that died behind its answer leaves the job, which finds that all is done."""
    run = await asked(one, await saved(one))
    async with mailing(one, Script()) as script:
        done = await settled(one, run)
        async with one.gateway.world.database.writing(one.id) as session:
            job = new_row(Job, org_id=one.id, kind="mail", arguments={"mail_id": done["mail"]["id"]})
            await jobs.put(session, job, due_at=now())
        async with one.gateway.runtime.working(), asyncio.timeout(60):
            while ("succeeded",) not in await one.rows(Job.status) or len(await one.rows(QueuedJob.job_id)):  # noqa: ASYNC110  # the same
                await asyncio.sleep(0.05)
    assert len(script.letters) == 1


async def test_old_messages_are_forgotten(one: Tenant) -> None:
    old, kept = await asked(one, await saved(one)), await asked(one, await saved(one))
    [gone, stays] = [(await one.ask(READ, id=run))["mail"]["id"] for run in (old, kept)]
    async with one.gateway.world.database.writing(one.id) as session:
        row = await session.find(Mail, id=gone)
        assert row is not None
        await session.update(row, created_at=now() - timedelta(days=REPORT_RUN_DAYS, seconds=1))
    assert await mails.prune(one.gateway.world.database, one.id) is True
    assert await mails.prune(one.gateway.world.database, one.id) is False
    assert await one.rows(Mail.id) == [(stays,)]
    assert (await one.ask(READ, id=old))["mail"] is None


QUEUED = ["run_id", "job_id", "status_url"]
KEYS = ["id", "subject", "to", "status", "attempts", "error", "created_at", "sent_at"]


async def _mail(surfaces: Surfaces) -> None:
    made = (await surfaces.rest("POST", "/reports", {"name": "R", "kind": "pipeline_by_stage"})).json()
    path = f"/reports/{made['id']}/email"
    body = {"to": ["viewer@example.com"], "subject": "S", "formats": ["csv"]}
    answer = await surfaces.rest("POST", path, body)
    assert (answer.status_code, list(answer.json())) == (202, QUEUED)
    assert answer.headers["location"] == f"/report-runs/{answer.json()['run_id']}"
    found: dict[str, Any] = {}
    async with surfaces.gateway.runtime.working(), asyncio.timeout(120):
        while not found or found["mail"]["status"] == "queued":
            await asyncio.sleep(0.05)
            found = (await surfaces.rest("GET", answer.headers["location"])).json()
    mail = found["mail"]
    twin = (await surfaces.graphql(READ, id=found["id"]))["mail"]
    assert list(mail) == KEYS
    assert (mail["id"], mail["to"], mail["status"]) == (twin["id"], twin["to"], "sent")
    for wrong, loc in (
        ({"to": []}, ["body", "to"]),
        ({"to": ["viewer@example.com"] * 21}, ["body", "to"]),
        ({"to": ["viewer@example.com", "x"]}, ["body", "to", 1]),
        ({"subject": "a\nb"}, ["body", "subject"]),
        ({"formats": ["x"]}, ["body", "formats", 0]),
    ):
        refused = await surfaces.rest("POST", path, body | wrong)
        assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, loc), refused.text
    assert (await surfaces.rest("POST", f"/reports/{new_id()}/email", body)).status_code == 404


def _row(ids: Any, mark: str) -> Mail:
    return Mail(
        subject=mark,
        body=mark,
        recipients=[f"{mark}@example.com"],
        asked_by=mark,
        status="failed",
        error=mark,
        created_at=AT,
        reached=[f"reached.{mark}@example.com"],
        refused={f"refused.{mark}@example.com": mark},
        file_ids=[mark],
    )


RECORD = RecordType(
    typename="Mail",
    name="mail",
    row=_row,
    cases={
        "mails.get_mail": Case(
            "CRM_READ", (q("query($id: ID!) { mail(id: $id) { id subject to error } }", id="<mail>"),)
        ),
        "mails.email_report": Case(
            "CRM_MANAGE",
            (
                Rest("POST", "/reports/<saved report>/email", {"to": ["viewer@example.com"]}),
                q(
                    EMAIL,
                    id="<saved report>",
                    i={"to": ["viewer@example.com"]},
                ),
            ),
        ),
    },
    paths={("POST", "/reports/{report_id}/email"): ("CRM_MANAGE", True, 202, "Mutation.reportEmail")},
    keys={("/reports/{report_id}/email", "POST"): QUEUED},
    compared={"Mutation.reportEmail": _mail},
)


async def test_who_mails_a_report_and_who_changes_it_do_not_wait_for_each_other(one: Tenant) -> None:
    """A writer locks the report and then the organization, and so does who mails it (decision 1200)."""
    report = await saved(one)
    answer = await meets_writer(
        one,
        lambda s: s.find(Report, id=report, lock=True),
        lock_organization,
        one.body(EMAIL, id=report, i={"to": ["viewer@example.com"]}),
    )
    assert "errors" not in answer
