"""Has the match keys of many new records counted as one set (decision 1050): on PostgreSQL a trigger for each of them
takes much of the time that the records take. On SQLite the triggers count them with each record.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from sqlalchemy import Text, bindparam, cast, func, literal_column, select
from sqlalchemy.dialects.postgresql import ARRAY, UUID

from storage.base import Record
from storage.expressions import AnySelect
from storage.match_triggers import LATER, MATCHED
from storage.new_rows import model_of
from storage.statements import ORG_PARAM
from storage.tenancy.sessions import TenantSession

_MATCHED = {matched.table: matched for matched in MATCHED}
FEW = 10
"""New records whose triggers take no longer."""


def are_counted_behind(session: TenantSession, records: Sequence[Record]) -> bool:
    """Says whether the keys of these new records, which are of one table, are to be counted as a set."""
    is_many = len(records) > FEW and session.dialect == "postgresql"
    return is_many and _table_of(records) in _MATCHED


@asynccontextmanager
async def counted_behind(session: TenantSession) -> AsyncIterator[None]:
    """While the records are inserted, of which nothing is counted: `count` has to follow in the same transaction."""
    await _be(session, "on")
    yield
    await _be(session, "")


async def count(session: TenantSession, records: Sequence[Record]) -> None:
    """Count the keys of records that were inserted so; the session has appended its event, which others wait behind."""
    matched = _MATCHED[_table_of(records)]

    def build() -> AnySelect:
        identifiers = func.string_to_array(bindparam("ids", type_=Text), literal_column("','"))
        of_all = getattr(func, f"{matched.function}_of")
        return select(of_all(ORG_PARAM, cast(identifiers, ARRAY(UUID))).label("are_counted"))

    await session.fetch(("match keys", matched.table), build, ids=",".join(record.id for record in records))


def _table_of(records: Sequence[Record]) -> str:
    return str(model_of(records[0]).__tablename__)


async def _be(session: TenantSession, state: str) -> None:
    def build() -> AnySelect:
        setting = func.set_config(literal_column(f"'{LATER}'"), bindparam("state", type_=Text), literal_column("true"))
        return select(setting.label("state"))

    await session.fetch("match keys later", build, state=state)
