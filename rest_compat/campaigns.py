"""The campaigns' paths (specification 4.7, 4.8)."""

from __future__ import annotations

from typing import Final

from resolvers.campaigns import delete_campaign, pause_campaign
from rest_compat.documents import Document
from rest_compat.operations import Answer, Call, Operation
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


OPERATIONS: Final = (
    Operation(
        "DELETE",
        "/outreach/campaigns/{campaign_id}",
        delete,
        "Delete a campaign",
        resolver=delete_campaign,
        status=204,
        twin="Mutation.campaignDelete",
        description="First the sequence at the sequencing provider, then the record with its enrollments. A provider "
        "that cannot be reached blocks nothing; what it is left with is removed later.",
        errors=(404,),
    ),
    Operation(
        "POST",
        "/outreach/campaigns/{campaign_id}/pause",
        pause,
        "Pause a campaign",
        resolver=pause_campaign,
        answer=CAMPAIGN,
        twin="Mutation.campaignPause",
        description="Takes effect at once; provider_sync shows whether the sequencing provider knows. One that is "
        "paused stays as it is.",
        errors=(404, 409),
    ),
)
