"""Serves the account health paths (specification 2.3, 4.6, 4.11)."""

from __future__ import annotations

from typing import Final

from contract.limits import HEALTH_FACTORS
from resolvers.health import factors_of, latest_health, refresh_health
from rest_compat.documents import Document
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.schemas import JsonObject, reference_to
from storage import tables as t
from storage.rows import HealthSnapshotRow
from storage.tables import HealthSnapshot


async def latest(call: RestRequest) -> RestResponse:
    """Answers with the most recent snapshot; an empty object for an account that was never scored, or is unknown."""
    snapshot = await latest_health(call.ctx, call.path["account_id"], with_factors=True, leads=True)
    return RestResponse({} if snapshot is None else await _document(call, snapshot))


async def refresh(call: RestRequest) -> RestResponse:
    """Computes a new snapshot and answers with it."""
    snapshot = await refresh_health(call.ctx, call.path["account_id"])
    return RestResponse(await _document(call, snapshot))


FACTOR: Final = Document(
    "HealthFactor",
    t.HealthFactor,
    "One of the nine parts of a score.",
    (
        *("id", "org_id", "account_id", "health_score_id", "snapshot_at", "key", "label", "score", "weight", "value"),
        *("explanation", "sample_size"),
    ),
)
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
SNAPSHOT: Final = Document(
    "HealthSnapshot",
    t.HealthSnapshot,
    "An account's health at one moment.",
    ("id", "org_id", "account_id", "score", "trend", "data_points", "snapshot_at"),
    added={
        "factors": {
            "type": "array",
            "items": reference_to("HealthFactor"),
            "minItems": HEALTH_FACTORS,
            "maxItems": HEALTH_FACTORS,
        }
    },
    examples={
        "factors": [
            {**FACTOR.example, "id": f"{FACTOR.example['id'][:-1]}{position}", "key": key, "label": label}
            for position, (key, label) in enumerate(_FACTORS)
        ]
    },
)


async def _document(call: RestRequest, snapshot: HealthSnapshot | HealthSnapshotRow) -> JsonObject:
    factors = await factors_of(call.ctx, snapshot.id)
    return {**SNAPSHOT.of(snapshot), "factors": FACTOR.all_of(factors)}


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/accounts/{account_id}/health/latest",
        latest,
        "Get the latest health snapshot of an account",
        resolver=latest_health,
        answer="LatestHealth",
        graphql_field="Account.health",
        description="An empty object for an account that was never scored.",
    ),
    RestOperation(
        "POST",
        "/accounts/{account_id}/health/refresh",
        refresh,
        "Refresh the health of an account",
        resolver=refresh_health,
        answer=SNAPSHOT,
        graphql_field="Mutation.accountHealthRefresh",
        description="Computes and stores a new snapshot with its nine factors.",
        errors=(404,),
    ),
)
