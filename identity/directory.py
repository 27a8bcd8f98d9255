"""Keeps what the service knows of members: by hand in the embedded directory, or learned from session tokens."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from contract.errors import Unavailable
from contract.scopes import Role
from contract.vocabulary import SYSTEM_ACTOR
from identity import scope_sets
from identity.coalescing import CoalescedReads
from identity.principal import Belonging, Organization
from storage.base import is_identifier, new_id
from storage.clusters import note
from storage.database import Database
from storage.new_rows import new_row
from storage.queries import logins, members
from storage.queries import organizations as statements
from storage.queries.records import append_events
from storage.tables import Event
from storage.tenancy.sessions import TenantSession

if TYPE_CHECKING:
    from identity.claims import Claims  # with what verifies tokens

Row: TypeAlias = Any  # its columns follow from the statement
"""A row of storage: a named tuple."""


def belonging(row: Row) -> Belonging:
    """An organization and the scopes in it, off a row of memberships."""
    return Belonging(
        Organization(row.org_id, row.external_id, row.organization_name),
        scope_sets.known(row.scopes),
        getattr(row, "position", None),
    )


async def memberships(database: Database, subject: str) -> Sequence[Row]:
    """The member's organizations by name."""
    return current(await known(database, (subject,)))


def current(rows: Sequence[Row]) -> Sequence[Row]:
    """Those memberships that have not ended."""
    return [row for row in rows if row.ended_at is None]


async def known(database: Database, subjects: Sequence[str]) -> Sequence[Row]:
    """The memberships of these subjects, those that ended among them, by the organizations' names."""
    replicas = database.replicas
    moment = 0.0 if replicas is None else time.monotonic()
    async with database.directory() as session:
        rows = await statements.memberships(session, subjects, positions=replicas is not None)
    if replicas is not None:
        replicas.observe(moment, ((row.org_id, row.position) for row in rows))
    if any(row.moved_at for row in rows):
        note(database, ((row.org_id, row.cluster, row.moved_at) for row in rows))
    return rows


async def live_grants(database: Database, grant_ids: Sequence[str]) -> Sequence[Row]:
    """Those of the grants of logins that have not ended."""
    known = [grant_id for grant_id in grant_ids if is_identifier(grant_id)]
    if not known:
        return []
    async with database.directory() as session:
        return await logins.live_grants(session, known)


async def learn(
    database: Database, reads: CoalescedReads[Row], claims: Claims
) -> tuple[Sequence[Row], tuple[Belonging, ...]]:
    """The memberships as they are known, and the organizations of an external session among them.

    They are remembered for the credentials that its subject makes.

    Written only when the token is newer than the last one seen, or says something else at the same second; a token
    issued earlier changes nothing, though it is still good for its own call. It is not where the membership has ended
    since (decision 153).
    """
    known = await reads.of(claims.subject)
    rows = {row.external_id: row for row in known}
    news = [name for name in claims.organizations if _is_news(rows.get(name), claims)]
    gone = [row.org_id for row in rows.values() if _is_gone(row, claims)]
    if news or gone:
        is_newest = all((row.token_issued_at or 0) <= (claims.issued_at or 0) for row in rows.values())
        await _remember(database, claims, news, gone, with_name=is_newest)
        known = await reads.of(claims.subject)
        rows = {row.external_id: row for row in known}
    scopes = scope_sets.known(claims.scopes)
    held = [rows[name] for name in claims.organizations if name in rows and rows[name].ended_at is None]
    return known, tuple(replace(belonging(row), scopes=scopes) for row in held)


def _is_news(row: Row, claims: Claims) -> bool:
    if row is None:
        return True
    seen, issued = row.token_issued_at or 0, claims.issued_at or 0
    same = (
        frozenset(row.scopes) == scope_sets.known(claims.scopes)
        and claims.name in (None, row.name)
        and claims.email in (None, row.email)
    )
    return issued > seen or (issued == seen and not same and row.ended_at is None)


def _is_gone(row: Row, claims: Claims) -> bool:
    """Says whether a newer token with the member's organizations no longer lists this one, which a token taught."""
    if not claims.lists_organizations or row.ended_at is not None or row.token_issued_at is None:
        return False
    return row.external_id not in claims.organizations and (claims.issued_at or 0) > row.token_issued_at


async def _remember(
    database: Database, claims: Claims, organizations: Iterable[str], gone: Iterable[str], *, with_name: bool
) -> None:
    known = [(await _allotted(database, external_id, external_id))[0] for external_id in organizations]
    name, email = (claims.name, claims.email) if with_name else (None, None)
    async with database.directory(writing=True) as session:
        await statements.put_member(session, claims.subject, name=name, email=email)
    for org_id in known:  # a transaction each: organizations share none
        async with database.writing(org_id) as session:
            changed = await members.put_membership(
                session,
                claims.subject,
                role=None,
                scopes=scope_sets.known(claims.scopes),
                name=claims.name,
                email=claims.email,
                issued_at=claims.issued_at or 0,
            )
            await _tell_of_changes(session, claims.subject, changed, actor=claims.subject)
    for org_id in gone:  # the same
        async with database.writing(org_id) as session:
            if await members.remove_membership(session, claims.subject, issued_at=claims.issued_at):
                await _tell(session, "member_removed", [claims.subject], actor=claims.subject)


async def _tell_of_changes(
    session: TenantSession, subject: str, changed: Sequence[str], *, actor: str = SYSTEM_ACTOR
) -> None:
    """Tell the log of changes of a member who was known (decision 1060)."""
    if changed:
        await _tell(session, "member_updated", [subject], actor=actor, changed=list(changed))


async def _tell(
    session: TenantSession, type: str, subjects: Iterable[str], *, actor: str = SYSTEM_ACTOR, **more: object
) -> None:
    """Tell the log of what became of members by no operation: else a replica might show them as they were."""
    drafts = [
        new_row(Event, sequence=0, type=type, area="admin", actor=actor, data={"member_id": subject, **more})
        for subject in subjects
    ]
    if drafts:
        await append_events(session, drafts)


async def _allotted(database: Database, external_id: str, name: str, cluster: str | None = None) -> tuple[str, bool]:
    """The key of the organization's rows, and whether it is a new organization (decision 5).

    Its own identifier is the key where it can be one and no other organization has it; else one is made up. Callers
    that see the organization first at the same time get the same.
    """
    async with database.directory() as session:
        known = await statements.organization(session, external_id)
    if known is not None:
        return known.id, False
    for org_id in (external_id if is_identifier(external_id) else new_id(), new_id()):
        if await statements.create_organization(database, name, external_id, org_id, cluster):
            return org_id, True
        async with database.directory() as session:
            known = await statements.organization(session, external_id)
        if known is not None:
            return known.id, False
    raise Unavailable()


async def create_organization(database: Database, name: str, external_id: str, cluster: str | None = None) -> bool:
    """A new organization of the embedded directory, on this server; False where the identifier is taken."""
    return (await _allotted(database, external_id, name, cluster))[1]


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
    org_id = await key_of(database, external_id)
    if org_id is None:
        return False
    async with database.directory(writing=True) as session:
        await statements.put_member(session, subject, name=name, email=email)
    await put_membership(database, org_id, subject, role=role, scopes=scopes, name=name, email=email)
    return True


async def put_membership(
    database: Database, org_id: str, subject: str, *, role: Role | None, scopes: Iterable[str], name: str, email: str
) -> None:
    """Begin the membership of somebody known to the directory, or change it and tell the log so (decision 1060)."""
    async with database.writing(org_id) as session:
        changed = await members.put_membership(session, subject, role=role, scopes=scopes, name=name, email=email)
        await _tell_of_changes(session, subject, changed)


async def remove_member(database: Database, external_id: str, subject: str) -> bool:
    """End a membership, with the keys and webhooks that the member made; False where there was none."""
    org_id = await key_of(database, external_id)
    if org_id is None:
        return False
    async with database.writing(org_id) as session:
        is_done = await members.remove_membership(session, subject)
        if is_done:
            await _tell(session, "member_removed", [subject])
        return is_done


async def resume_member(database: Database, external_id: str, subject: str) -> bool:
    """Have a suspended membership go on as it was; False where there is none."""
    org_id = await key_of(database, external_id)
    if org_id is None:
        return False
    async with database.writing(org_id) as session:
        is_done = await members.resume(session, subject)
        if is_done:
            await _tell(session, "member_reactivated", [subject])
        return is_done


async def suspend_before(database: Database, moment: datetime, *, org_id: str | None, dry: bool) -> int:
    """Suspend the memberships that began before then, of one organization if one is named, and count them.

    A `dry` run only counts.
    """
    async with database.directory() as session:
        organizations = await statements.all_ids(session) if org_id is None else [org_id]
    number = 0
    for each in organizations:  # a transaction each: organizations share none
        async with database.writing(each) as session:
            subjects = await members.suspend_before(session, moment, dry=dry)
            if not dry:
                await _tell(session, "member_deactivated", subjects)
        number += len(subjects)
    return number


async def key_of(database: Database, external_id: str) -> str | None:
    """Find the key of the organization's rows; None where there is no such organization."""
    async with database.directory() as session:
        found = await statements.organization(session, external_id)
    return None if found is None else found.id
