"""Describes the documents of connections, their runs and items, and of the policy."""

from __future__ import annotations

from typing import Final

from contract.integrations import (
    IntegrationItemDecision,
    IntegrationItemOutcome,
    IntegrationOwnership,
    IntegrationProblemCode,
    IntegrationProvider,
    IntegrationRunMode,
    IntegrationRunStatus,
    IntegrationSkipReason,
    IntegrationStatus,
    IntegrationStreamKind,
    SyncVisibility,
)
from rest_compat.schemas import JsonObject, Schema, enumerated, or_null, record_schema

_ID: Final = {"type": "string", "format": "uuid"}
_TEXT: Final = {"type": "string"}
_FLAG: Final = {"type": "boolean"}
_WHOLE: Final = {"type": "integer"}
_TIME: Final = {"type": "string", "format": "date-time", "description": "ISO 8601 in UTC."}
_SETTINGS: Final = record_schema(
    {"visibility": enumerated(SyncVisibility), "auto_create_contacts": _FLAG, "take_internal": _FLAG},
    "What the owner of a connection chooses.",
)
_PROBLEM: Final = record_schema(
    {
        "code": enumerated(IntegrationProblemCode),
        "message": {**_TEXT, "description": "What it is and what to do."},
        "since": _TIME,
        "retry_at": or_null(_TIME, "Null where a member has to act."),
    },
    "What holds a connection up.",
)
_STREAM: Final = record_schema(
    {
        "id": _ID,
        "kind": enumerated(IntegrationStreamKind),
        "name": _TEXT,
        "enabled": _FLAG,
        "window_from": or_null(_TIME),
        "window_until": or_null(_TIME),
        "last_synced_at": or_null(_TIME),
    },
    "One thing that is followed.",
)
_PROGRESS: Final = record_schema(
    {
        "mode": or_null(enumerated(IntegrationRunMode), "Null while nothing runs."),
        "percentage": or_null(_WHOLE),
        "processed": _WHOLE,
        "expected": or_null(_WHOLE),
    },
    "How far the run that is under way has come.",
)
_COUNTS: Final = record_schema(
    {
        "meetings": _WHOLE,
        "emails": _WHOLE,
        "skipped": _WHOLE,
        "skipped_by": {
            "type": "array",
            "items": record_schema({"reason": enumerated(IntegrationSkipReason), "count": _WHOLE}, "One reason."),
        },
    },
    "What there is of a connection now.",
)
_CHANNEL: Final = record_schema(
    {"channel_id": _TEXT, "name": _TEXT, "account_id": or_null(_ID), "deal_id": or_null(_ID)}, "A chat channel."
)

SCHEMAS: Final[dict[str, Schema]] = {
    "IntegrationProviderInfo": record_schema(
        {
            "provider": enumerated(IntegrationProvider),
            "name": _TEXT,
            "ownership": enumerated(IntegrationOwnership),
            "kinds": {"type": "array", "items": enumerated(IntegrationStreamKind)},
            "available": {**_FLAG, "description": "Whether it can be connected here now."},
            "missing_settings": {"type": "array", "items": _TEXT},
            "permissions": {"type": "array", "items": _TEXT},
            "push": _FLAG,
        },
        "A provider of the catalogue.",
    ),
    "Integration": record_schema(
        {
            "id": _ID,
            "org_id": _ID,
            "provider": enumerated(IntegrationProvider),
            "ownership": enumerated(IntegrationOwnership),
            "owner_id": or_null(_TEXT),
            "name": _TEXT,
            "account_label": or_null(_TEXT, "For its owner and administrators: the host of a feed's address."),
            "status": enumerated(IntegrationStatus),
            "problem": or_null(_PROBLEM),
            "settings": _SETTINGS,
            "streams": {"type": "array", "items": _STREAM},
            "channels": {"type": "array", "items": _CHANNEL},
            "progress": _PROGRESS,
            "counts": _COUNTS,
            "last_synced_at": or_null(_TIME),
            "next_sync_at": or_null(_TIME),
            "push": _FLAG,
            "created_at": _TIME,
            "updated_at": _TIME,
            "version": {**_WHOLE, "description": "Counts the changes; the ETag is this number in quotes."},
        },
        "A connection to an account somewhere else.",
    ),
    "IntegrationRun": record_schema(
        {
            "id": _ID,
            "mode": enumerated(IntegrationRunMode),
            "status": enumerated(IntegrationRunStatus),
            "queued_at": _TIME,
            "started_at": or_null(_TIME),
            "finished_at": or_null(_TIME),
            **dict.fromkeys(("calls", "processed", "created", "updated", "removed", "skipped"), _WHOLE),
            "problem": or_null(enumerated(IntegrationProblemCode)),
        },
        "One run of the synchronisation.",
    ),
    "IntegrationItem": record_schema(
        {
            "id": _ID,
            "integration_id": _ID,
            "kind": enumerated(IntegrationStreamKind),
            "outcome": enumerated(IntegrationItemOutcome),
            "reason": or_null(enumerated(IntegrationSkipReason)),
            "explanation": or_null(_TEXT),
            "subject": or_null(_TEXT, "Null for what is private, and for others than the owner where it was skipped."),
            "starts_at": or_null(_TIME),
            "ends_at": or_null(_TIME),
            "all_day": _FLAG,
            "is_recurring": _FLAG,
            "decision": or_null(enumerated(IntegrationItemDecision)),
            "meeting_id": or_null(_ID),
            "seen_at": _TIME,
        },
        "What the provider showed, and what became of it.",
    ),
    "IntegrationPolicy": record_schema(
        {
            "internal_domains": {"type": "array", "items": _TEXT},
            "allowed_providers": {"type": "array", "items": enumerated(IntegrationProvider)},
            "defaults": _SETTINGS,
            "widest_visibility": enumerated(SyncVisibility),
            "version": _WHOLE,
        },
        "What holds for all connections of the organization.",
    ),
    "IntegrationConsent": record_schema(
        {
            "integration": {"$ref": "#/components/schemas/Integration"},
            "authorization_url": {**_TEXT, "description": "The provider's page for the member; shown once."},
            "expires_at": _TIME,
        },
        "A consent that is under way.",
    ),
    "IntegrationRemoval": record_schema({"job_id": _ID, "status_url": _TEXT}, "The job that deletes what came."),
}
_INTEGRATION: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b40"
_AT: Final = "2026-11-24T06:30:00Z"
_USUAL: Final = {"visibility": "everything", "auto_create_contacts": False, "take_internal": False}
_CONNECTED: Final[JsonObject] = {
    "id": _INTEGRATION,
    "org_id": "01993f5e-8c00-7a11-9d52-6f0f3f1c2b02",
    "provider": "ical",
    "ownership": "member",
    "owner_id": "user_2mF7",
    "name": "My calendar",
    "account_label": "calendar.example.com",
    "status": "active",
    "problem": None,
    "settings": _USUAL,
    "streams": [],
    "channels": [],
    "progress": {"mode": None, "percentage": None, "processed": 0, "expected": None},
    "counts": {
        "meetings": 12,
        "emails": 0,
        "skipped": 3,
        "skipped_by": [{"reason": "private", "count": 2}, {"reason": "declined", "count": 1}],
    },
    "last_synced_at": _AT,
    "next_sync_at": "2026-11-24T06:45:00Z",
    "push": False,
    "created_at": _AT,
    "updated_at": _AT,
    "version": 1,
}
EXAMPLES: Final[JsonObject] = {
    "IntegrationProviderInfo": {
        "provider": "ical",
        "name": "iCalendar feed",
        "ownership": "member",
        "kinds": ["calendar"],
        "available": True,
        "missing_settings": [],
        "permissions": [],
        "push": False,
    },
    "Integration": _CONNECTED,
    "IntegrationConsent": {
        "integration": {**_CONNECTED, "provider": "google", "status": "pending"},
        "authorization_url": "https://accounts.google.com/o/oauth2/v2/auth?response_type=code",
        "expires_at": _AT,
    },
    "IntegrationRun": {
        "id": "01993f5e-8c00-7a11-9d52-6f0f3f1c2b41",
        "mode": "full",
        "status": "succeeded",
        "queued_at": _AT,
        "started_at": _AT,
        "finished_at": _AT,
        "calls": 1,
        "processed": 15,
        "created": 12,
        "updated": 0,
        "removed": 0,
        "skipped": 3,
        "problem": None,
    },
    "IntegrationItem": {
        "id": "01993f5e-8c00-7a11-9d52-6f0f3f1c2b42",
        "integration_id": _INTEGRATION,
        "kind": "calendar",
        "outcome": "skipped",
        "reason": "no_external_attendee",
        "explanation": "Nobody but the owner of the connection takes part.",
        "subject": "Lunch",
        "starts_at": "2026-11-24T12:00:00Z",
        "ends_at": "2026-11-24T13:00:00Z",
        "all_day": False,
        "is_recurring": False,
        "decision": None,
        "meeting_id": None,
        "seen_at": _AT,
    },
    "IntegrationPolicy": {
        "internal_domains": ["crm.example"],
        "allowed_providers": [provider.value for provider in IntegrationProvider],
        "defaults": _USUAL,
        "widest_visibility": "everything",
        "version": 1,
    },
    "IntegrationRemoval": {
        "job_id": "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0a",
        "status_url": "/jobs/01993f5e-8c00-7a11-9d52-6f0f3f1c2b0a",
    },
}
