"""The words of aggregates: what records are grouped by and ordered by. They are names of contract/catalog.py."""

from enum import StrEnum

from contract.catalog import CATALOG


class DealDimension(StrEnum):
    """Names what deals can be grouped by."""

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
    """Names what groups of deals are ordered by."""

    KEY = "key"
    COUNT = "count"
    SUM = "sum"
    WEIGHTED = "weighted"
    WIN_RATE = "win_rate"
    SALES_CYCLE_DAYS = "sales_cycle_days"


class MeetingDimension(StrEnum):
    """Names what meetings can be grouped by."""

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
    """Names what groups of meetings are ordered by."""

    KEY = "key"
    COUNT = "count"
    TOTAL_MINUTES = "total_minutes"


class LeadDimension(StrEnum):
    """Names what leads can be grouped by."""

    STATUS = "status"
    SOURCE = "source"
    OWNER = "owner"
    TAG = "tag"
    DISQUALIFIED_REASON = "disqualified_reason"
    CREATED_AT = "created_at"
    CONVERTED_AT = "converted_at"


class LeadAggregateOrderField(StrEnum):
    """Names what groups of leads are ordered by."""

    KEY = "key"
    COUNT = "count"
    CONVERSION_RATE = "conversion_rate"


class AccountDimension(StrEnum):
    """Names what accounts can be grouped by."""

    INDUSTRY = "industry"
    OWNER = "owner"
    HEALTH_TREND = "health_trend"
    CREATED_AT = "created_at"


class AccountAggregateOrderField(StrEnum):
    """Names what groups of accounts are ordered by."""

    KEY = "key"
    COUNT = "count"
    AVERAGE_HEALTH = "average_health"


class CampaignDimension(StrEnum):
    """Names what campaigns can be grouped by."""

    CAMPAIGN = "campaign"
    STATUS = "status"
    ENROLLMENT_STATUS = "enrollment_status"
    ENROLLED_AT = "enrolled_at"
    CREATED_AT = "created_at"


class CampaignAggregateOrderField(StrEnum):
    """Names what groups of campaigns are ordered by."""

    KEY = "key"
    ENROLLED_COUNT = "enrolled_count"
    REPLY_RATE = "reply_rate"
    BOUNCE_RATE = "bounce_rate"


_OF_RECIPIENTS = {"campaign": "campaign", "enrollment_status": "status", "enrolled_at": "enrolled_at"}
"""The dimensions of campaigns that are those of their recipients, by the names that these have."""


def texts_of(entity: str, dimensions: type[StrEnum]) -> dict[str, str]:
    """Returns what each of the dimensions is, by its name in the vocabulary."""
    of_entity, of_recipients = CATALOG[entity].dimensions, CATALOG["enrollments"].dimensions
    found = {}
    for one in dimensions:
        inner = _OF_RECIPIENTS.get(one.value) if entity == "campaigns" else None
        found[one.name] = (of_entity[one.value] if inner is None else of_recipients[inner]).text
    return found
