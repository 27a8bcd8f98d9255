"""`config`, `doctor` and `version`: what is set, and what is wrong."""

import asyncio
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contract.limits import VERSION
from gateway.commands.outcome import FAILED, MISSING, WOULD_CHANGE, AsJson, fail, say, settings, show, with_folder

if TYPE_CHECKING:
    from gateway.observability.doctor_settings import Finding
    from gateway.settings import Settings

config = typer.Typer(help="The settings.", no_args_is_help=True)


PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"


@config.command("show")
def show_config(
    explain: Annotated[bool, typer.Option("--explain", help="With --json: meaning and origin, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List every setting with its value, what it means and where the value came from; secrets are masked."""
    from gateway.setting_sources import origins
    from gateway.setting_texts import texts
    from gateway.shown_settings import shown

    values, came_from = shown(settings()), origins()
    if as_json and not explain:
        show(values, "", as_json)
        return
    data, lines = {}, []  # a file of settings still, with comments (decision 621)
    for text in texts():
        variable, origin = text.variables[0], came_from[text.name]
        data[variable] = {
            "value": values[variable],
            "from": origin.value,
            "meaning": text.meaning,
            "values": text.values.replace("`", ""),
            "default": text.default,
            "example": text.example,
        }
        lines += [f"# {text.meaning} [{origin}]", f"{variable}={values[variable]}"]
    show(data, "\n".join(lines), as_json)


@config.command("print")
def print_config() -> None:
    """Print docs/settings.md: every setting with its meaning, values, default and an example."""
    from gateway.setting_texts import document

    print(document(), end="")


@config.command("check")
def check_config(
    file: Annotated[Path, typer.Argument(help="The page to compare with.", dir_okay=False)] = PAGE,
) -> None:
    """Compare with docs/settings.md: exit with 3 where it differs."""
    from gateway.setting_texts import document

    if not file.exists() or file.read_text(encoding="utf-8") != document():
        fail(f"{file.name} differs: ./run config print > docs/settings.md", WOULD_CHANGE)
    say(f"{file.name} is current")


def doctor(
    token: Annotated[
        str | None, typer.Option("--token", help="Explain what the service makes of this token; - for standard input.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look for what would keep the service from working well, and say what to do about it.

    Exit with 1 where something is wrong, with 69 where the database cannot be reached. With a token, which is never
    printed, only what concerns the token is looked at.
    """
    token = sys.stdin.read() if token == "-" else token
    findings = asyncio.run(_examine(with_folder(settings(), mending=False), token))
    lines = []
    for finding in findings:
        lines.append(f"{'ok     ' if finding.ok else 'PROBLEM'}  {finding.name}: {finding.message}")
        if not finding.ok and finding.advice:
            lines.append(f"         {finding.advice}")
    data = [{"name": f.name, "ok": f.ok, "message": f.message, "advice": None if f.ok else f.advice} for f in findings]
    show(data, "\n".join(lines), as_json)
    if token is None and not findings[0].ok:
        raise SystemExit(MISSING)
    if not all(finding.ok for finding in findings):
        raise SystemExit(FAILED)


async def _examine(configuration: "Settings", token: str | None) -> "list[Finding]":
    if token is not None:
        return await _explain(configuration, token)
    from gateway.core import Core
    from gateway.observability import doctor
    from gateway.setting_sources import strangers

    core = Core(configuration)
    async with core.running():
        return await doctor.examine(core, strangers())


async def _explain(configuration: "Settings", token: str) -> "list[Finding]":
    from gateway.adapters import lean_http  # noqa: F401  # before anybody loads httpx
    from gateway.observability import doctor, doctor_token
    from gateway.observability.doctor_settings import Finding
    from gateway.observability.readiness import migrations
    from gateway.runtime import Runtime  # with all services: what is looked at is what they make of the token

    runtime = Runtime(configuration)
    async with runtime.running():
        if runtime.keys is not None:
            await runtime.keys.refresh()
        migrated = await migrations(configuration.database_url.get_secret_value())
        if not migrated.ok:
            return [Finding(migrated.name, False, migrated.message, doctor.ADVICE[migrated.name])]
        return await doctor_token.explain(runtime, token)


def version(as_json: AsJson = False) -> None:
    """Print the version of the service and of the libraries that it stands on."""
    names = ("strawberry-graphql", "graphql-core", "starlette", "uvicorn", "sqlmodel", "sqlalchemy")
    versions = {"crm-gateway": VERSION, **{name: installed(name) for name in names}}
    show(versions, VERSION, as_json)
