"""Deals counted and added up (docs/analytics.md, decisions 255 and 256)."""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from contract.aggregates import DealAggregateOrderField, DealDimension
from contract.criteria import Condition
from contract.scopes import ScopeGroup
from resolvers.aggregates import (
    COUNT,
    Aggregate,
    Figure,
    Grouping,
    Rows,
    Subject,
    aggregated,
    average_days,
    count_of,
    total_of,
)
from resolvers.deals import MoneyTotal
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from storage.queries.deal_aggregates import DEAL_SOURCE
from storage.queries.exact import amount_of, average, percent, weighed


@dataclass(frozen=True, slots=True)
class MoneySummary:
    """The amounts of one currency."""

    currency: str
    count: int
    valued: int
    sum: Decimal
    average: Decimal | None
    minimum: Decimal | None
    maximum: Decimal | None


def _values(rows: Rows, dialect: str) -> list[MoneySummary]:
    return [_summary(row, dialect) for row in rows if row.count]


def _summary(row: Any, dialect: str) -> MoneySummary:  # Any: a row of the parts
    amount, valued = amount_of(dialect, row.high, row.low), int(row.valued)
    least, most = getattr(row, "least", None), getattr(row, "most", None)
    return MoneySummary(row.currency, int(row.count), valued, amount, average(amount, valued), least, most)


def weighted_of(rows: Rows, dialect: str) -> list[MoneyTotal]:
    """Open deals whose stage has a probability: amount times that, for each currency."""
    return [
        MoneyTotal(row.currency, weighed(amount_of(dialect, row.weighed_high, row.weighed_low)), int(row.weighed))
        for row in rows
        if row.weighed
    ]


def _win_rate(rows: Rows, _: str) -> float | None:
    won = total_of(rows, "won")
    return percent(won, won + total_of(rows, "lost"))


DEAL_SUBJECT = Subject(
    DEAL_SOURCE,
    DealDimension,
    {
        "count": COUNT,
        "values": Figure(("valued", "high", "low"), _values),
        "weighted": Figure(("weighed", "weighed_high", "weighed_low"), weighted_of),
        "unweighted_count": count_of("unweighed"),
        "open_count": count_of("open"),
        "won_count": count_of("won"),
        "lost_count": count_of("lost"),
        "win_rate": Figure(("won", "lost"), _win_rate),
        "sales_cycle_days": Figure(("timed", "seconds", "micros"), average_days),
    },
    {"minimum": ("least",), "maximum": ("most",)},
    {"stage": "stage_id", "owner": "owner_id", "account": "account_id"},
)


@requires(ScopeGroup.CRM_READ)
async def aggregate_deals(ctx: Context, condition: Condition, grouping: Grouping, wanted: Collection[str]) -> Aggregate:
    """Deals counted and added up, of each figure what is wanted. Raises Problems."""
    by_amount = (DealAggregateOrderField.SUM, DealAggregateOrderField.WEIGHTED)
    return await aggregated(ctx, DEAL_SUBJECT, condition, grouping, wanted, by_amount)
