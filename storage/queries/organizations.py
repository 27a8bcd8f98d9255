"""The directory's statements: organizations, members, memberships."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, Text, bindparam, func, select, update
from sqlmodel import col

from contract.scopes import Role
from storage.base import Identifier, now
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
    col(Membership.ended_at),
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
    """The member's organizations by name, each with role, scopes and the member's own name and e-mail.

    Those that ended are among them, with `ended_at`.
    """
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


async def create_organization(database: Database, name: str, external_id: str, org_id: str) -> bool:
    """A new organization with the counter of its change log; False where the name or the key is another's."""
    async with database.directory(writing=True) as session:
        if not await insert_missing(session, Organization(id=org_id, external_id=external_id, name=name)):
            return False
    async with database.writing(org_id) as session:
        await insert_missing(session, EventCounter(org_id=org_id))
    return True


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
    """The member belongs to the organization with these scopes; a token older than the newest seen changes nothing.

    One that is not newer than the membership's end does not begin it anew.
    """
    await insert_missing(session, Membership(org_id=org_id, subject=subject))
    found = await session.find(
        Membership, col(Membership.org_id) == org_id, col(Membership.subject) == subject, lock=True
    )
    if found is None:
        return
    seen = found.token_issued_at or 0
    if issued_at is not None and (issued_at < seen or (found.ended_at is not None and issued_at == seen)):
        return
    found.role = role.value if role else None
    found.scopes = sorted(scopes)
    found.token_issued_at = issued_at
    found.ended_at = None
    await session.flush()


async def remove_membership(session: TenantSession, org_id: str, subject: str, *, issued_at: int | None = None) -> bool:
    """End a membership and, with it, the organization keys that the member made; False where there was none.

    `issued_at` is that of the token that says so; unless told, no token issued until now begins it anew.
    """
    moment = now()
    found = await session.find(
        Membership, col(Membership.org_id) == org_id, col(Membership.subject) == subject, lock=True
    )
    if found is None or (found.ended_at is not None and not found.scopes):
        return False
    found.ended_at, found.role, found.scopes = moment, None, []
    found.token_issued_at = issued_at or int(moment.timestamp())
    await session.flush()
    await session.execute(
        update(Credential)
        .where(
            col(Credential.org_id) == org_id,
            col(Credential.owner_subject) == subject,
            col(Credential.revoked_at).is_(None),
        )
        .values(revoked_at=moment)
    )
    return True


async def suspend_before(session: TenantSession, moment: datetime, *, org_id: str | None, dry: bool) -> int:
    """Suspend the memberships that began before then, of one organization if one is named; how many.

    Each goes on when it is resumed, or a session token that is issued from now on says that it does.
    """
    wanted = [col(Membership.created_at) < moment, col(Membership.ended_at).is_(None)]
    if org_id is not None:
        wanted.append(col(Membership.org_id) == org_id)
    number: int = await session.scalar(select(func.count()).select_from(Membership).where(*wanted))
    if number and not dry:
        present = now()
        await session.execute(
            update(Membership)
            .where(*wanted)
            .values(ended_at=present, token_issued_at=int(present.timestamp()))
            .execution_options(synchronize_session=False)
        )
    return number


async def resume(session: TenantSession, org_id: str, subject: str) -> bool:
    """Have a suspended membership go on as it was; False where there is none, or it was removed."""
    found = await session.find(
        Membership, col(Membership.org_id) == org_id, col(Membership.subject) == subject, lock=True
    )
    if found is None or found.ended_at is None or not found.scopes:
        return False
    found.ended_at = None
    await session.flush()
    return True


async def scopes_in(session: TenantSession, org_id: str, subject: str) -> frozenset[str] | None:
    """Reads the scopes that the member has there now; None for one who is no member."""
    rows = await session.fetch("scopes_in", _scopes_in, of=org_id, subject=subject)
    return frozenset(rows[0].scopes) if rows else None


def _scopes_in() -> Select[Any]:
    return select(col(Membership.scopes)).where(
        col(Membership.org_id) == bindparam("of", type_=Identifier),
        col(Membership.subject) == bindparam("subject", type_=Text),
        col(Membership.ended_at).is_(None),
    )


async def everybody(session: TenantSession, org_id: str | None) -> Sequence[Any]:
    """All memberships with their organizations and members, those that ended among them; of one if one is named."""
    statement = (
        select(*_MEMBERSHIP)
        .join(Organization, col(Organization.id) == Membership.org_id)
        .join(Member, col(Member.subject) == Membership.subject)
        .order_by(col(Organization.external_id), col(Membership.subject))
    )
    return await session.rows(statement if org_id is None else statement.where(col(Membership.org_id) == org_id))


async def lock_member(session: TenantSession, subject: str) -> None:
    """Let one writer at a time through what concerns the member as a whole."""
    await session.find(Member, col(Member.subject) == subject, lock=True)
