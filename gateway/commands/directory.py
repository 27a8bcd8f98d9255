"""`org`, `member` and `token`: the embedded identity provider's directory."""

from collections.abc import Sequence
from typing import Annotated

import typer

from contract.limits import SUBJECT_MAX
from contract.scopes import Role, Scope
from gateway.commands.before import Before, DryRun, Of, key_of, parsed
from gateway.commands.outcome import AsJson, fail, say, settings, show, with_database
from gateway.made import embedded_issuer
from identity import directory
from identity.claims import names_organization
from storage.base import new_id
from storage.database import Database
from storage.queries import organizations as statements

organizations = typer.Typer(help="Organizations of the embedded identity provider.", no_args_is_help=True)
members = typer.Typer(help="Members of the embedded identity provider.", no_args_is_help=True)

OrganizationId = Annotated[str, typer.Option("--org", help="The organization, as X-Service-Org calls it.")]
Subject = Annotated[str, typer.Option("--user", help="The member's subject.")]


@organizations.command("create")
def create(
    name: Annotated[str, typer.Argument(help="The organization's name.")],
    identifier: Annotated[
        str | None, typer.Option("--id", help="What X-Service-Org calls it; a UUID unless given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create an organization, and print its identifier."""
    external_id = new_id() if identifier is None else identifier
    if not names_organization(external_id):
        words = "must have 1 to 255 characters, no control characters, and no blanks around them"
        raise typer.BadParameter(words, param_hint="--id")

    async def work(database: Database) -> bool:
        return await directory.create_organization(database, name, external_id)

    if not with_database(work):
        fail(f"There is an organization {external_id} already.")
    show({"id": external_id, "name": name}, external_id, as_json)


@members.command("add")
def add(
    org: OrganizationId,
    user: Subject,
    email: Annotated[str, typer.Option(help="The member's e-mail address.")],
    name: Annotated[str, typer.Option(help="The member's name.")],
    role: Annotated[Role | None, typer.Option(help="The role, which gives the scopes.")] = None,
    scope: Annotated[list[Scope] | None, typer.Option(help="A scope instead of a role; may be repeated.")] = None,
) -> None:
    """Make someone a member, or change a member's name, address, role or scopes."""
    if (role is None) == (not scope):
        raise typer.BadParameter("give either --role or at least one --scope")
    if not 0 < len(user) <= SUBJECT_MAX:
        raise typer.BadParameter(f"the subject must have 1 to {SUBJECT_MAX} characters", param_hint="--user")

    async def work(database: Database) -> bool:
        return await directory.add_member(
            database, org, user, name=name, email=email, role=role, scopes=role.scopes if role else scope or []
        )

    if not with_database(work):
        fail(f"There is no organization {org}.")
    say(f"{user} is a member of {org}.")


@members.command("remove")
def remove(org: OrganizationId, user: Subject) -> None:
    """End a membership; the member's keys and webhooks of the organization end with it."""

    async def work(database: Database) -> bool:
        return await directory.remove_member(database, org, user)

    if not with_database(work):
        fail(f"{user} is not a member of {org}.")
    say(f"{user} is no longer a member of {org}.")


@members.command("list")
def list_members(org: Of = None, as_json: AsJson = False) -> None:
    """List who belongs where; those who were removed, or are suspended, are among them."""

    async def work(database: Database) -> Sequence[directory.Row]:
        org_id = await key_of(database, org)
        async with database.directory() as session:
            return await statements.everybody(session, org_id)

    data = [_entry(row) for row in with_database(work)]
    lines = [f"{d['org']}\t{d['user']}\t{d['role'] or '-'}\t{d['state']}\t{d['email'] or ''}" for d in data]
    show(data, "\n".join(lines), as_json)


def _entry(row: directory.Row) -> dict[str, object]:
    state = "member" if row.ended_at is None else "suspended" if row.scopes else "removed"
    return {
        "org": row.external_id,
        "user": row.subject,
        "name": row.name,
        "email": row.email,
        "role": row.role,
        "scopes": list(row.scopes),
        "state": state,
    }


@members.command("suspend")
def suspend(before: Before, org: Of = None, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Suspend the memberships that began before a moment, until each is confirmed; print how many.

    `member resume` or `member add` confirms one, and so does a session token that an external identity provider issues
    from now on.
    """
    moment = parsed(before)

    async def work(database: Database) -> int:
        org_id = await key_of(database, org)
        return await directory.suspend_before(database, moment, org_id=org_id, dry=dry_run)

    number = with_database(work)
    say("Nothing is changed." if dry_run else "Suspended; `member list` names them.")
    show({"memberships": number, "suspended": 0 if dry_run else number}, str(number), as_json)


@members.command("resume")
def resume(org: OrganizationId, user: Subject) -> None:
    """Have a suspended membership go on as it was."""

    async def work(database: Database) -> bool:
        return await directory.resume_member(database, org, user)

    if not with_database(work):
        fail(f"{user} is not suspended in {org}.")
    say(f"{user} is a member of {org} again.")


def token(
    user: Subject,
    org: Annotated[str | None, typer.Option("--org", help="The organization that is active from the start.")] = None,
    ttl: Annotated[int, typer.Option(min=1, help="Seconds until it expires.")] = 3600,
) -> None:
    """Print a session token of the embedded identity provider."""
    configuration = settings()
    rows = with_database(lambda database: directory.memberships(database, user), configuration)
    if not rows:
        fail(f"{user} is not a member of any organization.")
    reachable = {row.external_id: row for row in rows}
    if org is not None and org not in reachable:
        fail(f"{user} is not a member of {org}.")
    scopes = {scope for row in rows if org in (None, row.external_id) for scope in row.scopes}
    issuer = embedded_issuer(configuration)
    print(issuer.mint(user, organization=org, scopes=sorted(scopes), ttl=ttl, name=rows[0].name, email=rows[0].email))
