"""Statements on organization keys and user tokens."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, Text, and_, bindparam, cast, func, or_, select, update
from sqlalchemy.orm import aliased
from sqlmodel import col

from contract.limits import LAST_USED_SECONDS
from storage.base import as_uuid
from storage.sessions import TenantSession
from storage.tables import Credential, Member, Membership, Organization

_PUBLIC: tuple[Any, ...] = (
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


async def with_memberships(session: TenantSession, key_id: str) -> Sequence[Any]:
    """The credential beside each membership that it can act with, in one read.

    One row per organization of the owner, for an organization key only its own; one row without a membership
    (`external_id` is None) where the owner has none; no row where the key is unknown. `scopes` is JSON, as text.
    """
    return await session.fetch("with_memberships", _with_memberships, key_id=key_id)


async def nearest_with_memberships(session: TenantSession, key_id: str) -> Sequence[Any]:
    """The same, or the rows of some other credential where the key is unknown, so that it takes as long (decision 118).

    No row where there is no credential at all.
    """
    return await session.fetch("nearest_with_memberships", _nearest, key_id=key_id)


def _with_memberships() -> Select[Any]:
    return _beside_memberships(bindparam("key_id", type_=Text))


def _nearest() -> Select[Any]:
    other = aliased(Credential)
    first = select(func.min(other.key_id))
    behind = first.where(col(other.key_id) >= bindparam("key_id", type_=Text))
    return _beside_memberships(func.coalesce(behind.scalar_subquery(), first.scalar_subquery()))


def _beside_memberships(key_id: ColumnElement[str]) -> Select[Any]:
    reaches = and_(
        col(Membership.subject) == Credential.owner_subject,
        or_(col(Credential.org_id).is_(None), col(Credential.org_id) == Membership.org_id),
    )
    return (
        select(
            *_PUBLIC,
            col(Credential.secret_hash),
            col(Credential.revoked_at),
            col(Member.name).label("member_name"),
            col(Member.email).label("member_email"),
            col(Membership.org_id).label("membership_org_id"),
            cast(col(Membership.scopes), Text).label("scopes"),
            col(Organization.external_id),
            col(Organization.name).label("organization_name"),
        )
        .select_from(Credential)
        .join(Member, col(Member.subject) == Credential.owner_subject)
        .outerjoin(Membership, reaches)
        .outerjoin(Organization, col(Organization.id) == Membership.org_id)
        .where(col(Credential.key_id) == key_id)
        .order_by(col(Organization.name), col(Organization.id))
    )


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
    """How many live credentials begin with each mark of a pepper (a session of the directory)."""
    mark = func.substr(col(Credential.secret_hash), 1, _MARK).label("mark")
    lives = or_(col(Credential.expires_at).is_(None), col(Credential.expires_at) > moment)
    counted = select(mark, func.count().label("number")).where(col(Credential.revoked_at).is_(None), lives)
    return {row.mark: row.number for row in await session.rows(counted.group_by(mark))}


_MARK = 9


async def organization_keys(session: TenantSession, org_id: str, *, owner: str | None) -> Sequence[Row[Any]]:
    """The organization's live keys, newest first, each with its owner's name; of one owner where one is named."""
    statement = (
        select(*_PUBLIC, col(Member.name).label("owner_name"))
        .join(Member, col(Member.subject) == Credential.owner_subject)
        .where(col(Credential.org_id) == org_id, col(Credential.revoked_at).is_(None))
        .order_by(col(Credential.created_at).desc(), col(Credential.id))
    )
    return await session.rows(statement if owner is None else statement.where(col(Credential.owner_subject) == owner))


async def user_tokens(session: TenantSession, owner: str) -> Sequence[Row[Any]]:
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
    session: TenantSession, credential_id: str, *, org_id: str | None, owner: str | None, **values: Any
) -> Row[Any] | None:
    """Change one live credential and give its new row; None where there is none such.

    A key of this organization, or with None a user token; of one owner if one is named.
    """
    if as_uuid(credential_id) is None:
        return None
    statement = update(Credential).where(*_live(credential_id, org_id, owner))
    return await session.row(statement.values(**values).returning(*_PUBLIC))


async def live(session: TenantSession, credential_id: str, *, org_id: str | None, owner: str | None) -> Row[Any] | None:
    """The credential that `change` would change, kept from other writers."""
    if as_uuid(credential_id) is None:
        return None
    return await session.row(select(*_PUBLIC).where(*_live(credential_id, org_id, owner)).with_for_update())


def _live(credential_id: str, org_id: str | None, owner: str | None) -> list[Any]:
    conditions = [
        col(Credential.org_id).is_(None) if org_id is None else col(Credential.org_id) == org_id,
        col(Credential.id) == as_uuid(credential_id),
        col(Credential.revoked_at).is_(None),
    ]
    return conditions if owner is None else [*conditions, col(Credential.owner_subject) == owner]
