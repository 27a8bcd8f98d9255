"""The organization's change log on the GraphQL surface (specification part 6)."""

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from resolvers import events, members
from resolvers.shared.lists import PageResult
from schema.connections import After, First, PageInfo, PageOfRows, RowOfPage, edges_of, listing, page_info_of
from schema.declare import Info, argument, computed_field, enum, field, guarded_field, operation_field, subscription
from schema.members import Member
from storage.event_types import EVENT_TYPES, EventType
from storage.rows import EventRow

enum(
    EventType,
    "The types of the service's own events: what happened to what.",
    **{kind.name: f"{kind.value.replace('_', ' ').capitalize()}." for kind in EventType},
)


@strawberry.type(description="Something that happened in the organization.")
class Event:
    id: strawberry.ID = field("The event's identifier.")
    type: str = field("What happened, such as deal_created.")
    actor: str = field("The subject of who did it.")
    occurred_at: datetime = field("When it happened.")
    request_id: str | None = field("The request that did it.")
    data: JSON = field("What it was about.")

    @computed_field("The type as a closed vocabulary; null for a type of the organization's own.", "type")
    def kind(root: strawberry.Parent[EventRow]) -> EventType | None:
        return EventType(root.type) if root.type in EVENT_TYPES else None

    @guarded_field(members.get_member, "Who did it; null for the system and for subjects that are no members.")
    async def actor_member(root: strawberry.Parent[EventRow], info: Info) -> Member | None:
        return await members.get_member(info.context, root.actor)

    @computed_field("Names the event's place in the log, for `after`.")
    def cursor(root: strawberry.Parent[EventRow]) -> str:
        return events.cursor_of(root)


@strawberry.type(description="An event with its cursor.")
class EventEdge(RowOfPage):
    cursor: str = field("Names the event's place in the log, for `after`.")
    node: Event = field("The event.")


@strawberry.type(description="A page of the change log.")
class EventConnection(PageOfRows):
    @computed_field("The events of the page, each with its cursor.")
    def edges(root: strawberry.Parent[PageResult[EventRow]]) -> list[EventEdge]:
        return edges_of(root)

    @computed_field("The events of the page.")
    def nodes(root: strawberry.Parent[PageResult[EventRow]]) -> list[Event]:
        return root.rows

    @computed_field("Whether and where the log goes on.")
    def page_info(root: strawberry.Parent[PageResult[EventRow]]) -> PageInfo:
        return page_info_of(root)


@strawberry.type
class EventQueries:
    @operation_field(
        events.list_changes, "The change log between two moments, oldest first; events are shown as in Query.events."
    )
    async def changes(
        self,
        info: Info,
        since: Annotated[datetime, argument("From this moment on.")],
        until: Annotated[datetime | None, argument("Before this moment; now unless given.")] = UNSET,
        types: Annotated[list[str] | None, argument("Only events of these types.")] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
    ) -> EventConnection:
        return await events.list_changes(
            info.context,
            since,
            None if until is UNSET else until,
            None if types is UNSET else types,
            listing(first=first, after=after).page,
        )

    @operation_field(
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
