"""Aggregates on the GraphQL surface: what those of all records share."""

from datetime import date
from decimal import Decimal

import strawberry

from contract.catalog import DateGrain
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


def wanted(info: Info) -> frozenset[str]:
    """The figures that are selected of the groups and of the total, with what is selected of those."""
    figures = [figure for part in field_of(info).fields if part.name in _FIGURES for figure in part.fields]
    inner = [one for figure in figures for one in figure.fields]
    return frozenset(one.declared.python_name for one in (*figures, *inner) if one.declared is not None)


_FIGURES = ("groups", "total")
