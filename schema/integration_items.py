"""Shows the items that a connection brought and what became of them, on the GraphQL surface."""

from datetime import datetime
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from contract.integrations import (
    IntegrationItemDecision,
    IntegrationItemOutcome,
    IntegrationSkipReason,
    IntegrationStreamKind,
)
from resolvers import integration_items, meetings
from resolvers.integration_items import Item
from schema import integration_enums as _vocabularies  # noqa: F401  # declares the enums
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.declare import Info, argument, computed_field, field, guarded_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.filters import Comparator, DateTimeFilter, StringFilter, condition_of
from schema.inputs import change
from schema.links import MeetingLink


@strawberry.type(
    description="An event or message that the provider showed. Its subject is the owner's: others see null where it "
    "was skipped."
)
class IntegrationItem(Node):
    integration_id: strawberry.ID = field("The connection.")
    explanation: str | None = field("The reason in a sentence, with what decided.")
    starts_at: datetime | None = field("Its start.")
    ends_at: datetime | None = field("Its end.")
    all_day: bool = field("Whether it has days instead of times.")
    is_recurring: bool = field("Whether it is one of a series.")

    @computed_field("What kind of stream it came by.", "kind")
    def kind(root: strawberry.Parent[Item]) -> IntegrationStreamKind:
        return IntegrationStreamKind(root.kind)

    @computed_field("Whether it was taken.", "outcome")
    def outcome(root: strawberry.Parent[Item]) -> IntegrationItemOutcome:
        return IntegrationItemOutcome(root.outcome)

    @computed_field("Why it was left out; null where it was taken.", "reason")
    def reason(root: strawberry.Parent[Item]) -> IntegrationSkipReason | None:
        return None if root.reason is None else IntegrationSkipReason(root.reason)

    @guarded_field(
        integration_items.subject_of_item,
        "Its title; null for PRIVATE, and for others than the owner where it was skipped.",
    )
    async def subject(root: strawberry.Parent[Item], info: Info) -> str | None:
        return await integration_items.subject_of_item(info.context, root.id)

    @computed_field("What a member decided; null where nobody did.", "decision")
    def decision(root: strawberry.Parent[Item]) -> IntegrationItemDecision | None:
        return None if root.decision is None else IntegrationItemDecision(root.decision)

    @guarded_field(meetings.get_meeting, "The meeting that it is, or that it is a duplicate of.", "meeting_id")
    async def meeting(root: strawberry.Parent[Item], info: Info) -> MeetingLink | None:
        if root.meeting_id is None or root.kind == IntegrationStreamKind.MAIL:
            return None
        return await meetings.get_meeting(info.context, root.meeting_id, selected(info))

    @computed_field("When the provider last showed it.", "seen_at")
    async def seen_at(root: strawberry.Parent[Item], info: Info) -> datetime:
        return await integration_items.seen_at_of_item(info.context, root)


@strawberry.input(description="Whether an item was taken.")
class IntegrationOutcomeFilter(Comparator):
    eq: IntegrationItemOutcome | None = field("Is this.", default=UNSET)


@strawberry.input(description="Conditions on why an item was left out, all of which must hold.")
class IntegrationReasonFilter(Comparator):
    eq: IntegrationSkipReason | None = field("Is this.", default=UNSET)
    in_: list[IntegrationSkipReason] | None = field("Is one of these.", name="in", default=UNSET)


@strawberry.input(description="Which items.")
class IntegrationItemFilter:
    outcome: IntegrationOutcomeFilter | None = field("Whether it was taken.", default=UNSET)
    reason: IntegrationReasonFilter | None = field("Why it was left out; null where it was taken.", default=UNSET)
    subject: StringFilter | None = field("Its title.", default=UNSET)
    starts_at: DateTimeFilter | None = field("Its start.", default=UNSET)


@strawberry.type(description="What became of a decision about an item.")
class IntegrationItemPayload:
    item: IntegrationItem | None = field("The item as it is now; null with userErrors.")
    user_errors: list[UserError] = field("What stands in the way.")


ItemId = Annotated[strawberry.ID, argument("The item.")]


@strawberry.type
class IntegrationItemQueries:
    @operation_field(
        integration_items.list_items,
        "What the provider showed of one connection and what became of each piece: the ledger of skipped events with "
        "`filter: {outcome: {eq: SKIPPED}}`, or why one event is (not) a meeting by its subject or time. By start, "
        "newest first.",
    )
    async def integration_items(
        self,
        info: Info,
        integration_id: Annotated[strawberry.ID, argument("The connection.")],
        filter: Annotated[IntegrationItemFilter | None, argument("Which items.")] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[IntegrationItem]:
        question = listing(condition_of(filter), first=first, after=after, last=last, before=before, offset=offset)
        return await integration_items.list_items(info.context, integration_id, question, selected_nodes(info))


@strawberry.type
class IntegrationItemMutations:
    @operation_field(
        integration_items.take_item, "Takes a skipped item anyway, now and in every later run; for its owner only."
    )
    async def integration_item_take(self, info: Info, id: ItemId) -> IntegrationItemPayload:
        return _payload(await change(info, integration_items.take_item, id))

    @operation_field(
        integration_items.ignore_item,
        "Leaves an item out, now and in every later run; its meeting goes unless another connection shows it.",
    )
    async def integration_item_ignore(self, info: Info, id: ItemId) -> IntegrationItemPayload:
        return _payload(await change(info, integration_items.ignore_item, id))


def _payload(changed: tuple[Any, list[UserError]]) -> IntegrationItemPayload:  # Any: a row stands for its type
    item, problems = changed
    return IntegrationItemPayload(item=item, user_errors=problems)


QUERIES, MUTATIONS = IntegrationItemQueries, IntegrationItemMutations
