"""`webhooks`: what an operator does about receivers of events of any maker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from gateway.commands.before import Before, DryRun, Of, key_of, parsed
from gateway.commands.outcome import AsJson, say, show, with_database

if TYPE_CHECKING:
    from storage.database import Database
    from storage.statements import AnyRow

webhooks = typer.Typer(help="Receivers of events.", no_args_is_help=True)


@webhooks.command("list")
def list_webhooks(org: Of = None, as_json: AsJson = False) -> None:
    """List receivers of events by organization: where, of which types, and since when they fail."""
    from storage.queries import administration
    from storage.queries.organizations import everyone

    async def work(database: Database) -> list[dict[str, object]]:
        org_id = await key_of(database, org)
        async with database.directory() as session:
            names = {row.id: row.external_id for row in await everyone(session)}
        found = []
        for each in names if org_id is None else [org_id]:  # a session reaches the rows of one organization
            async with database.reading(each) as session:
                found += [_entry(names[each], row) for row in await administration.webhooks(session)]
        return found

    data = with_database(work)
    lines = [f"{d['org']}\t{d['id']}\t{d['state']}\t{d['failing_since'] or '-'}\t{d['url']}" for d in data]
    show(data, "\n".join(lines), as_json)


def _entry(org: str, row: AnyRow) -> dict[str, object]:
    return {
        "org": org,
        "id": row.id,
        "url": row.url,
        "types": list(row.types),
        "state": "active" if row.active else "disabled",
        "failures": row.failures,
        "failing_since": row.failing_since and row.failing_since.isoformat(),
        "created_at": row.created_at.isoformat(),
        "created_by": row.created_by,
    }


@webhooks.command("disable")
def disable(before: Before, org: Of = None, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Switch off, for good, the webhooks that were made before a moment; print how many.

    Each is in the change log of its organization, whose administrators make new ones.
    """
    from storage.queries import webhooks as statements

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
