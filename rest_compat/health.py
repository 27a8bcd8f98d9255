"""The account health paths (specification 2.3, 4.6, 4.11)."""

from __future__ import annotations

from typing import Any

from resolvers.health import factors_of, latest_health, refresh_health
from rest_compat.operations import Answer, Call


async def latest(call: Call) -> Answer:
    """The most recent snapshot; an empty object for an account that was never scored, or is unknown."""
    snapshot = await latest_health(call.ctx, call.path["account_id"], with_factors=True)
    return Answer({} if snapshot is None else await _document(call, snapshot))


async def refresh(call: Call) -> Answer:
    """A new snapshot."""
    snapshot = await refresh_health(call.ctx, call.path["account_id"])
    return Answer(await _document(call, snapshot))


async def _document(call: Call, snapshot: Any) -> dict[str, Any]:
    factors = await factors_of(call.ctx, snapshot.id)
    return {
        "id": snapshot.id,
        "org_id": snapshot.org_id,
        "account_id": snapshot.account_id,
        "score": snapshot.score,
        "trend": snapshot.trend,
        "data_points": snapshot.data_points,
        "snapshot_at": snapshot.snapshot_at,
        "factors": [
            {
                "id": factor.id,
                "org_id": factor.org_id,
                "account_id": factor.account_id,
                "health_score_id": factor.health_score_id,
                "snapshot_at": factor.snapshot_at,
                "key": factor.key,
                "label": factor.label,
                "score": factor.score,
                "weight": factor.weight,
                "value": factor.value,
                "explanation": factor.explanation,
                "sample_size": factor.sample_size,
            }
            for factor in factors
        ],
    }
