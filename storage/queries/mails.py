"""Statements on messages: how many there were, who may be written to, and those that are old."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlmodel import col

from contract.normal_form import folded
from contract.vocabulary import MemberState
from storage.tables import Mail, Person
from storage.tenancy.sessions import TenantSession

BATCH = 500


async def number_since(session: TenantSession, moment: datetime) -> int:
    """Says how many messages were asked for from then on."""
    own = col(Mail.org_id) == session.org_id, col(Mail.created_at) >= moment
    number: int = await session.scalar(select(func.count()).select_from(Mail).where(*own))
    return number


async def members_with(session: TenantSession, addresses: Sequence[str]) -> dict[str, str]:
    """The addresses that active members have among these, letter case aside: for each that was given the member's."""
    wanted = {folded(address): address for address in addresses}
    own = col(Person.org_id) == session.org_id, col(Person.state) == MemberState.ACTIVE.value
    found = await session.rows(
        select(col(Person.email), col(Person.folded_email))
        .where(*own, col(Person.folded_email).in_(list(wanted)))
        .order_by(col(Person.id).desc())
    )
    return {wanted[row.folded_email]: row.email for row in found if row.email}


async def are_old(session: TenantSession, before: datetime) -> bool:
    """Says whether there are messages that were asked for before then."""
    own = col(Mail.org_id) == session.org_id, col(Mail.created_at) < before
    return bool(await session.rows(select(col(Mail.id)).where(*own).limit(1)))


async def forget(session: TenantSession, before: datetime) -> None:
    """Delete a batch of the messages that were asked for before then."""
    own = col(Mail.org_id) == session.org_id, col(Mail.created_at) < before
    old = select(col(Mail.id)).where(*own).order_by(col(Mail.created_at)).limit(BATCH)
    await session.execute(delete(Mail).where(own[0], col(Mail.id).in_(old)))
