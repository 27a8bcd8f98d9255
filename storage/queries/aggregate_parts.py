"""Builds the parts of the sources of aggregates: numbers of rows, and orders."""

from typing import Final

from sqlalchemy import Integer, bindparam, case, distinct, func, literal_column

from storage.base import PlainText
from storage.expressions import AnyColumn
from storage.queries.aggregates import Order, Term
from storage.queries.exact import money_carried, money_rest

ONE, NONE = literal_column("1", Integer), literal_column("0", Integer)


def number_of(condition: AnyColumn, records: AnyColumn = ONE) -> AnyColumn:
    """The number of records that a row stands for, 1 unless told, where the condition holds for it; else 0."""
    return case((condition, records), else_=NONE)


def only_where(condition: AnyColumn, column: AnyColumn) -> AnyColumn:
    """The column for a row that the condition holds for, else nothing."""
    return case((condition, column))


def equals(column: AnyColumn, value: str) -> AnyColumn:
    return column == literal_column(f"'{value}'")


def different(column: AnyColumn) -> AnyColumn:
    """The number of different values."""
    return func.count(distinct(column))


def in_currency(high: str, low: str) -> Term:
    """Orders by the sum in the currency that is asked for; groups without one in it have nothing."""

    def terms(over: AnyColumn, fine: AnyColumn) -> list[AnyColumn]:
        is_asked_for = fine.currency == bindparam("in_currency", type_=PlainText)
        sums = [over(case((is_asked_for, func.coalesce(fine[part], NONE)), else_=NONE)) for part in (high, low)]
        return [money_carried(*sums), money_rest(*sums)]

    return terms


COUNT: Final = Order((), lambda over, fine: [over(fine["count"])])
