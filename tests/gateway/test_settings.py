"""Settings as an operator meets them: what each means, where its value came from, and names that are none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.setting_texts import SettingText, document, texts
from gateway.settings import Settings
from gateway.shown_settings import variables_of
from tests.support.service import Outcome, Service

Command = Callable[..., Outcome]
ROOT = Path(__file__).parents[2]


def test_the_page_of_settings_is_the_printed_one(command: Command, tmp_path: Path) -> None:
    page = ROOT / "docs" / "settings.md"
    assert command("config", "print") == Outcome(0, page.read_text(), "")
    assert command("config", "check") == Outcome(0, "", "settings.md is current\n")
    other = tmp_path / "settings.md"
    other.write_text(page.read_text().replace("`8000`", "`8001`"))
    differs = Outcome(3, "", "settings.md differs: ./run config print > docs/settings.md\n")
    assert command("config", "check", str(other)) == differs
    other.unlink()
    assert command("config", "check", str(other)) == differs


@pytest.mark.parametrize("text", list(texts()), ids=lambda text: text.name)
def test_each_setting_has_meaning_values_and_an_example(text: SettingText) -> None:
    name, variables, meaning, values, default, example = text
    assert meaning.endswith(".")
    variable, _, value = example.partition("=")
    assert variable == variables[0]
    assert value, f"{name} has no default to learn from: give the field examples=[...]"
    number = re.fullmatch(r"(?P<unit>[a-z]*)(, (from )?[\d.]+( to [\d.]+)?)?", values)
    if re.fullmatch(r"[\d.]+", default):
        assert number is not None
        assert number["unit"], f'{name} is a number of something: json_schema_extra={{"unit": ...}}'


def test_every_example_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "documents.json").write_text("{}")
    alone = {
        "CRM_MAIL_URL": {"CRM_MAIL_FROM": "crm@example.com"},
        "CRM_MODEL_URL": {"CRM_MODEL_NAME": "m"},
        "CRM_SEQUENCING_PROVIDER": {"CRM_SEQUENCING_API_KEY": "k"},
        "CRM_ANALYTICS_DATABASE_URL": {"CRM_DATABASE_URL": "postgresql://crm@host/crm"},
        "CRM_DATABASE_REPLICAS": {"CRM_DATABASE_URL": "postgresql://crm@host/crm"},
        "CRM_CLUSTERS": {"CRM_DATABASE_URL": "postgresql://crm@host/crm"},
        "CRM_MOVE_ADDRESSES": {"CRM_DATABASE_URL": "postgresql://crm@host/crm"},
        "CRM_PERSISTED_ONLY": {"CRM_PERSISTED_DOCUMENTS": "documents.json"},
    }
    secrets = {"whsec_…": "whsec_" + "QUJD" * 8, "…": "key"}
    for text in texts():
        variable, _, value = text.example.partition("=")
        with monkeypatch.context() as patch:
            for name, said in {variable: secrets.get(value, value), **alone.get(variable, {})}.items():
                patch.setenv(name, said)
            assert text.name in Settings().model_fields_set
    assert {text.variables for text in texts()} == {variables_of(name) for name in Settings.model_fields}
    assert document().count("\n| ") == len(Settings.model_fields) + 1


def test_config_show_says_what_each_means_and_where_it_came_from(command: Command, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PORT=1234\nHOST=::1\nCRM_GRAPHIQL=\nDATABASE_URL=sqlite:////tmp/canary.db\n")
    settings = {"host": "127.0.0.2", "CRM_MODEL_API_KEY": "canary"}
    shown = json.loads(command("config", "show", "--json", "--explain", **settings).out)
    came_from = {name: told["from"] for name, told in shown.items() if told["from"] != "default"}
    assert came_from == {
        "CRM_DATA_DIR": "environment",
        "CRM_DATABASE_URL": ".env",
        "CRM_MODEL_API_KEY": "environment",
        "CRM_WORKER_NICE": "environment",
        "HOST": "environment",
        "PORT": ".env",
    }
    assert (shown["HOST"]["value"], shown["PORT"]["value"]) == ("127.0.0.2", "1234")
    assert shown["CRM_MODEL_API_KEY"]["value"] == "***"
    assert shown["PORT"] == {
        "value": "1234",
        "from": ".env",
        "meaning": "The port to listen on; 0 for any that is free.",
        "values": "port, 0 to 65535",
        "default": "8000",
        "example": "PORT=8000",
    }
    text = command("config", "show", **settings)
    assert "# The port to listen on; 0 for any that is free. [.env]\nPORT=1234\n" in text.out
    assert "[environment]\nHOST=127.0.0.2\n" in text.out
    assert "[default]\nCRM_GRAPHIQL=True\n" in text.out
    assert "canary\n" not in text.out
    of_both = command("config", "show", "--json", "--explain", CRM_DATABASE_URL="sqlite:////tmp/other.db").out
    assert json.loads(of_both)["CRM_DATABASE_URL"]["from"] == "environment"
    assert json.loads(of_both)["CRM_DATABASE_URL"]["value"].endswith("other.db")


def test_the_prefix_may_stand_before_every_name(command: Command) -> None:
    shown = json.loads(command("config", "show", "--json", "--explain", CRM_PORT="1234", CRM_LOG_LEVEL="ERROR").out)
    assert [shown[name]["value"] for name in ("PORT", "LOG_LEVEL")] == ["1234", "ERROR"]
    assert [shown[name]["from"] for name in ("PORT", "LOG_LEVEL")] == ["environment", "environment"]


_NEAREST = {
    "CRM_DATBASE_URL": "CRM_DATABASE_URL",
    "CRM_CORS_ORIGIN": "CRM_CORS_ORIGINS",
    "crm_rate_limits": "CRM_RATE_LIMIT",
    "CRM_LOGLEVEL": "LOG_LEVEL",
    "CRM_WORKERSS": "WEB_CONCURRENCY",
    "CRM_ZZZ": None,
}


@pytest.mark.parametrize("in_file", [False, True])
def test_a_name_that_is_no_setting_is_a_problem(command: Command, tmp_path: Path, in_file: bool) -> None:
    settings = dict.fromkeys((*_NEAREST, "OTHER"), "canary")
    if in_file:
        (tmp_path / ".env").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        (tmp_path / ".env").chmod(0o600)
        settings = {}
    else:
        settings |= {"CRM_TOKEN": "canary", "CRM_URL": "canary"}
    command("migrate")
    outcome = command("doctor", "--json", **settings)
    assert (outcome.code, "canary" in outcome.out + outcome.err) == (1, False)
    problems = [finding for finding in json.loads(outcome.out) if not finding["ok"]]
    assert {problem["name"] for problem in problems} == {"settings"}
    where = "in .env" if in_file else "in the environment"
    told = {problem["message"]: problem["advice"] for problem in problems}
    assert len(told) == len(_NEAREST)
    for name, nearest in _NEAREST.items():
        advice = told[f"{name.upper()} ({where}) is no setting, and is not read"]
        assert advice.startswith("take it away" if nearest is None else f"is {nearest} meant?")


def test_a_name_that_is_no_setting_is_a_warning_at_start(tmp_path: Path) -> None:
    with Service(tmp_path, CRM_GRAPHQL="canary", CRM_TOKEN="canary", LOG_FORMAT="json") as service:
        lines = [json.loads(line) for line in service.log.read_text().splitlines()]
    [warning] = [line for line in lines if "no setting" in line["event"]]
    assert warning["level"] == "warning"
    assert warning["event"].startswith(
        "CRM_GRAPHQL (in the environment) is no setting, and is not read: is CRM_GRAPHIQL"
    )
    assert "canary" not in service.log.read_text()


def test_replicas_are_servers_of_postgresql(command: Command) -> None:
    """Each is shown without its password; a comma within one is percent-encoded."""
    primary = "postgresql://crm@db1/crm"
    shown = command(
        "config",
        "show",
        CRM_DATABASE_URL=primary,
        CRM_DATABASE_REPLICAS="postgresql://u:a@x/crm, postgres://u:b@y/crm,",
    )
    assert "postgresql+asyncpg://u:***@x/crm,postgresql+asyncpg://u:***@y/crm" in shown.out
    for url, replicas, words in (
        ("", "postgresql://db2/crm", "is for PostgreSQL; SQLite has none"),
        (primary, "postgresql://u:a,b@x/crm", "cannot be read"),
        (primary, "sqlite:///crm.db", "must start with postgresql+asyncpg://"),
    ):
        refused = command("config", "show", CRM_DATABASE_URL=url, CRM_DATABASE_REPLICAS=replicas)
        assert (refused.code, refused.err.startswith("CRM_DATABASE_REPLICAS: ")) == (78, True), refused
        assert words in refused.err


def test_clusters_are_named_servers_of_postgresql(command: Command) -> None:
    """SQLite has none, since every organization lies in the one file; passwords are not shown."""
    primary = "postgresql://crm@db1/crm"
    shown = command(
        "config",
        "show",
        CRM_DATABASE_URL=primary,
        CRM_CLUSTERS="north=postgresql://u:a@x/crm?ssl=b, s=postgres://u@y/crm",
    )
    assert "north=postgresql+asyncpg://u:***@x/crm?ssl=b,s=postgresql+asyncpg://u@y/crm" in shown.out
    for url, clusters, words in (
        ("", "north=postgresql://x/crm", "is for PostgreSQL; on SQLite every organization lies in the one file"),
        (primary, "postgresql://x/crm", "each must be name=address"),
        (primary, "directory=postgresql://x/crm", "each must be name=address"),
        (primary, "n=sqlite:///crm.db", "must start with postgresql+asyncpg://"),
        (primary, "n=mysql://x/crm", "must start with postgresql+asyncpg://"),
        (primary, "n=postgresql://x/crm,n=postgresql://y/crm", "names a server twice"),
    ):
        refused = command("config", "show", CRM_DATABASE_URL=url, CRM_CLUSTERS=clusters)
        assert (refused.code, refused.err.startswith("CRM_CLUSTERS: ")) == (78, True), refused
        assert words in refused.err
