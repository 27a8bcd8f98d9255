"""Has the JSON schemas of the responses that are no record's document (specification part 2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from enum import StrEnum
from typing import Any, Final

from contract.catalog import ColumnKind
from contract.limits import EVIDENCE_MAX, VERSION
from contract.vocabulary import CredentialKind, JobStatus, TaggedKind, TimelineKind
from reports.content import ArtifactKind
from resolvers.tags import TagUsage

JsonObject = dict[str, Any]  # Any: whatever can be written as JSON
Schema = JsonObject

_UUID: Final = {"type": "string", "format": "uuid"}
_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time", "description": "ISO 8601 in UTC."}
_WHOLE: Final = {"type": "integer"}
_NUMBER: Final = {"type": "number"}
_DAY: Final = {"type": "string", "format": "date"}
_SCORE: Final = {"type": "integer", "minimum": 0, "maximum": 100}


def or_null(schema: Schema, description: str | None = None) -> Schema:
    kind = schema.get("type")
    either: Schema = (
        {**schema, "type": [kind, "null"]} if isinstance(kind, str) else {"anyOf": [schema, {"type": "null"}]}
    )
    if "enum" in schema:
        either["enum"] = [*schema["enum"], None]
    return {**either, "description": description} if description else either


def record_schema(properties: dict[str, Schema], description: str) -> Schema:
    """Returns the schema of an object that always has every property."""
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def enumerated(values: Iterable[StrEnum]) -> Schema:
    return {"type": "string", "enum": [value.value for value in values]}


def reference_to(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_CREDENTIAL: Final[dict[str, Schema]] = {
    "id": _UUID,
    "name": _TEXT,
    "key_id": {**_TEXT, "description": "The public part of the credential's text."},
    "hint": {**_TEXT, "description": "The end of the secret, to tell keys apart by."},
    "created_at": _TIME,
    "last_used_at": or_null(_TIME, "Noted at most once a minute."),
    "expires_at": or_null(_TIME),
    "owner_user_id": or_null(_TEXT, "Null on the caller's own."),
    "owner_name": or_null(_TEXT, "Null on the caller's own."),
}

ROW_PROBLEM_SCHEMA: Final = {
    "type": "object",
    "description": "What is wrong with a field of a row.",
    "properties": {
        "field": {
            "type": "array",
            "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "description": "The path within the row; empty for the row as a whole.",
        },
        "msg": {"type": "string"},
        "type": {"type": "string"},
    },
    "required": ["field", "msg", "type"],
}

_COUNTED: Final = ("accounts", "contacts", "deals", "open_deals", "leads", "activities", "open_tasks")

SCHEMAS: Final[dict[str, Schema]] = {
    "LeadId": record_schema({"lead_id": _UUID}, "The lead of the capture."),
    "LeadConversionResult": record_schema(
        {"lead_id": _UUID, "account_id": or_null(_UUID), "contact_id": or_null(_UUID), "deal_id": or_null(_UUID)},
        "What a lead became; null for a deal that was not asked for, and for what was deleted since.",
    ),
    "FeedbackId": record_schema({"id": _UUID}, "The feedback."),
    "CompetitorDetection": record_schema(
        {
            "deal_id": _UUID,
            "competitors": {"type": "array", "items": _TEXT, "description": "The deal's competitors now, by name."},
            "detected": {"type": "array", "items": reference_to("DetectedCompetitor")},
        },
        "What a detection found; the surest come first.",
    ),
    "DetectedCompetitor": record_schema(
        {
            "name": _TEXT,
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "evidence": {"type": "array", "items": reference_to("CompetitorEvidence"), "maxItems": EVIDENCE_MAX},
        },
        "A competitor of the catalogue that the texts mention.",
    ),
    "CompetitorEvidence": record_schema(
        {
            "source": {"type": "string", "enum": ["notes", "meeting.subject", "meeting.body", "meeting.transcript"]},
            "source_id": {**_UUID, "description": "The deal or the meeting."},
            "quote": {**_TEXT, "description": "The words around the mention, in one line."},
            "at": or_null(_TIME, "When the meeting was; null for notes."),
        },
        "A mention.",
    ),
    "LatestHealth": {
        "anyOf": [reference_to("HealthSnapshot"), {"type": "object", "maxProperties": 0}],
        "description": "The snapshot, or an empty object for an account that was never scored.",
    },
    "CXReportEdited": record_schema(
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
    "CXReport": record_schema(
        {
            "run_id": _UUID,
            "result_id": _UUID,
            "revision": {**_WHOLE, "description": "Grows with each edit."},
            "copy_blobs": {"type": "object", "description": "The narrative slots by name."},
            "analysis": {"type": "object", "description": "Findings, benchmarks, and whatever else was put there."},
            "brand": {"type": "object", "description": "How the report looks: company, colors and logo."},
            "bpo_prefix": or_null(_TEXT, "What stands before the title."),
            "updated_at": _TIME,
            "artifacts": {"type": "array", "items": reference_to("CXReportArtifact")},
            "render_status": or_null(enumerated(JobStatus), "Of the job that renders the newest revision."),
        },
        "The customer-experience report of one company.",
    ),
    "CXReportArtifact": record_schema(
        {
            "kind": {**_TEXT, "enum": [kind.value.lower() for kind in ArtifactKind]},
            "revision": {**_WHOLE, "description": "The revision of the report that it shows."},
            "url": {**_TEXT, "description": "Where it is served; whoever knows it may read it."},
            "bytes": _WHOLE,
            "sha256": _TEXT,
            "content_type": _TEXT,
            "rendered_at": _TIME,
        },
        "A file that was rendered of a report.",
    ),
    "DealContactLink": record_schema(
        {
            "deal_id": _UUID,
            "contact_id": _UUID,
            "role": or_null(_TEXT, "What the contact is to the deal."),
            "is_primary": {"type": "boolean", "description": "Whether it is the deal's primary contact."},
            "linked_at": _TIME,
        },
        "How a contact stands on a deal.",
    ),
    "TargetAttainment": record_schema(
        {
            "actual": {**_NUMBER, "description": "The sum of the won deals in the target's currency, or their number."},
            "deals": {**_WHOLE, "description": "How many won deals that is."},
            "ratio": {**_NUMBER, "description": "actual divided by the amount, to four decimals."},
            "remaining": {**_NUMBER, "description": "What is missing; zero when it is reached."},
            "other_currencies": {
                "type": "array",
                "items": record_schema(
                    {"currency": _TEXT, "amount": _NUMBER, "count": _WHOLE}, "Deals of one currency."
                ),
                "description": "Won deals in other currencies: told, never added or converted.",
            },
            "without_value": {**_WHOLE, "description": "Won deals that have no value."},
            "open_pipeline": {**_NUMBER, "description": "Open deals whose close_date lies in the period."},
        },
        "How far a target is reached.",
    ),
    "TagUsage": record_schema(
        {field.name: _WHOLE for field in fields(TagUsage)}, "The number of a tag's records by kind, and of all."
    ),
    "MergedTag": record_schema(
        {"tag": reference_to("Tag"), "moved": {**_WHOLE, "description": "How many records got the tag."}},
        "The tag that stays.",
    ),
    "NotificationEmitted": record_schema(
        {"event_id": {**_UUID, "description": "The event notification_emitted in the change log."}},
        "The notification was recorded and handed over.",
    ),
    "TaggedRecord": record_schema(
        {"id": _UUID, "kind": enumerated(TaggedKind), "tags": {"type": "array", "items": _TEXT}},
        "A record, and the names of its tags.",
    ),
    "FieldChange": record_schema(
        {
            "field": _TEXT,
            "before": {"description": "The value before; texts over 1,000 characters are cut there."},
            "after": {"description": "The value after; texts over 1,000 characters are cut there."},
        },
        "One field of a change.",
    ),
    "RecordChange": record_schema(
        {
            "id": _UUID,
            "at": _TIME,
            "actor": {**_TEXT, "description": "A member's subject, or system."},
            "type": {**_TEXT, "description": "The event's type, such as deal_updated."},
            "fields": {"type": "array", "items": reference_to("FieldChange")},
        },
        "One change of a record.",
    ),
    "TimelineItem": record_schema(
        {
            "id": {**_UUID, "description": "Of the activity, the change or the enrollment."},
            "kind": enumerated(TimelineKind),
            "at": _TIME,
            "actor": or_null(_TEXT),
            "activity": or_null(reference_to("Activity")),
            "deal_id": or_null(_UUID),
            "stage_change": or_null(
                record_schema({"from_stage_id": or_null(_UUID), "to_stage_id": or_null(_UUID)}, "A move.")
            ),
            "change": or_null(
                record_schema(
                    {"type": _TEXT, "fields": {"type": "array", "items": reference_to("FieldChange")}}, "A change."
                )
            ),
            "file_id": or_null(_UUID),
            "enrollment_id": or_null(_UUID),
        },
        "What happened to a record at a moment; what is not of its kind is null.",
    ),
    "AnalyticsCatalog": record_schema(
        {
            "entities": {"type": "array", "items": reference_to("AnalyticsEntity")},
            "tables": {
                "type": "array",
                "items": reference_to("AnalyticsTable"),
                "description": "The tables of ad-hoc SQL; empty where it is not configured.",
            },
            "sql_available": {"type": "boolean", "description": "Whether ad-hoc SQL is configured."},
            "dialect": {"type": "string", "enum": ["sqlite", "postgresql"], "description": "The SQL that is spoken."},
            "functions": {"type": "array", "items": _TEXT, "description": "Functions that a statement may call."},
            "examples": {
                "type": "array",
                "items": _TEXT,
                "description": "Questions that are answered, to begin with.",
            },
        },
        "What can be asked.",
    ),
    "AnalyticsTable": record_schema(
        {"name": _TEXT, "columns": {"type": "array", "items": reference_to("AnalyticsColumn")}},
        "A table of ad-hoc SQL, with the columns that may be read.",
    ),
    "AnalyticsEntity": record_schema(
        {
            "name": {**_TEXT, "description": "For example deals."},
            "description": _TEXT,
            "dimensions": {"type": "array", "items": reference_to("AnalyticsField")},
            "measures": {"type": "array", "items": reference_to("AnalyticsField")},
            "links": {"type": "array", "items": _TEXT, "description": "Entities that it leads to."},
        },
        "A kind of record.",
    ),
    "AnalyticsField": record_schema(
        {
            "name": {**_TEXT, "description": "For example close_date."},
            "description": _TEXT,
            "kind": enumerated(ColumnKind),
            "values": or_null({"type": "array", "items": _TEXT}, "Its values, where they are few and fixed."),
            "is_date": {"type": "boolean", "description": "Whether it has grains."},
        },
        "A dimension or a measure.",
    ),
    "OwnedCounts": record_schema(dict.fromkeys(_COUNTED, _WHOLE), "How many records of each kind."),
    "OwnershipTransferQueued": record_schema(
        {
            "job_id": _UUID,
            "status_url": {**_TEXT, "description": "The path of the job that hands them over."},
            "counts": reference_to("OwnedCounts"),
        },
        "What is handed over, and by which job.",
    ),
    "Viewer": record_schema(
        {
            "subject": _TEXT,
            "name": or_null(_TEXT),
            "email": or_null(_TEXT),
            "credential_kind": enumerated(CredentialKind),
            "organization": or_null(reference_to("Organization"), "The active one."),
            "organizations": {"type": "array", "items": reference_to("Organization")},
            "scopes": {"type": "array", "items": _TEXT},
            "member": or_null(reference_to("Member"), "The caller as a member of the active organization."),
        },
        "The caller.",
    ),
    "Organization": record_schema(
        {"id": {**_TEXT, "description": "What X-Service-Org calls it."}, "name": _TEXT}, "A tenant."
    ),
    "Credential": record_schema(_CREDENTIAL, "An organization API key or a user personal access token."),
    "NewOrganizationKey": record_schema(
        {**_CREDENTIAL, "pat_key": {**_TEXT, "description": "`ak_<key_id>.<secret>`, returned this once."}},
        "A new organization API key.",
    ),
    "NewUserToken": record_schema(
        {**_CREDENTIAL, "pat_key": {**_TEXT, "description": "`pat_<key_id>.<secret>`, returned this once."}},
        "A new user personal access token.",
    ),
    "AccessToken": record_schema(
        {
            "access_token": _TEXT,
            "issued_token_type": {"const": "urn:ietf:params:oauth:token-type:access_token"},
            "token_type": {"const": "Bearer"},
            "expires_in": {**_WHOLE, "description": "Seconds."},
            "scope": {**_TEXT, "description": "The scopes, separated by spaces."},
            "organization_id": or_null(_TEXT, "The identity provider's organization id; null without one."),
        },
        "A short-lived access token.",
    ),
    "Liveness": record_schema({"status": {"const": "ok"}, "version": {"const": VERSION}}, "The process answers."),
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
                "items": record_schema(
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
    "FileLink": record_schema(
        {
            "url": {"type": "string", "description": "The address, which works without a credential."},
            "expires_at": {"type": "string", "format": "date-time", "description": "When it ends."},
        },
        "A link to a file.",
    ),
    "ValidationError": record_schema(
        {
            "detail": {
                "type": "array",
                "items": record_schema(
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
            "run_id": {**_UUID, "description": "The unfinished run that stands in the way."},
            "messages_url": {**_TEXT, "description": "Where the messages of a run are whose events are gone."},
        },
        "required": ["detail", "code", "request_id"],
        "additionalProperties": False,
    },
}
