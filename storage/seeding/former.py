"""Somebody who has left the demo's organization, and still owns records there."""

from datetime import datetime, timedelta

from sqlalchemy import select, update
from sqlmodel import col

from contract.demo import FORMER
from contract.normal_form import folded
from storage.expressions import AnyEntity
from storage.new_rows import new_row
from storage.tables import Account, Deal, Person
from storage.tenancy.sessions import TenantSession

_NAME, _EMAIL = "Finn Former", f"{FORMER}@crm.example"
_NEWEST, _EVERY = -3, 20
_JOINED, _LEFT = timedelta(days=180), timedelta(days=1)


async def add_former(session: TenantSession, present: datetime) -> None:
    """Give every twentieth account and deal, a new one among them, to somebody who left yesterday."""
    person = new_row(
        Person,
        id=FORMER,
        name=_NAME,
        email=_EMAIL,
        state="left",
        joined_at=present - _JOINED,
        left_at=present - _LEFT,
        folded_name=folded(_NAME),
        folded_email=folded(_EMAIL),
    )
    await session.insert(person)
    for model in (Account, Deal):  # two tables
        table: AnyEntity = model
        own = col(table.org_id) == session.org_id
        rows = await session.rows(select(col(table.id)).where(own).order_by(col(table.id)))
        given = [row.id for row in rows[_NEWEST::-_EVERY]]
        await session.execute(update(table).where(own, col(table.id).in_(given)).values(owner_id=FORMER))
