"""Holds options that several commands have, and what is read of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.commands.outcome import fail

if TYPE_CHECKING:
    from datetime import datetime

    from storage.database import Database
    from storage.tables import Organization

Before = Annotated[str, typer.Option("--before", help="A time, as 2026-01-31T18:00:00Z; without an offset it is UTC.")]
Of = Annotated[str | None, typer.Option("--org", help="Of this organization alone, as X-Service-Org calls it.")]
FromFile = Annotated[
    Path | None,
    typer.Option("--file", help="A file of JSON, an object on each line or a list of them; - for standard input."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; tell how many there are.")]


def parsed(before: str) -> datetime:
    """The moment before which things were made that a command acts on (decision 157). Raises BadParameter."""
    from resolvers.shared.inputs import moment

    try:
        return moment(before)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--before") from None


async def key_of(database: Database, org: str | None) -> str | None:
    """The key of the organization's rows, None where none is named; the process ends where there is no such one."""
    return None if org is None else await needed_key(database, org)


async def needed_key(database: Database, org: str) -> str:
    """The same where one is named for sure."""
    return (await needed(database, org)).id


async def needed(database: Database, org: str) -> Organization:
    """The organization; the process ends where there is none such."""
    from storage.queries import organizations

    async with database.directory() as session:
        found = await organizations.organization(session, org)
    return found or fail(f"There is no organization {org}.")
