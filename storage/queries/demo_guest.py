"""Finds the guest of the demo's calendar."""

from sqlalchemy import and_, select
from sqlmodel import col

from contract.vocabulary import DealStatus
from storage.tables import Contact, Deal
from storage.tenancy.sessions import TenantSession

USUAL = "guest@harbor.example"


async def guest_of(session: TenantSession) -> str:
    """The address of a contact whose account has an open deal, the same one each time."""
    deal = and_(
        col(Deal.org_id) == col(Contact.org_id),
        col(Deal.account_id) == col(Contact.account_id),
        col(Deal.status) == DealStatus.OPEN.value,
    )
    wanted = (
        select(col(Contact.email))
        .join(Deal, deal)
        .where(col(Contact.org_id) == session.org_id, col(Contact.email).is_not(None))
        .order_by(col(Contact.created_at), col(Contact.id))
        .limit(1)
    )
    found: str | None = await session.scalar(wanted)
    return found or USUAL
