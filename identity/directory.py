"""What the service knows of members: kept by hand in the embedded directory, or learned from session tokens."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from contract.scopes import Role, Scope
from identity.principal import Belonging, Organization
from identity.tokens import Claims
from storage.base import as_uuid
from storage.database import Database
from storage.queries import organizations as statements


def organization_id(external_id: str) -> str:
    """The key of an organization's rows: its external id if that is a UUID, else one derived from it (decision 5)."""
    return as_uuid(external_id) or str(uuid5(NAMESPACE_URL, f"crm-gateway:organization:{external_id}"))


def belonging(row: Any) -> Belonging:
    """An organization and the scopes in it, off a row of memberships."""
    return Belonging(
        Organization(row.org_id, row.external_id, row.organization_name), frozenset(row.scopes) & KNOWN_SCOPES
    )


KNOWN_SCOPES = frozenset(str(scope) for scope in Scope)
SUBJECT_MAX = 255


async def memberships(database: Database, subject: str) -> Sequence[Any]:
    """The member's organizations by name."""
    async with database.directory() as session:
        return await statements.memberships(session, subject)


async def learn(database: Database, claims: Claims) -> tuple[Belonging, ...]:
    """The organizations of an external session, remembered for the credentials that its subject makes.

    Written only when the token is newer than the last one seen, or says something else at the same second; a token
    issued earlier changes nothing, though it is still good for its own call.
    """
    rows = {row.external_id: row for row in await memberships(database, claims.subject)}
    news = [name for name in claims.organizations if _is_news(rows.get(name), claims)]
    if news:
        is_newest = all((row.token_issued_at or 0) <= (claims.issued_at or 0) for row in rows.values())
        await _remember(database, claims, news, with_name=is_newest)
        rows = {row.external_id: row for row in await memberships(database, claims.subject)}
    scopes = claims.scopes & KNOWN_SCOPES
    return tuple(Belonging(belonging(rows[name]).organization, scopes) for name in claims.organizations)


def _is_news(row: Any, claims: Claims) -> bool:
    if row is None:
        return True
    seen, issued = row.token_issued_at or 0, claims.issued_at or 0
    same = (
        frozenset(row.scopes) == claims.scopes & KNOWN_SCOPES
        and claims.name in (None, row.name)
        and claims.email in (None, row.email)
    )
    return issued > seen or (issued == seen and not same)


async def _remember(database: Database, claims: Claims, organizations: Iterable[str], *, with_name: bool) -> None:
    known = [await _organization(database, external_id) for external_id in organizations]
    name, email = (claims.name, claims.email) if with_name else (None, None)
    async with database.directory(writing=True) as session:
        await statements.put_member(session, claims.subject, name=name, email=email)
        for org_id in known:
            await statements.put_membership(
                session,
                org_id,
                claims.subject,
                role=None,
                scopes=claims.scopes & KNOWN_SCOPES,
                issued_at=claims.issued_at or 0,
            )


async def _organization(database: Database, external_id: str) -> str:
    """The key of the organization's rows; one that is not known yet is made."""
    async with database.directory() as session:
        known = await statements.organization(session, external_id)
    if known is not None:
        return known.id
    org_id = organization_id(external_id)
    await statements.create_organization(database, external_id, external_id, org_id)
    return org_id


async def create_organization(database: Database, name: str, external_id: str) -> bool:
    """A new organization of the embedded directory; False where the identifier is taken."""
    async with database.directory() as session:
        if await statements.organization(session, external_id) is not None:
            return False
    await statements.create_organization(database, name, external_id, organization_id(external_id))
    return True


async def add_member(
    database: Database,
    external_id: str,
    subject: str,
    *,
    name: str,
    email: str,
    role: Role | None,
    scopes: Iterable[str],
) -> bool:
    """Make someone a member, or change what a member is; False where there is no such organization."""
    async with database.directory(writing=True) as session:
        organization = await statements.organization(session, external_id)
        if organization is None:
            return False
        await statements.put_member(session, subject, name=name, email=email)
        await statements.put_membership(session, organization.id, subject, role=role, scopes=scopes)
    return True


async def remove_member(database: Database, external_id: str, subject: str) -> bool:
    """End a membership; False where there was none."""
    async with database.directory(writing=True) as session:
        organization = await statements.organization(session, external_id)
        return organization is not None and await statements.remove_membership(session, organization.id, subject)
