"""Has an example for each request and response body of the description; a test validates them."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from contract.canonical_json import sha256_of
from contract.limits import VERSION
from rest_compat.aggregate_schemas import EXAMPLES
from rest_compat.import_schemas import IMPORT_BODY, IMPORT_EXAMPLES
from rest_compat.integration_schemas import EXAMPLES as INTEGRATION_EXAMPLES
from rest_compat.merge_schemas import MERGE_BODY, MERGE_EXAMPLES
from rest_compat.report_schemas import REPORT_EXAMPLES
from rest_compat.schemas import JsonObject
from storage.columns import MADE_AT

_DEAL: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b01"
_ORGANIZATION: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b02"
_ACCOUNT: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b03"
_STAGE: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b04"
_CONTACT: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b05"
_MEETING: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b06"
_SNAPSHOT: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b07"
_FACTOR: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b08"
_CREDENTIAL_ID: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b09"
_JOB: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0a"
_LEAD_ID: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0a"
_FEEDBACK: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0b"
_RUN: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0b"
_RESULT: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0c"
_CAMPAIGN: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b20"
_DOMAIN: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b21"

IDENTIFIERS: Final[dict[str, str]] = {
    "organizations": _ORGANIZATION,
    "accounts": _ACCOUNT,
    "activities": _MEETING,
    "campaigns": _CAMPAIGN,
    "contacts": _CONTACT,
    "deals": _DEAL,
    "health_factors": _FACTOR,
    "health_snapshots": _SNAPSHOT,
    "jobs": _JOB,
    "leads": _LEAD_ID,
    "outreach_domains": _DOMAIN,
    "pipeline_stages": _STAGE,
}
"""The record of each of these tables that the examples are about."""


def identifier_of(table: str) -> str:
    """Returns the identifier of the table's record in the examples; one not listed follows from the table's name."""
    return IDENTIFIERS.get(table) or f"01993f5e-8c00-7a11-9d52-{sha256(table.encode()).hexdigest()[:12]}"


_RESULT_OF_QUESTION: Final = {
    "columns": [
        {"name": "count", "label": "Count", "kind": "integer", "unit": None, "currency_column": None},
    ],
    "rows": [[12]],
    "row_count": 1,
    "truncated": False,
    "sql": {
        "text": "SELECT COUNT(*) AS count FROM deals",
        "parameters": [],
        "dialect": "postgresql",
        "tables": ["deals"],
        "filters": [],
        "digest": "9f2d5b0c8e3a4f10b6a1d7c2e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90a1b",
    },
    "chart": {"kind": "number", "spec": None},
    "duration_ms": 3,
}
EVENT: Final = {
    "id": "8",
    "event": "run_finished",
    "data": '{"status":"succeeded","row_count":1,"truncated":false,"duration_ms":41,"unread":[],"suggestions":[]}',
}
"""The last event of a stream."""

_CREDENTIAL: Final = {
    "id": _CREDENTIAL_ID,
    "name": "Nightly export",
    "key_id": "5b1f0c9e77a2d340",
    "hint": "x9Qw",
    "created_at": "2026-11-20T09:30:00Z",
    "last_used_at": None,
    "expires_at": None,
    "owner_user_id": None,
    "owner_name": None,
}

_ARTIFACT: Final = {
    "kind": "pdf",
    "revision": 2,
    "url": "https://crm.example.com/media/6f2f0d2b9a5e4f21",
    "bytes": 48213,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "content_type": "application/pdf",
    "rendered_at": MADE_AT,
}

_TAG: Final = {"id": identifier_of("tags"), "name": "vip", "color": "#0B3D5C", "created_at": MADE_AT}

_FIELD_CHANGE: Final = {"field": "close_date", "before": None, "after": "2026-12-31"}
_COUNTS: Final = {
    "accounts": 12,
    "contacts": 40,
    "deals": 9,
    "open_deals": 4,
    "leads": 21,
    "activities": 130,
    "open_tasks": 0,
}

_DIMENSION: Final = {
    "name": "status",
    "description": "Open, won or lost.",
    "kind": "text",
    "values": ["open", "won", "lost"],
    "is_date": False,
}
_TABLE: Final[JsonObject] = {
    "name": "competitors",
    "columns": [{"name": "name", "label": "Name", "kind": "text", "unit": None, "currency_column": None}],
}
_ENTITY: Final = {
    "name": "deals",
    "description": "Deals, with their amounts and the way they went.",
    "dimensions": [_DIMENSION],
    "measures": [
        {
            "name": "count",
            "description": "The number of deals.",
            "kind": "integer",
            "values": None,
            "is_date": False,
        }
    ],
    "links": ["account"],
}

_NOTED: Final = {"kind": "deal", "id": _DEAL, "text": "They will sign in May"}
ANSWERS: Final[JsonObject] = {
    "FileLink": {"url": "/files/signed/v1.…", "expires_at": "2026-11-25T09:30:00Z"},
    "LeadId": {"lead_id": _LEAD_ID},
    "LeadConversionResult": {
        "lead_id": _LEAD_ID,
        "account_id": _ACCOUNT,
        "contact_id": _CONTACT,
        "deal_id": _DEAL,
    },
    "FeedbackId": {"id": _FEEDBACK},
    "CompetitorDetection": {
        "deal_id": _DEAL,
        "competitors": ["Northwind"],
        "detected": [
            {
                "name": "Northwind",
                "confidence": 0.8,
                "evidence": [
                    {
                        "source": "meeting.body",
                        "source_id": _MEETING,
                        "quote": "They also have an offer of Northwind.",
                        "at": "2026-11-24T15:00:00Z",
                    }
                ],
            }
        ],
    },
    "CXReportEdited": {
        "job_id": _JOB,
        "run_id": _RUN,
        "result_id": _RESULT,
        "revision": 2,
        "status": "queued",
        "status_url": f"/jobs/{_JOB}",
    },
    "CXReport": {
        "run_id": _RUN,
        "result_id": _RESULT,
        "revision": 2,
        "copy_blobs": {"headline": "Three quick wins"},
        "analysis": {"benchmarks": [{"name": "Peers", "score": 61}]},
        "brand": {"colors": {"primary": "#0b3d5c"}},
        "bpo_prefix": "Nordic CX",
        "updated_at": MADE_AT,
        "artifacts": [_ARTIFACT],
        "render_status": "succeeded",
    },
    "CXReportArtifact": _ARTIFACT,
    "DealContactLink": {
        "deal_id": _DEAL,
        "contact_id": _CONTACT,
        "role": "decision maker",
        "is_primary": True,
        "linked_at": MADE_AT,
    },
    "TargetAttainment": {
        "actual": 62500.5,
        "deals": 3,
        "ratio": 0.25,
        "remaining": 187499.5,
        "other_currencies": [{"currency": "USD", "amount": 1000, "count": 1}],
        "without_value": 0,
        "open_pipeline": 90000,
    },
    "MergedTag": {"tag": _TAG, "moved": 12},
    "FieldChange": _FIELD_CHANGE,
    "RecordChange": {
        "id": _RUN,
        "at": MADE_AT,
        "actor": "user_2mF7",
        "type": "deal_updated",
        "fields": [_FIELD_CHANGE],
    },
    "TimelineItem": {
        "id": _RUN,
        "kind": "change",
        "at": MADE_AT,
        "actor": "user_2mF7",
        "activity": None,
        "deal_id": None,
        "stage_change": None,
        "change": {"type": "deal_updated", "fields": [_FIELD_CHANGE]},
        "file_id": None,
        "enrollment_id": None,
    },
    "Upserted": {
        "results": [
            {"index": 0, "outcome": "created", "id": _DEAL, "external_key": "erp-10293", "errors": []},
            {
                "index": 1,
                "outcome": "failed",
                "id": None,
                "external_key": "erp-10294",
                "errors": [{"field": ["name"], "msg": "Field required", "type": "missing"}],
            },
        ],
        "created": 1,
        "updated": 0,
        "unchanged": 0,
        "failed": 1,
        "dry_run": False,
    },
    "NotificationEmitted": {"event_id": _RUN},
    "TaggedRecord": {"id": _DEAL, "kind": "deal", "tags": ["vip"]},
    "OwnedCounts": _COUNTS,
    "OwnershipTransferQueued": {"job_id": _JOB, "status_url": f"/jobs/{_JOB}", "counts": _COUNTS},
    "AnalyticsCatalog": {
        "entities": [_ENTITY],
        "tables": [_TABLE],
        "sql_available": True,
        "dialect": "postgresql",
        "functions": ["avg", "count"],
        "examples": ["Pipeline value by stage"],
    },
    "AnalyticsTable": _TABLE,
    "AnalyticsColumn": _TABLE["columns"][0],
    "AnalyticsEntity": _ENTITY,
    "AnalyticsResult": _RESULT_OF_QUESTION,
    "ChatThread": {
        "id": _RESULT,
        "org_id": _ORGANIZATION,
        "title": "my open deals",
        "active_run_id": None,
        "created_at": MADE_AT,
        "updated_at": MADE_AT,
        "expires_at": MADE_AT,
    },
    "ChatMessage": {
        "id": _JOB,
        "thread_id": _RESULT,
        "run_id": _RUN,
        "role": "assistant",
        "text": "There is one: Renewal.",
        "citations": [{"start": 14, "end": 21, "kind": "deal", "id": _DEAL, "label": "Renewal"}],
        "created_at": MADE_AT,
    },
    "ChatRun": {
        "id": _RUN,
        "thread_id": _RESULT,
        "status": "succeeded",
        "provider": "embedded",
        "model": None,
        "error_code": None,
        "attempts": 1,
        "input_tokens": 0,
        "output_tokens": 0,
        "points": 3,
        "created_at": MADE_AT,
        "finished_at": MADE_AT,
        "events_url": f"/chat/runs/{_RUN}/events",
    },
    "ChatApproval": {
        "id": _RUN,
        "run_id": _RUN,
        "thread_id": _RESULT,
        "tool": "log_note",
        "operation": "noteCreate",
        "arguments": _NOTED,
        "arguments_sha256": sha256_of({"arguments": _NOTED, "record_version": 3, "tool": "log_note"}),
        "record_version": 3,
        "preview": {
            "kind": "deal",
            "id": _DEAL,
            "label": "Renewal",
            "before": {"note": None},
            "after": {"note": "They will sign in May"},
        },
        "status": "pending",
        "expires_at": MADE_AT,
        "decided_at": None,
        "result": None,
    },
    "ChatUsageDay": {
        "date": "2026-11-24",
        "subject": "user_2mF7",
        "provider": "embedded",
        "model": None,
        "runs": 12,
        "input_tokens": 0,
        "output_tokens": 0,
        "is_estimated": False,
    },
    "ChatTool": {
        "name": "account_health",
        "description": "How an account's relationship is: its score from 0 to 100, where it goes, and why.",
        "input_schema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
        "effect": "read",
        "operations": ["account"],
        "documents": {"account": "query($id: ID!) { account(id: $id) { id name health { score trend } } }"},
    },
    "AnalyticsRun": {
        "id": _RUN,
        "conversation_id": _RESULT,
        "question": "How many deals are open?",
        "status": "succeeded",
        "planner": "parser",
        "plan": {
            "query": {"entity": "deals", "measures": ["count"], "where": [{"field": "status", "value": "open"}]},
            "assumptions": [],
            "follows_run_id": None,
        },
        "result": _RESULT_OF_QUESTION,
        "explanation": "There are 12 deals.",
        "unread": [],
        "suggestions": [],
        "error": None,
        "created_at": MADE_AT,
        "finished_at": MADE_AT,
    },
    "AnalyticsField": _DIMENSION,
    **EXAMPLES,
    **INTEGRATION_EXAMPLES,
    **IMPORT_EXAMPLES,
    **MERGE_EXAMPLES,
    **REPORT_EXAMPLES,
    "Viewer": {
        "subject": "user_2mF7",
        "name": "Ada Park",
        "email": "ada@example.com",
        "credential_kind": "user_token",
        "organization": {"id": "org_2mF7", "name": "Example Sales"},
        "organizations": [{"id": "org_2mF7", "name": "Example Sales"}],
        "scopes": ["contacts:read", "deals:read"],
        "member": None,
    },
    "Organization": {"id": "org_2mF7", "name": "Example Sales"},
    "Credential": _CREDENTIAL,
    "NewOrganizationKey": {
        **_CREDENTIAL,
        "pat_key": "ak_5b1f0c9e77a2d340.the-secret-is-43-characters-shown-only-once",
    },
    "NewUserToken": {**_CREDENTIAL, "pat_key": "pat_5b1f0c9e77a2d340.the-secret-is-43-characters-shown-only-once"},
    "AccessToken": {
        "access_token": "eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl",
        "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "token_type": "Bearer",
        "expires_in": 300,
        "scope": "contacts:read deals:read",
        "organization_id": "org_2mF7",
    },
    "Liveness": {"status": "ok", "version": VERSION},
    "Readiness": {"status": "ok", "checks": [{"name": "database", "ok": True, "message": "reached", "ms": 1.2}]},
}

# They refer to no record, so that they can be tried as they are.
BODIES: Final[dict[str, JsonObject | list[JsonObject]]] = {
    "SalesTargets": [
        {
            "owner_id": "user_2mF7",
            "metric": "won_value",
            "currency": "EUR",
            "period": "quarter",
            "starts_on": "2026-10-01",
            "time_zone": "Europe/Berlin",
            "amount": 250000,
        }
    ],
    "DataImportInput": IMPORT_BODY,
    "MergeInput": MERGE_BODY,
    "ReportRunAsked": {"formats": ["pdf", "spreadsheet"]},
    "AccountsUpsert": {"rows": [{"external_key": "erp-1", "name": "Example Industries", "domain": "example.com"}]},
    "ContactsUpsert": {"rows": [{"email": "ada@example.com", "account_key": "erp-1"}], "match_on": "email"},
    "DealsUpsert": {
        "rows": [{"external_key": "erp-10293", "name": "Example renewal", "value": 12500.5, "account_key": "erp-1"}],
        "policy": "all_or_nothing",
        "dry_run": True,
    },
    "LeadsUpsert": {"rows": [{"external_key": "fair-7", "name": "Ada Park", "tags": ["fair"]}]},
    "NotificationEmit": {"type": "contract_signed", "data": {"pages": 12}, "record_id": _DEAL},
    "TagMerge": {"from": [identifier_of("tags")]},
    "TagsApply": {"ids": [_DEAL], "add": ["vip"], "remove": ["cold"]},
    "CardCapture": {
        "card_id": "card_8841",
        "name": "Ada Park",
        "title": "Head of Operations",
        "company": "Example Industries",
        "company_domain": "example.com",
        "email": "ada@example.com",
        "phone": "+49 30 1234567",
        "notes": "Met at the fair; wants a pilot in spring.",
        "tags": ["fair", "pilot"],
        "capture_payload": {"engine": "ocr-2", "confidence": 0.93},
        "source": "scan_card",
    },
    "LeadConversion": {"deal_name": "Example pilot"},
    "OwnershipTransfer": {"from": "user_2mF7", "to": "user_9kQ1", "open_only": True, "dry_run": True},
    "FeedbackCreate": {"kind": "idea", "message": "Let the board be filtered by owner.", "page": "/deals/board"},
    "CXReportPatch": {
        "copy_blobs": {"headline": "Three quick wins", "next_steps": ["Agree on an owner", "Measure again in spring"]},
        "analysis_patch": {"benchmarks": [{"name": "Peers", "score": 61}]},
        "brand_patch": {"colors": {"primary": "#0b3d5c"}},
        "bpo_prefix": "Nordic CX",
    },
    "CredentialCreate": {"name": "Nightly export"},
    "CredentialRename": {"name": "Weekly export"},
    "ExchangeForm": {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": "pat_5b1f0c9e77a2d340.the-secret-is-43-characters-shown-only-once",
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
    },
}

VALIDATION: Final[JsonObject] = {"detail": [{"loc": ["body", "name"], "msg": "Field required", "type": "missing"}]}


def refusal(detail: str, code: str) -> JsonObject:
    """Returns the body of any error but a 422."""
    return {"detail": detail, "code": code, "request_id": "0b0ee0a4-6d3c-4a4f-9c39-7f3c5a1f9e11"}


NOT_READY: Final[JsonObject] = {
    "status": "unavailable",
    "detail": "database not ready",
    "code": "unavailable",
    "request_id": "0b0ee0a4-6d3c-4a4f-9c39-7f3c5a1f9e11",
    "checks": [{"name": "database", "ok": False, "message": "cannot be reached", "ms": 3.4}],
}
