"""`member login-link`, `password-link` and `logout`: how members sign in at the embedded identity provider."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from contract.login import LINK_SECONDS_MAX, LOGIN_LINK_SECONDS, PASSWORD_LINK_SECONDS, TicketKind
from gateway.commands.before import needed_key
from gateway.commands.outcome import AsJson, fail, say, settings, show, with_database

if TYPE_CHECKING:
    from gateway.settings import Settings
    from storage.database import Database

User = Annotated[str | None, typer.Option("--user", help="The member's subject.")]
OfOrganization = Annotated[
    str | None, typer.Option("--org", help="All members of this organization who have no password, a line for each.")
]


def login_link(
    user: Annotated[str, typer.Option("--user", help="The member's subject.")],
    ttl: Annotated[
        int, typer.Option(min=1, max=LINK_SECONDS_MAX, help="Seconds until it expires.")
    ] = LOGIN_LINK_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Print a link that signs a member in once, without a password."""
    _print([user], TicketKind.LOGIN_LINK, ttl, as_json, alone=True)


def password_link(
    user: User = None,
    org: OfOrganization = None,
    ttl: Annotated[
        int, typer.Option(min=1, max=LINK_SECONDS_MAX, help="Seconds until it expires.")
    ] = PASSWORD_LINK_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Print a link by which a member sets a password, the first or another: good once.

    Whoever has the link can sign in as the member; send it to nobody else.
    """
    if (user is None) == (org is None):
        raise typer.BadParameter("give either --user or --org")
    _print([user] if user else None, TicketKind.PASSWORD_LINK, ttl, as_json, alone=org is None, org=org)


def logout(
    user: Annotated[str, typer.Option("--user", help="The member's subject.")],
    password: Annotated[bool, typer.Option("--password", help="Delete the password, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """End all that a member is signed in with, and the links that were not used; print how many browsers that were."""
    from identity import logins

    _embedded()
    number = with_database(lambda database: logins.end_all(database, user, with_password=password))
    say(f"{user} is signed out" + (", and has no password." if password else "."))
    show({"user": user, "browsers": number}, str(number), as_json)


def _print(
    users: Sequence[str] | None, kind: TicketKind, ttl: int, as_json: bool, *, alone: bool, org: str | None = None
) -> None:
    """Make a link for each member, and print them; nothing is made where one is no member."""
    from identity import directory, logins
    from storage.base import now

    configuration = _embedded()
    base = _address(configuration)

    async def work(database: Database) -> list[dict[str, object]]:
        wanted = await _without_password(database, org) if users is None else users
        rows = {row.subject: row for row in directory.current(await directory.known(database, wanted))}
        if strangers := [user for user in wanted if user not in rows]:
            fail("\n".join(f"{user} is not a member of any organization." for user in strangers))
        until = now() + timedelta(seconds=ttl)
        secrets = await logins.make_links(database, wanted, kind, until)
        return [
            {
                "user": user,
                "email": rows[user].email,
                "link": f"{base}/login/link?token={secret}",
                "expires_at": f"{until:%Y-%m-%dT%H:%M:%SZ}",
            }
            for user, secret in secrets.items()
        ]

    made = with_database(work, configuration)
    lines = [str(one["link"]) if alone else f"{one['user']}\t{one['email'] or ''}\t{one['link']}" for one in made]
    say(f"Each is for one person alone, and good once, until {made[0]['expires_at']}." if made else "Nobody needs one.")
    show(made[0] if alone else made, "\n".join(lines), as_json)


async def _without_password(database: Database, org: str | None) -> list[str]:
    """The active members of the organization who have no password."""
    from storage.queries import logins as statements
    from storage.queries import organizations

    org_id = await needed_key(database, org or "")
    async with database.directory() as session:
        everybody = [row.subject for row in await organizations.everybody(session, org_id) if row.ended_at is None]
        able = await statements.with_password(session, everybody)
    return [subject for subject in everybody if subject not in able]


def _embedded() -> Settings:
    """The settings, where the embedded identity provider signs members in."""
    configuration = settings()
    if configuration.oidc_issuer is not None:
        fail("Members sign in at the external identity provider, which CRM_OIDC_ISSUER names.")
    return configuration


def _address(configuration: Settings) -> str:
    """Says where a browser of this machine, or of anywhere with CRM_PUBLIC_URL, finds the service."""
    if configuration.public_url is not None:
        return configuration.public_url.rstrip("/")
    host = "127.0.0.1" if configuration.host in ("0.0.0.0", "::") else configuration.host  # noqa: S104  # compared alone
    return f"http://{f'[{host}]' if ':' in host else host}:{configuration.port}"
