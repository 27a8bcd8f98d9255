"""Statements that find the meetings that recordings belong to."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import and_, func, or_, select
from sqlmodel import col

from contract.integrations import IntegrationSkipReason
from contract.vocabulary import ActivitySource
from storage.expressions import AnyColumn
from storage.queries.list_conditions import among
from storage.tables import Activity, Integration, SyncedMeeting, SyncItem, SyncOccurrence
from storage.tenancy.sessions import TenantSession

NEAR_MAX = 1_000
"""The meetings that have the numbers of a page's recordings near their starts; of more the first ones are looked at."""
SEPARATORS = " -\u00a0"
"""What may stand between the digits of a number."""


@dataclass(frozen=True, slots=True)
class Held:
    """A recorded meeting: its number, and when it began."""

    number: str
    starts_at: datetime


@dataclass(frozen=True, slots=True)
class Near:
    """A synchronised meeting: its identity, its start, and the texts that may name where it is joined."""

    uid: str
    recurrence: str
    starts_at: datetime
    texts: tuple[str, ...]


async def identities(
    session: TenantSession, stream_id: str, external_ids: Collection[str]
) -> dict[str, tuple[str, str]]:
    """The meetings that these recordings were put on, by what the provider calls the recordings."""
    item = and_(col(SyncItem.org_id) == col(SyncOccurrence.org_id), col(SyncItem.id) == col(SyncOccurrence.item_id))
    own = col(SyncItem.org_id) == session.org_id, col(SyncItem.stream_id) == stream_id
    columns = col(SyncItem.external_id), col(SyncItem.uid), col(SyncOccurrence.recurrence)
    wanted = select(*columns).select_from(SyncOccurrence).join(SyncItem, item)
    rows = await session.rows(wanted.where(*own, among(col(SyncItem.external_id), external_ids)))
    return {row.external_id: (row.uid, row.recurrence) for row in rows}


async def near(session: TenantSession, held: Sequence[Held], distance: timedelta) -> list[Near]:
    """The synchronised meetings that start near these and have their numbers, but for those that recordings made."""
    if not held:
        return []
    texts = col(SyncedMeeting.conference_url), col(Activity.body), col(Activity.details)["location"].as_string()
    fits = []
    for each in held:
        within = col(Activity.due_at) >= each.starts_at - distance, col(Activity.due_at) <= each.starts_at + distance
        fits.append(and_(*within, or_(*(_joined(text).contains(each.number) for text in texts))))
    starts = [each.starts_at for each in held]
    within = col(Activity.due_at) >= min(starts) - distance, col(Activity.due_at) <= max(starts) + distance
    meeting = and_(col(Activity.org_id) == col(SyncedMeeting.org_id), col(Activity.id) == col(SyncedMeeting.meeting_id))
    own = col(SyncedMeeting.org_id) == session.org_id, col(Activity.source) != ActivitySource.ZOOM.value
    columns = col(SyncedMeeting.uid), col(SyncedMeeting.recurrence), col(Activity.due_at)
    wanted = select(*columns, texts[0], texts[1], texts[2].label("place")).select_from(SyncedMeeting)
    wanted = wanted.join(Activity, meeting).where(*own, *within, or_(*fits))
    rows = await session.rows(wanted.order_by(col(Activity.due_at), col(SyncedMeeting.id)).limit(NEAR_MAX))
    return [
        Near(row.uid, row.recurrence, row.due_at, tuple(filter(None, (row.conference_url, row.body, row.place))))
        for row in rows
    ]


def _joined(text: AnyColumn) -> AnyColumn:
    """The text without what may stand between digits."""
    for separator in SEPARATORS:
        text = func.replace(text, separator, "")
    return text


async def private_starts(
    session: TenantSession, owner: str | None, first: datetime, last: datetime
) -> Sequence[datetime]:
    """When what is private in the owner's calendars starts between these moments."""
    connection = and_(
        col(Integration.org_id) == col(SyncOccurrence.org_id), col(Integration.id) == col(SyncOccurrence.integration_id)
    )
    own = col(SyncOccurrence.org_id) == session.org_id, col(Integration.owner_id) == owner
    calendars = col(Integration.provider) != ActivitySource.ZOOM.value
    private = col(SyncOccurrence.reason) == IntegrationSkipReason.PRIVATE.value
    within = col(SyncOccurrence.starts_at) >= first, col(SyncOccurrence.starts_at) <= last
    wanted = select(col(SyncOccurrence.starts_at)).select_from(SyncOccurrence).join(Integration, connection)
    ordered = wanted.where(*own, calendars, private, *within).order_by(col(SyncOccurrence.starts_at))
    return [row.starts_at for row in await session.rows(ordered)]
