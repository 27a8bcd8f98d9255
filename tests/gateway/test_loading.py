"""A command loads what it needs: most of a short one's time would go into the rest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from gateway.commands.line import WORDS, Words, app
from tests.support.service import environment

LIBRARIES = {
    *("aiosqlite", "alembic", "asyncpg", "cryptography", "graphql", "httpx", "joserfc", "prometheus_client"),
    *("pydantic", "rich", "sqlalchemy", "sqlglot", "sqlmodel", "starlette", "strawberry", "uvicorn"),
}
PACKAGES = {"identity", "jobs", "providers", "reports", "resolvers", "rest_compat", "schema", "storage", "transport"}
ARGUMENTS = {"pydantic"}
"""What Typer reads the arguments of a command with."""
SETTINGS = {"asyncpg", "httpx", "pydantic", "rich", "sqlalchemy", "providers", "storage"}
DIRECTORY = {"aiosqlite", "alembic", "cryptography", "identity", "joserfc", "sqlglot", "sqlmodel"}

_LOADED = """
import sys
sys.argv = ["crm-gateway", *sys.argv[1:]]
from gateway.cli import main
try:
    main()
except SystemExit:
    pass
print("loaded", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def _loaded(folder: Path, *arguments: str) -> set[str]:
    """The libraries and packages that a command has loaded at its end."""
    command = [sys.executable, "-c", _LOADED, *arguments]
    done = subprocess.run(command, check=True, env=environment(folder), capture_output=True, text=True)
    last = done.stdout.splitlines()[-1].split()
    assert last[0] == "loaded"
    return set(last[1:]) & (LIBRARIES | PACKAGES)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--help"], set()),
        (["version"], ARGUMENTS),
        (["config", "show"], SETTINGS),
        (["token", "--user", "nobody"], SETTINGS | DIRECTORY),
    ],
)
def test_a_command_loads_what_it_needs(arguments: list[str], wanted: set[str], tmp_path: Path) -> None:
    assert _loaded(tmp_path, *arguments) <= wanted


@pytest.mark.parametrize("name", WORDS)
def test_the_help_of_a_command_is_its_own(name: str) -> None:
    group = typer.main.get_group(app)
    assert isinstance(group, Words)
    command = group.get_command(typer.Context(group), name)
    assert command.help.partition("\n\n")[0].replace("\n", " ").strip() == WORDS[name].help
