"""Has an example for each request and response body of the description; a test validates them."""

from __future__ import annotations

from typing import Final

from contract.limits import VERSION
from resolvers.shared.sentences import REQUIRED
from rest_compat.aggregate_schemas import EXAMPLES
from rest_compat.analytics_examples import ANSWERS as ANALYTICS_ANSWERS
from rest_compat.chat_examples import ANSWERS as CHAT_ANSWERS
from rest_compat.example_identifiers import (
    ACCOUNT,
    CONTACT,
    CREDENTIAL_ID,
    DEAL,
    FEEDBACK,
    JOB,
    LEAD_ID,
    MEETING,
    RESULT,
    RUN,
    identifier_of,
)
from rest_compat.export_schemas import EXPORT_BODY, EXPORT_EXAMPLES
from rest_compat.import_schemas import IMPORT_BODY, IMPORT_EXAMPLES
from rest_compat.integration_schemas import EXAMPLES as INTEGRATION_EXAMPLES
from rest_compat.merge_schemas import MERGE_BODY, MERGE_EXAMPLES
from rest_compat.report_schemas import REPORT_EXAMPLES
from rest_compat.schemas import JsonObject
from storage.columns import MADE_AT

MEDIA_KEY: Final = "6f2f0d2b9a5e4f21"
LINK_TOKEN: Final = "v1.01993f5e8c007a119d526f0f3f1c2b02.01993f5e8c007a119d523d7db37d08f9.1795599000.0.kQ7d2wXy"

_CREDENTIAL: Final = {
    "id": CREDENTIAL_ID,
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
    "url": f"https://crm.example.com/media/{MEDIA_KEY}",
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


ANSWERS: Final[JsonObject] = {
    **ANALYTICS_ANSWERS,
    **CHAT_ANSWERS,
    "FileLink": {"url": f"/files/signed/{LINK_TOKEN}", "expires_at": "2026-11-25T09:30:00Z"},
    "LeadId": {"lead_id": LEAD_ID},
    "LeadConversionResult": {
        "lead_id": LEAD_ID,
        "account_id": ACCOUNT,
        "contact_id": CONTACT,
        "deal_id": DEAL,
    },
    "FeedbackId": {"id": FEEDBACK},
    "CompetitorDetection": {
        "deal_id": DEAL,
        "competitors": ["Northwind"],
        "detected": [
            {
                "name": "Northwind",
                "confidence": 0.8,
                "evidence": [
                    {
                        "source": "meeting.body",
                        "source_id": MEETING,
                        "quote": "They also have an offer of Northwind.",
                        "at": "2026-11-24T15:00:00Z",
                    }
                ],
            }
        ],
    },
    "CXReportEdited": {
        "job_id": JOB,
        "run_id": RUN,
        "result_id": RESULT,
        "revision": 2,
        "status": "queued",
        "status_url": f"/jobs/{JOB}",
    },
    "CXReport": {
        "run_id": RUN,
        "result_id": RESULT,
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
        "deal_id": DEAL,
        "contact_id": CONTACT,
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
        "id": RUN,
        "at": MADE_AT,
        "actor": "user_2mF7",
        "type": "deal_updated",
        "fields": [_FIELD_CHANGE],
    },
    "TimelineItem": {
        "id": RUN,
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
            {"index": 0, "outcome": "created", "id": DEAL, "external_key": "erp-10293", "errors": []},
            {
                "index": 1,
                "outcome": "failed",
                "id": None,
                "external_key": "erp-10294",
                "errors": [{"field": ["name"], "msg": REQUIRED, "type": "missing"}],
            },
        ],
        "created": 1,
        "updated": 0,
        "unchanged": 0,
        "failed": 1,
        "dry_run": False,
    },
    "NotificationEmitted": {"event_id": RUN},
    "TaggedRecord": {"id": DEAL, "kind": "deal", "tags": ["vip"]},
    "OwnedCounts": _COUNTS,
    "OwnershipTransferQueued": {"job_id": JOB, "status_url": f"/jobs/{JOB}", "counts": _COUNTS},
    **EXAMPLES,
    **INTEGRATION_EXAMPLES,
    **EXPORT_EXAMPLES,
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
    "DataExportBody": EXPORT_BODY,
    "DataImportInput": IMPORT_BODY,
    "MergeInput": MERGE_BODY,
    "ReportRunAsked": {"formats": ["pdf", "spreadsheet"]},
    "ReportEmail": {
        "to": ["ada@example.com"],
        "subject": "Pipeline by stage",
        "message": "For Monday.",
        "formats": ["pdf", "spreadsheet"],
    },
    "AccountsUpsert": {"rows": [{"external_key": "erp-1", "name": "Example Industries", "domain": "example.com"}]},
    "ContactsUpsert": {"rows": [{"email": "ada@example.com", "account_key": "erp-1"}], "match_on": "email"},
    "DealsUpsert": {
        "rows": [{"external_key": "erp-10293", "name": "Example renewal", "value": 12500.5, "account_key": "erp-1"}],
        "policy": "all_or_nothing",
        "dry_run": True,
    },
    "LeadsUpsert": {"rows": [{"external_key": "fair-7", "name": "Ada Park", "tags": ["fair"]}]},
    "NotificationEmit": {"type": "contract_signed", "data": {"pages": 12}, "record_id": DEAL},
    "TagMerge": {"from": [identifier_of("tags")]},
    "TagsApply": {"ids": [DEAL], "add": ["vip"], "remove": ["cold"]},
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

VALIDATION: Final[JsonObject] = {"detail": [{"loc": ["body", "name"], "msg": REQUIRED, "type": "missing"}]}


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
