"""The words of aggregates: what records are grouped by and ordered by. They are names of contract/catalog.py."""

from enum import StrEnum

from contract.catalog import CATALOG


class DealDimension(StrEnum):
    """What deals can be grouped by."""

    STAGE = "stage"
    OWNER = "owner"
    ACCOUNT = "account"
    INDUSTRY = "industry"
    STATUS = "status"
    CURRENCY = "currency"
    SOURCE = "source"
    GEO_SCOPE = "geo_scope"
    CLOSE_DATE = "close_date"
    CREATED_AT = "created_at"
    CLOSED_AT = "closed_at"


class DealAggregateOrderField(StrEnum):
    """What groups of deals are ordered by."""

    KEY = "key"
    COUNT = "count"
    SUM = "sum"
    WEIGHTED = "weighted"
    WIN_RATE = "win_rate"
    SALES_CYCLE_DAYS = "sales_cycle_days"


class MeetingDimension(StrEnum):
    """What meetings can be grouped by."""

    OWNER = "owner"
    ACCOUNT = "account"
    INDUSTRY = "industry"
    DEAL = "deal"
    SOURCE = "source"
    STATE = "state"
    DUE_AT = "due_at"
    COMPLETED_AT = "completed_at"
    CREATED_AT = "created_at"


class MeetingAggregateOrderField(StrEnum):
    """What groups of meetings are ordered by."""

    KEY = "key"
    COUNT = "count"
    TOTAL_MINUTES = "total_minutes"


class LeadDimension(StrEnum):
    """What leads can be grouped by."""

    STATUS = "status"
    SOURCE = "source"
    OWNER = "owner"
    TAG = "tag"
    DISQUALIFIED_REASON = "disqualified_reason"
    CREATED_AT = "created_at"
    CONVERTED_AT = "converted_at"


class LeadAggregateOrderField(StrEnum):
    """What groups of leads are ordered by."""

    KEY = "key"
    COUNT = "count"
    CONVERSION_RATE = "conversion_rate"


def texts_of(entity: str, dimensions: type[StrEnum]) -> dict[str, str]:
    """Returns what each of the dimensions is, by its name in the vocabulary."""
    return {one.name: CATALOG[entity].dimensions[one.value].text for one in dimensions}
