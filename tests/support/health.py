"""The rows of an account, written as on docs/health.md, made into rows of the database."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from storage.base import new_id
from storage.database import Database
from storage.tables import Account, Activity, Contact, Deal, HealthSnapshot, Organization, StageChange
from storage.tenancy.sessions import TenantSession


async def new_organization(database: Database) -> str:
    """An organization without rows; its id."""
    organization = Organization(external_id=f"org_{new_id()}", name="Example")
    async with database.directory(writing=True) as session:
        await session.insert(organization)
    return organization.id


async def seed(session: TenantSession, rows: dict[str, Any], *, type: str = "meeting") -> Account:
    """An account with these rows, and a snapshot of a week ago where there is a previous score."""
    account = Account(name="Acme", **rows["account"])
    contacts = {
        c["id"]: Contact(account_id=account.id, **{name: c[name] for name in c if name != "id"})
        for c in rows["contacts"]
    }
    deals = {
        d["id"]: Deal(
            name=d["id"],
            account_id=account.id,
            status=d["status"],
            champion_id=contacts[d["champion_id"]].id if d["champion_id"] else None,
            close_date=date.fromisoformat(d["close_date"]) if d["close_date"] else None,
            created_at=datetime.fromisoformat(d["created_at"]),
        )
        for d in rows["deals"]
    }
    meetings = [
        Activity(
            type=type,
            account_id=account.id,
            contact_id=contacts[m["contact_id"]].id if m["contact_id"] else None,
            due_at=_moment(m["due_at"]),
            completed_at=_moment(m["completed_at"]),
        )
        for m in rows["meetings"]
    ]
    changes = [
        StageChange(deal_id=deals[c["deal_id"]].id, at=datetime.fromisoformat(c["at"])) for c in rows["stage_changes"]
    ]
    for group in ([account], contacts.values(), deals.values(), meetings, changes):
        await session.insert(*group)
    if rows.get("previous_score") is not None:
        moment = datetime.fromisoformat(rows["now"]) - timedelta(days=7)
        score = rows["previous_score"]
        await session.insert(
            HealthSnapshot(account_id=account.id, score=score, snapshot_at=moment, formula_version="1")
        )
    return account


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
