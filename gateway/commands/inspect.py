"""`config`, `doctor` and `version`: what is set, and what is wrong."""

from __future__ import annotations

import asyncio
from importlib.metadata import version as installed
from typing import TYPE_CHECKING

import typer

from contract.limits import VERSION
from gateway.commands.outcome import FAILED, MISSING, AsJson, settings, show, with_folder

if TYPE_CHECKING:
    from gateway.observability.doctor import Finding
    from gateway.settings import Settings

config = typer.Typer(help="The settings.", no_args_is_help=True)


@config.command("show")
def show_config(as_json: AsJson = False) -> None:
    """List every setting with its value; secrets are masked."""
    from gateway.shown_settings import shown

    values = shown(settings())
    show(values, "\n".join(f"{name}={value}" for name, value in values.items()), as_json)


def doctor(as_json: AsJson = False) -> None:
    """Look for what would keep the service from working well, and say what to do about it.

    Exit with 1 where something is wrong, with 69 where the database cannot be reached.
    """
    findings = asyncio.run(_examine(with_folder(settings(), mending=False)))
    lines = []
    for finding in findings:
        lines.append(f"{'ok     ' if finding.ok else 'PROBLEM'}  {finding.name}: {finding.message}")
        if not finding.ok and finding.advice:
            lines.append(f"         {finding.advice}")
    data = [{"name": f.name, "ok": f.ok, "message": f.message, "advice": None if f.ok else f.advice} for f in findings]
    show(data, "\n".join(lines), as_json)
    if not findings[0].ok:
        raise SystemExit(MISSING)
    if not all(finding.ok for finding in findings):
        raise SystemExit(FAILED)


async def _examine(configuration: Settings) -> list[Finding]:
    from gateway.observability.doctor import examine
    from gateway.runtime import Runtime

    runtime = Runtime(configuration)
    async with runtime.running():
        return await examine(runtime)


def version(as_json: AsJson = False) -> None:
    """Print the version of the service and of the libraries that it stands on."""
    names = ("strawberry-graphql", "graphql-core", "starlette", "uvicorn", "sqlmodel", "sqlalchemy")
    versions = {"crm-gateway": VERSION, **{name: installed(name) for name in names}}
    show(versions, VERSION, as_json)
