"""Webhooks: who is told of the organization's events (specification part 8; decisions 68 to 71)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field, StrictStr

from contract.errors import NotFound, Problem, Problems
from contract.limits import DELIVERIES_KEPT, WEBHOOK_URL_MAX, WEBHOOKS_MAX
from contract.scopes import ScopeGroup
from identity.webhook_secrets import webhook_secret
from jobs.queue import supersede
from jobs.webhooks import KIND, TESTED, call
from providers.outbound import NotAllowed
from resolvers.events import areas_of
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, bounded, storable
from storage.base import as_uuid
from storage.event_types import EVENT_TYPES
from storage.new_rows import new_row
from storage.queries import events as log
from storage.queries import jobs, listables, records
from storage.queries import webhooks as statements
from storage.rows import WebhookDeliveryRow, WebhookRow
from storage.tables import Webhook, WebhookDelivery, WebhookWatch


def _known(type: str) -> str:
    if type not in EVENT_TYPES:
        raise ValueError("is no type of event")
    return type


class WebhookCreate(Input):
    """A receiver, of events of these types or of all."""

    url: Annotated[str, bounded(WEBHOOK_URL_MAX, 1), AfterValidator(storable)]
    types: (
        Annotated[list[Annotated[StrictStr, AfterValidator(_known)]], Field(min_length=1, max_length=len(EVENT_TYPES))]
        | None
    ) = None


@dataclass(frozen=True, slots=True)
class Created:
    """A new webhook with its secret, which is shown this once."""

    webhook: Webhook
    secret: str


@requires(ScopeGroup.ORG_ADMIN, finds=(listables.WEBHOOKS,))
async def list_webhooks(ctx: Context) -> Sequence[WebhookRow]:
    """The organization's webhooks, newest first."""
    async with ctx.reading() as session:
        return await records.all_of(session, listables.WEBHOOKS)


@requires(ScopeGroup.ORG_ADMIN)
async def deliveries_of_webhook(ctx: Context, webhook_id: str, first: int) -> Sequence[WebhookDeliveryRow]:
    """The latest attempts, newest first. Raises Problems for a number out of range."""
    if not 0 <= first <= DELIVERIES_KEPT:
        raise Problems([Problem(("first",), f"must lie between 0 and {DELIVERIES_KEPT}", "range")])

    async def load(ids: list[str]) -> list[Sequence[WebhookDeliveryRow]]:
        async with ctx.reading() as session:
            found = await statements.deliveries(session, ids, first)
        return [found[i] for i in ids]

    return await ctx.loader(("deliveries", first), load).load(webhook_id)


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def create_webhook(ctx: Context, input: WebhookCreate) -> Created:
    """Tell a receiver of what happens from now on, in the areas that the caller sees. Raises Problems."""
    await _check_url(ctx, input.url)
    webhook = new_row(
        Webhook,
        org_id=ctx.org_id,
        url=input.url,
        types=list(dict.fromkeys(input.types or ())),
        areas=areas_of(ctx),
        cursor=0,
        created_by=ctx.caller.subject,
    )
    async with ctx.writing() as session:
        await records.lock_organization(session)
        if await statements.number(session) >= WEBHOOKS_MAX:
            raise Problems([Problem(("input",), f"there can be at most {WEBHOOKS_MAX} webhooks", "too_long")])
        await session.insert(webhook)
        await session.insert(WebhookWatch(org_id=ctx.org_id, webhook_id=webhook.id))
        await changes.append_event(ctx, session, "webhook_created", {"webhook_id": webhook.id}, area="admin")
        webhook = await session.update(webhook, cursor=await log.last_sequence(session))
    ctx.forget()
    return Created(webhook, webhook_secret(ctx.services.identity.pepper, ctx.org_id, webhook.id))


async def _check_url(ctx: Context, url: str) -> None:
    outbound = ctx.services.outbound
    try:
        await outbound.check(url)
    except NotAllowed as error:
        raise Problems([Problem(("input", "url"), str(error), "url")]) from None
    if not url.lower().startswith("https://") and not outbound.allows_loopback:
        raise Problems([Problem(("input", "url"), "must start with https://", "url")])


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def delete_webhook(ctx: Context, webhook_id: str) -> str:
    """Tell a receiver nothing more; what it was still to be told is dropped."""
    async with ctx.writing() as session:
        waiting = await jobs.unfinished(session, KIND, as_uuid(webhook_id))
        if waiting is not None:  # a run locks its place in the queue before the webhook, and so does this
            await supersede(session, waiting.id)
        webhook = await statements.find(session, webhook_id, lock=True)
        if webhook is None:
            raise NotFound(field=("id",))
        await session.delete(webhook)
        await changes.append_event(ctx, session, "webhook_deleted", {"webhook_id": webhook.id}, area="admin")
    ctx.forget()
    return webhook.id


@requires(ScopeGroup.ORG_ADMIN)
async def try_webhook(ctx: Context, webhook_id: str) -> WebhookDelivery:
    """Hand a `webhook_tested` event to the receiver now, whether or not the webhook is on; what came of it."""
    async with ctx.writing() as session:
        webhook = await statements.find(session, webhook_id)
        if webhook is None:
            raise NotFound(field=("id",))
        event = await changes.append_event(ctx, session, TESTED, {"webhook_id": webhook.id}, area="admin")
    result = await call(ctx.services.outbound, ctx.services.identity.pepper, ctx.org_id, webhook, event)
    delivery = result.of(webhook.id, event, 1)
    async with ctx.writing() as session:
        if await statements.find(session, webhook.id, lock=True) is None:
            raise NotFound(field=("id",))
        await statements.log(session, delivery)
    ctx.forget()
    return delivery
