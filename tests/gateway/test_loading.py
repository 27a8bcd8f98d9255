"""A command loads what it needs: most of a short one's time would go into the rest (decision 1070)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from gateway.commands.line import WORDS, Words, app
from tests.support.service import SCRIPT, environment

LIBRARIES = {
    *("aiosqlite", "alembic", "asyncpg", "cryptography", "graphql", "httpx", "joserfc", "prometheus_client"),
    *("pydantic", "rich", "sqlalchemy", "sqlglot", "sqlmodel", "starlette", "strawberry", "uvicorn"),
}
PACKAGES = {"identity", "jobs", "providers", "reports", "resolvers", "rest_compat", "schema", "storage", "transport"}
ARGUMENTS = {"pydantic"}
"""What Typer reads the arguments of a command with."""
SETTINGS = {"pydantic", "providers", "storage"}
"""The last two for what an address of theirs may look like."""
DATABASE = SETTINGS | {"aiosqlite", "alembic", "asyncpg", "identity", "sqlalchemy", "sqlglot", "sqlmodel"}
DOCTOR = DATABASE | {"cryptography", "joserfc", "transport"}
DIRECTORY = 20
"""The most modules of tables that a command loads which looks at no records of an organization."""

_LOADED = """
import sys
sys.argv = ["crm-gateway", *sys.argv[1:]]
from gateway.cli import main
try:
    main()
except SystemExit:
    pass
tables = sum(name.startswith("storage.tables.") for name in sys.modules)
print("loaded", tables, *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def _loaded(folder: Path, *arguments: str) -> tuple[int, set[str]]:
    """How many modules of tables a command has loaded at its end, and which libraries and packages."""
    command = [sys.executable, "-c", _LOADED, *arguments]
    done = subprocess.run(command, check=True, env=environment(folder), capture_output=True, text=True)
    last = done.stdout.splitlines()[-1].split()
    assert last[0] == "loaded"
    return int(last[1]), set(last[2:]) & (LIBRARIES | PACKAGES)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--help"], set()),
        (["version"], ARGUMENTS),
        (["config", "show"], SETTINGS),
        (["token", "--user", "nobody"], DATABASE | {"cryptography", "joserfc"}),
        (["org", "list"], DATABASE),
        (["member", "list"], DATABASE),
        (["key", "list"], DATABASE),
        (["job", "list"], DATABASE),
        (["webhook", "list"], DATABASE),
        (["migrate"], DATABASE),
        (["doctor"], DOCTOR),
    ],
)
def test_a_command_loads_what_it_needs(arguments: list[str], wanted: set[str], tmp_path: Path) -> None:
    tables, loaded = _loaded(tmp_path, *arguments)
    assert loaded <= wanted
    assert tables <= DIRECTORY


@pytest.mark.parametrize("surface", ["schema", "tools", "openapi"])
def test_what_was_printed_before_is_printed_without_what_it_follows_from(surface: str, tmp_path: Path) -> None:
    """Decision 1193."""
    loaded = [_loaded(tmp_path, surface, word)[1] for word in ("print", "check")]
    assert loaded[0] <= (LIBRARIES | PACKAGES) - {"alembic", "uvicorn", "prometheus_client"}
    assert loaded[1] <= ARGUMENTS


_HELPS = """
import sys, typer
from gateway.commands.line import WORDS, app

def shown(command, context):
    texts = [command.get_help(context)]
    for name in getattr(command, "commands", ()):
        texts += shown(command.commands[name], typer.Context(command.commands[name], context, name))
    return texts

group = typer.main.get_group(app)
context = typer.Context(group)
texts = [text for name in WORDS for text in shown(group.get_command(context, name), context)]
print("loaded", len(texts), *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_the_help_of_every_command_loads_its_words_alone() -> None:
    done = subprocess.run([sys.executable, "-c", _HELPS], check=True, capture_output=True, text=True)
    _, number, *modules = done.stdout.splitlines()[-1].split()
    assert int(number) > 2 * len(WORDS)
    assert set(modules) & (LIBRARIES | PACKAGES) <= ARGUMENTS


_SUPERVISING = """
import sys
from pathlib import Path
from gateway.server import handover, serving, supervising

def run(processes):
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    print("loaded", status["VmRSS"].split()[0], *sorted({name.partition(".")[0] for name in sys.modules}))

serving.Processes.run = run
supervising.supervise(handover.taken(int(sys.argv[1])))
"""
_BECOMING = f"""
import os, sys
execve = os.execve
os.execve = lambda path, words, environment: execve(path, [path, "-c", {_SUPERVISING!r}, words[-1]], environment)
sys.argv = ["crm-gateway", "serve", "--workers", "2", "--port", "0"]
from gateway.cli import main
main()
"""


def test_who_supervises_others_loads_no_service_and_no_settings(tmp_path: Path) -> None:
    """It takes the place of who brought the data up to date, and holds less than 40 MB (decision 1192)."""
    command = [sys.executable, "-c", _BECOMING]
    done = subprocess.run(command, check=True, env=environment(tmp_path), capture_output=True, text=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("loaded "))
    _, kibibytes, *modules = line.split()
    assert set(modules) & (LIBRARIES | PACKAGES) <= {"uvicorn"}
    assert int(kibibytes) * 1024 < 40_000_000
    assert (tmp_path / "data" / "crm.sqlite3").exists()


_BUILT = """
import gateway.app
from resolvers.shared.inputs import Input

def kinds(of):
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)

every = list(kinds(Input))
print(len(every), *(kind.__name__ for kind in every if kind.__pydantic_complete__))
"""


def test_an_input_is_built_when_somebody_first_sends_it() -> None:
    """To build all of them took a thirtieth of each start (decision 1162)."""
    done = subprocess.run([sys.executable, "-c", _BUILT], check=True, capture_output=True, text=True)
    number, *built = done.stdout.split()
    assert int(number) > 150
    assert built == ["ReportParameters"]  # of which the OpenAPI document shows an example


OF_DOCTOR = {
    *("organizations", "events", "history", "credentials", "jobs", "integrations", "watches", "cells"),
    *("activities", "deals"),
}
"""The tables that `doctor` looks at, and those that telling of a change takes."""


def test_doctor_loads_no_lists_and_no_tables_but_those_that_it_looks_at(tmp_path: Path) -> None:
    """Decisions 1161 and 1183."""
    subprocess.run([SCRIPT, "org", "create", "Acme"], check=True, env=environment(tmp_path), capture_output=True)
    code = _LOADED.replace("print(", "print(*(n for n in sys.modules if n.startswith('storage.')));print(", 1)
    command = [sys.executable, "-c", code, "doctor"]
    done = subprocess.run(command, check=True, env=environment(tmp_path), capture_output=True, text=True)
    modules = done.stdout.splitlines()[-2].split()
    queries, tables = (
        {name.rpartition(".")[2] for name in modules if name.startswith(f"storage.{of}.")}
        for of in ("queries", "tables")
    )
    assert "rolled_up" in queries
    assert queries & {"listables", "record_listables", "aggregates", "chat_runs", "analytics_runs"} == set()
    assert tables == OF_DOCTOR


OF_SERVING = {
    *("gateway.observability.metrics", "gateway.runtime", "httpx", "identity.authenticate", "identity.tokens"),
    *("prometheus_client", "providers.accounts", "providers.embedded", "providers.wire", "resolvers"),
    *("storage.analytics", "structlog"),
}
"""What only who serves has, or whose settings name another service."""


def test_doctor_loads_nothing_that_only_serving_takes(tmp_path: Path) -> None:
    """Decision 1184."""
    subprocess.run([SCRIPT, "org", "create", "Acme"], check=True, env=environment(tmp_path), capture_output=True)
    command = [sys.executable, "-c", _LOADED.replace("print(", "print(*sys.modules);print(", 1), "doctor"]
    done = subprocess.run(command, check=True, env=environment(tmp_path), capture_output=True, text=True)
    modules = set(done.stdout.splitlines()[-2].split())
    assert "gateway.core" in modules
    assert modules & OF_SERVING == set()


_OF_A_DEMO = """
import sys
from gateway.server import serving
serving.Server.run = lambda self, sockets: print("loaded", *sorted({name.partition(".")[0] for name in sys.modules}))
sys.argv = ["crm-gateway", "serve", "--demo", "--port", "0"]
from gateway.cli import main
main()
"""


def test_a_demo_loads_no_console_of_a_library(tmp_path: Path) -> None:
    """Its data is looked after before the application loads httpx with care (gateway/adapters/lean.py)."""
    command = [sys.executable, "-c", _OF_A_DEMO]
    done = subprocess.run(command, check=True, env=environment(tmp_path), capture_output=True, text=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert loaded[0] == "loaded"
    assert "httpx" in loaded
    assert "rich" not in loaded


@pytest.mark.parametrize("name", WORDS)
def test_the_help_of_a_command_is_its_own(name: str) -> None:
    group = typer.main.get_group(app)
    assert isinstance(group, Words)
    command = group.get_command(typer.Context(group), name)
    assert command.help.partition("\n\n")[0].replace("\n", " ").strip() == WORDS[name].help
