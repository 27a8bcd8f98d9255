"""Statements on what is bought for outreach: one row per name or address, whoever asks first."""

from typing import Any

from sqlalchemy.dialects import postgresql
from sqlmodel import col

from storage.sessions import TenantSession
from storage.tables import Mailbox, OutreachDomain


async def put_domain(session: TenantSession, name: str) -> tuple[OutreachDomain, bool]:
    """The organization's domain of this name, locked, and whether it is new."""
    return await _put(session, OutreachDomain(name=name), col(OutreachDomain.name) == name)


async def put_mailbox(session: TenantSession, mailbox: Mailbox) -> tuple[Mailbox, bool]:
    """The organization's mailbox of this address, locked, and whether it is new."""
    return await _put(session, mailbox, col(Mailbox.email) == mailbox.email)


async def _put(session: TenantSession, record: Any, condition: Any) -> tuple[Any, bool]:
    model = type(record)
    values = record.model_dump() | {"org_id": session.org_id}
    # SQLite has the clause in the same words, and its compiler takes the statement of PostgreSQL's dialect.
    made = await session.execute(postgresql.insert(model).values(values).on_conflict_do_nothing())
    found = await session.find(model, condition, lock=True)
    return found, bool(made.rowcount)  # type: ignore[attr-defined]  # an INSERT gives a cursor result
