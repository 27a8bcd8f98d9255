"""Statements of exports: the rows of a list by identifier, a batch at a time, up to the last there was at the start,
and those that are jobs.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Integer, bindparam, func, literal_column, or_, select
from sqlmodel import col

from contract.criteria import Condition
from contract.vocabulary import JobStatus
from storage.base import Identifier
from storage.expressions import AnyColumn, AnySelect, Values
from storage.queries.filtering import bind, narrowed
from storage.queries.listable import Listable
from storage.queries.row_size_limit import check_sent_size, with_size_limit
from storage.rows import Row
from storage.sent_records import AS_SENT, SentRecords
from storage.statements import ORG_PARAM
from storage.tables import DataExport
from storage.tenancy.sessions import TenantSession


async def last_id(session: TenantSession, listable: Listable[Row]) -> str | None:
    """The largest identifier that a row of the list has; None where there is no row."""
    entity = listable.entity

    def build() -> AnySelect:
        return listable.select(ORG_PARAM, entity.id).order_by(col(entity.id).desc()).limit(literal_column("1", Integer))

    rows = await session.fetch(("last id", listable.name), build)
    return rows[0].id if rows else None


async def batch(
    session: TenantSession, listable: Listable[Row], condition: Condition, after: str, last: str, size: int
) -> SentRecords:
    """So many rows behind one identifier and up to another, in their order, that meet the condition, as they are sent.

    Raises ResponseTooLarge where several of them are too large to be read together.
    """
    values: Values = {"after": after, "last": last}
    shape, entity = bind(listable, condition, values), listable.entity

    def build() -> AnySelect:
        rows = narrowed(listable.select(ORG_PARAM), listable, shape).where(
            col(entity.id) > bindparam("after", type_=Identifier()),
            col(entity.id) <= bindparam("last", type_=Identifier()),
        )
        limited = rows.order_by(col(entity.id)).limit(literal_column(str(size), Integer))
        bounded = limited if size == 1 else with_size_limit(limited)
        return bounded.execution_options(**{AS_SENT: True})

    return check_sent_size(await session.fetch(("export", listable, shape, size), build, **values))


_UNFINISHED = or_(col(DataExport.status) == JobStatus.QUEUED.value, col(DataExport.status) == JobStatus.RUNNING.value)


async def number_unfinished(session: TenantSession) -> int:
    """Says how many exports wait or run."""
    return await _number(session)


async def number_before(session: TenantSession, export_id: str) -> int:
    """Says how many exports that were asked for earlier wait or run."""
    return await _number(session, col(DataExport.id) < export_id)


async def _number(session: TenantSession, *wanted: AnyColumn) -> int:
    own = col(DataExport.org_id) == session.org_id, _UNFINISHED, *wanted
    counted: int = await session.scalar(select(func.count()).select_from(DataExport).where(*own))
    return counted


async def old(session: TenantSession, before: datetime, size: int) -> Sequence[DataExport]:
    """So many of the exports that ended before then."""
    own = col(DataExport.org_id) == session.org_id, col(DataExport.created_at) < before
    ended = col(DataExport.finished_at) < before
    return await session.find_all(
        select(DataExport).where(*own, ended).order_by(col(DataExport.created_at)).limit(size)
    )
