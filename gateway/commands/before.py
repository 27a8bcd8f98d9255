"""Holds what commands share that act on everything made before a moment, as after a restore (decision 157)."""

from datetime import datetime
from typing import Annotated

import typer

from gateway.commands.outcome import fail
from storage.database import Database
from storage.queries import organizations

Before = Annotated[str, typer.Option("--before", help="A time, as 2026-01-31T18:00:00Z; without an offset it is UTC.")]
Of = Annotated[str | None, typer.Option("--org", help="Of this organization alone, as X-Service-Org calls it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; tell how many there are.")]


def parsed(before: str) -> datetime:
    """The moment. Raises BadParameter."""
    from resolvers.shared.inputs import moment

    try:
        return moment(before)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--before") from None


async def key_of(database: Database, org: str | None) -> str | None:
    """The key of the organization's rows, None where none is named; the process ends where there is no such one."""
    if org is None:
        return None
    async with database.directory() as session:
        found = await organizations.organization(session, org)
    if found is None:
        fail(f"There is no organization {org}.")
    return found.id
