"""Statements on the keys that records have in other systems, those of merged records among them (decision 410)."""

from collections.abc import Sequence

from sqlalchemy import Text, cast, func, literal, select, union_all
from sqlmodel import col

from contract.timeline import SUBJECTS
from storage.base import Record
from storage.expressions import AnyColumn, AnyEntity, AnySelect
from storage.queries.list_conditions import among
from storage.tables import ExternalKey
from storage.tenancy.sessions import TenantSession


async def ids_by_key(session: TenantSession, model: type[Record], keys: Sequence[str]) -> dict[str, str]:
    """The identifiers of the records that these keys lead to, by the key; a record's own key goes before old ones."""
    if not keys:
        return {}
    table: AnyEntity = model
    wanted = col(table.org_id) == session.org_id, among(col(table.external_key), keys)
    own: AnySelect = select(col(table.external_key).label("key"), col(table.id).label("id"), literal(0).label("rank"))
    kept = (
        select(col(ExternalKey.key), col(ExternalKey.record_id), literal(1))
        .join(table, (col(table.org_id) == col(ExternalKey.org_id)) & (col(table.id) == col(ExternalKey.record_id)))
        .where(
            col(ExternalKey.org_id) == session.org_id,
            col(table.org_id) == session.org_id,
            col(ExternalKey.kind) == SUBJECTS[str(model.__tablename__)],
            among(col(ExternalKey.key), keys),
        )
    )
    rows = await session.rows(union_all(own.where(*wanted), kept))
    return {row.key: row.id for row in sorted(rows, key=lambda row: row.rank, reverse=True)}


async def ids_by_text(
    session: TenantSession, column: AnyColumn, texts: Sequence[str], *conditions: AnyColumn
) -> dict[str, str]:
    """The identifiers of the oldest records with these texts in a column, by the text."""
    if not texts:
        return {}
    model: AnyEntity = column.class_
    oldest = func.min(cast(col(model.id), Text()), type_=Text()).label("id")
    wanted = (
        select(column.label("text"), oldest)
        .where(col(model.org_id) == session.org_id, among(column, texts), *conditions)
        .group_by(column)
    )
    return {row.text: row.id for row in await session.rows(wanted)}


async def lock(session: TenantSession, model: type[Record], ids: Sequence[str]) -> dict[str, Record]:
    """The records with these identifiers, locked against other writers in one order."""
    if not ids:
        return {}
    own = select(model).where(col(model.org_id) == session.org_id, among(col(model.id), ids))
    rows = await session.find_all(own.order_by(col(model.id)).with_for_update())
    return {row.id: row for row in rows}
