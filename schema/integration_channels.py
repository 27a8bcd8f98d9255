"""Linking chat channels to records, on the GraphQL surface."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from resolvers import integration_channels
from resolvers.integration_channels import ChannelLink
from schema.declare import Info, argument, field, operation_field
from schema.inputs import change
from schema.integrations import IntegrationPayload


@strawberry.input(description="Exactly one of `accountId` and `dealId`.")
class IntegrationChannelLinkInput:
    integration_id: strawberry.ID = field("The connection.")
    channel_id: str = field("The provider's identifier of the channel.")
    account_id: strawberry.ID | None = field("The account.", default=UNSET)
    deal_id: strawberry.ID | None = field("The deal.", default=UNSET)


@strawberry.type
class IntegrationChannelMutations:
    @operation_field(
        integration_channels.link_channel,
        "Says which account or deal a chat channel is about; its huddles become meetings there.",
    )
    async def integration_channel_link(
        self, info: Info, input: Annotated[IntegrationChannelLinkInput, argument("The channel and the record.")]
    ) -> IntegrationPayload:
        ids = input.integration_id, input.channel_id
        changed, problems = await change(info, integration_channels.link_channel, *ids, model=ChannelLink, input=input)
        return IntegrationPayload(integration=changed, user_errors=problems)

    @operation_field(integration_channels.unlink_channel, "Idempotent: what is not linked stays so.")
    async def integration_channel_unlink(
        self,
        info: Info,
        integration_id: Annotated[strawberry.ID, argument("The connection.")],
        channel_id: Annotated[str, argument("The provider's identifier of the channel.")],
    ) -> IntegrationPayload:
        ids = integration_id, channel_id
        changed, problems = await change(info, integration_channels.unlink_channel, *ids)
        return IntegrationPayload(integration=changed, user_errors=problems)


MUTATIONS = IntegrationChannelMutations
