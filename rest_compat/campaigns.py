"""The campaigns' paths (specification 4.7, 4.8)."""

from __future__ import annotations

from typing import Final

from resolvers.campaigns import delete_campaign, pause_campaign
from rest_compat.documents import Document
from rest_compat.operations import Answer, Call
from storage import tables as t


async def delete(call: Call) -> Answer:
    """Nothing: the campaign and its enrollments are gone."""
    await delete_campaign(call.ctx, call.path["campaign_id"])
    return Answer()


async def pause(call: Call) -> Answer:
    """The campaign after the pause."""
    return Answer(CAMPAIGN.of(await pause_campaign(call.ctx, call.path["campaign_id"])))


CAMPAIGN: Final = Document(
    "Campaign",
    t.Campaign,
    "An outreach campaign.",
    (
        *("id", "org_id", "name", "status", "status_reason", "daily_limit", "timezone", "stop_on_reply", "provider"),
        *("provider_campaign_id", "provider_sync", "created_at", "updated_at"),
    ),
)
