"""One example for each body and each answer of the description; a test holds them against their schemas."""

from __future__ import annotations

from typing import Any, Final

from contract.limits import VERSION

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
_USER: Final = "user_2mF7"

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

_FACTORS: Final = (
    ("meeting_recency", "Meeting recency"),
    ("meeting_cadence", "Meeting cadence"),
    ("stakeholder_breadth", "Stakeholder breadth"),
    ("champion_presence", "Champion presence"),
    ("pipeline_momentum", "Pipeline momentum"),
    ("deal_outcomes", "Deal outcomes"),
    ("outreach_engagement", "Outreach engagement"),
    ("follow_through", "Follow-through"),
    ("data_completeness", "Data completeness"),
)

_HEALTH: Final = {
    "id": _SNAPSHOT,
    "org_id": _ORGANIZATION,
    "account_id": _ACCOUNT,
    "score": 50,
    "trend": "stable",
    "data_points": 9,
    "snapshot_at": "2026-11-20T09:30:00.250000Z",
    "factors": [
        {
            "id": f"{_FACTOR[:-1]}{position}",
            "org_id": _ORGANIZATION,
            "account_id": _ACCOUNT,
            "health_score_id": _SNAPSHOT,
            "snapshot_at": "2026-11-20T09:30:00.250000Z",
            "key": key,
            "label": label,
            "score": 50,
            "weight": 0.1,
            "value": None,
            "explanation": "No data.",
            "sample_size": 0,
        }
        for position, (key, label) in enumerate(_FACTORS)
    ],
}

_LEAD: Final = {
    "lead_id": _LEAD_ID,
    "id": _LEAD_ID,
    "org_id": _ORGANIZATION,
    "owner_id": _USER,
    "status": "converted",
    "card_id": "card_8841",
    "name": "Ada Park",
    "title": "Head of Operations",
    "company": "Example Industries",
    "company_domain": "example.com",
    "email": "ada@example.com",
    "phone": "+49 30 1234567",
    "linkedin": None,
    "notes": "Met at the fair; wants a pilot in spring.",
    "tags": ["fair", "pilot"],
    "source": "scan_card",
    "disqualified_reason": None,
    "converted_at": "2026-11-20T16:02:31.118000Z",
    "account_id": _ACCOUNT,
    "contact_id": _CONTACT,
    "deal_id": _DEAL,
    "created_at": "2026-11-20T09:30:00Z",
    "updated_at": "2026-11-20T16:02:31.118000Z",
    "version": 2,
}

ANSWERS: Final[dict[str, Any]] = {
    "Meeting": {
        "id": _MEETING,
        "type": "meeting",
        "subject": "Quarterly review",
        "body": "Bring the usage figures.",
        "due_at": "2026-11-24T15:00:00Z",
        "completed_at": None,
        "duration_minutes": 45,
        "metadata": {"location": "Room 4", "attendees": [{"name": "Ada Park", "email": "ada@example.com"}]},
        "account_id": _ACCOUNT,
        "deal_id": _DEAL,
        "contact_id": _CONTACT,
        "owner_id": _USER,
        "source": "manual",
        "direction": None,
        "created_at": "2026-11-20T09:30:00Z",
        "accounts": {"id": _ACCOUNT, "name": "Example Industries", "domain": "example.com"},
        "deals": {"id": _DEAL, "name": "Example renewal", "stage_id": _STAGE},
        "contacts": {"id": _CONTACT, "first_name": "Ada", "last_name": "Park", "email": "ada@example.com"},
    },
    "DealId": {"id": _DEAL},
    "Deal": {
        "id": _DEAL,
        "org_id": _ORGANIZATION,
        "owner_id": _USER,
        "name": "Example renewal",
        "account_id": _ACCOUNT,
        "value": 12500.5,
        "stage_id": _STAGE,
        "close_date": "2026-12-31",
        "currency": "EUR",
        "geo_scope": "regional",
        "source": "referral",
        "champion_id": _CONTACT,
        "notes": None,
        "parent_deal_id": None,
        "competitors": [],
        "status": "open",
        "created_at": "2026-11-20T09:30:00Z",
        "updated_at": "2026-11-20T09:41:12.004000Z",
        "version": 3,
    },
    "LeadId": {"lead_id": _LEAD_ID},
    "Lead": _LEAD,
    "LeadWithPayload": {**_LEAD, "capture_payload": {"engine": "ocr-2", "confidence": 0.93}},
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
    "HealthSnapshot": _HEALTH,
    "LatestHealth": _HEALTH,
    "CXReportEdited": {
        "job_id": _JOB,
        "run_id": _RUN,
        "result_id": _RESULT,
        "revision": 2,
        "status": "queued",
        "status_url": f"/jobs/{_JOB}",
    },
    "Job": {
        "id": _JOB,
        "org_id": _ORGANIZATION,
        "kind": "cx_report_render",
        "status": "succeeded",
        "attempts": 1,
        "error": None,
        "progress": 1.0,
        "created_at": "2026-11-20T09:30:00.120000Z",
        "started_at": "2026-11-20T09:30:00.480000Z",
        "finished_at": "2026-11-20T09:30:02.310000Z",
    },
    "Campaign": {
        "id": _CAMPAIGN,
        "org_id": _ORGANIZATION,
        "name": "Spring outreach",
        "status": "paused",
        "status_reason": None,
        "daily_limit": 50,
        "timezone": "Europe/Paris",
        "stop_on_reply": True,
        "provider": "local",
        "provider_campaign_id": f"local-{_CAMPAIGN}",
        "provider_sync": "pending",
        "created_at": "2026-11-20T09:30:00Z",
        "updated_at": "2026-11-20T09:41:12.004000Z",
    },
    "OutreachDomain": {
        "id": _DOMAIN,
        "org_id": _ORGANIZATION,
        "name": "example.com",
        "status": "active",
        "spf": True,
        "dkim": True,
        "dmarc": None,
        "mailbox_count": 2,
        "created_at": "2026-11-20T09:30:00Z",
    },
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
BODIES: Final[dict[str, dict[str, Any]]] = {
    "DealBody": {
        "name": "Example renewal",
        "value": 12500.5,
        "close_date": "2026-12-31",
        "currency": "EUR",
        "geo_scope": "regional",
    },
    "DealPatch": {"value": 13000, "notes": "They decide in spring.", "close_date": None},
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

VALIDATION: Final[dict[str, Any]] = {"detail": [{"loc": ["body", "name"], "msg": "Field required", "type": "missing"}]}


def refusal(detail: str, code: str) -> dict[str, Any]:
    """The body of any refusal but a 422."""
    return {"detail": detail, "code": code, "request_id": "0b0ee0a4-6d3c-4a4f-9c39-7f3c5a1f9e11"}


NOT_READY: Final[dict[str, Any]] = {
    "status": "unavailable",
    "detail": "database not ready",
    "code": "unavailable",
    "request_id": "0b0ee0a4-6d3c-4a4f-9c39-7f3c5a1f9e11",
    "checks": [{"name": "database", "ok": False, "message": "cannot be reached", "ms": 3.4}],
}
