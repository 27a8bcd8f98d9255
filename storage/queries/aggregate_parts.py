"""Builds the parts of the sources of aggregates: numbers of different values, and orders."""

from typing import Final

from sqlalchemy import bindparam, case, distinct, func

from storage.base import PlainText
from storage.expressions import AnyColumn
from storage.queries.aggregates import Order, Term
from storage.queries.exact import money_carried, money_rest
from storage.queries.numbers import NONE


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
