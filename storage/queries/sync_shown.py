"""Reads what the provider of a connection last showed, and when."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import and_, case, select
from sqlmodel import col

from contract.integrations import IntegrationProvider, IntegrationStreamKind
from storage.expressions import AnyColumn, AnySelect
from storage.queries.list_conditions import among
from storage.statements import AnyRow
from storage.tables import Integration, SyncItem, SyncOccurrence, SyncStream
from storage.tenancy.sessions import TenantSession

_LAST_SHOWN = case(
    (
        and_(
            col(Integration.provider) == IntegrationProvider.ICAL.value,
            col(SyncItem.generation) == col(SyncStream.generation),
            col(SyncStream.synced_at) > col(SyncItem.seen_at),
        ),
        col(SyncStream.synced_at),
    ),
    else_=col(SyncItem.seen_at),
).label("seen_at")
"""When the provider last showed an item: a feed that is as it was shows all that it had (decision 1012)."""


def _with_what_shows(wanted: AnySelect) -> AnySelect:
    """The selection of occurrences, with their items, streams and connections."""
    item = and_(col(SyncItem.org_id) == col(SyncOccurrence.org_id), col(SyncItem.id) == col(SyncOccurrence.item_id))
    stream = and_(
        col(SyncStream.org_id) == col(SyncOccurrence.org_id), col(SyncStream.id) == col(SyncOccurrence.stream_id)
    )
    connection = and_(
        col(Integration.org_id) == col(SyncOccurrence.org_id), col(Integration.id) == col(SyncOccurrence.integration_id)
    )
    joined = wanted.select_from(SyncOccurrence).join(SyncItem, item).join(SyncStream, stream)
    return joined.join(Integration, connection)


async def last_shown(session: TenantSession, ids: Collection[str]) -> dict[str, datetime]:
    """Says when the provider last showed each of these occurrences."""
    own = col(SyncOccurrence.org_id) == session.org_id, among(col(SyncOccurrence.id), ids)
    rows = await session.rows(_with_what_shows(select(col(SyncOccurrence.id), _LAST_SHOWN)).where(*own))
    return {row.id: row.seen_at for row in rows}


async def sources(session: TenantSession, meeting_ids: Collection[str]) -> Sequence[AnyRow]:
    """The occurrences that are these meetings with their connections, the one that was taken first.

    `body` is what the item says; not that of a recording, which has all that was said in it.
    """
    own = col(SyncOccurrence.org_id) == session.org_id, among(col(SyncOccurrence.meeting_id), meeting_ids)
    columns: list[AnyColumn] = [
        *(SyncOccurrence.meeting_id, SyncOccurrence.integration_id, SyncOccurrence.recurrence),
        *(Integration.provider, Integration.owner_id, _LAST_SHOWN),
        case((col(SyncOccurrence.kind) != IntegrationStreamKind.RECORDINGS.value, col(SyncItem.body))).label("body"),
    ]
    wanted = _with_what_shows(select(*columns)).where(*own)
    order = (col(SyncOccurrence.outcome).desc(), col(SyncOccurrence.made_at), col(SyncOccurrence.id))
    return await session.rows(wanted.order_by(*order))
