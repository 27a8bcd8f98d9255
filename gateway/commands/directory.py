"""`member` and `token`: who belongs where in the embedded identity provider's directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contract.scopes import Role, Scope
from contract.vocabulary import SYSTEM_ACTOR, OwnedKind
from gateway.commands import login
from gateway.commands.before import Before, DryRun, FromFile, Of, key_of, needed_key, parsed
from gateway.commands.outcome import AsJson, fail, say, settings, show, with_database

if TYPE_CHECKING:
    from collections.abc import Sequence

    from identity import directory
    from storage.database import Database

members = typer.Typer(help="Members of the embedded identity provider.", no_args_is_help=True)

OrganizationId = Annotated[str, typer.Option("--org", help="The organization, as X-Service-Org calls it.")]
User = Annotated[str, typer.Option("--user", help="The member's subject.")]


@members.command("add")
def add(
    org: Annotated[str | None, typer.Option("--org", help="The organization, as X-Service-Org calls it.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="The member's subject.")] = None,
    email: Annotated[str | None, typer.Option(help="The member's e-mail address.")] = None,
    name: Annotated[str | None, typer.Option(help="The member's name.")] = None,
    role: Annotated[Role | None, typer.Option(help="The role, which gives the scopes.")] = None,
    scope: Annotated[list[Scope] | None, typer.Option(help="A scope instead of a role; may be repeated.")] = None,
    file: FromFile = None,
    as_json: AsJson = False,
) -> None:
    """Make someone a member, or change a member's name, address, role or scopes.

    Many at once from a file: {"org", "user", "email", "name", "role" or "scopes"} on each line.
    """
    from gateway.commands.from_file import LINE, SUBJECT, MemberOfEntry, read, typed
    from identity import administration

    if file is not None:
        if any((org, user, email, name, role, scope)):
            raise typer.BadParameter("has everything; leave the other options out", param_hint="--file")
        entries = read(file, MemberOfEntry)
    else:
        for option, given in {"--org": org, "--user": user, "--email": email, "--name": name}.items():
            if given is None:
                raise typer.BadParameter("is needed", param_hint=option)
        if (role is None) == (not scope):
            raise typer.BadParameter("give either --role or at least one --scope")
        user, email = typed(SUBJECT, user or "", "--user"), typed(LINE, email or "", "--email")
        name = typed(LINE, name or "", "--name")
        entries = [
            MemberOfEntry.model_construct(org=org, user=user, email=email, name=name, role=role, scopes=scope or [])
        ]

    async def work(database: Database) -> list[str]:
        by_org = administration.grouped((entry.org, entry.newcomer) for entry in entries)
        return await administration.add_members(database, by_org)

    if missing := with_database(work):
        fail("\n".join(f"There is no organization {name}." for name in missing))
    for entry in entries:
        say(f"{entry.user} is a member of {entry.org}.")
    if as_json:
        show([{"org": entry.org, "user": entry.user} for entry in entries], "", as_json)


@members.command("remove")
def remove(org: OrganizationId, user: User, as_json: AsJson = False) -> None:
    """End a membership; the member's keys and webhooks of the organization end with it."""
    from identity import directory

    async def work(database: Database) -> bool:
        return await directory.remove_member(database, org, user)

    if not with_database(work):
        fail(f"{user} is not a member of {org}.")
    say(f"{user} is no longer a member of {org}.")
    show({"org": org, "user": user}, "", as_json)


@members.command("transfer")
def transfer(
    org: OrganizationId,
    source: Annotated[str, typer.Option("--from", help="The owner now, by the subject.")],
    target: Annotated[str, typer.Option("--to", help="The owner to be, an active member.")],
    open_only: Annotated[bool, typer.Option("--open-only", help="Open deals and tasks alone.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Hand over what a member owns, before or after the member leaves, by a job; print how many records."""
    from jobs.ownership import enqueue_transfer
    from storage.queries import members as of_members
    from storage.queries import ownership

    async def work(database: Database) -> tuple[int, str | None]:
        async with database.writing(await needed_key(database, org)) as session:
            owned = (await ownership.owned(session, [source]))[source].of(list(OwnedKind), open_only=open_only)
            if source == target or not await of_members.is_active(session, target):
                fail(f"{target} is no other active member of {org}.")
            if dry_run:
                return owned.total, None
            job = await enqueue_transfer(
                session, source, target, actor=SYSTEM_ACTOR, open_only=open_only, total=owned.total, is_watched=False
            )
            return owned.total, job.id

    number, job = with_database(work)
    say("Nothing is changed." if job is None else f"A worker moves them: crm-gateway job list --org {org}")
    show({"records": number, "job": job}, str(number), as_json)


@members.command("list")
def list_members(org: Of = None, as_json: AsJson = False) -> None:
    """List who belongs where; those who were removed, or are suspended, are among them."""
    from storage.queries import organizations as statements

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
    from identity import directory

    moment = parsed(before)

    async def work(database: Database) -> int:
        org_id = await key_of(database, org)
        return await directory.suspend_before(database, moment, org_id=org_id, dry=dry_run)

    number = with_database(work)
    say("Nothing is changed." if dry_run else "Suspended; `member list` names them.")
    show({"memberships": number, "suspended": 0 if dry_run else number}, str(number), as_json)


@members.command("resume")
def resume(org: OrganizationId, user: User, as_json: AsJson = False) -> None:
    """Have a suspended membership go on as it was."""
    from identity import directory

    async def work(database: Database) -> bool:
        return await directory.resume_member(database, org, user)

    if not with_database(work):
        fail(f"{user} is not suspended in {org}.")
    say(f"{user} is a member of {org} again.")
    show({"org": org, "user": user}, "", as_json)


members.command("login-link")(login.login_link)
members.command("password-link")(login.password_link)
members.command("logout")(login.logout)


def token(
    user: User,
    org: Annotated[str | None, typer.Option("--org", help="The organization that is active from the start.")] = None,
    ttl: Annotated[int, typer.Option(min=1, help="Seconds until it expires.")] = 3600,
) -> None:
    """Print a session token of the embedded identity provider."""
    from gateway.made import embedded_issuer
    from identity import directory

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
