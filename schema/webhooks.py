"""Webhooks on the GraphQL surface."""

from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.limits import DELIVERIES_DEFAULT
from resolvers import webhooks
from schema.connections import Node
from schema.declare import Info, argument, field, guarded_field, operation_field, secret_field
from schema.errors import UserError
from schema.inputs import DeletePayload, change, deletion
from storage.rows import WebhookRow


@strawberry.type(description="An attempt to hand an event to a webhook's receiver.")
class WebhookDelivery:
    id: strawberry.ID = field("The attempt's identifier.")
    event_id: strawberry.ID = field("The event's identifier: the webhook-id of the request.")
    attempt: int = field("The number of the attempt at this event: 1 is the first.")
    status_code: int | None = field("The HTTP status that the receiver answered with; null where it did not.")
    error: str | None = field("What was wrong, in words for people.")
    at: datetime = field("When it was.")
    delivered: bool = field("Whether the receiver took the event: it answered 2xx.")


@strawberry.type(description="A receiver that is told of the organization's events by signed requests.")
class Webhook(Node):
    url: str = field("Where the requests go.")
    types: list[str] = field("The types of events that it is told of; empty for all.")
    active: bool = field("Whether it is told of events; it is switched off after three days of failure.")
    created_at: datetime = field("When it was made.")

    @guarded_field(webhooks.deliveries_of_webhook, "The latest attempts, newest first; the last 100 are kept.")
    async def deliveries(
        root: strawberry.Parent[WebhookRow],
        info: Info,
        first: Annotated[int | None, argument("How many, 0 to 100.")] = DELIVERIES_DEFAULT,
    ) -> list[WebhookDelivery]:
        size = DELIVERIES_DEFAULT if first is None else first
        return await webhooks.deliveries_of_webhook(info.context, root.id, size)


@strawberry.input(description="A new webhook.")
class WebhookInput:
    url: str = field("Where the requests go: an https:// address on the public internet, at most 2,000 characters.")
    types: list[str] | None = field("The types of events, such as deal_created; all unless told.", default=UNSET)


@strawberry.type(description="A new webhook.")
class WebhookCreatePayload:
    webhook: Webhook | None = field("The webhook.")
    secret: str | None = secret_field("The secret that its requests are signed with, shown once, here.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type(description="What became of a test.")
class WebhookDeliveryPayload:
    delivery: WebhookDelivery | None = field("The attempt; whether it was delivered is said there.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


WebhookId = Annotated[strawberry.ID, argument("The webhook's identifier.")]


@strawberry.type
class WebhookQueries:
    @operation_field(webhooks.list_webhooks, "The organization's webhooks, newest first.")
    async def webhooks(self, info: Info) -> list[Webhook]:
        return await webhooks.list_webhooks(info.context)


@strawberry.type
class WebhookMutations:
    @operation_field(
        webhooks.create_webhook,
        "Tells a receiver of what happens from now on, by requests signed as Standard Webhooks says, in order and at "
        "least once.",
    )
    async def webhook_create(
        self, info: Info, input: Annotated[WebhookInput, argument("The webhook.")]
    ) -> WebhookCreatePayload:
        made, problems = await change(info, webhooks.create_webhook, model=webhooks.WebhookCreate, input=input)
        return WebhookCreatePayload(webhook=made and made.webhook, secret=made and made.secret, user_errors=problems)

    @operation_field(webhooks.delete_webhook, "Tells a receiver nothing more.")
    async def webhook_delete(self, info: Info, id: WebhookId) -> DeletePayload:
        return await deletion(info, webhooks.delete_webhook, id)

    @operation_field(webhooks.try_webhook, "Hands an event of type webhook_tested to the receiver, now.")
    async def webhook_test(self, info: Info, id: WebhookId) -> WebhookDeliveryPayload:
        delivery, problems = await change(info, webhooks.try_webhook, id)
        return WebhookDeliveryPayload(delivery=delivery, user_errors=problems)


QUERIES, MUTATIONS = WebhookQueries, WebhookMutations
