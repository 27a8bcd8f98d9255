"""Sales targets: what the organization, or a member of it, is to reach in a period."""

from datetime import date, datetime
from decimal import Decimal

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint

from contract.vocabulary import TargetMetric, TargetPeriod
from storage.base import Record
from storage.columns import CURRENCY, DATE, LINE, MOMENT, MONEY, NONE, column, created, updated, versioned


class SalesTarget(Record, table=True):
    """A target, of which there is one for each owner, metric, currency and days.

    `owner_key` and `currency_key` are the owner and the currency, empty where there is none. `begins_at` and
    `ends_before` are the moments at which the first day begins and the last one has ended, in the time zone.
    """

    __tablename__ = "sales_targets"
    __events__ = {"sales_target": "deleted", "sales_targets": "set"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        UniqueConstraint("org_id", "owner_key", "metric", "currency_key", "starts_on", "ends_on"),
        CheckConstraint("metric IN ('won_value', 'won_deals')", name="metric"),
        CheckConstraint("period IN ('month', 'quarter', 'year', 'custom')", name="period"),
        Index(None, "org_id", "starts_on", "owner_key", "id"),
    )

    owner_id: str | None = column(
        LINE, "The subject of the member; null for the whole organization.", default=None, example="user_2mF7"
    )
    metric: str = column(TargetMetric, "What is measured.", example="won_value")
    currency: str | None = column(
        CURRENCY, "The currency of the amount; null where deals are counted.", default=None, example="EUR"
    )
    period: str = column(TargetPeriod, "Which kind of period.", example="quarter")
    starts_on: date = column(DATE, "The first day.", example="2026-10-01")
    ends_on: date = column(DATE, "The last day, included.", example="2026-12-31")
    time_zone: str = column(LINE, "The IANA time zone in which days begin.", default="UTC", example="Europe/Berlin")
    amount: Decimal = column(MONEY, "What is to be reached, above zero.", example=250000)
    created_at: datetime = created(NONE)
    updated_at: datetime = updated(NONE)
    version: int = versioned()
    owner_key: str = column(LINE, "The owner, or nothing.", default="")
    currency_key: str = column(LINE, "The currency, or nothing.", default="")
    begins_at: datetime = column(MOMENT, "When the first day begins.")
    ends_before: datetime = column(MOMENT, "When the last day has ended.")
