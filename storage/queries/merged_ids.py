"""Finds where the identifiers of records lead that went into others: asked only of those that were not found."""

from collections.abc import Sequence

from sqlalchemy import literal_column, select
from sqlmodel import col

from contract.bulk_vocabulary import MergeableKind
from contract.mergeable import TABLES
from storage.base import Record, as_uuid
from storage.expressions import AnySelect
from storage.queries.filtering import id_matches, in_list
from storage.statements import ORG_PARAM
from storage.tables import MergedId
from storage.tenancy.sessions import TenantSession

_KINDS = {table: kind.value for kind, table in TABLES.items()}


def can_lead(model: type[Record]) -> bool:
    """Says whether identifiers of this table's records may lead to others."""
    return str(model.__tablename__) in _KINDS


async def leading(session: TenantSession, ids: Sequence[str]) -> dict[str, str]:
    """The records that stayed, by those of these canonical identifiers that went into one."""
    if not ids:
        return {}
    alone = len(ids) == 1

    def build() -> AnySelect:
        columns = col(MergedId.from_id), col(MergedId.into_id)
        of_kind = col(MergedId.kind).in_([literal_column(f"'{kind}'") for kind in _KINDS.values()])
        return select(*columns).where(col(MergedId.org_id) == ORG_PARAM, of_kind, id_matches(columns[0], alone))

    rows = await session.fetch(("merged ids", alone), build, ids=list(ids), id=ids[0])
    return {row.from_id: row.into_id for row in rows}


async def taken_by(session: TenantSession, kind: MergeableKind, ids: Sequence[str]) -> dict[str, list[str]]:
    """The identifiers of those that went into each of these records of the kind, the first ones first."""

    def build() -> AnySelect:
        columns = col(MergedId.from_id), col(MergedId.into_id)
        of_kind = col(MergedId.kind) == literal_column(f"'{kind}'")
        wanted = select(*columns).where(col(MergedId.org_id) == ORG_PARAM, of_kind, in_list(columns[1], "ids"))
        return wanted.order_by(col(MergedId.merge_id), col(MergedId.from_id))

    found: dict[str, list[str]] = {i: [] for i in ids}
    for row in await session.fetch(("taken by", kind), build, ids=list(ids)):
        found[row.into_id].append(row.from_id)
    return found


async def stays(session: TenantSession, model: type[Record], identifier: object) -> str | None:
    """The identifier of the record that this one went into; None where it went into none."""
    canonical = as_uuid(identifier)
    if canonical is None or not can_lead(model):
        return None
    return (await leading(session, [canonical])).get(canonical)
