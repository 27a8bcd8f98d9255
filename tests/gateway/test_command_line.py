from __future__ import annotations

import json
import re
import sqlite3
import stat
import subprocess
import sys
from base64 import urlsafe_b64decode
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from contract.scopes import Role
from storage.migrate import revisions
from tests.support.service import SCRIPT, Outcome, environment

Command = Callable[..., Outcome]
COMMANDS = {
    "serve",
    "migrate",
    "seed",
    "token",
    "doctor",
    "version",
    "org",
    "member",
    "schema",
    "openapi",
    "config",
    "worker",
    "credentials",
    "webhooks",
    "analytics",
    "tools",
    "key",
    "job",
    "webhook",
}


@pytest.mark.parametrize("words", [[SCRIPT], [sys.executable, "-m", "gateway"]])
def test_both_ways_to_call_it(words: list[str], tmp_path: Path) -> None:
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*words, *arguments],
            check=False,
            env=environment(tmp_path),
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    fine = call("version")
    assert (fine.returncode, fine.stdout, fine.stderr) == (0, "0.0.1\n", "")
    wrong = call("serve", "--port", "abc")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--port" in wrong.stderr
    assert list(tmp_path.iterdir()) == []


def test_help_lists_every_command(command: Command) -> None:
    outcome = command("--help")
    assert (outcome.code, outcome.err) == (0, "")
    listed = outcome.out.partition("Commands:")[2].partition("Exit codes")[0]
    assert set(re.findall(r"^  (\w+)", listed, re.MULTILINE)) == COMMANDS
    assert "69 something needed is missing" in " ".join(outcome.out.split())


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nothing"],
        ["serve", "--port", "65536"],
        ["serve", "--workers", "0"],
        ["serve", "--loud"],
        ["migrate", "--to", "none"],
        ["seed", "--organizations", "0"],
        ["seed", "--meetings", "-1"],
        ["seed", "--seed", "one"],
        ["org"],
        ["org", "create"],
        ["member", "add", "--org", "acme", "--user", "u1", "--email", "e", "--name", "n"],
        ["member", "add", "--org", "acme", "--user", "u1", "--email", "e", "--name", "n", "--role", "king"],
        ["member", "add", "--org", "acme", "--user", "u1", "--email", "e", "--name", "n", "--scope", "all"],
        ["member", "add", "--org", "a", "--user", "", "--email", "e", "--name", "n", "--role", "viewer"],
        ["member", "remove", "--org", "acme"],
        ["token"],
        ["token", "--user", "u1", "--ttl", "0"],
        ["schema"],
        ["config"],
        ["config", "check", "."],
    ],
)
def test_wrong_usage_is_2_and_touches_nothing(command: Command, tmp_path: Path, arguments: list[str]) -> None:
    outcome = command(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Usage: crm-gateway" in outcome.err
    assert "Traceback" not in outcome.err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CRM_DATABASE_URL", "foo://"),
        ("CRM_DATABASE_URL", "mysql://crm:canary@host/crm"),
        ("CRM_DATABASE_URL", "postgresql://crm:canary@host:port/crm"),
        ("CRM_DATABASE_URL", "sqlite:///:memory:"),
        ("CRM_DATABASE_URL", "sqlite://"),
        ("CRM_DATABASE_POOL_SIZE", "0"),
        ("CRM_DATA_DIR", "/dev/null/data"),
        ("CRM_OIDC_ISSUER", "notaurl"),
        ("CRM_OIDC_ISSUER", "https://"),
        ("CRM_OIDC_JWKS_URL", "file:///etc/keys"),
        ("CRM_PUBLIC_URL", "https://host:port"),
        ("CRM_NOTIFICATIONS_URL", "https://[::1"),
        ("CRM_ARTIFACTS_URL", "s3://key:canary@bucket"),
        ("CRM_ARTIFACTS_URL", "/var/lib/artifacts"),
        ("CRM_SEQUENCING_PROVIDER", "pigeons"),
        ("CRM_SEQUENCING_URL", "ftp://host"),
        ("CRM_REDIS_URL", "http://localhost:6379"),
        ("CRM_RATE_LIMIT", "sometimes"),
        ("CRM_SEQUENCING_API_KEY", "canary key"),
        ("CRM_NOTIFICATIONS_SECRET", "canary"),
        ("CRM_NOTIFICATIONS_SECRET", "whsec_"),
        ("CRM_CORS_HEADERS", "x-one, x two"),
        ("CRM_CORS_HEADERS", "*"),
        ("CRM_INTROSPECTION", "perhaps"),
        ("CRM_GRAPHIQL", "perhaps"),
        ("LOG_LEVEL", "loud"),
        ("LOG_FORMAT", "xml"),
        ("PORT", "abc"),
        ("PORT", "65536"),
        ("WEB_CONCURRENCY", "0"),
    ],
)
@pytest.mark.parametrize("arguments", [["serve", "--port", "0"], ["doctor"], ["migrate"]])
def test_a_bad_setting_is_78_and_named(command: Command, name: str, value: str, arguments: list[str]) -> None:
    if name == "PORT":
        arguments = arguments[:1]  # an option of the same meaning would win
    outcome = command(*arguments, **{name: value})
    assert (outcome.code, outcome.out) == (78, "")
    assert name in outcome.err
    assert "canary" not in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("provider", ["instantly", "smartlead"])
def test_a_sequencing_provider_needs_its_key(command: Command, provider: str) -> None:
    outcome = command("config", "show", CRM_SEQUENCING_PROVIDER=provider)
    assert (outcome.code, outcome.out) == (78, "")
    assert outcome.err == "CRM_SEQUENCING_API_KEY: is needed for this sequencing provider\n"
    settings = {"CRM_SEQUENCING_PROVIDER": provider, "CRM_SEQUENCING_API_KEY": "canary"}
    shown = json.loads(command("config", "show", "--json", **settings).out)
    assert (shown["CRM_SEQUENCING_PROVIDER"], shown["CRM_SEQUENCING_API_KEY"]) == (provider, "***")


def test_a_model_needs_its_name(command: Command) -> None:
    outcome = command("serve", "--port", "0", CRM_MODEL_URL="http://127.0.0.1:9/v1")
    assert (outcome.code, outcome.err) == (78, "CRM_MODEL_NAME: is needed beside CRM_MODEL_URL\n")
    settings = {"CRM_MODEL_URL": "http://127.0.0.1:9/v1", "CRM_MODEL_NAME": "small", "CRM_MODEL_API_KEY": "canary"}
    shown = json.loads(command("config", "show", "--json", **settings).out)
    assert [shown[name] for name in settings] == ["http://127.0.0.1:9/v1", "small", "***"]
    assert (shown["CRM_MODEL_KIND"], shown["CRM_MODEL_TIMEOUT_SECONDS"]) == ("openai", "30.0")
    assert command("config", "show", CRM_MODEL_KIND="gemini").err.startswith("CRM_MODEL_KIND: ")
    assert "127.0.0.1:9" not in command("serve", "--port", "0", CRM_MODEL_URL="127.0.0.1:9/v1").out
    for address in ("http://127.0.0.1:9/v1?a=canary", "http://canary@127.0.0.1:9/v1", "http://127.0.0.1:9/v1#canary"):
        outcome = command("config", "show", CRM_MODEL_URL=address, CRM_MODEL_NAME="small")
        assert (outcome.code, "canary" in outcome.err) == (78, False)
        assert outcome.err.startswith("CRM_MODEL_URL: must end with its path")


def test_every_bad_setting_is_named_at_once(command: Command) -> None:
    outcome = command("config", "show", PORT="abc", LOG_LEVEL="loud", CRM_GRAPHIQL="perhaps")
    assert outcome.code == 78
    assert [line.partition(":")[0] for line in outcome.err.splitlines()] == ["CRM_GRAPHIQL", "LOG_LEVEL", "PORT"]


def test_an_empty_setting_is_none(command: Command) -> None:
    empty = dict.fromkeys(("PORT", "CRM_DATABASE_URL", "CRM_OIDC_ISSUER", "CRM_CORS_ORIGINS", "LOG_FORMAT"), "")
    assert command("config", "show", **empty).out == command("config", "show").out
    both = command("config", "show", "--json", CRM_DATABASE_URL="", DATABASE_URL="postgres://u:canary@host/crm")
    assert json.loads(both.out)["CRM_DATABASE_URL"] == "postgresql+asyncpg://u:***@host/crm"


def test_a_file_of_settings_is_read_and_the_environment_wins(command: Command, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PORT=1234\nHOST=::1\nOTHER=x\n")
    shown = json.loads(command("config", "show", "--json", HOST="127.0.0.2").out)
    assert (shown["PORT"], shown["HOST"]) == ("1234", "127.0.0.2")


def test_config_show_masks_passwords(command: Command) -> None:
    url = "postgresql://crm:canary%40home@host:5432/crm"
    text, data = (command("config", "show", *more, CRM_DATABASE_URL=url) for more in ([], ["--json"]))
    assert (text.code, text.err, data.code, data.err) == (0, "", 0, "")
    assert "canary" not in text.out + data.out
    shown = json.loads(data.out)
    assert shown["CRM_DATABASE_URL"] == "postgresql+asyncpg://crm:***@host:5432/crm"
    lines = [line for line in text.out.splitlines() if not line.startswith("#")]
    assert lines == [f"{name}={value}" for name, value in shown.items()]


def test_keys_that_others_can_read_are_refused(command: Command, tmp_path: Path) -> None:
    assert command("doctor").code == 69 or (tmp_path / "data").exists()
    key = tmp_path / "data" / "signing-key.pem"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.chmod(0o644)
    for arguments in (["serve", "--port", "0"], ["serve", "--demo", "--port", "0"], ["doctor"]):
        outcome = command(*arguments)
        assert (outcome.code, outcome.out) == (78, "")
        assert outcome.err.startswith(f"CRM_DATA_DIR: {key}: ")
        assert "0644" in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "--port", "0"],
        ["serve", "--port", "0", "--demo", "--no-migrate"],
        ["migrate"],
        ["migrate", "--check"],
        ["seed"],
        ["seed", "--demo"],
        ["org", "create", "Acme"],
        ["org", "list"],
        ["key", "list"],
        ["job", "list"],
        ["webhook", "list"],
        ["member", "remove", "--org", "acme", "--user", "u1"],
        ["token", "--user", "u1"],
        ["doctor"],
    ],
)
def test_a_database_that_is_down_is_69(command: Command, arguments: list[str]) -> None:
    outcome = command(*arguments, CRM_DATABASE_URL="postgresql://crm:canary@127.0.0.1:1/crm")
    assert outcome.code == 69
    assert "Traceback" not in outcome.err
    assert "canary" not in outcome.err + outcome.out
    if arguments != ["doctor"]:
        assert outcome.out == ""
        assert outcome.err.splitlines()[-1] == "The database cannot be reached; see CRM_DATABASE_URL."


@pytest.mark.parametrize("arguments", [["serve", "--port", "0"], ["migrate"], ["seed"], ["org", "create", "Acme"]])
def test_a_file_that_cannot_be_made_is_78(command: Command, arguments: list[str]) -> None:
    outcome = command(*arguments, CRM_DATABASE_URL="sqlite:////dev/null/crm.db")
    assert (outcome.code, outcome.out) == (78, "")
    assert "CRM_DATABASE_URL (or CRM_DATA_DIR): /dev/null: is no folder" in outcome.err.splitlines()


def test_a_file_that_is_no_database_is_78(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(b"what to buy: bread, milk" * 100)
    file.chmod(0o600)
    outcome = command("migrate", CRM_DATABASE_URL=f"sqlite:///{file}")
    assert (outcome.code, outcome.out) == (78, "")
    assert outcome.err == f"CRM_DATABASE_URL (or CRM_DATA_DIR): {file}: is not a database\n"


def test_migrate_up_and_down(command: Command, tmp_path: Path) -> None:
    known = revisions()
    assert command("migrate", "--check") == Outcome(3, "", f"pending: {', '.join(known)}\n")
    assert not (tmp_path / "data").exists()
    assert command("migrate") == Outcome(0, "", f"now at {known[-1]}\n")
    assert command("migrate", "--check") == Outcome(0, "", "up to date\n")
    assert command("migrate", "--to", "base") == Outcome(0, "", "now at base\n")
    assert command("migrate", "--check").code == 3
    assert command("migrate", "--to", "0001") == Outcome(0, "", "now at 0001\n")
    folder = tmp_path / "data"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "crm.sqlite3").stat().st_mode) == 0o600


def test_the_directory_from_nothing_to_a_token_and_back(command: Command) -> None:
    made = command("org", "create", "Acme & Söhne", "--id", "acme", "--json")
    assert (made.code, json.loads(made.out), made.err) == (0, {"id": "acme", "name": "Acme & Söhne"}, "")
    again = command("org", "create", "Other", "--id", "acme")
    assert again == Outcome(1, "", "There is an organization acme already.\n")
    named = command("org", "create", "Other")
    assert (named.code, len(named.out), named.err) == (0, 37, "")

    member = ["--org", "acme", "--user", "u1"]
    person = ["--email", "u@acme.example", "--name", "U"]
    assert command("token", "--user", "u1") == Outcome(1, "", "u1 is not a member of any organization.\n")
    assert command("member", "add", *member, *person, "--role", "viewer") == Outcome(0, "", "u1 is a member of acme.\n")
    scopes = ["--scope", "deals:read", "--scope", "pats:create"]
    assert command("member", "add", "--org", "none", *member[2:], *person, *scopes) == Outcome(
        1, "", "There is no organization none.\n"
    )
    token = command("token", "--user", "u1", "--org", "acme", "--ttl", "60")
    assert (token.code, token.err) == (0, "")
    claims = _claims(token.out)
    assert (claims["sub"], claims["org_id"], claims["name"]) == ("u1", "acme", "U")
    assert claims["exp"] - claims["iat"] == 60
    assert claims["scope"].split() == sorted(Role.VIEWER.scopes)
    assert command("member", "add", *member, *person, *scopes).code == 0
    assert _claims(command("token", "--user", "u1").out)["scope"] == "deals:read pats:create"
    assert command("token", "--user", "u1", "--org", "none") == Outcome(1, "", "u1 is not a member of none.\n")

    assert command("member", "remove", *member) == Outcome(0, "", "u1 is no longer a member of acme.\n")
    assert command("member", "remove", *member) == Outcome(1, "", "u1 is not a member of acme.\n")
    assert command("token", "--user", "u1").code == 1


def _claims(token: str) -> dict[str, Any]:
    assert token.count("\n") == 1
    claims: dict[str, Any] = json.loads(urlsafe_b64decode(token.split(".")[1] + "=="))
    return claims


def test_seed_is_written_once(command: Command, tmp_path: Path) -> None:
    sizes = ["--organizations", "2", "--accounts", "3", "--contacts", "4", "--deals", "5", "--meetings", "6"]
    first = command("seed", *sizes, "--seed", "7")
    assert (first.code, len(first.out.split())) == (0, 2)
    assert "Written: 2 organizations, " in first.err
    again = command("seed", *sizes, "--seed", "7")
    assert (again.code, again.out) == (0, first.out)
    assert again.err.endswith("Everything is there already.\n")
    assert command("seed", "--demo").err.endswith("The demo data is written.\n")
    with closing(sqlite3.connect(tmp_path / "data" / "crm.sqlite3")) as file, file:
        events = file.execute("SELECT sequence, type FROM chat_events").fetchall()
        file.execute("DELETE FROM chat_events")  # as upkeep does a day later
    assert command("seed", "--demo").err.endswith("The demo data is there already.\n")
    with closing(sqlite3.connect(tmp_path / "data" / "crm.sqlite3")) as file:  # decision 1112
        assert file.execute("SELECT sequence, type FROM chat_events").fetchall() == events != []


def test_schema_check_tells_breaking_from_harmless(command: Command, tmp_path: Path) -> None:
    printed = command("schema", "print")
    assert (printed.code, printed.err) == (0, "")
    committed = Path(__file__).parents[2] / "schema" / "schema.graphql"
    assert printed.out == committed.read_text()
    assert command("schema", "check") == Outcome(0, "", "schema.graphql is current\n")

    older = tmp_path / "older.graphql"
    older.write_text(printed.out)
    assert command("schema", "check", str(older)).code == 0
    older.write_text(printed.out + "\n# a remark\n")
    assert command("schema", "check", str(older)).code == 3
    older.write_text(
        re.sub(r'  """[^"]*"""\n  domain: String\n', "", printed.out, count=1)
    )  # there is a field more now
    assert len(older.read_text()) < len(printed.out)
    harmless = command("schema", "check", str(older))
    assert (harmless.code, harmless.out) == (3, "")
    assert "./run schema print" in harmless.err
    older.write_text(printed.out + "\ntype Gone {\n  id: ID!\n}\n")
    breaking = command("schema", "check", str(older))
    assert breaking == Outcome(1, "", "breaking: Gone was removed.\n")
    older.write_text("type Query {")
    broken = command("schema", "check", str(older))
    assert (broken.code, broken.out) == (1, "")
    assert broken.err.startswith("older.graphql is no schema: Syntax Error")
    older.unlink()
    assert command("schema", "check", str(older)).code == 3


def test_openapi_print_and_check(command: Command, tmp_path: Path) -> None:
    """What is served is what is committed (decision 1002)."""
    outcome = command("openapi", "print")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out)["openapi"].startswith("3.1")
    assert command("openapi", "check") == Outcome(0, "", "openapi.json is current\n")
    older = tmp_path / "older.json"
    older.write_text(outcome.out.replace("/deals", "/opportunities"))
    differing = command("openapi", "check", str(older))
    assert differing.code == 3
    assert "./run openapi print > rest_compat/openapi.json" in differing.err


def test_version_names_what_it_stands_on(command: Command) -> None:
    versions = json.loads(command("version", "--json").out)
    assert versions["crm-gateway"] == "0.0.1"
    assert {"strawberry-graphql", "graphql-core", "starlette", "uvicorn", "sqlmodel", "sqlalchemy"} < set(versions)
