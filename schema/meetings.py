"""Meetings on the GraphQL surface (specification 2.1, 4.1)."""

from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.vocabulary import ActivityType, MeetingState
from resolvers import meeting_sync, meetings
from schema.accounts import AccountFilter
from schema.activities import Activity, ActivitySourceFilter
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.deals import DealFilter
from schema.declare import Info, argument, computed_field, enum, field, guarded_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.filters import Comparator, condition_of, order_of
from schema.inputs import DeletePayload, change, deletion
from schema.links import MeetingParticipantLink, MeetingSyncLink
from schema.meeting_facts import MeetingFacts, facts_of
from schema.records import record, record_filter, record_input, record_order
from schema.tags import TagsFilter, first_tags, on_tags
from storage import tables as t
from storage.columns import CREATE, UPDATE
from storage.rows import ActivityRow
from storage.tables.activities import COLUMNS

enum(
    MeetingState,
    "What a meeting's times say about it now.",
    UNSCHEDULED="It has no time, and is not done.",
    SCHEDULED="It lies ahead.",
    OVERDUE="Its time has passed, and it is not done.",
    COMPLETED="It is done.",
)


@record(t.Activity, "A meeting: an activity of type `meeting`.", only=COLUMNS[ActivityType.MEETING])
class Meeting(Activity, Node):
    @computed_field("What the meeting's times say about it now.", "due_at", "completed_at")
    def state(root: strawberry.Parent[ActivityRow]) -> MeetingState:
        return meetings.state_of(root)

    @computed_field("What `metadata` says under the documented keys, each with its type.", "metadata")
    def facts(root: strawberry.Parent[ActivityRow]) -> MeetingFacts:
        return facts_of(meetings.metadata_of(root))

    @guarded_field(
        meeting_sync.participants_of_meeting,
        "Who takes part, with the contact of each where the address is one's; empty where the visibility keeps them "
        "back.",
    )
    async def participants(root: strawberry.Parent[ActivityRow], info: Info) -> list[MeetingParticipantLink]:
        return await meeting_sync.participants_of_meeting(info.context, root.id)

    @guarded_field(
        meeting_sync.sync_of_meeting, "Where a synchronised meeting comes from; null for one logged by hand."
    )
    async def sync(root: strawberry.Parent[ActivityRow], info: Info) -> MeetingSyncLink | None:
        return await meeting_sync.sync_of_meeting(info.context, root.id)


@record_order(
    t.Activity,
    by="due_at",
    plural="meetings",
    description="Meetings without dueAt come last in either direction; createdAt descending, then id, break ties.",
)
class MeetingOrder:
    """The order that a list of meetings is asked for in."""


@strawberry.input(description="Conditions on the state of a meeting, all of which must hold.")
class MeetingStateFilter(Comparator):
    eq: MeetingState | None = field("Is this.", default=UNSET)
    neq: MeetingState | None = field("Is not this.", default=UNSET)
    in_: list[MeetingState] | None = field("Is one of these.", name="in", default=UNSET)
    nin: list[MeetingState] | None = field("Is none of these.", default=UNSET)


@record_filter(t.Activity, plural="meetings")
class MeetingFilter:
    """Says which meetings; a link's filter holds for the linked record."""

    tags: TagsFilter | None = on_tags()
    state: MeetingStateFilter | None = field("On what its times say of it at this moment.", default=UNSET)
    source: ActivitySourceFilter | None = field("On where it came from.", default=UNSET)
    account: AccountFilter | None = field("There is an account, and this holds for it.", default=UNSET)
    deal: DealFilter | None = field("There is a deal, and this holds for it.", default=UNSET)


@strawberry.input(description="Someone at a meeting.")
class AttendeeInput:
    name: str | None = field("The name.", default=UNSET)
    email: str | None = field("The e-mail address.", default=UNSET)


@strawberry.input(description="The keys of a meeting's metadata that are written by hand.")
class MeetingMetadataInput:
    transcript: str | None = field("What was said.", default=UNSET)
    recording_url: str | None = field("Where the recording is.", default=UNSET)
    attendees: list[AttendeeInput] | None = field("Who was there.", default=UNSET)
    location: str | None = field("Where it took place.", default=UNSET)
    provider: str | None = field("What carried it.", default=UNSET)


@record_input(t.Activity, CREATE, "A meeting logged by hand.", only=COLUMNS[ActivityType.MEETING])
class MeetingLogInput:
    """Logs a meeting."""

    subject: str = field("The title, not empty.")
    metadata: MeetingMetadataInput | None = field("What else is known.", default=UNSET)
    tags: list[str] | None = first_tags()


@record_input(
    t.Activity,
    UPDATE,
    "Changes to a meeting; an explicit null clears a field, an omitted one stays.",
    only=COLUMNS[ActivityType.MEETING],
)
class MeetingUpdateInput:
    """Changes a meeting."""

    metadata: MeetingMetadataInput | None = field(
        "Keys to set; a null key is removed, and null removes all of them. What synchronisation wrote stays.",
        default=UNSET,
    )


@strawberry.type(description="What became of a change to a meeting.")
class MeetingPayload:
    meeting: Meeting | None = field("The meeting after the change.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


MeetingId = Annotated[strawberry.ID, argument("The meeting's identifier.")]
_DEFAULT_ORDER = MeetingOrder()


@strawberry.type
class MeetingQueries:
    @operation_field(meetings.get_meeting, "One meeting; null where there is none.")
    async def meeting(self, info: Info, id: MeetingId) -> Meeting | None:
        return await meetings.get_meeting(info.context, id, selected(info))

    @operation_field(meetings.list_meetings, "The organization's meetings.")
    async def meetings(
        self,
        info: Info,
        filter: Annotated[MeetingFilter | None, argument("Which meetings.")] = UNSET,
        order_by: Annotated[MeetingOrder | None, argument("In which order.")] = _DEFAULT_ORDER,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[Meeting]:
        question = listing(
            condition_of(filter), order_of(order_by), first=first, after=after, last=last, before=before, offset=offset
        )
        return await meetings.list_meetings(info.context, question, selected_nodes(info))


@strawberry.type
class MeetingMutations:
    @operation_field(
        meetings.log_meeting, "Logs a meeting by hand: source MANUAL, metadata limited to the five documented keys."
    )
    async def meeting_log(
        self, info: Info, input: Annotated[MeetingLogInput, argument("The meeting.")]
    ) -> MeetingPayload:
        made, problems = await change(info, meetings.log_meeting, model=meetings.MeetingLog, input=input)
        return MeetingPayload(meeting=made, user_errors=problems)

    @operation_field(meetings.update_meeting, "Changes a meeting.")
    async def meeting_update(
        self, info: Info, id: MeetingId, input: Annotated[MeetingUpdateInput, argument("The changes.")]
    ) -> MeetingPayload:
        changed, problems = await change(info, meetings.update_meeting, id, model=meetings.MeetingUpdate, input=input)
        return MeetingPayload(meeting=changed, user_errors=problems)

    @operation_field(meetings.complete_meeting, "Marks a meeting done; one that is done already keeps its time.")
    async def meeting_complete(
        self,
        info: Info,
        id: MeetingId,
        at: Annotated[datetime | None, argument("When it was done; now unless told.")] = UNSET,
    ) -> MeetingPayload:
        given = {"at": at or None}
        done, problems = await change(
            info, meetings.complete_meeting, id, model=meetings.MeetingCompletion, input=given, at=()
        )
        return MeetingPayload(meeting=done, user_errors=problems)

    @operation_field(meetings.delete_meeting, "Deletes a meeting.")
    async def meeting_delete(self, info: Info, id: MeetingId) -> DeletePayload:
        return await deletion(info, meetings.delete_meeting, id)


QUERIES, MUTATIONS = MeetingQueries, MeetingMutations
