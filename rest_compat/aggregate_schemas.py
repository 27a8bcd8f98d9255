"""Has the JSON schemas and the examples of aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from contract.outreach_vocabulary import CampaignStatus, EnrollmentStatus
from contract.vocabulary import (
    ActivitySource,
    CaptureSource,
    DealStatus,
    GeoScope,
    HealthTrend,
    LeadStatus,
    MeetingState,
    StageType,
)
from rest_compat.schemas import JsonObject, Schema, enumerated, or_null, record_schema

_UUID: Final = {"type": "string", "format": "uuid"}
_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer"}
_NUMBER: Final = {"type": "number"}
_RATE: Final = or_null(_NUMBER, "In percent, rounded half up to one decimal.")
_DAYS: Final = or_null(_NUMBER, "On average, rounded half up to one decimal.")
_PERIOD: Final = or_null(
    record_schema(
        {
            "start": {**_TEXT, "format": "date"},
            "end": {**_TEXT, "format": "date", "description": "The day after the last one."},
            "label": {**_TEXT, "description": "For an axis: 2026, 2026-Q4, 2026-11, 2026-W47 or 2026-11-22."},
        },
        "A stretch of time.",
    )
)
_SUMMARY: Final = record_schema(
    {
        "currency": _TEXT,
        "count": {**_COUNT, "description": "The deals in the currency, with and without an amount."},
        "valued": {**_COUNT, "description": "Those of them with an amount."},
        "sum": _NUMBER,
        "average": or_null(_NUMBER, "Rounded half up to four decimals."),
        "minimum": or_null(_NUMBER),
        "maximum": or_null(_NUMBER),
    },
    "The amounts of one currency.",
)
_MONEY: Final = record_schema({"currency": _TEXT, "amount": _NUMBER, "count": _COUNT}, "Deals of one currency.")
_ACCOUNT: Final = or_null(record_schema({"id": _UUID, "name": _TEXT, "domain": or_null(_TEXT)}, "The account."))


def _key(dimensions: dict[str, Schema]) -> Schema:
    """Returns the schema of a key, which has the dimensions that were asked for, and no others."""
    return {
        "type": "object",
        "description": "What the group has in common: the dimensions that were asked for, null for what it lacks.",
        "properties": dimensions,
        "additionalProperties": False,
    }


def _aggregate(
    records: str, dimensions: dict[str, Schema], figures: dict[str, Schema], hidden: Sequence[str] = ()
) -> Schema:
    """Returns the schema of an aggregate; figures that are `hidden` are left out for some callers."""
    group = record_schema({"key": _key(dimensions), **figures}, f"What a group of {records} comes to.")
    total = record_schema(figures, f"All {records}, those of groups that are not listed included.")
    for one in (group, total):
        one["required"] = [name for name in one["required"] if name not in hidden]
    return record_schema(
        {
            "groups": {"type": "array", "items": group},
            "total": total,
            "group_count": {**_COUNT, "description": "How many groups there are."},
            "truncated": {"type": "boolean", "description": "Whether there are more groups than are listed."},
        },
        f"Groups of {records}, and all of them together.",
    )


_STAGE: Final = or_null(
    record_schema(
        {
            "id": _UUID,
            "name": _TEXT,
            "position": _COUNT,
            "type": enumerated(StageType),
            "probability": or_null(_COUNT),
        },
        "The stage.",
    )
)

AGGREGATES: Final[dict[str, Schema]] = {
    "DealAggregate": _aggregate(
        "deals",
        {
            "stage": _STAGE,
            "owner": or_null(_TEXT),
            "account": _ACCOUNT,
            "industry": or_null(_TEXT),
            "status": or_null(enumerated(DealStatus)),
            "currency": or_null(_TEXT),
            "source": or_null(_TEXT),
            "geo_scope": or_null(enumerated(GeoScope)),
            **dict.fromkeys(("close_date", "created_at", "closed_at"), _PERIOD),
        },
        {
            "count": _COUNT,
            "values": {"type": "array", "items": _SUMMARY, "description": "One item for each currency, by code."},
            "weighted": {
                "type": "array",
                "items": _MONEY,
                "description": "Open deals: amount times the probability of the stage, exact, for each currency.",
            },
            "unweighted_count": {**_COUNT, "description": "Open deals with an amount that no probability weighs."},
            "open_count": _COUNT,
            "won_count": _COUNT,
            "lost_count": _COUNT,
            "win_rate": _RATE,
            "sales_cycle_days": _DAYS,
        },
    ),
    "MeetingAggregate": _aggregate(
        "meetings",
        {
            "owner": or_null(_TEXT),
            "account": _ACCOUNT,
            "industry": or_null(_TEXT),
            "deal": or_null(record_schema({"id": _UUID, "name": _TEXT, "stage_id": or_null(_UUID)}, "The deal.")),
            "source": or_null(enumerated(ActivitySource)),
            "state": or_null(enumerated(MeetingState)),
            **dict.fromkeys(("due_at", "completed_at", "created_at"), _PERIOD),
        },
        {
            "count": _COUNT,
            "completed_count": _COUNT,
            "account_count": {**_COUNT, "description": "Different accounts among them."},
            "total_minutes": {**_COUNT, "description": "The lengths that are known, added up."},
            "average_minutes": or_null(_NUMBER, "Of the lengths that are known, rounded half up to one decimal."),
        },
    ),
    "LeadAggregate": _aggregate(
        "leads",
        {
            "status": or_null(enumerated(LeadStatus)),
            "source": or_null(enumerated(CaptureSource)),
            "owner": or_null(_TEXT),
            "tag": or_null(_TEXT),
            "disqualified_reason": or_null(_TEXT),
            **dict.fromkeys(("created_at", "converted_at"), _PERIOD),
        },
        {
            "count": _COUNT,
            "converted_count": _COUNT,
            "disqualified_count": _COUNT,
            "conversion_rate": _RATE,
            "average_days_to_convert": _DAYS,
        },
    ),
    "AccountAggregate": _aggregate(
        "accounts",
        {
            "industry": or_null(_TEXT),
            "owner": or_null(_TEXT),
            "health_trend": or_null(enumerated(HealthTrend)),
            "created_at": _PERIOD,
        },
        {
            "count": _COUNT,
            "with_open_deals_count": {**_COUNT, "description": "Those with an open deal."},
            "scored_count": {**_COUNT, "description": "Those that were scored at least once."},
            "average_health": or_null(_NUMBER, "Of the latest scores, rounded half up to one decimal."),
        },
        hidden=("scored_count", "average_health"),
    ),
    "CampaignAggregate": _aggregate(
        "campaigns",
        {
            "campaign": or_null(
                record_schema({"id": _UUID, "name": _TEXT, "status": enumerated(CampaignStatus)}, "The campaign.")
            ),
            "status": or_null(enumerated(CampaignStatus)),
            "enrollment_status": or_null(enumerated(EnrollmentStatus)),
            **dict.fromkeys(("enrolled_at", "created_at"), _PERIOD),
        },
        {
            "count": {**_COUNT, "description": "The number of different campaigns."},
            "enrolled_count": {**_COUNT, "description": "The recipients."},
            "replied_count": _COUNT,
            "bounced_count": _COUNT,
            "unsubscribed_count": _COUNT,
            "reply_rate": _RATE,
            "bounce_rate": _RATE,
        },
    ),
}

_SLOT: Final = record_schema(
    {
        "count": _COUNT,
        "totals": {"type": "array", "items": _MONEY, "description": "The amounts, for each currency."},
        "weighted": {"type": "array", "items": _MONEY, "description": "Amount times probability, for each currency."},
        "unweighted_count": {**_COUNT, "description": "Deals with an amount that no probability weighs."},
    },
    "Open deals of one part of a forecast.",
)
FLOWS: Final[dict[str, Schema]] = {
    "DealForecast": record_schema(
        {
            "months": {
                "type": "array",
                "items": record_schema(
                    {"period": _PERIOD, "open": _SLOT, "won": {"type": "array", "items": _MONEY}},
                    "One month: the open deals that are to close in it, and what was won.",
                ),
            },
            **dict.fromkeys(("overdue", "undated", "later"), _SLOT),
        },
        "The months ahead, and what lies outside of them.",
    ),
    "DealFunnel": record_schema(
        {
            "stages": {
                "type": "array",
                "items": record_schema(
                    {
                        "stage": _STAGE,
                        **dict.fromkeys(("entered", "here", "advanced", "lost"), _COUNT),
                        "conversion_rate": _RATE,
                        "average_days": _DAYS,
                    },
                    "What happened in one stage.",
                ),
            }
        },
        "How deals moved through the stages, by position.",
    ),
}

_CAMPAIGNS: Final = {
    "count": 1,
    "enrolled_count": 40,
    "replied_count": 6,
    "bounced_count": 1,
    "unsubscribed_count": 2,
    "reply_rate": 15.0,
    "bounce_rate": 2.5,
}
_MEETINGS: Final = {
    "count": 4,
    "completed_count": 3,
    "account_count": 2,
    "total_minutes": 95,
    "average_minutes": 47.5,
}
_LEADS: Final = {
    "count": 8,
    "converted_count": 2,
    "disqualified_count": 1,
    "conversion_rate": 25.0,
    "average_days_to_convert": 3.4,
}
_DEALS: Final = {
    "count": 3,
    "values": [
        {
            "currency": "EUR",
            "count": 3,
            "valued": 2,
            "sum": 150.5,
            "average": 75.25,
            "minimum": 50.5,
            "maximum": 100,
        }
    ],
    "weighted": [{"currency": "EUR", "amount": 60.2, "count": 3}],
    "unweighted_count": 0,
    "open_count": 3,
    "won_count": 0,
    "lost_count": 0,
    "win_rate": None,
    "sales_cycle_days": None,
}
_NO_DEALS: Final = {"count": 0, "totals": [], "weighted": [], "unweighted_count": 0}
_OPEN_DEALS: Final = {
    "count": 3,
    "totals": [{"currency": "EUR", "amount": 150.5, "count": 3}],
    "weighted": [{"currency": "EUR", "amount": 60.2, "count": 3}],
    "unweighted_count": 0,
}
_PASSED: Final = {"entered": 8, "here": 3, "advanced": 4, "lost": 1, "conversion_rate": 50.0, "average_days": 12.5}
_ACCOUNTS: Final = {"count": 5, "with_open_deals_count": 2, "scored_count": 4, "average_health": 61.3}
EXAMPLES: Final[JsonObject] = {
    "DealForecast": {
        "months": [
            {
                "period": {"start": "2026-11-01", "end": "2026-12-01", "label": "2026-11"},
                "open": _OPEN_DEALS,
                "won": [{"currency": "EUR", "amount": 90, "count": 1}],
            }
        ],
        **dict.fromkeys(("overdue", "undated", "later"), _NO_DEALS),
    },
    "DealFunnel": {
        "stages": [
            {
                "stage": {
                    "id": "0198c5b2-7a3e-7c11-9d2f-3b1a6e5c4d21",
                    "name": "Negotiation",
                    "position": 2,
                    "type": "open",
                    "probability": 60,
                },
                **_PASSED,
            }
        ]
    },
    "AccountAggregate": {
        "groups": [{"key": {"industry": "Logistics"}, **_ACCOUNTS}],
        "total": _ACCOUNTS,
        "group_count": 1,
        "truncated": False,
    },
    "CampaignAggregate": {
        "groups": [{"key": {"status": "active"}, **_CAMPAIGNS}],
        "total": _CAMPAIGNS,
        "group_count": 1,
        "truncated": False,
    },
    "MeetingAggregate": {
        "groups": [{"key": {"state": "completed"}, **_MEETINGS}],
        "total": _MEETINGS,
        "group_count": 1,
        "truncated": False,
    },
    "LeadAggregate": {
        "groups": [{"key": {"source": "scan_card"}, **_LEADS}],
        "total": _LEADS,
        "group_count": 1,
        "truncated": False,
    },
    "DealAggregate": {
        "groups": [{"key": {"status": "open"}, **_DEALS}],
        "total": _DEALS,
        "group_count": 1,
        "truncated": False,
    },
}
