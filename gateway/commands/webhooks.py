"""`webhooks`: what an operator does about receivers of events of any maker."""

import typer

from gateway.commands.before import Before, DryRun, Of, key_of, parsed
from gateway.commands.outcome import AsJson, say, show, with_database
from storage.database import Database
from storage.queries import webhooks as statements

webhooks = typer.Typer(help="Receivers of events.", no_args_is_help=True)


@webhooks.command("disable")
def disable(before: Before, org: Of = None, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Switch off, for good, the webhooks that were made before a moment; print how many.

    Each is in the change log of its organization, whose administrators make new ones.
    """
    moment = parsed(before)

    async def work(database: Database) -> int:
        org_id = await key_of(database, org)
        if org_id is not None:
            return await statements.end_before(database, org_id, moment, dry=dry_run)
        async with database.directory() as session:
            watched = await statements.organizations(session)
        number = 0
        for each in watched:  # a session reaches the rows of one organization, and no more
            number += await statements.end_before(database, each, moment, dry=dry_run)
        return number

    number = with_database(work)
    say("Nothing is changed." if dry_run else "Switched off.")
    show({"webhooks": number, "disabled": 0 if dry_run else number}, str(number), as_json)
