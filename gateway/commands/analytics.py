"""`analytics`: what an operator does about figures that are kept ready, and about ad-hoc SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.commands.before import DryRun, Of, key_of
from gateway.commands.outcome import AsJson, fail, say, show, with_database

if TYPE_CHECKING:
    from storage.database import Database

analytics = typer.Typer(help="Figures that are kept ready, and ad-hoc SQL.", no_args_is_help=True)
_USAGE = 2


@analytics.command("rebuild")
def rebuild(org: Of = None, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Count the roll-ups of deals and meetings anew, and put right what differs; print how many cells did.

    Writes go on meanwhile, and questions are answered.
    """
    from jobs import roll_ups
    from storage.queries.organizations import all_ids

    async def work(database: Database) -> int:
        org_id = await key_of(database, org)
        if org_id is not None:
            return await roll_ups.put_right(database, org_id, dry=dry_run)
        async with database.directory() as session:
            every = await all_ids(session)
        number = 0
        for each in every:  # a session reaches the rows of one organization, and no more
            number += await roll_ups.put_right(database, each, dry=dry_run)
        return number

    number = with_database(work)
    say("Nothing is changed." if dry_run else "Counted anew.")
    show({"differing": number, "put_right": 0 if dry_run else number}, str(number), as_json)


@analytics.command("role")
def role(
    name: Annotated[str, typer.Option(help="The login of ad-hoc SQL.")] = "crm_analytics",
    app_role: Annotated[str, typer.Option(help="The ordinary login of the service.")] = "crm",
) -> None:
    """Print the SQL that makes the login of CRM_ANALYTICS_DATABASE_URL on PostgreSQL; nothing is changed."""
    from storage.analytics.grants import is_role, statements

    for option, value in (("--name", name), ("--app-role", app_role)):
        if not is_role(value):
            fail(f"{option}: must be lower-case letters, digits and _", _USAGE)
    if name == app_role:
        fail("--name: must be another login than the ordinary one", _USAGE)
    typer.echo("\n".join(statements(name, app_role)))
