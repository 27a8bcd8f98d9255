"""Serves linking chat channels to records."""

from __future__ import annotations

from typing import Final

from resolvers import integration_channels
from resolvers.integration_channels import ChannelLink
from rest_compat.integration_documents import answer_of
from rest_compat.operations import RestOperation, RestRequest, RestResponse

_PATH: Final = "/integrations/{integration_id}/channels/{channel_id}"


async def link(call: RestRequest) -> RestResponse:
    """Links a channel to an account or a deal."""
    ids = call.path["integration_id"], call.path["channel_id"]
    return await answer_of(call.ctx, await integration_channels.link_channel(call.ctx, *ids, call.body))


async def unlink(call: RestRequest) -> RestResponse:
    """Follows a channel no more."""
    await integration_channels.unlink_channel(call.ctx, call.path["integration_id"], call.path["channel_id"])
    return RestResponse(None, status=204)


OPERATIONS: Final = (
    RestOperation(
        "PUT",
        _PATH,
        link,
        "Link a chat channel to a record",
        resolver=integration_channels.link_channel,
        body=ChannelLink,
        answer="Integration",
        graphql_field="Mutation.integrationChannelLink",
        description="Exactly one of `account_id` and `deal_id`. 404 for a channel that the connection does not see, "
        "409 for a connection that is to no chat provider, 502 where the provider does not go along.",
        example={"account_id": "01993f5e-8c00-7a11-9d52-6f0f3f1c2b03"},
        response_headers=("ETag", "X-Ignored-Fields"),
        errors=(404, 409, 502),
        operation_id="integration_channels_link",
    ),
    RestOperation(
        "DELETE",
        _PATH,
        unlink,
        "Unlink a chat channel",
        resolver=integration_channels.unlink_channel,
        status=204,
        graphql_field="Mutation.integrationChannelUnlink",
        description="Its meetings stay. What is not linked stays so.",
        errors=(404,),
        operation_id="integration_channels_unlink",
    ),
)
