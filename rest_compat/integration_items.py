"""Serves what connections showed, and what members decide about it and about synchronised meetings."""

from __future__ import annotations

from asyncio import gather
from typing import Annotated, Final

from pydantic import Field

from contract.criteria import Op
from contract.integrations import (
    IntegrationItemOutcome,
    IntegrationSkipReason,
    IntegrationStreamKind,
    SyncedField,
)
from contract.vocabulary import ActivityType
from resolvers import integration_items, meeting_sync
from resolvers.integration_items import Item
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input
from rest_compat.activity_documents import DOCUMENTS
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import ListParameters, Moment, Where
from rest_compat.schemas import JsonObject

_MEETING: Final = DOCUMENTS[ActivityType.MEETING]
_PATH: Final = "/integrations/{integration_id}/items"
_KEYS: Final = (
    *("id", "integration_id", "kind", "outcome", "reason", "explanation"),
    *("starts_at", "ends_at", "all_day", "is_recurring", "decision", "meeting_id"),
)


class ItemsQuery(ListParameters):
    """Has the query parameters of the items of a connection."""

    outcome: Annotated[IntegrationItemOutcome | None, Where()] = Field(default=None, description="Only these.")
    reason: Annotated[IntegrationSkipReason | None, Where()] = Field(default=None, description="Only for this reason.")
    from_: Annotated[Moment | None, Where(Op.GTE, "starts_at")] = Field(
        default=None, alias="from", description="Only what starts at or after this time."
    )
    to: Annotated[Moment | None, Where(Op.LTE, "starts_at")] = Field(
        default=None, description="Only what starts at or before this time."
    )
    subject: Annotated[str | None, Where(Op.CONTAINS, is_folded=True)] = Field(
        default=None, description="Only what has this in its title, letter case aside."
    )


class ReleaseBody(Input):
    """Which fields go back to the provider; all of them unless named."""

    fields: list[SyncedField] | None = None


async def listing(call: RestRequest) -> RestResponse:
    """Lists what a connection showed."""
    query: ItemsQuery = call.query
    page = await integration_items.list_items(call.ctx, call.path["integration_id"], query.listing())
    shown = page.rows if query.limit else []
    return RestResponse(list(await gather(*(_shown(call.ctx, item) for item in shown))))


async def take(call: RestRequest) -> RestResponse:
    """Takes an item anyway."""
    item = await integration_items.take_item(call.ctx, call.path["item_id"], call.path["integration_id"])
    return RestResponse(await _shown(call.ctx, item))


async def ignore(call: RestRequest) -> RestResponse:
    """Leaves an item out."""
    item = await integration_items.ignore_item(call.ctx, call.path["item_id"], call.path["integration_id"])
    return RestResponse(await _shown(call.ctx, item))


async def release(call: RestRequest) -> RestResponse:
    """Gives fields of a meeting back to the provider."""
    body: ReleaseBody = call.body
    meeting = await meeting_sync.release_meeting(call.ctx, call.path["meeting_id"], body.fields)
    [document] = await _MEETING.shown(call.ctx, [meeting])
    return RestResponse(document)


async def _shown(ctx: Context, item: Item) -> JsonObject:
    document = {key: getattr(item, key) for key in _KEYS}
    if item.kind == IntegrationStreamKind.MAIL:  # whose e-mail is no meeting
        document["meeting_id"] = None
    subject = await integration_items.subject_of_item(ctx, item.id)
    seen_at = await integration_items.seen_at_of_item(ctx, item)
    first, rest = {key: document[key] for key in _KEYS[:6]}, {key: document[key] for key in _KEYS[6:]}
    return {**first, "subject": subject, **rest, "seen_at": seen_at}


OPERATIONS: Final = (
    RestOperation(
        "GET",
        _PATH,
        listing,
        "List what a connection showed",
        resolver=integration_items.list_items,
        query=ItemsQuery,
        answer="IntegrationItem",
        many=True,
        graphql_field="Query.integrationItems",
        description="By start, newest first: the ledger of what was taken and what was left out, and why.",
        errors=(404,),
        operation_id="integration_items_listing",
    ),
    RestOperation(
        "POST",
        f"{_PATH}/{{item_id}}/take",
        take,
        "Take an item anyway",
        resolver=integration_items.take_item,
        answer="IntegrationItem",
        graphql_field="Mutation.integrationItemTake",
        description="Now and in every later run. 409 for what is unreadable, a duplicate, or outside of the days that "
        "are followed.",
        errors=(404, 409),
        operation_id="integration_items_take",
    ),
    RestOperation(
        "POST",
        f"{_PATH}/{{item_id}}/ignore",
        ignore,
        "Leave an item out",
        resolver=integration_items.ignore_item,
        answer="IntegrationItem",
        graphql_field="Mutation.integrationItemIgnore",
        description="Now and in every later run; its meeting goes unless another connection shows it.",
        errors=(404, 409),
        operation_id="integration_items_ignore",
    ),
    RestOperation(
        "POST",
        "/activities/meetings/{meeting_id}/sync/release",
        release,
        "Give fields back to the provider",
        resolver=meeting_sync.release_meeting,
        body=ReleaseBody,
        body_required=False,
        answer=_MEETING,
        graphql_field="Mutation.meetingSyncRelease",
        description="All fields that members changed, unless some are named. 409 for a meeting that is not "
        "synchronised.",
        example={"fields": ["subject"]},
        response_headers=("X-Ignored-Fields",),
        errors=(404, 409),
        operation_id="meeting_sync_release",
    ),
)
