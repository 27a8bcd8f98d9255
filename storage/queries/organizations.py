"""The directory's statements: organizations, members, memberships."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Select, Text, bindparam, delete, select, update
from sqlmodel import col

from contract.scopes import Role
from storage.base import now
from storage.database import Database
from storage.queries.records import insert_missing
from storage.sessions import TenantSession
from storage.tables import Credential, EventCounter, Member, Membership, Organization

_MEMBERSHIP: tuple[Any, ...] = (
    col(Membership.org_id),
    col(Membership.subject),
    col(Membership.role),
    col(Membership.scopes),
    col(Membership.token_issued_at),
    col(Organization.external_id),
    col(Organization.name).label("organization_name"),
    col(Member.name),
    col(Member.email),
)


async def all_ids(session: TenantSession) -> Sequence[str]:
    """The identifiers of all organizations (a session of the directory)."""
    rows = await session.fetch("organization_ids", lambda: select(col(Organization.id)).order_by(col(Organization.id)))
    return [row.id for row in rows]


async def memberships(session: TenantSession, subject: str) -> Sequence[Any]:
    """The member's organizations by name, each with role, scopes and the member's own name and e-mail."""
    return await session.fetch("memberships", _memberships, subject=subject)


def _memberships() -> Select[Any]:
    return (
        select(*_MEMBERSHIP)
        .join(Organization, col(Organization.id) == Membership.org_id)
        .join(Member, col(Member.subject) == Membership.subject)
        .where(col(Membership.subject) == bindparam("subject", type_=Text))
        .order_by(col(Organization.name), col(Organization.id))
    )


async def organization(session: TenantSession, external_id: str) -> Organization | None:
    """The organization that X-Service-Org calls by this name."""
    return await session.find(Organization, col(Organization.external_id) == external_id)


async def create_organization(database: Database, name: str, external_id: str, org_id: str) -> None:
    """A new organization with the counter of its change log; one that is there already stays as it is."""
    async with database.directory(writing=True) as session:
        await insert_missing(session, Organization(id=org_id, external_id=external_id, name=name))
    async with database.writing(org_id) as session:
        await insert_missing(session, EventCounter(org_id=org_id))


async def put_member(session: TenantSession, subject: str, *, name: str | None, email: str | None) -> None:
    """The member with this name and e-mail; what is None stays as it was."""
    await insert_missing(session, Member(subject=subject))
    member = await session.find(Member, col(Member.subject) == subject, lock=True)
    if member is None:
        return
    member.name = name if name is not None else member.name
    member.email = email if email is not None else member.email
    await session.flush()


async def put_membership(
    session: TenantSession,
    org_id: str,
    subject: str,
    *,
    role: Role | None,
    scopes: Iterable[str],
    issued_at: int | None = None,
) -> None:
    """The member belongs to the organization with these scopes; a token older than the newest seen changes nothing."""
    await insert_missing(session, Membership(org_id=org_id, subject=subject))
    found = await session.find(
        Membership, col(Membership.org_id) == org_id, col(Membership.subject) == subject, lock=True
    )
    if found is None or (issued_at is not None and issued_at < (found.token_issued_at or 0)):
        return
    found.role = role.value if role else None
    found.scopes = sorted(scopes)
    found.token_issued_at = issued_at
    await session.flush()


async def remove_membership(session: TenantSession, org_id: str, subject: str) -> bool:
    """End a membership and, with it, the organization keys that the member made; False where there was none."""
    ended = await session.execute(
        delete(Membership).where(col(Membership.org_id) == org_id, col(Membership.subject) == subject)
    )
    await session.execute(
        update(Credential)
        .where(
            col(Credential.org_id) == org_id,
            col(Credential.owner_subject) == subject,
            col(Credential.revoked_at).is_(None),
        )
        .values(revoked_at=now())
    )
    return bool(ended.rowcount)  # type: ignore[attr-defined]  # a DELETE gives a cursor result
