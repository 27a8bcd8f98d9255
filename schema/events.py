"""The organization's change log on the GraphQL surface (specification part 6)."""

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Annotated, Any

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from resolvers import events
from resolvers.lists import PageOf
from schema.connections import After, First, PageInfo, PageOfRows, RowOfPage, edges_of, listing, page_info_of
from schema.declare import Info, argument, operation, resolved, shown, subscription


@strawberry.type(description="Something that happened in the organization.")
class Event:
    id: strawberry.ID = shown("The event's identifier.")
    type: str = shown("What happened, such as deal_created.")
    actor: str = shown("The subject of who did it.")
    occurred_at: datetime = shown("When it happened.")
    request_id: str | None = shown("The request that did it.")
    data: JSON = shown("What it was about.")

    @resolved("Names the event's place in the log, for `after`.")
    def cursor(root: strawberry.Parent[Any]) -> str:
        return events.cursor_of(root)


@strawberry.type(description="An event with its cursor.")
class EventEdge(RowOfPage):
    cursor: str = shown("Names the event's place in the log, for `after`.")
    node: Event = shown("The event.")


@strawberry.type(description="A page of the change log.")
class EventConnection(PageOfRows):
    @resolved("The events of the page, each with its cursor.")
    def edges(root: strawberry.Parent[PageOf]) -> list[EventEdge]:
        return edges_of(root)

    @resolved("The events of the page.")
    def nodes(root: strawberry.Parent[PageOf]) -> list[Event]:
        return root.rows

    @resolved("Whether and where the log goes on.")
    def page_info(root: strawberry.Parent[PageOf]) -> PageInfo:
        return page_info_of(root)


@strawberry.type
class EventQueries:
    @operation(
        events.list_events,
        "The organization's change log, oldest first after the cursor. An event is shown to callers whose scopes cover "
        "its area: CRM events to CRM_READ, outreach ones to OUTREACH_READ, credential and webhook ones to ORG_ADMIN.",
    )
    async def events(
        self,
        info: Info,
        types: Annotated[list[str] | None, argument("Only events of these types.")] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
    ) -> EventConnection:
        return await events.list_events(
            info.context, None if types is UNSET else types, listing(first=first, after=after).page
        )


@strawberry.type
class EventSubscriptions:
    @subscription(
        events.watch_events,
        "The change log as it happens, filtered as Query.events is; `after` resumes without a gap.",
    )
    async def events(
        self,
        info: Info,
        types: Annotated[list[str] | None, argument("Only events of these types.")] = UNSET,
        after: After = UNSET,
    ) -> AsyncGenerator[Event, None]:
        return await events.watch_events(
            info.context, None if types is UNSET else types, None if after is UNSET else after
        )


QUERIES = EventQueries
