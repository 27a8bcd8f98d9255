"""`migrate` and `seed`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.commands.outcome import WOULD_CHANGE, fail, loaded, say, settings, with_database, with_folder

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from storage.database import Database
    from storage.seeding import Summary


def migrate(
    to: Annotated[str, typer.Option(help="The revision to go to, up or down; `base` undoes everything.")] = "head",
    check: Annotated[bool, typer.Option("--check", help="Change nothing; exit with 3 where some are pending.")] = False,
) -> None:
    """Bring the database and other servers to the newest revision, or to another."""
    from storage import migrate as migrations

    loaded()
    configuration = with_folder(settings())
    url = configuration.database_url.get_secret_value()
    known = migrations.revisions()
    if to not in ("head", "base", *known):
        raise typer.BadParameter(f"there is no revision {to}; there are {', '.join(known)}", param_hint="--to")
    servers = {"": url, **{f"{name}: ": other for name, other in configuration.cluster_addresses.items()}}
    pending = {name: asyncio.run(migrations.pending(each)) for name, each in servers.items()}
    if check:
        if any(pending.values()):
            fail("\n".join(f"{name}pending: {', '.join(of)}" for name, of in pending.items() if of), WOULD_CHANGE)
        say("up to date")
        return
    for name, each in servers.items():  # the directory's first
        if to == "head" or to in pending[name]:
            asyncio.run(migrations.upgrade(each, to))
        else:
            asyncio.run(migrations.downgrade(each, to))
        say(f"{name}now at {asyncio.run(migrations.current(each)) or 'base'}")


def seed(
    demo_data: Annotated[bool, typer.Option("--demo", help="The organizations of `serve --demo`.")] = False,
    organizations: Annotated[int, typer.Option(min=1)] = 1,
    accounts: Annotated[int, typer.Option(min=0)] = 200,
    contacts: Annotated[int, typer.Option(min=0)] = 1_000,
    deals: Annotated[int, typer.Option(min=0)] = 500,
    meetings: Annotated[int, typer.Option(min=0)] = 5_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same rows, and is written once.")] = 1,
) -> None:
    """Write data to try things on, and print the organizations that share it."""
    configuration = settings()
    if demo_data:
        from gateway.demo import data as demo

        ready = with_database(lambda database: demo.prepare(configuration, database), configuration)
        say("The demo data is written." if ready.created else "The demo data is there already.")
        return
    from storage.seeding import Plan
    from storage.seeding import seed as seed_plan

    plan = Plan(organizations, accounts, contacts, deals, meetings, seed)
    with _bar() as progress:
        tasks: dict[str, TaskID] = {}

        def report(table: str, done: int, total: int) -> None:
            if table not in tasks:
                tasks[table] = progress.add_task(table, total=total)
            progress.update(tasks[table], completed=done)

        async def work(database: Database) -> Summary:
            return await seed_plan(database, plan, report)

        summary = with_database(work, configuration)
    print("\n".join(summary.organizations))
    if not summary.written:
        say("Everything is there already.")
        return
    rows = ", ".join(f"{count:,} {table.replace('_', ' ')}" for table, count in summary.rows.items())
    say(f"Written: {rows}.")


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description:>16}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
