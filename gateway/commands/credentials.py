"""`credentials`: what an operator does about keys and tokens of any owner."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from contract.vocabulary import CredentialKind
from gateway.commands.before import Before, DryRun, Of, key_of, parsed
from gateway.commands.outcome import AsJson, say, show, with_database

if TYPE_CHECKING:
    from storage.database import Database

credentials = typer.Typer(help="Organization keys and user tokens.", no_args_is_help=True)


class Kind(StrEnum):
    """The values that `--kind` takes."""

    ORGANIZATION_KEY = CredentialKind.ORGANIZATION_KEY.value
    USER_TOKEN = CredentialKind.USER_TOKEN.value


@credentials.command("revoke")
def revoke(
    before: Before,
    org: Of = None,
    user: Annotated[str | None, typer.Option("--user", help="Of this member alone, by the subject.")] = None,
    kind: Annotated[Kind | None, typer.Option("--kind", help="Of this kind alone.")] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Revoke the credentials that were made before a moment, and what was made with them; print how many."""
    from storage.queries import credentials as statements

    moment = parsed(before)
    if org is not None and kind is Kind.USER_TOKEN:
        raise typer.BadParameter("user tokens belong to no organization", param_hint="--org")

    async def work(database: Database) -> int:
        org_id = await key_of(database, org)
        chosen = CredentialKind(kind.value) if kind else None
        async with database.directory(writing=True) as session:
            return await statements.revoke_before(session, moment, org_id=org_id, kind=chosen, owner=user, dry=dry_run)

    number = with_database(work)
    say("Nothing is changed." if dry_run else "Revoked, for every process from its next call on.")
    show({"credentials": number, "revoked": 0 if dry_run else number}, str(number), as_json)
