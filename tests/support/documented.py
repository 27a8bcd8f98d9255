"""The keys of the documented records, in their order, copied from the specification and from nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.support.record_types import record_types

MEETING = [
    "id",
    "type",
    "subject",
    "body",
    "due_at",
    "completed_at",
    "duration_minutes",
    "metadata",
    "account_id",
    "deal_id",
    "contact_id",
    "owner_id",
    "source",
    "direction",
    "created_at",
    "accounts",
    "deals",
    "contacts",
]
EMBEDDED = {
    "accounts": ["id", "name", "domain"],
    "deals": ["id", "name", "stage_id"],
    "contacts": ["id", "first_name", "last_name", "email"],
}
DEAL = [
    "id",
    "org_id",
    "owner_id",
    "name",
    "account_id",
    "value",
    "stage_id",
    "close_date",
    "currency",
    "geo_scope",
    "source",
    "champion_id",
    "notes",
    "parent_deal_id",
    "competitors",
    "status",
    "created_at",
    "updated_at",
    "version",
    "closed_at",
    "external_key",
    "tags",
]
ACCOUNT = [
    *("id", "org_id", "owner_id", "name", "domain", "industry", "created_at", "updated_at", "version", "tags"),
    "merged_from",
]
CONTACT = [
    "id",
    "org_id",
    "owner_id",
    "first_name",
    "last_name",
    "email",
    "phone",
    "title",
    "linkedin",
    "account_id",
    "created_at",
    "updated_at",
    "version",
    "tags",
    "merged_from",
]
STAGE = ["id", "name", "position", "type", "probability"]
SNAPSHOT = ["id", "org_id", "account_id", "score", "trend", "data_points", "snapshot_at", "factors"]
FACTOR = [
    "id",
    "org_id",
    "account_id",
    "health_score_id",
    "snapshot_at",
    "key",
    "label",
    "score",
    "weight",
    "value",
    "explanation",
    "sample_size",
]
CAMPAIGN = [
    "id",
    "org_id",
    "name",
    "status",
    "status_reason",
    "daily_limit",
    "timezone",
    "stop_on_reply",
    "provider",
    "provider_campaign_id",
    "provider_sync",
    "created_at",
    "updated_at",
]
OUTREACH_DOMAIN = ["id", "org_id", "name", "status", "spf", "dkim", "dmarc", "mailbox_count", "created_at"]
CREDENTIAL = [
    "id",
    "name",
    "key_id",
    "hint",
    "created_at",
    "last_used_at",
    "expires_at",
    "owner_user_id",
    "owner_name",
]
JOB = [
    "id",
    "org_id",
    "kind",
    "status",
    "attempts",
    "error",
    "progress",
    "created_at",
    "started_at",
    "finished_at",
]
LEAD = [
    "lead_id",
    "id",
    "org_id",
    "owner_id",
    "status",
    "card_id",
    "name",
    "title",
    "company",
    "company_domain",
    "email",
    "phone",
    "linkedin",
    "notes",
    "tags",
    "source",
    "disqualified_reason",
    "converted_at",
    "account_id",
    "contact_id",
    "deal_id",
    "created_at",
    "updated_at",
    "version",
]
CX_REPORT_EDITED = ["job_id", "run_id", "result_id", "revision", "status", "status_url"]
CX_REPORT = [
    "run_id",
    "result_id",
    "revision",
    "copy_blobs",
    "analysis",
    "brand",
    "bpo_prefix",
    "updated_at",
    "artifacts",
    "render_status",
]
ACCESS_TOKEN = ["access_token", "issued_token_type", "token_type", "expires_in", "scope", "organization_id"]
DETECTION = ["deal_id", "competitors", "detected"]
DETECTED = ["name", "confidence", "evidence"]
EVIDENCE = ["source", "source_id", "quote", "at"]
ERROR = ["detail", "code", "request_id"]

_RECORDS = {
    ("/deals", "POST"): ["id"],
    ("/deals", "GET"): DEAL,
    ("/deals/{deal_id}", "GET"): DEAL,
    ("/deals/{deal_id}", "PATCH"): DEAL,
    ("/deals/{deal_id}/contacts", "GET"): [*CONTACT[:-1], "role", "is_primary", "linked_at", "merged_from"],
    ("/deals/{deal_id}/contacts/{contact_id}", "PUT"): ["deal_id", "contact_id", "role", "is_primary", "linked_at"],
    ("/accounts", "GET"): ACCOUNT,
    ("/accounts/{account_id}", "GET"): ACCOUNT,
    ("/contacts", "GET"): CONTACT,
    ("/contacts/{contact_id}", "GET"): CONTACT,
    ("/pipeline-stages", "GET"): STAGE,
    ("/jobs/{job_id}", "GET"): JOB,
    ("/cards/captures/confirm", "POST"): ["lead_id"],
    ("/leads", "GET"): LEAD,
    ("/leads/{lead_id}", "GET"): [*LEAD, "capture_payload"],
    ("/leads/{lead_id}/convert", "POST"): ["lead_id", "account_id", "contact_id", "deal_id"],
    ("/feedback", "POST"): ["id"],
    **{
        (f"/{noun}/upsert", "POST"): ["results", "created", "updated", "unchanged", "failed", "dry_run"]
        for noun in ("accounts", "contacts", "deals", "leads")
    },
    ("/notifications", "POST"): ["event_id"],
    ("/customer-intelligence/runs/{run_id}/results/{result_id}/cx-report", "PATCH"): CX_REPORT_EDITED,
    ("/customer-intelligence/runs/{run_id}/results/{result_id}/cx-report", "GET"): CX_REPORT,
    ("/outreach/campaigns", "GET"): CAMPAIGN,
    ("/outreach/campaigns/{campaign_id}", "GET"): CAMPAIGN,
    ("/outreach/campaigns/{campaign_id}/resume", "POST"): CAMPAIGN,
    ("/outreach/campaigns/{campaign_id}/pause", "POST"): CAMPAIGN,
    ("/outreach/domains", "GET"): OUTREACH_DOMAIN,
    ("/organization-pats", "POST"): [*CREDENTIAL, "pat_key"],
    ("/organization-pats", "GET"): CREDENTIAL,
    ("/organization-pats/{id}", "PATCH"): CREDENTIAL,
    ("/user-pats", "POST"): [*CREDENTIAL, "pat_key"],
    ("/user-pats", "GET"): CREDENTIAL,
    ("/user-pats/{id}", "PATCH"): CREDENTIAL,
    ("/pat/exchange", "POST"): ACCESS_TOKEN,
    ("/health", "GET"): ["status", "version"],
    ("/ready", "GET"): ["status", "checks"],
}


@cache
def _keys() -> dict[tuple[str, str], list[str]]:
    """The keys of every path's answer."""
    return _RECORDS | {path: keys for record in record_types() for path, keys in record.keys.items()}


@cache
def _keys_by_type() -> dict[tuple[str, str], Mapping[str, list[str]]]:
    return {path: keys for record in record_types() for path, keys in record.keys_by_type.items()}


def check_keys(path: str, method: str, status: int, value: Any) -> None:
    """Hold the keys of an answer, and their order, against the documentation."""
    if status == 422:
        assert list(value) == ["detail"]
        assert value["detail"]
        for problem in value["detail"]:
            assert list(problem) == ["loc", "msg", "type"]
            assert problem["loc"][0] in ("path", "query", "header", "body")
        return
    if path == "/ready" and status == 503:
        assert list(value) == ["status", *ERROR, "checks"]
        return
    if status >= 400:
        with_scopes = [*ERROR, "required_scopes", "granted_scopes"]
        assert list(value) == (with_scopes if value["code"] == "forbidden" else ERROR)
        return
    records = value if isinstance(value, list) else [value]
    for record in records:
        if path == "/activities/meetings":
            _check_meeting(record)
        elif path.startswith("/accounts/{account_id}/health"):
            _check_snapshot(path, record)
        elif (by_type := _keys_by_type().get((path, method))) is not None:
            assert list(record) == by_type[record["type"]]
        else:
            assert list(record) == _keys()[path, method]
            for competitor in record.get("detected", ()):
                assert list(competitor) == DETECTED
                assert all(list(evidence) == EVIDENCE for evidence in competitor["evidence"])


def _check_meeting(record: dict[str, Any]) -> None:
    assert list(record) == MEETING
    for name, keys in EMBEDDED.items():
        assert (record[name] is None) == (record[f"{name[:-1]}_id"] is None)
        if record[name] is not None:
            assert list(record[name]) == keys
            assert record[name]["id"] == record[f"{name[:-1]}_id"]


def _check_snapshot(path: str, record: dict[str, Any]) -> None:
    if path.endswith("/latest") and not record:
        return
    assert list(record) == SNAPSHOT
    assert len(record["factors"]) == record["data_points"] == 9
    for factor in record["factors"]:
        assert list(factor) == FACTOR
        assert factor["health_score_id"] == record["id"]
        assert (factor["org_id"], factor["account_id"]) == (record["org_id"], record["account_id"])
        assert factor["snapshot_at"] == record["snapshot_at"]
