"""`org`: organizations, made, listed, suspended, exported and deleted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.commands.before import FromFile, needed, needed_key
from gateway.commands.outcome import AsJson, fail, say, settings, show, with_database

if TYPE_CHECKING:
    from providers.artifacts import Artifacts
    from storage.database import Database
    from storage.statements import AnyRow
    from storage.tables import Organization

organizations = typer.Typer(help="Organizations.", no_args_is_help=True)

Org = Annotated[str, typer.Argument(help="The organization, as X-Service-Org calls it.", metavar="ORG")]


@organizations.command("create")
def create(
    name: Annotated[str | None, typer.Argument(help="The organization's name.")] = None,
    identifier: Annotated[
        str | None, typer.Option("--id", help="What X-Service-Org calls it; a UUID unless given.")
    ] = None,
    file: FromFile = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="The server of CRM_CLUSTERS that it is to lie on.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create an organization, and print its identifier.

    Many at once with their members from a file: {"id", "name", "members": [{"user", "email", "name", "role" or
    "scopes"}]} on each line. Organizations that are there stay as they are, and their members are added or changed, so
    that the same file may be read again.
    """
    from gateway.commands.from_file import LINE, typed
    from identity import administration
    from identity.claims import names_organization
    from storage.base import new_id

    if (name is None) == (file is None):
        raise typer.BadParameter("give either the organization's name or --file")
    configuration = settings()
    if cluster is not None and cluster not in configuration.cluster_addresses:
        raise typer.BadParameter("CRM_CLUSTERS names no such server", param_hint="--cluster")
    if file is not None:
        _create_from(file, cluster, as_json)
        return
    called = typed(LINE, name or "", "name")
    external_id = new_id() if identifier is None else identifier
    if not names_organization(external_id):
        words = "must have 1 to 255 characters, no control characters, and no blanks around them"
        raise typer.BadParameter(words, param_hint="--id")

    async def work(database: Database) -> bool:
        return bool(await administration.create(database, {external_id: called}, cluster))

    if not with_database(work, configuration):
        fail(f"There is an organization {external_id} already.")
    show({"id": external_id, "name": called}, external_id, as_json)


def _create_from(file: Path, cluster: str | None, as_json: bool) -> None:
    from gateway.commands.from_file import OrganizationEntry, read
    from identity import administration

    entries = read(file, OrganizationEntry)

    async def work(database: Database) -> list[str]:
        made = await administration.create(database, {entry.id: entry.name for entry in entries}, cluster)
        people = administration.grouped((entry.id, member.newcomer) for entry in entries for member in entry.members)
        await administration.add_members(database, people)
        return made

    made = set(with_database(work))
    data = [
        {"id": entry.id, "name": entry.name, "created": entry.id in made, "members": len(entry.members)}
        for entry in entries
    ]
    show(data, "\n".join(entry.id for entry in entries), as_json)
    say(f"{len(made)} of {len(entries)} are new.")


@organizations.command("list")
def list_organizations(as_json: AsJson = False) -> None:
    """List every organization with its name, members who may call, whether it is suspended, and where it lies."""
    from storage.clusters import DIRECTORY
    from storage.queries import administration as statements

    async def work(database: Database) -> list[AnyRow]:
        async with database.directory() as session:
            return list(await statements.organizations(session))

    data = [
        {
            "id": row.external_id,
            "name": row.name,
            "members": row.members,
            "state": "suspended" if row.suspended_at else "open",
            "cluster": row.cluster or DIRECTORY,
            "created_at": row.created_at.isoformat(),
        }
        for row in with_database(work)
    ]
    show(data, "\n".join(f"{d['id']}\t{d['state']}\t{d['members']}\t{d['name']}" for d in data), as_json)


@organizations.command("rename")
def rename(org: Org, name: Annotated[str, typer.Argument(help="The new name.")], as_json: AsJson = False) -> None:
    """Give an organization another name; its identifier stays."""
    from gateway.commands.from_file import LINE, typed
    from storage.queries import administration as statements

    called = typed(LINE, name, "name")

    async def work(database: Database) -> bool:
        async with database.directory(writing=True) as session:
            return await statements.rename(session, org, called)

    if not with_database(work):
        fail(f"There is no organization {org}.")
    say(f"{org} is called {called}.")
    show({"id": org, "name": called}, "", as_json)


@organizations.command("suspend")
def suspend(org: Org, as_json: AsJson = False) -> None:
    """Refuse every credential in an organization from its next call on, until `org resume`; nothing is lost."""
    _suspend(org, suspended=True)
    say(f"{org} is suspended: every process refuses its credentials from the next call on.")
    show({"id": org, "state": "suspended"}, "", as_json)


@organizations.command("resume")
def resume(org: Org, as_json: AsJson = False) -> None:
    """Have a suspended organization go on as it was."""
    _suspend(org, suspended=False)
    say(f"{org} goes on.")
    show({"id": org, "state": "open"}, "", as_json)


def _suspend(org: str, *, suspended: bool) -> None:
    from identity import administration

    async def work(database: Database) -> bool:
        await needed_key(database, org)
        return await administration.suspend(database, org, suspended=suspended)

    if not with_database(work):
        fail(f"{org} is {'suspended already' if suspended else 'not suspended'}.")


@organizations.command("move")
def move(
    org: Org,
    cluster: Annotated[
        str, typer.Argument(help="A name of CRM_CLUSTERS; `directory` is the server of CRM_DATABASE_URL.")
    ],
    as_json: AsJson = False,
) -> None:
    """Move an organization to another server while it is used: rows, jobs and all; writes are refused for a moment.

    Its files stay in the store. Where it was interrupted, the organization lies where `org list` says: give the command
    again, with that server to delete what is left on others. See docs/scale.md.
    """
    from asyncio import run

    from storage.moves import LeftBehind
    from storage.moves import move as move_to
    from storage.postgres.organization_copy import Hindrance

    configuration = settings()
    org_id = with_database(lambda database: needed_key(database, org), configuration)
    addresses = configuration.servers_to_move_between
    try:
        moved = run(move_to(addresses, org_id, cluster, say))
    except LeftBehind as error:
        fail(f"{org} lies on {cluster} now, and its rows are not deleted where it lay: {error}")
    except Hindrance as error:
        fail(f"{org} is not moved: {error}")
    refused = max(moved.refused_seconds, default=0.0)
    told = {
        "id": org,
        "cluster": cluster,
        "rows": moved.rows,
        "tables": moved.tables,
        "compared": moved.compared,
        "refused_seconds": round(refused, 3),
        "deleted": moved.deleted,
    }
    show(told, f"{org}\t{cluster}\t{moved.rows}\t{refused:.3f}", as_json)
    say(f"Writes were refused for {refused:.3f} s at the longest; {moved.deleted} rows are deleted where it lay.")


@organizations.command("export")
def export(
    org: Org,
    folder: Annotated[Path | None, typer.Option("--to", help="The folder to make and to write to.")] = None,
    database_url: Annotated[
        str | None,
        typer.Option(
            "--to-database",
            help="Instead: a migrated database of PostgreSQL without organizations, as its superuser reaches it.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write everything that belongs to an organization: its rows as JSON Lines, table by table, and its files.

    No secret is in it: keys, tokens, sealed addresses and cursors are left out. Suspend the organization first where
    all of it is to be of one moment. A database gets every row as it is, of one moment, and its files are left out.
    """
    from gateway.commands import organization_export
    from gateway.made import store_of

    if (folder is None) == (database_url is None):
        raise typer.BadParameter("give either --to or --to-database")
    if folder is None:
        _copy_out(org, database_url or "", as_json)
        return

    configuration = settings()

    async def work(database: Database) -> dict[str, object]:
        return await organization_export.export(database, store_of(configuration), await needed(database, org), folder)

    with_database(lambda database: needed_key(database, org), configuration)  # before a folder is made
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        fail(f"{folder} is there already: name a folder that is not.")
    except OSError as error:
        fail(f"{folder} cannot be made: {error.strerror}")
    told = with_database(work, configuration)
    show(told, str(folder), as_json)
    if missing := told["missing_files"]:
        fail(f"The store does not have {missing}.")


def _copy_out(org: str, database_url: str, as_json: bool) -> None:
    from asyncio import run

    from gateway.setting_checks import with_driver
    from storage.moves import copy_out
    from storage.postgres.organization_copy import Hindrance

    configuration = settings()
    org_id = with_database(lambda database: needed_key(database, org), configuration)
    addresses = configuration.servers_to_move_between
    url = with_driver(database_url)
    try:
        copied = run(copy_out(addresses, org_id, url, say))
    except Hindrance as error:
        fail(f"{org} is not copied: {error}")
    show({"id": org, "rows": copied.rows, "tables": copied.tables}, f"{org}\t{copied.rows}", as_json)


@organizations.command("delete")
def delete(
    org: Org,
    yes: Annotated[str | None, typer.Option("--yes", help="The organization's name, instead of typing it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Delete an organization with every row and file of it, for good; its name has to be typed.

    Members who belong nowhere else are deleted with their tokens. Where it is interrupted the organization stays
    suspended, and the command can be given again.
    """
    from gateway.made import store_of
    from storage.clusters import found_on_servers
    from storage.queries.organizations import with_moves

    configuration = settings()

    async def look(database: Database) -> Organization:
        found = await needed(database, org)
        if database.clusters is not None and found.id in await found_on_servers(database, with_moves):
            fail(f"{org} is being moved, or a move has left something: see `organization move`. Nothing is deleted.")
        return found

    found = with_database(look, configuration)
    if yes is None:
        say(f"This deletes {org}, called {found.name}, with everything in it. Nothing brings it back. Its name:")
        line = sys.stdin.readline()  # not by a prompt, which writes to stdout
        yes = line.removesuffix("\n") if line else None
    if yes != found.name:
        fail(f"{org} is not called so; nothing is deleted.")

    async def work(database: Database) -> tuple[int, int]:
        return await _delete(database, store_of(configuration), found)

    rows, files = with_database(work, configuration)
    say(f"{org} is deleted.")
    show({"rows": rows, "files": files}, "", as_json)


async def _delete(database: Database, store: Artifacts, found: Organization) -> tuple[int, int]:
    """Nobody is let in from the first moment on; the files go before the rows that name them (decision 626)."""
    from identity import administration
    from storage.queries import organization_rows

    await administration.suspend(database, found.external_id, suspended=True)
    names = await organization_rows.stored_names(database, found.id)
    for name in names:
        await store.delete(name)
    async with database.reading(found.id) as session:
        subjects = await organization_rows.subjects_of(session)
    rows = await organization_rows.delete_rows(database, found.id)
    for server in database.servers[1:]:  # those that refer to it there go with it
        async with server.directory(writing=True) as session:
            await organization_rows.delete_organization(session, found.id, [])
    async with database.directory(writing=True) as session:
        await organization_rows.delete_organization(session, found.id, subjects)
    return rows, len(names)
