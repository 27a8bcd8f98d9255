"""Statements on organization keys and user tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import (
    ColumnElement,
    Text,
    and_,
    bindparam,
    case,
    cast,
    func,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.orm import aliased
from sqlmodel import col

from contract.limits import LAST_USED_SECONDS
from contract.vocabulary import CredentialKind
from storage import tables as t  # each is loaded when a statement is made of it (decision 1183)
from storage.base import Identifier, as_uuid, now
from storage.expressions import AnyColumn, AnySelect
from storage.joined_rows import CredentialReachRow
from storage.queries.events import position_of
from storage.queries.list_conditions import TextList, any_of
from storage.rows import CredentialRow
from storage.tables import Credential, Member, Membership, Organization
from storage.tenancy.sessions import TenantSession

_PUBLIC: tuple[AnyColumn, ...] = (
    col(Credential.id),
    col(Credential.kind),
    col(Credential.org_id),
    col(Credential.name),
    col(Credential.key_id),
    col(Credential.hint),
    col(Credential.created_at),
    col(Credential.last_used_at),
    col(Credential.expires_at),
    col(Credential.owner_subject),
)


async def with_memberships(
    session: TenantSession, key_ids: Sequence[str], *, positions: bool = False
) -> Sequence[CredentialReachRow]:
    """Each of the credentials beside each membership that it can act with, in one read.

    One row per organization of the owner, for an organization key only its own; one row without a membership
    (`external_id` is None) where the owner has none; no row where the key is unknown. `scopes` is JSON, as text.
    `maker_revoked_at` is when the first of those ended that it was made with, directly or not. With `positions` each
    row has the `position` of its organization (decision 996).
    """
    if len(key_ids) == 1:  # most often: PostgreSQL keeps the plan of an equality, and makes one for each list
        build = partial(_of_one, positions=positions)
        return await session.fetch(("with_memberships_of_one", positions), build, key_id=key_ids[0])
    build = partial(_of_several, positions=positions)
    return await session.fetch(("with_memberships", positions), build, key_ids=list(key_ids))


def _of_one(*, positions: bool) -> AnySelect:
    own = bindparam("key_id", type_=Text)
    return _beside_memberships(lambda key_id: key_id == own, positions=positions)


def _of_several(*, positions: bool) -> AnySelect:
    listed = bindparam("key_ids", type_=TextList())
    return _beside_memberships(lambda key_id: any_of(key_id, listed), positions=positions)


async def with_memberships_by_id(session: TenantSession, credential_id: str) -> Sequence[CredentialReachRow]:
    """The same of the credential with this identifier."""

    def build() -> AnySelect:
        other = aliased(Credential)
        meant = select(col(other.key_id)).where(col(other.id) == bindparam("credential_id", type_=Identifier))
        return _beside_memberships(lambda key_id: key_id == meant.scalar_subquery())

    return await session.fetch("with_memberships_by_id", build, credential_id=credential_id)


async def nearest_with_memberships(session: TenantSession, key_id: str) -> Sequence[CredentialReachRow]:
    """Find the key's rows, or those of another credential where it is unknown, so that it takes as long (decision 118).

    No row where there is no credential at all.
    """
    return await session.fetch("nearest_with_memberships", _nearest, key_id=key_id)


def _nearest() -> AnySelect:
    other = aliased(Credential)
    first = select(func.min(other.key_id))
    behind = first.where(col(other.key_id) >= bindparam("key_id", type_=Text))
    nearest = func.coalesce(behind.scalar_subquery(), first.scalar_subquery())
    return _beside_memberships(lambda key_id: key_id == nearest)


def _beside_memberships(is_meant: Callable[[AnyColumn], ColumnElement[bool]], *, positions: bool = False) -> AnySelect:
    """The credentials whose key ids are meant, beside their memberships."""
    reaches = and_(
        col(Membership.subject) == Credential.owner_subject,
        col(Membership.ended_at).is_(None),
        or_(col(Credential.org_id).is_(None), col(Credential.org_id) == Membership.org_id),
    )
    return (
        select(
            *_PUBLIC,
            col(Credential.secret_hash),
            col(Credential.revoked_at),
            _maker_revoked_at(is_meant).label("maker_revoked_at"),
            col(Member.name).label("member_name"),
            col(Member.email).label("member_email"),
            col(Membership.org_id).label("membership_org_id"),
            cast(col(Membership.scopes), Text).label("scopes"),
            col(Organization.external_id),
            col(Organization.name).label("organization_name"),
            col(Organization.suspended_at),
            col(Organization.cluster),
            col(Organization.moved_at),
            *([position_of(col(Membership.org_id))] if positions else []),
        )
        .select_from(Credential)
        .join(Member, col(Member.subject) == Credential.owner_subject)
        .outerjoin(Membership, reaches)
        .outerjoin(Organization, col(Organization.id) == Membership.org_id)
        .where(is_meant(col(Credential.key_id)))
        .order_by(col(Organization.name), col(Organization.id))
    )


def _maker_revoked_at(is_meant: Callable[[AnyColumn], ColumnElement[bool]]) -> ColumnElement[datetime | None]:
    """The chain of makers is walked only for a credential that has one: the databases leave the branch alone else."""
    own, maker = aliased(Credential), aliased(Credential)
    chain: AnySelect = select(col(own.id).label("made"), col(own.id), col(own.made_by), col(own.revoked_at))
    makers = chain.where(is_meant(col(own.key_id))).cte("makers", recursive=True)
    further = select(makers.c.made, col(maker.id), col(maker.made_by), col(maker.revoked_at))
    makers = makers.union(further.join(makers, col(maker.id) == makers.c.made_by))
    first = select(func.min(makers.c.revoked_at)).where(makers.c.made == col(Credential.id)).scalar_subquery()
    return case((col(Credential.made_by).is_not(None), first))


async def touch(session: TenantSession, credential_id: str, moment: datetime) -> None:
    """Note the use, unless one was noted within the last minute."""
    await session.execute(
        update(Credential)
        .where(
            col(Credential.id) == credential_id,
            or_(
                col(Credential.last_used_at).is_(None),
                col(Credential.last_used_at) <= moment - timedelta(seconds=LAST_USED_SECONDS),
            ),
        )
        .values(last_used_at=moment)
    )


async def renew(session: TenantSession, credential_id: str, secret_hash: str) -> None:
    """Keep the secret under the pepper of now (decision 125)."""
    await session.execute(update(Credential).where(col(Credential.id) == credential_id).values(secret_hash=secret_hash))


async def marks(session: TenantSession, moment: datetime) -> dict[str, int]:
    """Counts the live credentials that begin with each mark of a pepper (a session of the directory)."""
    mark = func.substr(col(Credential.secret_hash), 1, _MARK).label("mark")
    counted = select(mark, func.count().label("number")).where(*_alive(moment))
    return {row.mark: row.number for row in await session.rows(counted.group_by(mark))}


_MARK = 9


async def organization_keys(session: TenantSession, *, owner: str | None) -> Sequence[CredentialRow]:
    """The organization's live keys, newest first, each with its owner's name; of one owner where one is named."""
    if session.spans_servers:
        return await _organization_keys_apart(session, owner)
    named = and_(col(t.Person.org_id) == Credential.org_id, col(t.Person.id) == Credential.owner_subject)
    statement = select(*_PUBLIC, col(t.Person.name).label("owner_name")).outerjoin(t.Person, named)
    return await session.rows(_live_keys(statement, session.org_id, owner))


def _live_keys(statement: AnySelect, org_id: str, owner: str | None) -> AnySelect:
    wanted = [col(Credential.org_id) == org_id, col(Credential.revoked_at).is_(None)]
    if owner is not None:
        wanted.append(col(Credential.owner_subject) == owner)
    return statement.where(*wanted).order_by(col(Credential.created_at).desc(), col(Credential.id))


async def _organization_keys_apart(session: TenantSession, owner: str | None) -> Sequence[CredentialRow]:
    """The same where the names of the owners lie on another server than the keys."""
    no_name = cast(null(), Text).label("owner_name")
    keys = await session.rows(_live_keys(select(*_PUBLIC, no_name), session.org_id, owner))
    owners = sorted({key.owner_subject for key in keys})
    named = select(col(t.Person.id), col(t.Person.name)).where(
        col(t.Person.org_id) == session.org_id, col(t.Person.id).in_(owners)
    )
    names = {row.id: row.name for row in await session.rows(named)} if owners else {}
    return [key._replace(owner_name=names.get(key.owner_subject)) for key in keys]


async def user_tokens(session: TenantSession, owner: str) -> Sequence[CredentialRow]:
    """The member's own live tokens, newest first."""
    statement = (
        select(*_PUBLIC)
        .where(
            col(Credential.org_id).is_(None),
            col(Credential.owner_subject) == owner,
            col(Credential.revoked_at).is_(None),
        )
        .order_by(col(Credential.created_at).desc(), col(Credential.id))
    )
    return await session.rows(statement)


async def change(
    session: TenantSession, credential_id: str, *, org_id: str | None, owner: str | None, **values: object
) -> CredentialRow | None:
    """Change one live credential and give its new row; None where there is none such.

    A key of this organization, or with None a user token; of one owner if one is named.
    """
    if as_uuid(credential_id) is None:
        return None
    statement = update(Credential).where(*_live(credential_id, org_id, owner))
    found: CredentialRow | None = await session.row(statement.values(**values).returning(*_PUBLIC))
    return found


async def end_made(session: TenantSession, credential_id: str, *, org_id: str | None) -> None:
    """Revoke what was made with this credential, directly or not; keys of this organization, or of any with None.

    One that is being made meanwhile is not seen here, and not let in either: each call looks at the makers.
    """
    await _end(session, [col(Credential.id) == credential_id], org_id)


async def revoke_before(
    session: TenantSession,
    moment: datetime,
    *,
    org_id: str | None,
    kind: CredentialKind | None,
    owner: str | None,
    dry: bool,
) -> int:
    """Revoke the live credentials made before then, and what was made with them; how many were made before then.

    Of one organization, kind or owner where one is named; a `dry` run only counts (a session of the directory).
    """
    wanted = [col(Credential.created_at) < moment, *_alive(now())]
    if org_id is not None:
        wanted.append(col(Credential.org_id) == org_id)
    if kind is not None:
        wanted.append(col(Credential.kind) == kind.value)
    if owner is not None:
        wanted.append(col(Credential.owner_subject) == owner)
    number: int = await session.scalar(select(func.count()).select_from(Credential).where(*wanted))
    if number and not dry:
        await _end(session, wanted, None)
    return number


async def _end(session: TenantSession, conditions: Iterable[ColumnElement[bool]], org_id: str | None) -> None:
    """Revoke these with what was made with them, locked in the order in which a removed member's are (1200)."""
    pin = [] if org_id is None else [col(Credential.org_id) == org_id]
    made = aliased(Credential)
    ended = select(col(Credential.id)).where(*conditions, *pin).cte("ended", recursive=True)
    made_pin = [] if org_id is None else [col(made.org_id) == org_id]
    ended = ended.union(select(col(made.id)).join(ended, col(made.made_by) == ended.c.id).where(*made_pin))
    live = *pin, col(Credential.id).in_(select(ended.c.id)), col(Credential.revoked_at).is_(None)
    await session.rows(select(col(Credential.id)).where(*live).order_by(col(Credential.id)).with_for_update())
    await session.execute(update(Credential).where(*live).values(revoked_at=now()))


async def revoke_one(session: TenantSession, credential_id: str) -> None:
    """Revoke a credential of any owner and kind, with what was made with it (a session of the directory)."""
    await _end(session, [col(Credential.id) == credential_id], None)


async def number_live(session: TenantSession, owner: str, *, org_id: str | None) -> int:
    """Counts the live keys that the member has in the organization, or live user tokens with None."""
    own = col(Credential.org_id).is_(None) if org_id is None else col(Credential.org_id) == org_id
    counted = select(func.count()).select_from(Credential).where(own, col(Credential.owner_subject) == owner)
    number: int = await session.scalar(counted.where(*_alive(now())))
    return number


def _alive(moment: datetime) -> list[ColumnElement[bool]]:
    lives = or_(col(Credential.expires_at).is_(None), col(Credential.expires_at) > moment)
    return [col(Credential.revoked_at).is_(None), lives]


async def live(
    session: TenantSession, credential_id: str, *, org_id: str | None, owner: str | None
) -> CredentialRow | None:
    """The credential that `change` would change, kept from other writers."""
    if as_uuid(credential_id) is None:
        return None
    found: CredentialRow | None = await session.row(
        select(*_PUBLIC).where(*_live(credential_id, org_id, owner)).with_for_update()
    )
    return found


def _live(credential_id: str, org_id: str | None, owner: str | None) -> list[ColumnElement[bool]]:
    conditions = [
        col(Credential.org_id).is_(None) if org_id is None else col(Credential.org_id) == org_id,
        col(Credential.id) == as_uuid(credential_id),
        col(Credential.revoked_at).is_(None),
    ]
    return conditions if owner is None else [*conditions, col(Credential.owner_subject) == owner]
