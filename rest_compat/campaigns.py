"""The campaigns' paths (specification 4.7, 4.8)."""

from __future__ import annotations

from typing import Any

from resolvers.campaigns import delete_campaign, pause_campaign
from rest_compat.operations import Answer, Call


async def delete(call: Call) -> Answer:
    """Nothing: the campaign and its enrollments are gone."""
    await delete_campaign(call.ctx, call.path["campaign_id"])
    return Answer()


async def pause(call: Call) -> Answer:
    """The campaign after the pause."""
    return Answer(document(await pause_campaign(call.ctx, call.path["campaign_id"])))


def document(row: Any) -> dict[str, Any]:
    """The campaign record."""
    return {
        "id": row.id,
        "org_id": row.org_id,
        "name": row.name,
        "status": row.status,
        "status_reason": row.status_reason,
        "daily_limit": row.daily_limit,
        "timezone": row.timezone,
        "stop_on_reply": row.stop_on_reply,
        "provider": row.provider,
        "provider_campaign_id": row.provider_campaign_id,
        "provider_sync": row.provider_sync,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }
