"""Connections to accounts elsewhere on the GraphQL surface."""

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from contract.integrations import (
    IntegrationProvider,
    IntegrationStatus,
    SyncVisibility,
)
from resolvers import integration_feeds, integration_watch, integrations
from schema import integration_enums as _vocabularies  # noqa: F401  # declares the enums
from schema.connections import After, Before, Connection, First, Last, Offset, listing
from schema.declare import Info, argument, clearing, field, operation_field, subscription
from schema.errors import UserError
from schema.execution.selections import selected_nodes
from schema.filters import Comparator, StringFilter, condition_of
from schema.inputs import change
from schema.integration_types import Integration, IntegrationProviderInfo, IntegrationRun
from schema.jobs import Job


@strawberry.input(description="Which provider.")
class IntegrationProviderFilter(Comparator):
    eq: IntegrationProvider | None = field("Is this.", default=UNSET)
    in_: list[IntegrationProvider] | None = field("Is one of these.", name="in", default=UNSET)


@strawberry.input(description="Conditions on where a connection stands, all of which must hold.")
class IntegrationStatusFilter(Comparator):
    eq: IntegrationStatus | None = field("Is this.", default=UNSET)
    neq: IntegrationStatus | None = field("Is not this.", default=UNSET)
    in_: list[IntegrationStatus] | None = field("Is one of these.", name="in", default=UNSET)
    nin: list[IntegrationStatus] | None = field("Is none of these.", default=UNSET)


@strawberry.input(description="Which connections.")
class IntegrationFilter:
    provider: IntegrationProviderFilter | None = field("Whose account.", default=UNSET)
    status: IntegrationStatusFilter | None = field("Where it stands.", default=UNSET)
    owner_id: StringFilter | None = field("The member whose it is.", default=UNSET)


@strawberry.input(description="A setting that is left out stays, or is the policy's default.")
class IntegrationSettingsInput:
    visibility: SyncVisibility | None = field("What the others see.", default=UNSET)
    auto_create_contacts: bool | None = field("Whether unknown people who take part become contacts.", default=UNSET)
    take_internal: bool | None = field("Whether meetings among colleagues alone are taken.", default=UNSET)


@strawberry.input(description="Exactly one of `url` and `content`.")
class IntegrationFeedInput:
    name: str = field("What the members call it.")
    url: str | None = field("http, https or webcal, on the public internet.", default=UNSET)
    content: str | None = field("iCalendar text, at most 1 MiB; more over REST.", default=UNSET)
    settings: IntegrationSettingsInput | None = field("What its owner chose.", default=UNSET)


@strawberry.input(description="Whether a stream is followed.")
class IntegrationStreamInput:
    id: strawberry.ID = field("The stream.")
    enabled: bool = field("Whether it is followed.")


@clearing
@strawberry.input(description="A field that is left out stays.")
class IntegrationUpdateInput:
    name: str | None = field("What the members call it.", default=UNSET)
    settings: IntegrationSettingsInput | None = field("What its owner chose.", default=UNSET)
    streams: list[IntegrationStreamInput] | None = field("Streams to follow or not; others stay.", default=UNSET)
    expected_version: int | None = field(
        "The version that the caller saw; another one is PRECONDITION_FAILED.", default=UNSET
    )


@strawberry.type(description="What became of a change to a connection.")
class IntegrationPayload:
    integration: Integration | None = field("The connection as it is now; null with userErrors.")
    user_errors: list[UserError] = field("What stands in the way.")


@strawberry.type(description="What became of asking for a run.")
class IntegrationSyncPayload:
    integration: Integration | None = field("The connection as it is now; null with userErrors.")
    run: IntegrationRun | None = field("The run that was queued, or is queued already.")
    user_errors: list[UserError] = field("What stands in the way.")


@strawberry.type(description="What became of a disconnection.")
class IntegrationDisconnectPayload:
    disconnected_id: strawberry.ID | None = field("The connection that is gone.")
    job: Job | None = field("The job that deletes what came, with `deleteSynced`.")
    user_errors: list[UserError] = field("What stands in the way.")


IntegrationId = Annotated[strawberry.ID, argument("The connection.")]


@strawberry.type
class IntegrationQueries:
    @operation_field(
        integrations.list_providers,
        "The providers that can be connected here, and what each still needs from the operator.",
    )
    async def integration_providers(self, info: Info) -> list[IntegrationProviderInfo]:
        return await integrations.list_providers(info.context)

    @operation_field(
        integrations.get_integration,
        "One connection: the caller's own, one of the organization, or any for organizations:manage; else null.",
    )
    async def integration(self, info: Info, id: IntegrationId) -> Integration | None:
        return await integrations.get_integration(info.context, id)

    @operation_field(
        integrations.list_integrations,
        "The caller's own connections and those of the organization; everybody's with `all`, which needs "
        "organizations:manage.",
    )
    async def integrations(
        self,
        info: Info,
        filter: Annotated[IntegrationFilter | None, argument("Which connections.")] = UNSET,
        all: Annotated[bool | None, argument("Everybody's.")] = False,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[Integration]:
        question = listing(condition_of(filter), first=first, after=after, last=last, before=before, offset=offset)
        return await integrations.list_integrations(info.context, question, selected_nodes(info), everybodys=bool(all))


@strawberry.type
class IntegrationMutations:
    @operation_field(
        integration_feeds.connect_feed,
        "Connects an iCalendar feed, by its address or with its content: needs no client id, is ACTIVE at once.",
    )
    async def integration_feed_connect(
        self, info: Info, input: Annotated[IntegrationFeedInput, argument("The feed.")]
    ) -> IntegrationPayload:
        model = integration_feeds.FeedConnect
        return _payload(await change(info, integration_feeds.connect_feed, model=model, input=input))

    @operation_field(integration_feeds.replace_feed, "Replaces the content of an uploaded feed and synchronises it.")
    async def integration_feed_replace(
        self, info: Info, id: IntegrationId, content: Annotated[str, argument("iCalendar text.")]
    ) -> IntegrationPayload:
        text = content.encode("utf-8", "replace")
        return _payload(await change(info, integration_feeds.replace_feed, id, text))

    @operation_field(integrations.update_integration, "Changes the name, the settings and which streams are followed.")
    async def integration_update(
        self, info: Info, id: IntegrationId, input: Annotated[IntegrationUpdateInput, argument("What changes.")]
    ) -> IntegrationPayload:
        model = integrations.IntegrationUpdate
        return _payload(await change(info, integrations.update_integration, id, model=model, input=input))

    @operation_field(
        integrations.pause_integration,
        "Stops synchronising; what came stays. Pausing a paused one changes nothing.",
    )
    async def integration_pause(self, info: Info, id: IntegrationId) -> IntegrationPayload:
        return _payload(await change(info, integrations.pause_integration, id))

    @operation_field(
        integrations.resume_integration, "Goes on from where it was, with everything that changed meanwhile."
    )
    async def integration_resume(self, info: Info, id: IntegrationId) -> IntegrationPayload:
        return _payload(await change(info, integrations.resume_integration, id))

    @operation_field(
        integrations.sync_integration,
        "Synchronises now; `full` reads everything again. A run that is queued already is the answer.",
    )
    async def integration_sync(
        self,
        info: Info,
        id: IntegrationId,
        full: Annotated[bool | None, argument("Whether everything is read again.")] = False,
    ) -> IntegrationSyncPayload:
        queued, problems = await change(info, integrations.sync_integration, id, bool(full))
        return IntegrationSyncPayload(
            integration=queued and queued.integration, run=queued and queued.run, user_errors=problems
        )

    @operation_field(
        integrations.disconnect_integration,
        "Forgets the tokens at once, revokes them at the provider, and removes the connection. What it brought stays, "
        "or goes with `deleteSynced`, except what another connection shows too or a member has worked on.",
    )
    async def integration_disconnect(
        self,
        info: Info,
        id: IntegrationId,
        delete_synced: Annotated[bool | None, argument("Whether what it brought goes too.")] = False,
    ) -> IntegrationDisconnectPayload:
        gone, problems = await change(info, integrations.disconnect_integration, id, bool(delete_synced))
        return IntegrationDisconnectPayload(
            disconnected_id=gone and gone.id, job=gone and gone.job, user_errors=problems
        )


@strawberry.type
class IntegrationSubscriptions:
    @subscription(
        integration_watch.watch_integration,
        "A connection as it is, then whenever its status, problem, progress or counts change; at most once a second.",
    )
    async def integration_updated(self, info: Info, id: IntegrationId) -> AsyncGenerator[Integration, None]:
        return await integration_watch.watch_integration(info.context, id)


def _payload(changed: tuple[Any, Sequence[UserError]]) -> IntegrationPayload:  # Any: a row stands for its type
    integration, problems = changed
    return IntegrationPayload(integration=integration, user_errors=list(problems))


QUERIES, MUTATIONS = IntegrationQueries, IntegrationMutations
