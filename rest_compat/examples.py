"""One example for each body and each answer of the description; a test holds them against their schemas."""

from __future__ import annotations

from hashlib import sha256
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
    """The record of any table that the examples are about; one that is not listed follows from the table's name."""
    return IDENTIFIERS.get(table) or f"01993f5e-8c00-7a11-9d52-{sha256(table.encode()).hexdigest()[:12]}"


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

ANSWERS: Final[dict[str, Any]] = {
    "DealId": {"id": _DEAL},
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
