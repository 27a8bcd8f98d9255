"""Builds the numbers that rows count for in sums."""

from sqlalchemy import case, literal_column

from storage.expressions import AnyColumn
from storage.queries.dialects import literal_number

ONE, NONE = literal_number(1), literal_number(0)


def number_of(condition: AnyColumn, records: AnyColumn = ONE) -> AnyColumn:
    """The number of records that a row stands for, 1 unless told, where the condition holds for it; else 0."""
    return case((condition, records), else_=NONE)


def only_where(condition: AnyColumn, column: AnyColumn) -> AnyColumn:
    """The column for a row that the condition holds for, else nothing."""
    return case((condition, column))


def equals(column: AnyColumn, value: str) -> AnyColumn:
    return column == literal_column(f"'{value}'")
