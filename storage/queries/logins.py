"""Statements on logins: passwords, browsers, grants, and what is good once (all in sessions of the directory)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Text, bindparam, cast, delete, func, literal, or_, select, update
from sqlmodel import col

from contract.login import TicketKind
from storage import tables as t  # each is loaded when a statement is made of it (decision 1183)
from storage.base import Identifier
from storage.expressions import AnySelect
from storage.new_rows import AnyRow
from storage.queries.list_conditions import TextList, any_of
from storage.queries.records import insert_missing
from storage.tenancy.sessions import TenantSession

_BATCH = 1_000
_OF_ONE_NAME = 8


async def live_grants(session: TenantSession, grant_ids: Sequence[str]) -> Sequence[AnyRow]:
    """Those of the grants that have not ended."""
    if len(grant_ids) == 1:  # like that of credentials
        return await session.fetch("live_grant", _live_one, grant_id=grant_ids[0])
    return await session.fetch("live_grants", _live_several, grant_ids=list(grant_ids))


def _live_one() -> AnySelect:
    return _live(col(t.LoginGrant.id) == bindparam("grant_id", type_=Identifier))


def _live_several() -> AnySelect:
    return _live(any_of(cast(col(t.LoginGrant.id), Text), bindparam("grant_ids", type_=TextList())))


def _live(is_meant: ColumnElement[bool]) -> AnySelect:
    return select(col(t.LoginGrant.id)).where(is_meant, col(t.LoginGrant.ended_at).is_(None))


async def accounts(session: TenantSession, name: str) -> Sequence[AnyRow]:
    """The members who may sign in by this name, with their passwords, a few at most; the oldest password first.

    The name is an e-mail address, of which letters of ASCII have no case, or else a subject; several members may have
    one address (decision 896). It looks at all who have a password, which takes as long for any name, and less than
    the hash that follows.
    """

    def build() -> AnySelect:
        given = bindparam("name", type_=Text)
        by_address = func.lower(col(t.Member.email)) == func.lower(given)
        return (
            select(col(t.Member.subject), col(t.Member.name), col(t.Member.email), col(t.Password.hash))
            .join(t.Password, col(t.Password.subject) == t.Member.subject)
            .where(or_(by_address, col(t.Member.subject) == given))
            .order_by(
                func.coalesce(by_address, literal(False)).desc(), col(t.Password.created_at), col(t.Member.subject)
            )
            .limit(_OF_ONE_NAME)
        )

    return await session.fetch("login_accounts", build, name=name)


async def put_password(session: TenantSession, subject: str, password_hash: str, moment: datetime) -> None:
    """Keep the member's password, in place of one that is there."""
    fresh = t.Password(subject=subject, hash=password_hash, created_at=moment, changed_at=moment)
    if not await insert_missing(session, fresh):
        own = update(t.Password).where(col(t.Password.subject) == subject)
        await session.execute(own.values(hash=password_hash, changed_at=moment))


async def rehash(session: TenantSession, subject: str, before: str, after: str) -> None:
    """Keep the same password under other parameters, unless it was changed meanwhile."""
    own = update(t.Password).where(col(t.Password.subject) == subject, col(t.Password.hash) == before)
    await session.execute(own.values(hash=after))


async def forget_password(session: TenantSession, subject: str) -> bool:
    """Delete the member's password; False where there is none."""
    return bool(await session.execute(delete(t.Password).where(col(t.Password.subject) == subject)))


async def with_password(session: TenantSession, subjects: Sequence[str]) -> set[str]:
    """Those of the members who have a password."""
    rows = await session.rows(select(col(t.Password.subject)).where(col(t.Password.subject).in_(subjects)))
    return {row.subject for row in rows}


async def member(session: TenantSession, subject: str) -> t.Member | None:
    """The person, whether a member of anything or not."""
    return await session.find(t.Member, subject=subject)


async def live_session(session: TenantSession, hashed: str, moment: datetime) -> t.LoginSession | None:
    """The browser's session, unless it has ended."""
    found = await session.find(t.LoginSession, hash=hashed)
    return None if found is None or found.ended_at is not None or found.expires_at <= moment else found


async def is_live(session: TenantSession, grant: t.LoginGrant, moment: datetime) -> bool:
    """Says whether a grant has not ended, nor the browser's session that it was given in."""
    if grant.ended_at is not None or grant.expires_at <= moment:
        return False
    found = await session.find(t.LoginSession, id=grant.session_id)
    return found is not None and found.ended_at is None


async def ticket(session: TenantSession, hashed: str, *kinds: TicketKind, lock: bool = False) -> t.LoginTicket | None:
    """Find what is good once, used or not; `lock` keeps others off it until the transaction ends."""
    found = await session.find(t.LoginTicket, hash=hashed, lock=lock)
    return found if found is not None and found.kind in kinds else None


async def grant(session: TenantSession, grant_id: str, *, lock: bool = False) -> t.LoginGrant | None:
    """Find a grant, ended or not."""
    return await session.find(t.LoginGrant, id=grant_id, lock=lock)


async def end_grant(session: TenantSession, grant_id: str, moment: datetime) -> None:
    """End a grant with all its tokens."""
    own = (col(t.LoginGrant.id) == grant_id, col(t.LoginGrant.ended_at).is_(None))
    await session.execute(update(t.LoginGrant).where(*own).values(ended_at=moment))


async def end_session(session: TenantSession, session_id: str, moment: datetime) -> None:
    """End a browser's session, and the grants that were given in it."""
    own = (col(t.LoginSession.id) == session_id, col(t.LoginSession.ended_at).is_(None))
    await session.execute(update(t.LoginSession).where(*own).values(ended_at=moment))
    given = (col(t.LoginGrant.session_id) == session_id, col(t.LoginGrant.ended_at).is_(None))
    await session.execute(update(t.LoginGrant).where(*given).values(ended_at=moment))


async def replace_session(session: TenantSession, former: str, began: t.LoginSession, moment: datetime) -> None:
    """End the session that a browser had, by its hash, for the one that begins there.

    What was given to the same member in it goes on, and ends with the new one; what another was given ends now.
    """
    found = await session.find(t.LoginSession, hash=former, lock=True)
    if found is None or found.ended_at is not None:
        return
    if found.subject == began.subject:
        given = (col(t.LoginGrant.session_id) == found.id, col(t.LoginGrant.ended_at).is_(None))
        await session.execute(update(t.LoginGrant).where(*given).values(session_id=began.id))
    await end_session(session, found.id, moment)


async def end_all(session: TenantSession, subject: str, moment: datetime) -> int:
    """End all that the member is signed in with, links that were not used among it; how many browsers that were."""
    own = (col(t.LoginSession.subject) == subject, col(t.LoginSession.ended_at).is_(None))
    living = await session.scalar(
        select(func.count()).select_from(t.LoginSession).where(*own, col(t.LoginSession.expires_at) > moment)
    )
    await session.execute(update(t.LoginSession).where(*own).values(ended_at=moment))
    grants = (col(t.LoginGrant.subject) == subject, col(t.LoginGrant.ended_at).is_(None))
    await session.execute(update(t.LoginGrant).where(*grants).values(ended_at=moment))
    tickets = (col(t.LoginTicket.subject) == subject, col(t.LoginTicket.used_at).is_(None))
    await session.execute(update(t.LoginTicket).where(*tickets).values(used_at=moment))
    return int(living)


async def over(session: TenantSession, moment: datetime) -> tuple[Sequence[str], Sequence[str]]:
    """A batch of the browsers' sessions and of the links that were over before then."""
    sessions = select(col(t.LoginSession.id)).where(col(t.LoginSession.expires_at) <= moment).limit(_BATCH)
    links = select(col(t.LoginTicket.hash)).where(
        col(t.LoginTicket.expires_at) <= moment, col(t.LoginTicket.grant_id).is_(None)
    )
    found = await session.rows(sessions), await session.rows(links.limit(_BATCH))
    return [row.id for row in found[0]], [row.hash for row in found[1]]


async def forget(session: TenantSession, sessions: Sequence[str], links: Sequence[str]) -> None:
    """Delete these, and what was given in those sessions."""
    await session.execute(delete(t.LoginSession).where(col(t.LoginSession.id).in_(sessions)))
    await session.execute(delete(t.LoginTicket).where(col(t.LoginTicket.hash).in_(links)))
