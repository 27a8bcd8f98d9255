"""Whom work acts for that goes on without its request: the credential that it began with, as it is at this moment."""

from dataclasses import dataclass
from datetime import datetime

from contract.errors import Unauthenticated
from contract.vocabulary import CredentialKind
from identity import directory, exchange, scope_sets
from identity.principal import Principal
from storage.base import now
from storage.database import Database
from storage.queries import credentials as statements


@dataclass(frozen=True, slots=True)
class Origin:
    """Says who began the work, in which organization, with what, and what that let them do.

    `session_ends_at` is the end of the session, or of the access token that came in the credential's place.
    """

    org_id: str
    subject: str
    kind: CredentialKind
    credential_id: str | None
    scopes: frozenset[str]
    session_ends_at: datetime | None


def origin_of(principal: Principal) -> Origin:
    """Make the origin of work that this caller asks for in the active organization."""
    if principal.organization is None:
        raise ValueError("work of no organization")
    return Origin(
        principal.organization.id,
        principal.subject,
        principal.kind,
        principal.credential_id,
        principal.scopes,
        principal.session_ends_at,
    )


async def resume(database: Database, origin: Origin) -> Principal:
    """The caller as of now, in one statement: with the scopes of the beginning that are left.

    What was gained meanwhile counts for other work. Raises Unauthenticated where the credential or the membership holds
    no more.
    """
    if origin.session_ends_at is not None and origin.session_ends_at <= now():
        raise Unauthenticated()
    if origin.credential_id is None:
        return await _of_session(database, origin)
    async with database.directory() as session:
        rows = await statements.with_memberships_by_id(session, origin.credential_id)
    exchange.note_places(database, rows)
    grant = exchange.of_rows(rows)
    found = next((each for each in grant.belongings if each.organization.id == origin.org_id), None)
    if found is None or grant.subject != origin.subject:
        raise Unauthenticated()
    return Principal(
        subject=grant.subject,
        kind=grant.kind,
        scopes=scope_sets.known(found.scopes & origin.scopes),
        organization=found.organization,
        organizations=(found.organization,),
        name=grant.name,
        email=grant.email,
        credential_id=grant.id,
        expires_at=grant.expires_at,
        is_exchanged=True,  # not the credential itself has come
        session_ends_at=origin.session_ends_at,
    )


async def _of_session(database: Database, origin: Origin) -> Principal:
    rows = directory.current(await directory.known(database, (origin.subject,)))
    row = next((row for row in rows if row.org_id == origin.org_id), None)
    if row is None:
        raise Unauthenticated()
    found = directory.belonging(row)
    return Principal(
        subject=origin.subject,
        kind=origin.kind,
        scopes=scope_sets.known(found.scopes & origin.scopes),
        organization=found.organization,
        organizations=(found.organization,),
        name=row.name,
        email=row.email,
        is_exchanged=True,  # the same
        session_ends_at=origin.session_ends_at,
    )
