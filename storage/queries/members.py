"""Statements on who belongs to an organization: each writes the membership and its copy in `people` together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Text, and_, bindparam, func, or_, select, update
from sqlmodel import col

from contract.event_types import WebhookEnd
from contract.normal_form import folded
from contract.scopes import Role, Scope, ScopeGroup
from contract.vocabulary import MemberState
from storage import tables as t  # each is loaded when a statement is made of it (decision 1183)
from storage.base import PlainText, now
from storage.expressions import AnySelect, Values
from storage.new_rows import new_row
from storage.queries.filtering import in_list, is_storable_text
from storage.queries.list_conditions import has_item
from storage.queries.records import insert_missing
from storage.queries.webhooks import end_of_maker, lock_of_maker
from storage.statements import ORG_PARAM
from storage.tables import Credential, Membership
from storage.tenancy.sessions import TenantSession


async def put_membership(
    session: TenantSession,
    subject: str,
    *,
    role: Role | None,
    scopes: Iterable[str],
    name: str | None = None,
    email: str | None = None,
    issued_at: int | None = None,
) -> list[str]:
    """Begin or confirm a membership with these scopes; a name or address that is None stays as it was.

    A token older than the newest seen changes nothing, and one that is not newer than the membership's end does not
    begin it anew. Returns what changed of a member who was known.
    """
    await insert_missing(session, Membership(org_id=session.org_id, subject=subject))
    found = await membership(session, subject, lock=True)
    if found is None:
        return []
    seen = found.token_issued_at or 0
    if issued_at is not None and (issued_at < seen or (found.ended_at is not None and issued_at == seen)):
        return []
    could = _may_make_webhooks(found)
    found = await session.update(
        found, role=role.value if role else None, scopes=sorted(scopes), token_issued_at=issued_at, ended_at=None
    )
    changed = await _copy(session, found, name=name, email=email)
    if could and not _may_make_webhooks(found):
        await end_of_maker(session, await lock_of_maker(session, subject), WebhookEnd.MAKER_LOST_SCOPE)
    return changed


async def membership(session: TenantSession, subject: str, *, lock: bool = False) -> Membership | None:
    """Find the membership, also one that ended."""
    return await session.find(Membership, subject=subject, lock=lock)


def is_suspended(found: Membership | None) -> bool:
    """Tell whether the membership ended and may go on as it was (decision 153)."""
    return found is not None and found.ended_at is not None and bool(found.scopes)


async def change_membership(session: TenantSession, found: Membership, role: Role | None, **names: str | None) -> None:
    """Give a present membership another role, or another name or e-mail address; what is None stays."""
    could = _may_make_webhooks(found)
    if role is not None:
        found = await session.update(found, role=role.value, scopes=sorted(role.scopes))
    await _copy(session, found, **names)
    if could and not _may_make_webhooks(found):
        await end_of_maker(session, await lock_of_maker(session, found.subject), WebhookEnd.MAKER_LOST_SCOPE)


def _may_make_webhooks(found: Membership) -> bool:
    return ScopeGroup.ORG_ADMIN.passes(frozenset(found.scopes))


async def remove_membership(session: TenantSession, subject: str, *, issued_at: int | None = None) -> bool:
    """End a membership, with the organization keys and webhooks that the member made; False where there was none.

    `issued_at` is that of the token that says so; unless told, no token issued until now begins it anew.
    """
    moment = now()
    found = await membership(session, subject, lock=True)
    if found is None or (found.ended_at is not None and not found.scopes):
        return False
    issued_at = issued_at or int(moment.timestamp())
    found = await session.update(found, ended_at=moment, role=None, scopes=[], token_issued_at=issued_at)
    await _copy(session, found)
    live = (
        col(Credential.org_id) == session.org_id,
        col(Credential.owner_subject) == subject,
        col(Credential.revoked_at).is_(None),
    )
    # A key is locked before those that were made with it, as whoever revokes it does.
    await session.rows(select(col(Credential.id)).where(*live).order_by(col(Credential.id)).with_for_update())
    await session.execute(update(Credential).where(*live).values(revoked_at=moment))
    from storage.queries.integrations import end_of_owner  # with a dozen tables, which few of those here need

    webhooks = await lock_of_maker(session, subject)
    await end_of_owner(session, subject)  # which a run locks before the log's counter, as this does
    await end_of_maker(session, webhooks, WebhookEnd.MAKER_REMOVED)
    return True


async def suspend(session: TenantSession, found: Membership) -> None:
    """Have a membership pause, with all that it would go on with."""
    await _copy(session, await session.update(found, ended_at=now()))


async def suspend_before(session: TenantSession, moment: datetime, *, dry: bool) -> list[str]:
    """Suspend the memberships that began before then; returns whose they are.

    Each goes on when it is resumed, or a session token that is issued from now on says that it does.
    """
    own = col(Membership.org_id) == session.org_id
    wanted = own, col(Membership.created_at) < moment, col(Membership.ended_at).is_(None)
    by_subject = select(col(Membership.subject)).where(*wanted).order_by(col(Membership.subject))
    rows = await session.rows(by_subject if dry else by_subject.with_for_update())  # as administrators are locked
    subjects = [row.subject for row in rows]
    if subjects and not dry:
        present = now()
        ended = {"ended_at": present, "token_issued_at": int(present.timestamp())}
        people = col(t.Person.org_id) == session.org_id, col(t.Person.id).in_(subjects)
        # As who names several owners locks them.
        await session.rows(select(col(t.Person.id)).where(*people).order_by(col(t.Person.id)).with_for_update())
        for statement in (  # two tables; who came back meanwhile is none of these
            update(Membership).where(own, col(Membership.subject).in_(subjects)).values(ended),
            update(t.Person).where(*people).values(state=MemberState.DEACTIVATED.value),
        ):
            await session.execute(statement)
    return subjects


async def resume(session: TenantSession, subject: str) -> bool:
    """Have a suspended membership go on as it was; False where there is none, or it was removed."""
    found = await membership(session, subject, lock=True)
    if found is None or not is_suspended(found):
        return False
    await _copy(session, await session.update(found, ended_at=None))
    return True


async def _copy(
    session: TenantSession, found: Membership, *, name: str | None = None, email: str | None = None
) -> list[str]:
    """Write the member among the organization's rows as the membership has it now; what changed of a known one."""
    person = await session.find(t.Person, id=found.subject, lock=True)
    state = MemberState.ACTIVE
    if found.ended_at is not None:
        state = MemberState.DEACTIVATED if found.scopes else MemberState.LEFT
    name = person.name if name is None and person is not None else name
    email = person.email if email is None and person is not None else email
    values: Values = {
        "name": name,
        "email": email,
        "folded_name": folded(name or ""),
        "folded_email": folded(email or ""),
        "role": found.role,
        "state": state.value,
        "left_at": found.ended_at if state is MemberState.LEFT else None,
    }
    if person is None:
        await session.insert(new_row(t.Person, id=found.subject, joined_at=found.created_at, **values))
        return []
    await session.update(person, **values)
    return [name for name in ("email", "name", "role", "state") if getattr(person, name) != values[name]]


_IS_ADMINISTRATOR: ColumnElement[bool] = and_(
    col(Membership.ended_at).is_(None),
    has_item(col(Membership.scopes), bindparam("administers", Scope.ORGANIZATIONS_MANAGE.value, type_=Text)),
)


async def lock_administrators(session: TenantSession, *subjects: str) -> set[str]:
    """Lock the active administrators and these members until the transaction ends; returns the administrators.

    There is always one, so whoever changes members waits here for whoever does so too (decision 222).
    """
    subject = col(Membership.subject)
    rows = await session.rows(
        select(subject, _IS_ADMINISTRATOR.label("is_administrator"))
        .where(col(Membership.org_id) == session.org_id, or_(_IS_ADMINISTRATOR, subject.in_(subjects)))
        .order_by(subject)
        .with_for_update()
    )
    return {row.subject for row in rows if row.is_administrator}


async def scopes_of(session: TenantSession, subjects: Sequence[str]) -> Mapping[str, frozenset[str]]:
    """Read the scopes that the members have now; those that may not call are left out."""

    def build() -> AnySelect:
        return select(col(Membership.subject), col(Membership.scopes)).where(
            col(Membership.org_id) == ORG_PARAM,
            in_list(col(Membership.subject), "subjects"),
            col(Membership.ended_at).is_(None),
        )

    rows = await session.fetch("scopes_of", build, subjects=list(subjects))
    return {row.subject: frozenset(row.scopes) for row in rows}


async def is_active(session: TenantSession, subject: str) -> bool:
    """Tell whether the subject is an active member, who stays one until the transaction ends."""
    if not is_storable_text(subject):
        return False

    def build() -> AnySelect:
        own = select(col(t.Person.id)).where(
            col(t.Person.org_id) == ORG_PARAM,
            col(t.Person.id) == bindparam("subject", type_=PlainText),
            col(t.Person.state) == bindparam("state", type_=PlainText),
        )
        return own.with_for_update(read=True)

    return bool(await session.fetch("is_active", build, subject=subject, state=MemberState.ACTIVE.value))


async def active_of(session: TenantSession, subjects: Sequence[str], *, lock: bool = True) -> set[str]:
    """Those of the subjects that are active members, who stay so until the transaction ends unless told not to."""
    own = select(col(t.Person.id)).where(
        col(t.Person.org_id) == session.org_id,
        col(t.Person.id).in_([subject for subject in subjects if is_storable_text(subject)]),
        col(t.Person.state) == MemberState.ACTIVE.value,
    )
    wanted = own.order_by(col(t.Person.id))
    return {row.id for row in await session.rows(wanted.with_for_update(read=True) if lock else wanted)}


async def number_present(session: TenantSession) -> int:
    """Count those who belong to the organization, the suspended ones among them."""
    counted: int = await session.scalar(
        select(func.count())
        .select_from(t.Person)
        .where(col(t.Person.org_id) == session.org_id, col(t.Person.state) != MemberState.LEFT.value)
    )
    return counted


async def has_address(session: TenantSession, email: str, *, other_than: str | None = None) -> bool:
    """Tell whether somebody present has the e-mail address, letter case aside."""
    own = col(t.Person.org_id) == session.org_id, col(t.Person.state) != MemberState.LEFT.value
    wanted = select(col(t.Person.id)).where(*own, col(t.Person.folded_email) == folded(email)).limit(1)
    return await session.row(wanted if other_than is None else wanted.where(col(t.Person.id) != other_than)) is not None
