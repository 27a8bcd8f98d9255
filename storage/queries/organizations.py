"""The directory's statements: organizations, members, memberships."""

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from sqlalchemy import ColumnElement, Text, bindparam, func, select, text, update
from sqlmodel import col

from storage.base import now
from storage.database import Database
from storage.expressions import AnyColumn, AnySelect
from storage.joined_rows import BelongingRow
from storage.postgres.organization_copy import SLOTS
from storage.queries.events import position_of
from storage.queries.list_conditions import TextList, any_of
from storage.queries.records import insert_missing
from storage.tables import EventCounter, Member, Membership, Organization
from storage.tenancy.sessions import TenantSession

_MEMBERSHIP: tuple[AnyColumn, ...] = (
    col(Membership.org_id),
    col(Membership.subject),
    col(Membership.role),
    col(Membership.scopes),
    col(Membership.token_issued_at),
    col(Organization.external_id),
    col(Organization.name).label("organization_name"),
    col(Organization.cluster),
    col(Organization.moved_at),
    col(Member.name),
    col(Member.email),
)


async def all_ids(session: TenantSession) -> Sequence[str]:
    """The identifiers of all organizations (a session of the directory)."""
    rows = await session.fetch("organization_ids", lambda: select(col(Organization.id)).order_by(col(Organization.id)))
    return [row.id for row in rows]


async def with_moves(session: TenantSession) -> list[str]:
    """The organizations for whose moves this server of PostgreSQL keeps its log (a session of the directory)."""
    question = "SELECT slot_name::text AS name FROM pg_replication_slots WHERE database = current_database()"
    slots = [row.name for row in await session.rows(text(question))]
    return [str(UUID(hex=name.removeprefix(SLOTS))) for name in slots if name.startswith(SLOTS)]


async def everyone(session: TenantSession) -> Sequence[Organization]:
    """All organizations by their identifiers (a session of the directory)."""
    return await session.find_all(select(Organization).order_by(col(Organization.external_id)))


async def name_of(session: TenantSession, org_id: str) -> str:
    """Read the name of an organization (a session of the directory)."""
    found: str = await session.scalar(select(col(Organization.name)).where(col(Organization.id) == org_id))
    return found


async def memberships(
    session: TenantSession, subjects: Sequence[str], *, positions: bool = False
) -> Sequence[BelongingRow]:
    """The organizations of these members by name, each with role, scopes and the member's own name and e-mail.

    Those that ended are among them, with `ended_at`; so are those of an organization that is suspended. With
    `positions` each has the `position` of its organization (decision 996).
    """
    if len(subjects) == 1:  # like that of credentials
        build = partial(_of_one, positions=positions)
        return await session.fetch(("memberships_of_one", positions), build, subject=subjects[0])
    build = partial(_of_several, positions=positions)
    return await session.fetch(("memberships", positions), build, subjects=list(subjects))


def _of_one(*, positions: bool) -> AnySelect:
    own = bindparam("subject", type_=Text)
    return _memberships(lambda subject: subject == own, positions=positions)


def _of_several(*, positions: bool) -> AnySelect:
    listed = bindparam("subjects", type_=TextList())
    return _memberships(lambda subject: any_of(subject, listed), positions=positions)


def _memberships(is_meant: Callable[[AnyColumn], ColumnElement[bool]], *, positions: bool) -> AnySelect:
    ended = func.coalesce(Membership.ended_at, Organization.suspended_at).label("ended_at")
    return (
        select(*_MEMBERSHIP, ended, *([position_of(col(Membership.org_id))] if positions else []))
        .join(Organization, col(Organization.id) == Membership.org_id)
        .join(Member, col(Member.subject) == Membership.subject)
        .where(is_meant(col(Membership.subject)))
        .order_by(col(Organization.name), col(Organization.id))
    )


async def organization(session: TenantSession, external_id: str) -> Organization | None:
    """The organization that X-Service-Org calls by this name."""
    return await session.find(Organization, external_id=external_id)


async def create_organization(
    database: Database, name: str, external_id: str, org_id: str, cluster: str | None = None
) -> bool:
    """A new organization with the counter of its change log; False where the name or the key is another's.

    Its rows lie on the server of this name, if one is named.
    """
    moved_at = None if cluster is None else now()
    if database.clusters is not None and cluster is not None:
        await put_stub(database.clusters.others[cluster], org_id, cluster)
    made = Organization(id=org_id, external_id=external_id, name=name, cluster=cluster, moved_at=moved_at)
    async with database.directory(writing=True) as session:
        if not await insert_missing(session, made):
            return False
    if database.clusters is not None:
        database.clusters.note([(org_id, cluster, moved_at)])
    async with database.writing(org_id) as session:
        await insert_missing(session, EventCounter(org_id=org_id))
    return True


async def put_stub(server: Database, org_id: str, cluster: str | None) -> None:
    """Have an organization's rows on another server refer to a row there; it says where the organization lies."""
    async with server.directory(writing=True) as session:
        stub = Organization(id=org_id, external_id=org_id, name="", cluster=cluster)
        if not await insert_missing(session, stub):
            await session.execute(update(Organization).where(col(Organization.id) == org_id).values(cluster=cluster))


async def put_missing_member(session: TenantSession, subject: str, *, name: str, email: str) -> None:
    """The person with this name and e-mail, unless the directory knows one with the subject."""
    await insert_missing(session, Member(subject=subject, name=name, email=email))


async def put_member(session: TenantSession, subject: str, *, name: str | None, email: str | None) -> None:
    """The member with this name and e-mail; what is None stays as it was."""
    await insert_missing(session, Member(subject=subject))
    member = await session.find(Member, subject=subject, lock=True)
    if member is None:
        return
    given = {"name": name, "email": email}
    await session.update(member, **{n: v for n, v in given.items() if v is not None and v != getattr(member, n)})


async def everybody(session: TenantSession, org_id: str | None) -> Sequence[BelongingRow]:
    """All memberships with their organizations and members, those that ended among them; of one if one is named."""
    statement = (
        select(*_MEMBERSHIP, col(Membership.ended_at))
        .join(Organization, col(Organization.id) == Membership.org_id)
        .join(Member, col(Member.subject) == Membership.subject)
        .order_by(col(Organization.external_id), col(Membership.subject))
    )
    return await session.rows(statement if org_id is None else statement.where(col(Membership.org_id) == org_id))


async def lock_member(session: TenantSession, subject: str) -> None:
    """Let one writer at a time through what concerns the member as a whole."""
    await session.find(Member, subject=subject, lock=True)
