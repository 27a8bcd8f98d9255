"""`key`: single keys and tokens; `credentials` acts on many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.commands.before import Of, key_of
from gateway.commands.outcome import AsJson, fail, say, show, with_database

if TYPE_CHECKING:
    from storage.database import Database
    from storage.statements import AnyRow

keys = typer.Typer(help="Organization keys and user tokens, one by one.", no_args_is_help=True)


@keys.command("list")
def list_keys(
    org: Of = None,
    user: Annotated[str | None, typer.Option("--user", help="Of this member alone, by the subject.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the keys and tokens that are not revoked, newest first; user tokens belong to no organization."""
    from storage.queries import administration as statements

    async def work(database: Database) -> list[AnyRow]:
        org_id = await key_of(database, org)
        async with database.directory() as session:
            return list(await statements.live_credentials(session, org_id, user))

    data = [_entry(row) for row in with_database(work)]
    lines = [f"{d['id']}\t{d['kind']}\t{d['org'] or '-'}\t{d['user']}\t{d['hint']}\t{d['name']}" for d in data]
    show(data, "\n".join(lines), as_json)


def _entry(row: AnyRow) -> dict[str, object]:
    moments = {name: getattr(row, name) for name in ("created_at", "last_used_at", "expires_at")}
    return {
        "id": row.id,
        "kind": row.kind,
        "org": row.external_id,
        "user": row.owner_subject,
        "name": row.name,
        "hint": row.hint,
        **{name: moment and moment.isoformat() for name, moment in moments.items()},
    }


@keys.command("revoke")
def revoke(
    ids: Annotated[list[str], typer.Argument(help="Identifiers, as `key list` has them.", metavar="ID...")],
    as_json: AsJson = False,
) -> None:
    """Revoke keys and tokens, with what was made with them; all of these or, where one is not there, none."""
    from storage.queries import administration as statements
    from storage.queries import credentials

    async def work(database: Database) -> None:
        async with database.directory(writing=True) as session:
            live = {row.id: row for row in await statements.live_credentials(session, None, None)}
            for wanted in ids:  # as many as were typed
                if wanted not in live:
                    fail(f"There is no live key or token {wanted}.")  # which takes back the others
                await credentials.revoke_one(session, wanted)

    with_database(work)
    say("Revoked, for every process from its next call on.")
    show({"revoked": ids}, "", as_json)
