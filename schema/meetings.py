"""Meetings on the GraphQL surface (specification 2.1, 4.1)."""

from datetime import datetime
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from contract.vocabulary import ActivitySource, MeetingState
from resolvers import accounts, contacts, deals, meetings
from schema.accounts import Account, AccountFilter
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.contacts import Contact
from schema.deals import Deal, DealFilter
from schema.declare import Info, argument, enum, linked, operation, resolved, shown
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.filters import Comparator, condition_of, order_of
from schema.inputs import DeletePayload, change, deletion
from schema.records import record, record_filter, record_input, record_order
from storage import tables as t
from storage.columns import CREATE, UPDATE

enum(
    ActivitySource,
    "Where an activity came from.",
    MANUAL="Logged by hand.",
    IMPORT="Imported from a file.",
    CALENDAR="Synchronised from a calendar.",
    GMAIL="Synchronised from Gmail.",
    OUTLOOK="Synchronised from Outlook.",
    SLACK="Synchronised from Slack.",
    ZOOM="Synchronised from Zoom.",
)
enum(
    MeetingState,
    "What a meeting's times say about it now.",
    UNSCHEDULED="It has no time, and is not done.",
    SCHEDULED="It lies ahead.",
    OVERDUE="Its time has passed, and it is not done.",
    COMPLETED="It is done.",
)


@record(t.Activity, "A meeting: an activity of type `meeting`.")
class Meeting(Node):
    @resolved("What the meeting's times say about it now.", "due_at", "completed_at")
    def state(root: strawberry.Parent[Any]) -> MeetingState:
        return meetings.state_of(root)

    account: Account | None = linked("account", accounts.get_account, "The account.")

    deal: Deal | None = linked("deal", deals.get_deal, "The deal.")

    contact: Contact | None = linked("contact", contacts.get_contact, "The contact.")


@record_order(
    t.Activity,
    by="due_at",
    plural="meetings",
    description="Meetings without dueAt come last in either direction; createdAt descending, then id, break ties.",
)
class MeetingOrder:
    """The order that a list of meetings is asked for in."""


@strawberry.input(description="Conditions on the source, all of which must hold.")
class ActivitySourceFilter(Comparator):
    eq: ActivitySource | None = shown("Is the value.", default=UNSET)
    neq: ActivitySource | None = shown("Is another than the value.", default=UNSET)
    in_: list[ActivitySource] | None = shown("Is one of these.", name="in", default=UNSET)
    nin: list[ActivitySource] | None = shown("Is none of these.", default=UNSET)


@record_filter(t.Activity, plural="meetings")
class MeetingFilter:
    """Which meetings; a link's filter holds for the linked record."""

    source: ActivitySourceFilter | None = shown("On where it came from.", default=UNSET)
    account: AccountFilter | None = shown("There is an account, and this holds for it.", default=UNSET)
    deal: DealFilter | None = shown("There is a deal, and this holds for it.", default=UNSET)


@strawberry.input(description="Someone at a meeting.")
class AttendeeInput:
    name: str | None = shown("The name.", default=UNSET)
    email: str | None = shown("The e-mail address.", default=UNSET)


@strawberry.input(description="The keys of a meeting's metadata that are written by hand.")
class MeetingMetadataInput:
    transcript: str | None = shown("What was said.", default=UNSET)
    recording_url: str | None = shown("Where the recording is.", default=UNSET)
    attendees: list[AttendeeInput] | None = shown("Who was there.", default=UNSET)
    location: str | None = shown("Where it took place.", default=UNSET)
    provider: str | None = shown("What carried it.", default=UNSET)


@record_input(t.Activity, CREATE, "A meeting logged by hand.")
class MeetingLogInput:
    """Logs a meeting."""

    subject: str = shown("The title, not empty.")
    metadata: MeetingMetadataInput | None = shown("What else is known.", default=UNSET)


@record_input(t.Activity, UPDATE, "Changes to a meeting; an explicit null clears a field, an omitted one stays.")
class MeetingUpdateInput:
    """Changes a meeting."""

    metadata: MeetingMetadataInput | None = shown(
        "Keys to set; a null key is removed, and null removes all of them. What synchronisation wrote stays.",
        default=UNSET,
    )


@strawberry.type(description="What became of a change to a meeting.")
class MeetingPayload:
    meeting: Meeting | None = shown("The meeting after the change.")
    user_errors: list[UserError] = shown("What stood in the way; empty when it worked.")


MeetingId = Annotated[strawberry.ID, argument("The meeting's identifier.")]
_DEFAULT_ORDER = MeetingOrder()


@strawberry.type
class MeetingQueries:
    @operation(meetings.get_meeting, "One meeting; null where there is none.")
    async def meeting(self, info: Info, id: MeetingId) -> Meeting | None:
        return await meetings.get_meeting(info.context, id, selected(info))

    @operation(meetings.list_meetings, "The organization's meetings.")
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
    @operation(
        meetings.log_meeting, "Logs a meeting by hand: source MANUAL, metadata limited to the five documented keys."
    )
    async def meeting_log(
        self, info: Info, input: Annotated[MeetingLogInput, argument("The meeting.")]
    ) -> MeetingPayload:
        made, problems = await change(info, meetings.log_meeting, model=meetings.MeetingLog, input=input)
        return MeetingPayload(meeting=made, user_errors=problems)

    @operation(meetings.update_meeting, "Changes a meeting.")
    async def meeting_update(
        self, info: Info, id: MeetingId, input: Annotated[MeetingUpdateInput, argument("The changes.")]
    ) -> MeetingPayload:
        changed, problems = await change(info, meetings.update_meeting, id, model=meetings.MeetingUpdate, input=input)
        return MeetingPayload(meeting=changed, user_errors=problems)

    @operation(meetings.complete_meeting, "Marks a meeting done; one that is done already keeps its time.")
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

    @operation(meetings.delete_meeting, "Deletes a meeting.")
    async def meeting_delete(self, info: Info, id: MeetingId) -> DeletePayload:
        return await deletion(info, meetings.delete_meeting, id)


QUERIES, MUTATIONS = MeetingQueries, MeetingMutations
