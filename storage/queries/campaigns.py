"""Statements on campaigns and their recipients: what a launch looks at, what the provider is told, what it told."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import orjson
from sqlalchemy import ColumnElement, Integer, TextClause, delete, func, literal_column, or_, select, text, update
from sqlmodel import col

from contract.outreach_vocabulary import EnrollmentStatus, MailboxStatus
from storage.expressions import AnySelect
from storage.joined_rows import DueRow
from storage.queries.filtering import in_list
from storage.queries.listables import MAILBOXES_OF_CAMPAIGNS
from storage.rows import EnrollmentRow, MailboxRow
from storage.statements import ORG_PARAM
from storage.tables import CampaignMailbox, Enrollment, Mailbox, OutreachMessage
from storage.tenancy.sessions import TenantSession

UNFINISHED = (EnrollmentStatus.PENDING.value, EnrollmentStatus.ACTIVE.value, EnrollmentStatus.PAUSED.value)


async def mailboxes_of(session: TenantSession, campaign_ids: Sequence[str]) -> dict[str, list[MailboxRow]]:
    """Each campaign's mailboxes, by address."""

    def build() -> AnySelect:
        linked = MAILBOXES_OF_CAMPAIGNS.select(ORG_PARAM)
        return linked.where(in_list(col(CampaignMailbox.campaign_id), "ids")).order_by(col(Mailbox.email))

    found: dict[str, list[MailboxRow]] = {i: [] for i in campaign_ids}
    for row in await session.fetch("mailboxes_of_campaigns", build, ids=list(campaign_ids)):
        found[row.campaign_id].append(row)
    return found


async def place_mailboxes(session: TenantSession, campaign_id: str, mailbox_ids: Sequence[str]) -> bool:
    """Let the campaign be sent from these mailboxes and no others; whether that was a change."""
    rows = await session.rows(
        select(col(CampaignMailbox.mailbox_id)).where(
            col(CampaignMailbox.org_id) == session.org_id, col(CampaignMailbox.campaign_id) == campaign_id
        )
    )
    now, wanted = {row.mailbox_id for row in rows}, set(mailbox_ids)
    if now - wanted:
        await session.execute(
            delete(CampaignMailbox).where(
                col(CampaignMailbox.org_id) == session.org_id,
                col(CampaignMailbox.campaign_id) == campaign_id,
                col(CampaignMailbox.mailbox_id).in_(now - wanted),
            )
        )
    links = [CampaignMailbox(campaign_id=campaign_id, mailbox_id=i) for i in sorted(wanted - now)]
    await session.insert(*links)
    return now != wanted


async def has_active_mailbox(session: TenantSession, campaign_id: str) -> bool:
    """Says whether one of the campaign's mailboxes can send."""
    statement = (
        select(col(Mailbox.id))
        .join(CampaignMailbox, col(CampaignMailbox.mailbox_id) == col(Mailbox.id))
        .where(
            col(CampaignMailbox.org_id) == session.org_id,
            col(Mailbox.org_id) == session.org_id,
            col(CampaignMailbox.campaign_id) == campaign_id,
            col(Mailbox.status) == MailboxStatus.ACTIVE.value,
        )
        .limit(1)
    )
    return await session.row(statement) is not None


async def enrolled(session: TenantSession, campaign_id: str, *, unfinished: bool = False) -> int:
    """Counts the recipients of the campaign; with `unfinished`, those of them that it is not done with."""
    statement = select(func.count()).where(*_of(session, campaign_id))
    if unfinished:
        statement = statement.where(col(Enrollment.status).in_(UNFINISHED))
    counted: int = await session.scalar(statement)
    return counted


class There(NamedTuple):
    """The recipients, of some, that are in a campaign: the case-folded addresses and the contacts."""

    keys: frozenset[str]
    contacts: frozenset[str]


async def there(session: TenantSession, campaign_id: str, keys: Sequence[str], contacts: Sequence[str]) -> There:
    """Finds which of these addresses and contacts the campaign has."""
    rows = await session.rows(
        select(col(Enrollment.email_key), col(Enrollment.contact_id)).where(
            *_of(session, campaign_id),
            or_(col(Enrollment.email_key).in_(keys), col(Enrollment.contact_id).in_(contacts)),
        )
    )
    return There(frozenset(row.email_key for row in rows), frozenset(row.contact_id for row in rows if row.contact_id))


async def start_clocks(session: TenantSession, campaign_id: str, at: datetime) -> None:
    """Gives those who have had nothing yet the first message at this time."""
    await session.execute(
        update(Enrollment)
        .where(*_of(session, campaign_id), col(Enrollment.step) == 0, col(Enrollment.status).in_(UNFINISHED))
        .values(next_at=at)
    )


async def untold(session: TenantSession, campaign_id: str, limit: int) -> Sequence[EnrollmentRow]:
    """Recipients that the provider has not been told of, the earliest first: `id`, `email`, `variables`."""
    return await session.rows(
        select(col(Enrollment.id), col(Enrollment.email), col(Enrollment.variables))
        .where(*_of(session, campaign_id), col(Enrollment.told_at).is_(None))
        .order_by(col(Enrollment.enrolled_at), col(Enrollment.id))
        .limit(literal_column(str(limit), Integer))
    )


async def told(session: TenantSession, ids: Sequence[str], at: datetime) -> set[str]:
    """The provider has taken these on; those of them that are still there."""
    rows = await session.rows(
        update(Enrollment)
        .where(col(Enrollment.org_id) == session.org_id, col(Enrollment.id).in_(ids))
        .values(told_at=at)
        .returning(col(Enrollment.id))
    )
    return {row.id for row in rows}


async def forget_told(session: TenantSession, campaign_id: str) -> None:
    """The sequence that knew the recipients is gone: another will have to be told of them."""
    await session.execute(update(Enrollment).where(*_of(session, campaign_id)).values(told_at=None))


async def due(session: TenantSession, campaign_id: str, moment: datetime, limit: int) -> Sequence[DueRow]:
    """Recipients that something is due for, the longest waiting first."""
    return await session.rows(
        select(
            col(Enrollment.id),
            col(Enrollment.email),
            col(Enrollment.variables),
            col(Enrollment.status),
            col(Enrollment.step),
            col(Enrollment.next_at),
        )
        .where(*_of(session, campaign_id), col(Enrollment.next_at) <= moment, col(Enrollment.status).in_(UNFINISHED))
        .order_by(col(Enrollment.next_at), col(Enrollment.id))
        .limit(literal_column(str(limit), Integer))
    )


async def next_due(session: TenantSession, campaign_id: str, after: datetime) -> datetime | None:
    """Says when the next of the recipients is due that are not due yet."""
    found: datetime | None = await session.scalar(
        select(func.min(col(Enrollment.next_at))).where(
            *_of(session, campaign_id), col(Enrollment.next_at) > after, col(Enrollment.status).in_(UNFINISHED)
        )
    )
    return found


async def messages_since(session: TenantSession, campaign_id: str, since: datetime) -> int:
    """Counts the messages that were noted for the campaign since then."""
    counted: int = await session.scalar(
        select(func.count()).where(
            col(OutreachMessage.org_id) == session.org_id,
            col(OutreachMessage.campaign_id) == campaign_id,
            col(OutreachMessage.noted_at) >= since,
        )
    )
    return counted


async def unfinished(session: TenantSession, ids: Sequence[str]) -> dict[str, Enrollment]:
    """Reads those of the recipients that are still there and not done with, to be changed, locked in one order."""
    statement = select(Enrollment).where(
        col(Enrollment.org_id) == session.org_id, col(Enrollment.id).in_(ids), col(Enrollment.status).in_(UNFINISHED)
    )
    return {e.id: e for e in await session.find_all(statement.order_by(col(Enrollment.id)).with_for_update())}


def moved(recipient: Enrollment, status: EnrollmentStatus, step: int, at: datetime | None) -> Enrollment:
    """The recipient as the embedded provider moved it on; `move_each` writes it."""
    changed: Enrollment = recipient._replace(status=status.value, step=step, next_at=at)  # type: ignore[attr-defined]
    return changed


async def move_each(session: TenantSession, recipients: Sequence[Enrollment]) -> None:
    """Write where these locked recipients are by now, in one statement."""
    if recipients:
        await session.update_each(recipients, "status", "step", "next_at")


async def set_statuses(session: TenantSession, campaign_id: str, statuses: Mapping[str, str]) -> int:
    """Give recipients their statuses, by their case-folded addresses; how many of them had another."""
    if not statuses:
        return 0
    is_sqlite = session.dialect == "sqlite"

    def build() -> TextClause:
        identifier, each = ("{}", "json_each(:statuses)") if is_sqlite else ("CAST({} AS uuid)", _EACH)
        return text(
            f"UPDATE enrollments SET status = r.value FROM {each} AS r"  # noqa: S608  # our own words
            f" WHERE enrollments.org_id = {identifier.format(':organization')}"
            f" AND enrollments.campaign_id = {identifier.format(':campaign_id')}"
            " AND enrollments.email_key = r.key AND enrollments.status <> r.value"
        ).bindparams(ORG_PARAM)

    written = orjson.dumps(dict(statuses)).decode()
    return await session.change("set_statuses", build, campaign_id=campaign_id, statuses=written)


_EACH = "json_each_text(CAST(:statuses AS json))"


def _of(session: TenantSession, campaign_id: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return col(Enrollment.org_id) == session.org_id, col(Enrollment.campaign_id) == campaign_id
