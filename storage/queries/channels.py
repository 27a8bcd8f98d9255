"""Statements on the chat channels that are linked to a record."""

from collections.abc import Sequence

from sqlalchemy import and_, select
from sqlmodel import col

from storage.queries.list_conditions import among
from storage.statements import AnyRow
from storage.tables import StreamLink, SyncStream
from storage.tenancy.sessions import TenantSession


async def linked(session: TenantSession, ids: Sequence[str]) -> Sequence[AnyRow]:
    """The channels of these connections that are linked to a record, by name."""
    link = and_(col(StreamLink.org_id) == col(SyncStream.org_id), col(StreamLink.stream_id) == col(SyncStream.id))
    columns = (SyncStream.integration_id, SyncStream.external_id, SyncStream.name)
    targets = (StreamLink.account_id, StreamLink.deal_id)
    own = col(SyncStream.org_id) == session.org_id, among(col(SyncStream.integration_id), ids)
    wanted = select(*(col(each) for each in (*columns, *targets))).select_from(SyncStream).join(StreamLink, link)
    return await session.rows(wanted.where(*own).order_by(col(SyncStream.name), col(SyncStream.external_id)))
