"""Aggregates on the GraphQL surface: what those of all records share."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any

import strawberry

from contract.catalog import DateGrain
from contract.limits import GROUPS_DEFAULT
from resolvers.aggregates import Grouping
from schema.declare import Info, enum, field
from schema.execution.selections import field_of

enum(
    DateGrain,
    "The width of a period. Weeks begin on Monday, as ISO 8601 has them.",
    DAY="A calendar day.",
    WEEK="Monday to Sunday.",
    MONTH="A calendar month.",
    QUARTER="January, April, July or October and the two months after it.",
    YEAR="A calendar year.",
)


@strawberry.type(description="A stretch of time that a group stands for: from `start` on, before `end`.")
class Period:
    start: date = field("The first day.")
    end: date = field("The day after the last one.")
    label: str = field("For an axis: 2026, 2026-Q4, 2026-11, 2026-W47 or 2026-11-22.")


@strawberry.type(description="The amounts of one currency.")
class MoneySummary:
    currency: str = field("The ISO 4217 code.")
    count: int = field("The deals in the currency, with and without an amount.")
    valued: int = field("Those of them with an amount.")
    sum: Decimal = field("The exact sum; 0 where no deal has an amount.")
    average: Decimal | None = field(
        "The sum by `valued`, rounded half up to four decimals; null where no deal has an amount."
    )
    minimum: Decimal | None = field("The smallest amount.")
    maximum: Decimal | None = field("The largest amount.")


def grouping_of(
    by: Sequence[StrEnum] | None,
    grain: DateGrain,
    time_zone: str,
    order: Any,  # Any: the order input of the records, of which some have a currency
    first: int | None,
) -> Grouping:
    """Says how records are grouped, by the arguments of an aggregate."""
    currency = getattr(order, "currency", None) or None
    size = GROUPS_DEFAULT if first is None else first
    return Grouping(by or (), grain, time_zone, order.field, order.direction, currency, size)


def wanted(info: Info) -> frozenset[str]:
    """The figures that are selected of the groups and of the total, with what is selected of those."""
    figures = [figure for part in field_of(info).fields if part.name in _FIGURES for figure in part.fields]
    inner = [one for figure in figures for one in figure.fields]
    return frozenset(one.declared.python_name for one in (*figures, *inner) if one.declared is not None)


_FIGURES = ("groups", "total")
