"""Rows whose long columns together are more than an answer may have: that is told instead of them (decision 128).

A list of 500 meetings with a transcript each would be a quarter of a gigabyte, which is read, turned into objects and
written before anybody sees that it is too much. So the database adds up their bytes, and gives none of them beyond.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeVar

from sqlalchemy import FromClause, Integer, Text, case, cast, func, literal_column, select, true
from sqlalchemy.types import JSON

from contract.errors import ResponseTooLarge
from contract.limits import ROWS_MAX_BYTES
from storage.base import LongText
from storage.expressions import AnyColumn, AnySelect
from storage.queries.dialects import Dialectal
from storage.sent_records import SentRecords

RowT = TypeVar("RowT")

_BYTES = "long_bytes"


class _bytes_of(Dialectal[int]):
    """Counts the bytes that a text takes."""

    type = Integer()
    inherit_cache = True
    name = "bytes_of"
    templates: ClassVar = {"postgresql": "octet_length({})", "sqlite": "length(CAST({} AS BLOB))"}


def with_size_limit(statement: AnySelect) -> AnySelect:
    """The same rows in the same order, with their bytes in each, and without the long columns where they are too many.

    As it is where it has no long column. It selects from one table, or from joins that say with what. The page is
    looked at twice, of which the first time reads lengths alone: half as dear as a window over its rows, where an
    index has them at hand.
    """
    long = [column for column in statement.selected_columns if is_long(column)]
    if not long:
        return statement
    page = statement.with_only_columns(*long, maintain_column_froms=True).subquery("page")
    sizes = select(_sum(page).label(_BYTES)).cte("sizes")
    # SQLite may begin an inner join with the sizes, and then sorts all that the list has (decision 1179).
    return _kept_back(statement.outerjoin(sizes, true()), statement.selected_columns, sizes.c[_BYTES])


def with_size_limit_window(statement: AnySelect) -> AnySelect:
    """The same for rows that are dear to find: they are found once. Their order is kept where they have a limit."""
    if not any(map(is_long, statement.selected_columns)):
        return statement
    rows = statement.subquery("page")
    return _kept_back(select(), rows.c, _sum(rows).over())


def _sum(page: FromClause) -> AnyColumn:
    lengths = [
        func.coalesce(_bytes_of(cast(column, Text)), literal_column("0")) for column in page.c if is_long(column)
    ]
    return func.sum(sum(lengths[1:], lengths[0]))


def _kept_back(statement: AnySelect, columns: Iterable[AnyColumn], total: AnyColumn) -> AnySelect:
    fits = total <= literal_column(str(ROWS_MAX_BYTES), Integer)
    shown = [case((fits, column)).label(column.key) if is_long(column) else column for column in columns]
    return statement.with_only_columns(*shown, total.label(_BYTES), maintain_column_froms=True)


def check_size_limit(rows: Sequence[RowT]) -> Sequence[RowT]:
    """The rows of a bounded statement. Raises ResponseTooLarge where they came without their long columns."""
    if rows and getattr(rows[0], _BYTES, 0) > ROWS_MAX_BYTES:
        raise ResponseTooLarge()
    return rows


def check_sent_size(records: Sequence[RowT]) -> SentRecords:
    """The same for records as they were sent."""
    if not isinstance(records, SentRecords):
        raise TypeError("rows that were not asked for as they are sent")
    if records and records.columns[-1].name == _BYTES and records[0][len(records.columns) - 1] > ROWS_MAX_BYTES:
        raise ResponseTooLarge()
    return records


def is_long(column: AnyColumn) -> bool:
    return isinstance(column.type, JSON | LongText)
