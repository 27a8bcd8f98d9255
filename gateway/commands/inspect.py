"""`config`, `doctor` and `version`: what is set, and what is wrong."""

import asyncio
import stat
from collections.abc import Sequence
from importlib.metadata import version as installed

import typer

from contract.limits import VERSION
from gateway.commands.outcome import FAILED, MISSING, AsJson, settings, show
from gateway.runtime import Runtime
from gateway.settings import Settings, shown
from rest_compat.operations import Check

config = typer.Typer(help="The settings.", no_args_is_help=True)


@config.callback()
def _config() -> None:
    """Keep `show` a command of its own."""


@config.command("show")
def show_config(as_json: AsJson = False) -> None:
    """List every setting with its value; secrets are masked."""
    values = shown(settings())
    show(values, "\n".join(f"{name}={value}" for name, value in values.items()), as_json)


def doctor(as_json: AsJson = False) -> None:
    """Look for what would keep the service from working well.

    Exit with 1 where something is wrong, with 69 where the database cannot be reached.
    """
    checks = asyncio.run(_examine(settings()))
    lines = [f"{'ok     ' if check.ok else 'PROBLEM'}  {check.name}: {check.message}" for check in checks]
    show([{"name": c.name, "ok": c.ok, "message": c.message} for c in checks], "\n".join(lines), as_json)
    if not checks[0].ok:
        raise SystemExit(MISSING)
    if not all(check.ok for check in checks):
        raise SystemExit(FAILED)


async def _examine(configuration: Settings) -> Sequence[Check]:
    runtime = Runtime(configuration)
    async with runtime.running():
        if runtime.keys is not None:
            await runtime.keys.refresh()
        checks = list(await runtime.readiness())
        bypassed = await runtime.database.bypasses_row_security() if checks[0].ok else None
    mode = stat.S_IMODE(configuration.data_dir.stat().st_mode)
    return [
        *checks,
        Check("row_security", bypassed is False, _ROW_SECURITY[bypassed]),
        Check("data_dir", mode & 0o077 == 0, f"{configuration.data_dir} has mode {mode:04o}"),
    ]


_ROW_SECURITY = {
    None: "unknown",
    True: "the database role bypasses it: use an ordinary role",
    False: "in force; on SQLite there is none",
}


def version(as_json: AsJson = False) -> None:
    """Print the version of the service and of the libraries that it stands on."""
    names = ("strawberry-graphql", "graphql-core", "starlette", "uvicorn", "sqlmodel", "sqlalchemy")
    versions = {"crm-gateway": VERSION, **{name: installed(name) for name in names}}
    show(versions, VERSION, as_json)
