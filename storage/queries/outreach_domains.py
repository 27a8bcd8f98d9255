"""Statements on what is bought for outreach: one row per name or address, whoever asks first."""

from typing import Any

from storage.base import Record
from storage.new_rows import model_of, new_row
from storage.tables import Mailbox, OutreachDomain
from storage.tenancy.sessions import TenantSession


async def put_domain(session: TenantSession, name: str) -> tuple[OutreachDomain, bool]:
    """The organization's domain of this name, locked, and whether it is new."""
    return await _put(session, new_row(OutreachDomain, name=name), "name")


async def put_mailbox(session: TenantSession, mailbox: Mailbox) -> tuple[Mailbox, bool]:
    """The organization's mailbox of this address, locked, and whether it is new."""
    return await _put(session, mailbox, "email")


async def _put(session: TenantSession, record: Record, name: str) -> tuple[Any, bool]:  # Any: of its class
    made = await session.insert_missing(record)
    return await session.find(model_of(record), lock=True, **{name: getattr(record, name)}), made
