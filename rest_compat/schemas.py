"""What the answers look like, written down once as JSON schemas with an example each (specification part 2)."""

from __future__ import annotations

from typing import Any, Final

from contract.limits import EVIDENCE_MAX, HEALTH_FACTORS, VERSION
from contract.vocabulary import (
    ActivitySource,
    CampaignStatus,
    CaptureSource,
    DealStatus,
    DomainStatus,
    GeoScope,
    HealthFactorKey,
    HealthTrend,
    JobStatus,
    LeadStatus,
    ProviderSync,
)

Schema = dict[str, Any]

_UUID: Final = {"type": "string", "format": "uuid"}
_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time", "description": "ISO 8601 in UTC."}
_WHOLE: Final = {"type": "integer"}
_SCORE: Final = {"type": "integer", "minimum": 0, "maximum": 100}


def _or_null(schema: Schema, description: str | None = None) -> Schema:
    kind = schema.get("type")
    either: Schema = (
        {**schema, "type": [kind, "null"]} if isinstance(kind, str) else {"anyOf": [schema, {"type": "null"}]}
    )
    if "enum" in schema:
        either["enum"] = [*schema["enum"], None]
    return {**either, "description": description} if description else either


def _object(properties: dict[str, Schema], description: str) -> Schema:
    """Every property is always there."""
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _enum(values: Any) -> Schema:
    return {"type": "string", "enum": [value.value for value in values]}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_CREDENTIAL: Final[dict[str, Schema]] = {
    "id": _UUID,
    "name": _TEXT,
    "key_id": {**_TEXT, "description": "The public part of the credential's text."},
    "hint": {**_TEXT, "description": "The end of the secret, to tell keys apart by."},
    "created_at": _TIME,
    "last_used_at": _or_null(_TIME, "Noted at most once a minute."),
    "expires_at": _or_null(_TIME),
    "owner_user_id": _or_null(_TEXT, "Null on the caller's own."),
    "owner_name": _or_null(_TEXT, "Null on the caller's own."),
}

_LEAD: Final[dict[str, Schema]] = {
    "lead_id": {**_UUID, "description": "The same as id."},
    "id": _UUID,
    "org_id": _UUID,
    "owner_id": _or_null(_TEXT, "The subject of the owning rep."),
    "status": _enum(LeadStatus),
    "card_id": _or_null(_TEXT, "The captured card, of which there is one lead."),
    "name": _TEXT,
    "title": _or_null(_TEXT),
    "company": _or_null(_TEXT),
    "company_domain": _or_null(_TEXT),
    "email": _or_null(_TEXT),
    "phone": _or_null(_TEXT),
    "linkedin": _or_null(_TEXT),
    "notes": _or_null(_TEXT),
    "tags": {"type": "array", "items": _TEXT},
    "source": _enum(CaptureSource),
    "disqualified_reason": _or_null(_TEXT, "Null unless the lead is disqualified."),
    "converted_at": _or_null(_TIME),
    "account_id": _or_null(_UUID, "What the lead was converted into, like the next two."),
    "contact_id": _or_null(_UUID),
    "deal_id": _or_null(_UUID),
    "created_at": _TIME,
    "updated_at": _TIME,
    "version": {**_WHOLE, "description": "Counts the changes."},
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Meeting": _object(
        {
            "id": _UUID,
            "type": {"const": "meeting"},
            "subject": _or_null(_TEXT),
            "body": _or_null(_TEXT),
            "due_at": _or_null(_TIME),
            "completed_at": _or_null(_TIME),
            "duration_minutes": _or_null(_WHOLE),
            "metadata": _or_null(
                {"type": "object"},
                "Free-form. Manual logging writes transcript, recording_url, attendees (objects with name and email), "
                "location and provider; synced rows may also carry started_at and ended_at.",
            ),
            "account_id": _or_null(_UUID),
            "deal_id": _or_null(_UUID),
            "contact_id": _or_null(_UUID),
            "owner_id": _or_null(_TEXT, "The subject of the owning rep."),
            "source": _enum(ActivitySource),
            "direction": _or_null(_TEXT),
            "created_at": _TIME,
            "accounts": _or_null(_ref("MeetingAccount")),
            "deals": _or_null(_ref("MeetingDeal")),
            "contacts": _or_null(_ref("MeetingContact")),
        },
        "An activity with type `meeting`.",
    ),
    "MeetingAccount": _object({"id": _UUID, "name": _TEXT, "domain": _or_null(_TEXT)}, "The linked account."),
    "MeetingDeal": _object({"id": _UUID, "name": _TEXT, "stage_id": _or_null(_UUID)}, "The linked deal."),
    "MeetingContact": _object(
        {"id": _UUID, "first_name": _or_null(_TEXT), "last_name": _or_null(_TEXT), "email": _or_null(_TEXT)},
        "The linked contact.",
    ),
    "DealId": _object({"id": _UUID}, "The new deal."),
    "Deal": _object(
        {
            "id": _UUID,
            "org_id": _UUID,
            "owner_id": _or_null(_TEXT, "The subject of the owning rep."),
            "name": _TEXT,
            "account_id": _or_null(_UUID),
            "value": _or_null({"type": "number"}, "Amount in `currency`, exact to four decimals."),
            "stage_id": _or_null(_UUID),
            "close_date": _or_null({"type": "string", "format": "date"}),
            "currency": {**_TEXT, "description": "ISO 4217 code."},
            "geo_scope": _or_null(_enum(GeoScope)),
            "source": _or_null(_TEXT),
            "champion_id": _or_null(_UUID),
            "notes": _or_null(_TEXT),
            "parent_deal_id": _or_null(_UUID),
            "competitors": {"type": "array", "items": _TEXT},
            "status": {**_enum(DealStatus), "description": "The type of the deal's stage; open without a stage."},
            "created_at": _TIME,
            "updated_at": _TIME,
            "version": {**_WHOLE, "description": "Counts the changes; the ETag is this number in quotes."},
        },
        "The full record of a deal.",
    ),
    "LeadId": _object({"lead_id": _UUID}, "The lead of the capture."),
    "Lead": _object(_LEAD, "A person met."),
    "LeadWithPayload": _object(
        {**_LEAD, "capture_payload": _or_null({"type": "object"}, "The raw output of the extraction.")},
        "A person met, with what the scan gave.",
    ),
    "LeadConversionResult": _object(
        {"lead_id": _UUID, "account_id": _or_null(_UUID), "contact_id": _or_null(_UUID), "deal_id": _or_null(_UUID)},
        "What a lead became; null for a deal that was not asked for, and for what was deleted since.",
    ),
    "FeedbackId": _object({"id": _UUID}, "The feedback."),
    "CompetitorDetection": _object(
        {
            "deal_id": _UUID,
            "competitors": {"type": "array", "items": _TEXT, "description": "The deal's competitors now, by name."},
            "detected": {"type": "array", "items": _ref("DetectedCompetitor")},
        },
        "What a detection found; the surest come first.",
    ),
    "DetectedCompetitor": _object(
        {
            "name": _TEXT,
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "evidence": {"type": "array", "items": _ref("CompetitorEvidence"), "maxItems": EVIDENCE_MAX},
        },
        "A competitor of the catalogue that the texts mention.",
    ),
    "CompetitorEvidence": _object(
        {
            "source": {"type": "string", "enum": ["notes", "meeting.subject", "meeting.body", "meeting.transcript"]},
            "source_id": {**_UUID, "description": "The deal or the meeting."},
            "quote": {**_TEXT, "description": "The words around the mention, in one line."},
            "at": _or_null(_TIME, "When the meeting was; null for notes."),
        },
        "A mention.",
    ),
    "HealthSnapshot": _object(
        {
            "id": _UUID,
            "org_id": _UUID,
            "account_id": _UUID,
            "score": _SCORE,
            "trend": _or_null(_enum(HealthTrend), "Against the previous snapshot; null for the first."),
            "data_points": _or_null(_WHOLE, "Number of factors."),
            "snapshot_at": _TIME,
            "factors": {
                "type": "array",
                "items": _ref("HealthFactor"),
                "minItems": HEALTH_FACTORS,
                "maxItems": HEALTH_FACTORS,
            },
        },
        "An account's health at one moment.",
    ),
    "HealthFactor": _object(
        {
            "id": _UUID,
            "org_id": _UUID,
            "account_id": _UUID,
            "health_score_id": _UUID,
            "snapshot_at": _TIME,
            "key": _enum(HealthFactorKey),
            "label": _TEXT,
            "score": _SCORE,
            "weight": {"type": "number"},
            "value": _or_null({"type": "number"}, "What was measured; null without data."),
            "explanation": _TEXT,
            "sample_size": _WHOLE,
        },
        "One of the nine parts of a score.",
    ),
    "LatestHealth": {
        "anyOf": [_ref("HealthSnapshot"), {"type": "object", "maxProperties": 0}],
        "description": "The snapshot, or an empty object for an account that was never scored.",
    },
    "CXReportEdited": _object(
        {
            "job_id": _UUID,
            "run_id": _UUID,
            "result_id": _UUID,
            "revision": {**_WHOLE, "description": "The report's new revision."},
            "status": {"const": "queued"},
            "status_url": {**_TEXT, "description": "The path of the job that renders it."},
        },
        "The queued render of an edited report.",
    ),
    "Job": _object(
        {
            "id": _UUID,
            "org_id": _UUID,
            "kind": {**_TEXT, "description": "What is to be done."},
            "status": {**_enum(JobStatus), "description": "The last three are final."},
            "attempts": {**_WHOLE, "description": "How many were begun."},
            "error": _or_null(_TEXT, "What went wrong in the last attempt that failed, in words for people."),
            "progress": {"type": "number", "minimum": 0, "maximum": 1},
            "created_at": _TIME,
            "started_at": _or_null(_TIME, "When the first attempt began."),
            "finished_at": _or_null(_TIME, "When it succeeded, failed or was superseded."),
        },
        "A piece of work that runs later.",
    ),
    "Campaign": _object(
        {
            "id": _UUID,
            "org_id": _UUID,
            "name": _TEXT,
            "status": _enum(CampaignStatus),
            "status_reason": _or_null(_TEXT, "Why the campaign is blocked."),
            "daily_limit": {**_WHOLE, "description": "Messages a day at most."},
            "timezone": {**_TEXT, "description": "The IANA name of the time zone of its days."},
            "stop_on_reply": {"type": "boolean"},
            "provider": {**_TEXT, "description": "The sequencing provider; `local` sends nothing."},
            "provider_campaign_id": _or_null(_TEXT, "What the provider calls it; null while it is not there."),
            "provider_sync": {**_enum(ProviderSync), "description": "Whether the provider knows what it is now."},
            "created_at": _TIME,
            "updated_at": _TIME,
        },
        "An outreach campaign.",
    ),
    "OutreachDomain": _object(
        {
            "id": _UUID,
            "org_id": _UUID,
            "name": _TEXT,
            "status": _enum(DomainStatus),
            "spf": _or_null({"type": "boolean"}, "Null while it is not known."),
            "dkim": _or_null({"type": "boolean"}, "Null while it is not known."),
            "dmarc": _or_null({"type": "boolean"}, "Null while it is not known."),
            "mailbox_count": _WHOLE,
            "created_at": _TIME,
        },
        "A domain that mailboxes are made on.",
    ),
    "Credential": _object(_CREDENTIAL, "An organization API key or a user personal access token."),
    "NewOrganizationKey": _object(
        {**_CREDENTIAL, "pat_key": {**_TEXT, "description": "`ak_<key_id>.<secret>`, returned this once."}},
        "A new organization API key.",
    ),
    "NewUserToken": _object(
        {**_CREDENTIAL, "pat_key": {**_TEXT, "description": "`pat_<key_id>.<secret>`, returned this once."}},
        "A new user personal access token.",
    ),
    "AccessToken": _object(
        {
            "access_token": _TEXT,
            "issued_token_type": {"const": "urn:ietf:params:oauth:token-type:access_token"},
            "token_type": {"const": "Bearer"},
            "expires_in": {**_WHOLE, "description": "Seconds."},
            "scope": {**_TEXT, "description": "The scopes, separated by spaces."},
            "organization_id": _or_null(_TEXT, "The identity provider's organization id; null without one."),
        },
        "A short-lived access token.",
    ),
    "Liveness": _object({"status": {"const": "ok"}, "version": {"const": VERSION}}, "The process answers."),
    "Readiness": {
        "type": "object",
        "description": "Every dependency; detail, code and request_id are there when one of them is missing.",
        "properties": {
            "status": {"type": "string", "enum": ["ok", "unavailable"]},
            "detail": _TEXT,
            "code": _TEXT,
            "request_id": _TEXT,
            "checks": {
                "type": "array",
                "items": _object(
                    {
                        "name": _TEXT,
                        "ok": {"type": "boolean"},
                        "message": _TEXT,
                        "ms": {"type": "number", "minimum": 0, "description": "How long its answer took."},
                    },
                    "One dependency.",
                ),
            },
        },
        "required": ["status", "checks"],
        "additionalProperties": False,
    },
    "ValidationError": _object(
        {
            "detail": {
                "type": "array",
                "items": _object(
                    {
                        "loc": {"type": "array", "items": {"type": ["string", "integer"]}, "minItems": 1},
                        "msg": _TEXT,
                        "type": _TEXT,
                    },
                    "One thing that is wrong, and where: loc starts with path, query, header or body.",
                ),
            }
        },
        "All that is wrong with the request.",
    ),
    "Error": {
        "type": "object",
        "description": "Any other refusal. The scopes are there where they are what is missing.",
        "properties": {
            "detail": _TEXT,
            "code": _TEXT,
            "request_id": _TEXT,
            "required_scopes": {"type": "array", "items": _TEXT, "description": "Any one of them would do."},
            "granted_scopes": {"type": "array", "items": _TEXT},
        },
        "required": ["detail", "code", "request_id"],
        "additionalProperties": False,
    },
}
