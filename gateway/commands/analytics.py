"""`analytics`: what an operator does about figures that are kept ready."""

import typer

from gateway.commands.before import DryRun, Of, key_of
from gateway.commands.outcome import AsJson, say, show, with_database
from jobs import roll_ups
from storage.database import Database
from storage.queries.organizations import all_ids

analytics = typer.Typer(help="Figures that are kept ready.", no_args_is_help=True)


@analytics.command("rebuild")
def rebuild(org: Of = None, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Count the roll-ups of deals and meetings anew, and put right what differs; print how many cells did.

    Writes go on meanwhile, and questions are answered.
    """

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
