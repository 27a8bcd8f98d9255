"""Counts connections by how they are.

Apart from the other statements on connections, so that who only counts them loads nothing of what they follow
(decision 1183).
"""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlmodel import col

from storage.expressions import AnySelect
from storage.statements import ORG_PARAM, AnyRow
from storage.tables import Integration
from storage.tenancy.sessions import TenantSession


async def states(session: TenantSession) -> Sequence[AnyRow]:
    """The numbers of connections by status, each with when the first of them was to be read next."""

    def build() -> AnySelect:
        numbers = func.count().label("number"), func.min(col(Integration.next_sync_at)).label("next_sync_at")
        own = select(col(Integration.status), *numbers).where(col(Integration.org_id) == ORG_PARAM)
        return own.group_by(col(Integration.status))

    return await session.fetch("integration_states", build)
