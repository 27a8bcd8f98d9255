"""What `doctor` finds, and what it says to do about it: each mistake made once."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import namedtuple
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import col

from contract.limits import CONNECTION_SECONDS, REQUEST_SECONDS, STATEMENT_SECONDS
from gateway.observability import doctor
from gateway.observability.doctor_settings import BEAT_LEAST, of_settings
from gateway.runtime import Runtime
from gateway.settings import Settings
from storage.base import new_id, now
from storage.database import Database
from storage.new_rows import new_row
from storage.queries import jobs
from storage.queries.organizations import organization
from storage.queries.records import append_events
from storage.queries.watches import watch
from storage.tables import Event, Job, JobWorker, Organization, ReminderWatch, Webhook, WebhookWatch
from tests.support.loopback import Reply, serving
from tests.support.model import KEY, delta, said, scripted, streamed
from tests.support.postgresql import Server
from tests.support.service import Outcome

Command = Callable[..., Outcome]
CHECKS = [
    "database",
    "migrations",
    "worker",
    "data_dir",
    "disk_space",
    "processes",
    "cors_origins",
    "public_url",
    "job_lease",
    "google",
    "microsoft",
    "zoom",
    "slack",
    "traces",
    "errors",
    "outbound",
    "row_security",
    "clock",
    "timeouts",
    "jobs",
    "credentials",
    "demo_data",
    "roll_ups",
    "connections",
    "analytics",
    "artifact_store",
    "mail",
]


@pytest.fixture
def migrated(tmp_path: Path, sqlite_template: Path) -> Path:
    """The folder of a service whose database is ready."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    shutil.copyfile(sqlite_template, folder / "crm.sqlite3")
    (folder / "crm.sqlite3").chmod(0o600)
    return folder


def test_each_state_of_a_provider_of_accounts_is_told_and_what_to_do() -> None:
    client = {"slack_client_id": "1.2", "slack_client_secret": "secret"}
    signed = {**client, "slack_signing_secret": "signing"}
    google = {"google_client_id": "1.apps", "google_client_secret": "secret"}
    zoom = {"zoom_client_id": "i", "zoom_client_secret": "secret"}
    there, readable = {"public_url": "https://crm.example"}, {"public_url": "http://crm.example"}
    told: list[tuple[str, dict[str, str], bool, str, str]] = [
        ("google", {}, True, "members cannot connect Google accounts", ""),
        ("google", google, False, "half set up: CRM_PUBLIC_URL not set", "set CRM_PUBLIC_URL"),
        ("google", google | readable, False, "members are sent back to http://crm.example/", "use https"),
        ("google", google | there, True, "https://crm.example/integrations/callback/google; while", ""),
        ("zoom", {"zoom_webhook_secret": "s"}, False, "CRM_ZOOM_CLIENT_ID, CRM_ZOOM_CLIENT_SECRET", "set CRM_Z"),
        (
            "zoom",
            {"zoom_client_id": "i"} | there,
            False,
            "CRM_ZOOM_CLIENT_SECRET not set",
            "set CRM_ZOOM_CLIENT_SECRET",
        ),
        ("zoom", zoom | there, True, "Zoom is asked for recordings now and then", ""),
        ("zoom", zoom | {"zoom_webhook_secret": "s"} | there, True, "https://crm.example/integrations/hooks/zoom", ""),
        ("slack", {}, True, "administrators cannot connect Slack accounts", ""),
        ("slack", {"slack_signing_secret": "s"}, False, "CRM_SLACK_CLIENT_ID, CRM_SLACK_CLIENT_SECRET", "set CRM_S"),
        ("slack", client | there, False, "Slack cannot tell of huddles", "set CRM_SLACK_SIGNING_SECRET"),
        ("slack", signed | readable, False, "tells of huddles at http://crm.example/", "use https"),
        ("slack", signed | there, True, "tells of huddles at https://crm.example/integrations/hooks/slack", ""),
    ]
    for name, settings, ok, message, advice in told:
        made = Settings(_env_file=None, **settings)  # type: ignore[arg-type]  # texts, which it reads
        found = {finding.name: finding for finding in of_settings(made, [])}[name]
        assert (found.ok, bool(found.advice)) == (ok, bool(advice)), (settings, found)
        assert message in found.message, (settings, found)
        assert advice in found.advice, (settings, found)


@pytest.mark.parametrize(
    ("answer", "ok", "words"),
    [
        (said({"word": "ready"}), True, "scripted-1 answers"),
        (said("ready"), False, "cannot be read"),
        (Reply({}, status=401), False, "does not accept"),
        (Reply({}, status=500), False, "busy"),
    ],
)
async def test_the_model_is_asked_for_a_word(
    answer: Reply, ok: bool, words: str, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Runtime(Settings(_env_file=None, data_dir=migrated))
    async with scripted(answer) as model, runtime.running():
        runtime.model = model.model
        found = {finding.name: finding for finding in await doctor.examine(runtime)}["model"]
    assert (found.ok, bool(found.advice)) == (ok, not ok)
    assert words in found.message
    assert KEY not in found.message


@pytest.mark.parametrize(
    ("answer", "ok", "words"),
    [
        (streamed(delta(content="Yes"), delta("stop")), True, "small answers chats"),
        (streamed(delta("stop")), False, "it says nothing"),
        (Reply({}, status=401), False, "does not accept"),
        (Reply({}, status=503), False, "busy"),
    ],
)
async def test_the_model_of_chats_is_asked_for_a_word(answer: Reply, ok: bool, words: str, migrated: Path) -> None:
    async with serving(lambda _: answer) as server:
        settings = {"model_url": f"{server.url}/v1", "model_name": "small", "model_api_key": KEY}
        runtime = Runtime(Settings(_env_file=None, data_dir=migrated, **settings))
        async with runtime.running():
            found = {finding.name: finding for finding in await doctor.examine(runtime)}["chat_model"]
            ready = {check.name: check.message for check in await runtime.readiness()}["model"]
    assert (found.ok, bool(found.advice)) == (ok, not ok)
    assert words in found.message
    assert "chats: the last call" in ready
    assert KEY not in found.message


async def test_a_model_of_messages_reads_no_questions(migrated: Path) -> None:
    async with serving(lambda _: Reply({}, status=401)) as server:
        settings = {"model_url": f"{server.url}/v1", "model_name": "small", "model_kind": "anthropic"}
        runtime = Runtime(Settings(_env_file=None, data_dir=migrated, **settings))
        async with runtime.running():
            found = [finding.name for finding in await doctor.examine(runtime)]
        assert ("model" in found, "chat_model" in found) == (False, True)
        assert server.lines == ["POST /v1/messages"]


def test_nothing_is_wrong_with_a_fresh_service(command: Command, migrated: Path) -> None:
    outcome = command("doctor", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    findings = json.loads(outcome.out)
    assert [finding["name"] for finding in findings] == CHECKS
    assert all(finding["ok"] is True and finding["advice"] is None for finding in findings)
    assert "PROBLEM" not in command("doctor").out


def test_each_deadline_leaves_time_for_the_one_within_it() -> None:
    assert REQUEST_SECONDS > STATEMENT_SECONDS > CONNECTION_SECONDS > 0
    assert BEAT_LEAST > STATEMENT_SECONDS + CONNECTION_SECONDS


def _problems(outcome: Outcome) -> dict[str, tuple[str, str]]:
    assert outcome.code == 1
    return {f["name"]: (f["message"], f["advice"]) for f in json.loads(outcome.out) if not f["ok"]}


@pytest.mark.parametrize(
    ("settings", "name", "message", "advice"),
    [
        ({"WEB_CONCURRENCY": "2"}, "processes", "2 on SQLite", "use PostgreSQL for several processes"),
        ({"CRM_CORS_ORIGINS": "*"}, "cors_origins", "*", "name the origins in CRM_CORS_ORIGINS"),
        ({"CRM_CORS_ORIGINS": "https://a.example,*"}, "cors_origins", "https://a.example, *", "name the origins"),
        ({"CRM_PUBLIC_URL": "http://crm.example"}, "public_url", "http://crm.example", "use https in CRM_PUBLIC_URL"),
        ({"CRM_JOB_LEASE_SECONDS": "11"}, "job_lease", "11 s", "set CRM_JOB_LEASE_SECONDS to 12 at least"),
        (
            {"CRM_OUTBOUND_ALLOW_LOOPBACK": "1"},
            "outbound",
            "may call this machine",
            "unset CRM_OUTBOUND_ALLOW_LOOPBACK",
        ),
    ],
)
def test_a_setting_that_is_a_mistake(
    command: Command, migrated: Path, settings: dict[str, str], name: str, message: str, advice: str
) -> None:
    [(found, (said, told))] = _problems(command("doctor", "--json", **settings)).items()
    assert (found, said) == (name, message)
    assert advice in told
    lines = command("doctor", **settings).out.splitlines()
    at = lines.index(f"PROBLEM  {name}: {message}")
    assert lines[at + 1] == f"         {told}"


@pytest.mark.parametrize(
    "settings",
    [
        {"CRM_PUBLIC_URL": "http://localhost:8000"},
        {"CRM_PUBLIC_URL": "http://127.0.0.1"},
        {"CRM_PUBLIC_URL": "http://crm.localhost"},
        {"CRM_PUBLIC_URL": "https://crm.example"},
        {"CRM_CORS_ORIGINS": "https://app.example"},
    ],
)
def test_a_setting_that_is_none(command: Command, migrated: Path, settings: dict[str, str]) -> None:
    assert command("doctor", **settings).code == 0


def test_an_identity_provider_that_is_away_plain_or_of_anybody(command: Command, migrated: Path) -> None:
    problems = _problems(command("doctor", "--json", CRM_OIDC_ISSUER="http://127.0.0.1:1/"))
    assert problems.keys() == {"identity_provider", "oidc_audience"}
    assert problems["identity_provider"][0].startswith("keys not loaded yet; the last call failed (connect_error)")
    assert "CRM_OIDC_ISSUER" in problems["identity_provider"][1]
    assert problems["oidc_audience"][0] == "not set"
    plain = {"CRM_OIDC_ISSUER": "http://identity.invalid/", "CRM_OIDC_AUDIENCE": "crm"}
    assert _problems(command("doctor", "--json", **plain)).keys() == {"identity_provider", "oidc_issuer"}


def test_what_others_can_read(command: Command, migrated: Path, tmp_path: Path) -> None:
    migrated.chmod(0o755)
    env_file = tmp_path / ".env"
    env_file.write_text("LOG_FORMAT=json\n")
    env_file.chmod(0o644)
    problems = _problems(command("doctor", "--json"))
    assert problems == {
        "data_dir": (f"{migrated} has mode 0755", f"chmod 700 {migrated}"),
        "env_file": (".env has mode 0644", "chmod 600 .env, and change the secrets that were in it"),
    }
    migrated.chmod(0o700)
    env_file.chmod(0o600)
    assert command("doctor").code == 0
    command("doctor")
    (migrated / "pepper").chmod(0o640)
    outcome = command("doctor")
    assert (outcome.code, outcome.out) == (78, "")
    assert "is open to others than its owner (mode 0640); chmod 600" in outcome.err


@pytest.mark.parametrize("content", ["", "abc\n", "ab" * 31 + "\n", "zz" * 32 + "\n"])
@pytest.mark.parametrize("name", ["pepper", "pepper.previous"])
def test_a_pepper_that_is_none(command: Command, migrated: Path, name: str, content: str) -> None:
    file = migrated / name
    file.write_text(content)
    file.chmod(0o600)
    outcome = command("doctor")
    assert (outcome.code, outcome.out) == (78, "")
    assert outcome.err == f"CRM_DATA_DIR: {file}: does not hold 32 bytes in hexadecimal form\n"


def test_a_pepper_that_the_credentials_were_not_made_with(command: Command, tmp_path: Path) -> None:
    command("seed", "--demo")
    folder = tmp_path / "data"
    assert command("doctor").code == 0
    pepper = (folder / "pepper").read_bytes()
    (folder / "pepper").unlink()  # a restore that forgot it: the next start makes another
    [(name, (message, advice))] = _problems(command("doctor", "--json")).items()
    assert (name, message) == ("credentials", "3 of 3 were made with a pepper that is not here, and are refused")
    assert "`pepper.previous`" in advice
    assert "made anew" in advice
    (folder / "pepper.previous").write_bytes(pepper)
    (folder / "pepper.previous").chmod(0o600)
    outcome = command("doctor")
    assert outcome.code == 0
    assert "credentials: 3 live; 3 not used since the pepper was changed" in outcome.out
    with sqlite3.connect(folder / "crm.sqlite3") as connection:
        connection.execute("UPDATE credentials SET revoked_at = created_at")
    connection.close()
    (folder / "pepper.previous").unlink()
    assert command("doctor").code == 0


def test_migrations_that_are_pending(command: Command, migrated: Path) -> None:
    command("migrate", "--to", "0001")
    problems = _problems(command("doctor", "--json"))
    assert problems.keys() == {"migrations"}
    assert problems["migrations"][1] == "run `crm-gateway migrate`"


def test_the_demo_in_public(command: Command, tmp_path: Path) -> None:
    command("seed", "--demo")
    assert command("doctor").code == 0
    assert command("doctor", CRM_PUBLIC_URL="http://localhost").code == 0
    problems = _problems(command("doctor", "--json", CRM_PUBLIC_URL="https://crm.example"))
    assert problems == {"demo_data": ("present", "start from an empty database, without --demo")}


def test_an_artifact_store_that_cannot_be_written_to(command: Command, migrated: Path) -> None:
    (migrated / "artifacts").write_text("in the way")
    problems = _problems(command("doctor", "--json"))
    assert problems.keys() == {"artifact_store"}
    assert problems["artifact_store"][0].startswith("cannot be written to: ")


def test_nothing_of_the_store_is_left(command: Command, migrated: Path) -> None:
    command("doctor")
    assert [path for path in (migrated / "artifacts").rglob("*") if path.is_file()] == []


async def _findings(database_url: str, folder: Path, **settings: Any) -> dict[str, doctor.Finding]:
    runtime = Runtime(Settings(_env_file=None, database_url=database_url, data_dir=folder, **settings))
    async with runtime.running():
        return {finding.name: finding for finding in await doctor.examine(runtime)}


async def test_little_space_and_a_clock_that_is_wrong(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def late(_database: Database) -> Any:
        return now() - timedelta(seconds=7)

    usage = namedtuple("usage", "free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _folder: usage(512 * 1024 * 1024 - 1))
    monkeypatch.setattr(Database, "clock", late)
    findings = await _findings(database_url, tmp_path / "data")
    assert [name for name, finding in findings.items() if not finding.ok] == ["disk_space", "clock"]
    assert findings["disk_space"].message == f"511 MiB free in {tmp_path / 'data'}"
    assert findings["clock"].message == "7.0 s from the database's"


async def test_jobs_that_nobody_takes(database_url: str, tmp_path: Path) -> None:
    database = Database(database_url)
    async with database.directory(writing=True) as session:
        await session.insert(Organization(id=new_id(), external_id="acme", name="Acme"))
        org = await organization(session, "acme")
    assert org is not None
    for minutes, ok in ((0.5, True), (2, False)):
        async with database.writing(org.id) as session:
            due = now() - timedelta(minutes=minutes)
            await jobs.put(session, new_row(Job, org_id=org.id, kind="k", arguments={}), due_at=due)
        found = (await _findings(database_url, tmp_path / "data"))["jobs"]
        assert (found.ok, bool(found.advice)) == (ok, True)
    assert found.message.startswith("2 due, the first for 12")
    assert found.message.endswith("; no workers beat")
    async with database.directory(writing=True) as session:
        await jobs.beat(session, JobWorker())
    assert (await _findings(database_url, tmp_path / "data"))["jobs"].ok
    await database.close()


@pytest.mark.parametrize("waiting", ["webhook", "reminder"])
async def test_what_nobody_begins(database_url: str, tmp_path: Path, waiting: str) -> None:
    """Decision 628: without a worker nothing is put into the queue that would be late there."""
    database = Database(database_url)
    org_id = new_id()
    async with database.directory(writing=True) as session:
        await session.insert(Organization(id=org_id, external_id="acme", name="Acme"))
    for minutes, ok in ((0.5, True), (2, False)):
        moment = now() - timedelta(minutes=minutes)
        async with database.writing(org_id) as session:
            if waiting == "reminder":
                await watch(session, ReminderWatch, moment)
            elif ok:
                webhook = new_row(Webhook, org_id=org_id, url="https://example.com/", cursor=0)
                await session.insert(webhook)
                await session.insert(new_row(WebhookWatch, org_id=org_id, webhook_id=webhook.id))
                event = new_row(Event, sequence=0, type="deal_created", area="deals", actor="a", data={})
                await append_events(session, [event])
            await session.execute(update(Event).where(col(Event.org_id) == org_id).values(occurred_at=moment))
        found = (await _findings(database_url, tmp_path / "data"))["jobs"]
        assert (found.ok, bool(found.advice)) == (ok, True)
    assert found.message.startswith("0 due, the first for 0 s; no workers beat, and what they begin by themselves has")
    async with database.directory(writing=True) as session:
        await jobs.beat(session, JobWorker())
    assert (await _findings(database_url, tmp_path / "data"))["jobs"].ok
    await database.close()


async def test_an_ordinary_role_is_fine(database_url: str, tmp_path: Path) -> None:
    assert all(finding.ok for finding in (await _findings(database_url, tmp_path / "data")).values())


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_a_role_above_row_level_security_and_a_hasty_server(
    postgresql: Server, database_url: str, tmp_path: Path
) -> None:
    name = database_url.partition("?")[0].rpartition("/")[2]
    connection = await postgresql.connect(name, role="postgres")
    await connection.execute(f"ALTER DATABASE {name} SET idle_in_transaction_session_timeout = '1s'")
    await connection.close()
    findings = await _findings(postgresql.url(name, role="postgres"), tmp_path / "data", workers=4)
    assert [name for name, finding in findings.items() if not finding.ok] == ["row_security", "timeouts"]
    assert findings["row_security"].message == "the database role bypasses it"
    assert "NOBYPASSRLS" in findings["row_security"].advice
    assert findings["timeouts"].message == "idle_in_transaction_session_timeout is 1 s"
    assert findings["processes"].message == "4 on PostgreSQL"
