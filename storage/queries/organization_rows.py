"""Statements on everything that belongs to one organization, table by table, found from the metadata."""

from collections.abc import AsyncIterator, Sequence

from sqlalchemy import LargeBinary, Table, delete, exists, func, literal, select, true, tuple_
from sqlmodel import SQLModel, col

from storage.base import Opaque
from storage.columns import is_copy
from storage.connection_pool import giving_way
from storage.database import Database
from storage.postgres.tenant_connection import SETTING
from storage.statements import AnyRow
from storage.tables import Credential, Member, Membership, Organization, load_all
from storage.tenancy.guard import KEY
from storage.tenancy.sessions import TenantSession

_STORED = "storage_name"
_PAGE = 500
_BATCH = 5_000
SECRET = frozenset({"credentials.secret_hash", "media.key"})
"""Columns that would let somebody in; what is sealed is left out by its type."""
DERIVED = frozenset(
    {"analytics_watches", "chat_watches", "reminder_watches", "report_watches", "webhook_watches"}
    | {"job_queue", "file_leftovers", "integration_accounts"}
    | {"deal_cells", "deal_cell_deltas", "meeting_cells", "meeting_cell_deltas", "search_entries"}
    | {"match_keys", "match_groups", "feed_contents", "file_pieces", "idempotency_keys"}
)
"""Tables that follow from others, or help the service for a while: none says what the others do not."""


def tables() -> list[Table]:
    """Every table whose rows belong to an organization, those that others refer to first."""
    load_all()
    return [table for table in SQLModel.metadata.sorted_tables if KEY in table.c]


def exported(table: Table) -> list[str]:
    """The columns that an export shows: neither secrets nor copies of other columns (decision 625)."""
    return [
        str(column.name)  # which is a kind of text of its own
        for column in table.columns
        if not isinstance(column.type, LargeBinary)
        and f"{table.name}.{column.name}" not in SECRET
        and not is_copy(column)
    ]


def opaque(table: Table) -> frozenset[str]:
    """The columns whose JSON is read as text."""
    return frozenset(column.name for column in table.columns if isinstance(column.type, Opaque))


async def pages(database: Database, org_id: str, table: Table) -> AsyncIterator[Sequence[AnyRow]]:
    """The organization's rows of a table, a page at a time, in the order of their keys."""
    order = [column for column in table.primary_key.columns if column.name != KEY]
    shown = [table.c[name] for name in exported(table)]
    hidden = [column for column in order if column.name not in exported(table)]
    last: list[object] | None = None
    while True:
        statement = select(*shown, *hidden).where(table.c[KEY] == org_id).order_by(*order).limit(_PAGE)
        if last is not None:
            after = [literal(value, column.type) for value, column in zip(last, order, strict=True)]
            statement = statement.where(tuple_(*order) > tuple_(*after))
        async with database.reading(org_id) as session:
            rows = await session.rows(statement)
        if rows:
            yield rows
        if len(rows) < _PAGE or not order:
            return
        last = [getattr(rows[-1], column.name) for column in order]


async def stored_names(database: Database, org_id: str) -> list[str]:
    """The names of all that the organization has in the store, whatever it is a part of."""
    found: set[str] = set()
    for table in tables():
        if _STORED in table.c:
            async with database.reading(org_id) as session:
                rows = await session.rows(select(table.c[_STORED]).where(table.c[KEY] == org_id))
            found |= {row.storage_name for row in rows if row.storage_name}
    return sorted(found)


async def stored_files(database: Database, org_id: str) -> dict[str, int]:
    """The names of the files that an export has, with how many bytes each has."""
    found: dict[str, int] = {}
    for table in tables():
        if _STORED in table.c and table.name not in DERIVED:
            async with database.reading(org_id) as session:
                rows = await session.rows(select(table.c[_STORED], table.c.bytes).where(table.c[KEY] == org_id))
            found |= {row.storage_name: row.bytes for row in rows if row.storage_name}
    return found


async def delete_rows(database: Database, org_id: str) -> int:
    """Delete the organization's rows, those that refer to others first; how many there were.

    A batch is a transaction, so that other organizations' writers have their turn; what is interrupted can be done
    again. Where a table refers to itself its rows go at once: an earlier one may be referred to by a later one.
    """
    number = 0
    for table in reversed(tables()):
        refers_to_itself = any(key.column.table is table for key in table.foreign_keys)
        own = table.c[KEY] == org_id
        while True:
            statement = delete(table).where(own)
            if "id" in table.c and not refers_to_itself:
                other = table.alias()
                few = select(other.c.id).where(other.c[KEY] == org_id).limit(_BATCH)
                statement = statement.where(table.c.id.in_(few))
            with giving_way(True):  # so that the copies of a whole table's pages lie on the disk (decision 1203)
                async with database.writing(org_id) as session:
                    changed = await session.execute(statement)
            number += changed
            if changed < _BATCH:
                break
    return number


async def delete_organization(session: TenantSession, org_id: str, subjects: Sequence[str]) -> None:
    """Delete the organization itself, and those of its members who belong nowhere else (the directory's session).

    Rows that a job wrote meanwhile go with it: every table refers to it, but for match keys, which go by the triggers
    of their records, as the organization's own. With a member go the member's user tokens.
    """
    if session.dialect == "postgresql":
        await session.rows(select(func.set_config(SETTING, org_id, true())))
    await session.execute(delete(Organization).where(col(Organization.id) == org_id))
    for start in range(0, len(subjects), _PAGE):  # as many as a statement may have values
        some = col(Member.subject).in_(subjects[start : start + _PAGE])
        elsewhere = exists().where(col(Membership.subject) == Member.subject)
        keys = exists().where(col(Credential.owner_subject) == Member.subject, col(Credential.org_id).is_not(None))
        await session.execute(delete(Member).where(some, ~elsewhere, ~keys))


async def subjects_of(session: TenantSession) -> list[str]:
    """List everyone who is or was a member of the organization."""
    rows = await session.rows(select(col(Membership.subject)).where(col(Membership.org_id) == session.org_id))
    return [row.subject for row in rows]
