"""Meetings on the GraphQL surface (specification 2.1, 4.1)."""

from datetime import datetime
from enum import Enum
from typing import Annotated, Any

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from contract.vocabulary import ActivitySource, MeetingState, SortDirection
from resolvers import accounts, contacts, deals, meetings
from schema.accounts import Account, AccountFilter
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.contacts import Contact
from schema.deals import Deal, DealFilter
from schema.declare import Info, argument, enum, linked, operation, resolved, shown
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.filters import Comparator, DateTimeFilter, IDFilter, StringFilter, condition_of, order_of
from schema.inputs import DeletePayload, change, deletion

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


@strawberry.type(description="A meeting: an activity of type `meeting`.")
class Meeting(Node):
    type: str = shown("Always `meeting`.")
    subject: str | None = shown("The title.")
    body: str | None = shown("Free-text notes.")
    due_at: datetime | None = shown("The scheduled time.")
    completed_at: datetime | None = shown("When it was marked done.")
    duration_minutes: int | None = shown("How long it takes, in minutes.")
    metadata: JSON | None = shown("Free-form: transcript, recording_url, attendees, location, provider and the like.")
    account_id: strawberry.ID | None = shown("The account's identifier.")
    deal_id: strawberry.ID | None = shown("The deal's identifier.")
    contact_id: strawberry.ID | None = shown("The contact's identifier.")
    owner_id: str | None = shown("The subject of the owning rep.")
    source: ActivitySource = shown("Where it came from.")
    direction: str | None = shown("Not meaningful for meetings.")
    created_at: datetime = shown("When the record was made.")

    @resolved("What the meeting's times say about it now.", "due_at", "completed_at")
    def state(root: strawberry.Parent[Any]) -> MeetingState:
        return meetings.state_of(root)

    account: Account | None = linked("account", accounts.get_account, "The account.")

    deal: Deal | None = linked("deal", deals.get_deal, "The deal.")

    contact: Contact | None = linked("contact", contacts.get_contact, "The contact.")


class MeetingOrderField(Enum):
    DUE_AT = "due_at"
    CREATED_AT = "created_at"


enum(
    MeetingOrderField,
    "What meetings can be ordered by.",
    DUE_AT="The scheduled time; meetings without one come last in either direction.",
    CREATED_AT="When the record was made.",
)


@strawberry.input(
    description="Meetings without dueAt come last in either direction; createdAt descending, then id, break ties."
)
class MeetingOrder:
    field: MeetingOrderField = shown("What to order by.", default=MeetingOrderField.DUE_AT)
    direction: SortDirection = shown("Which end comes first.", default=SortDirection.DESC)


@strawberry.input(description="Conditions on the source, all of which must hold.")
class ActivitySourceFilter(Comparator):
    eq: ActivitySource | None = shown("Is the value.", default=UNSET)
    neq: ActivitySource | None = shown("Is another than the value.", default=UNSET)
    in_: list[ActivitySource] | None = shown("Is one of these.", name="in", default=UNSET)
    nin: list[ActivitySource] | None = shown("Is none of these.", default=UNSET)


@strawberry.input(description="Conditions on meetings, all of which must hold.")
class MeetingFilter:
    and_: list["MeetingFilter"] | None = shown("All of these hold.", name="and", default=UNSET)
    or_: list["MeetingFilter"] | None = shown("At least one of these holds.", name="or", default=UNSET)
    not_: "MeetingFilter | None" = shown("This does not hold.", name="not", default=UNSET)
    id: IDFilter | None = shown("On the identifier.", default=UNSET)
    due_at: DateTimeFilter | None = shown("On the scheduled time.", default=UNSET)
    completed_at: DateTimeFilter | None = shown("On when it was marked done.", default=UNSET)
    created_at: DateTimeFilter | None = shown("On when the record was made.", default=UNSET)
    subject: StringFilter | None = shown("On the title.", default=UNSET)
    owner_id: StringFilter | None = shown("On the owning rep.", default=UNSET)
    source: ActivitySourceFilter | None = shown("On where it came from.", default=UNSET)
    account_id: IDFilter | None = shown("On the account's identifier.", default=UNSET)
    deal_id: IDFilter | None = shown("On the deal's identifier.", default=UNSET)
    contact_id: IDFilter | None = shown("On the contact's identifier.", default=UNSET)
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


@strawberry.input(description="A meeting logged by hand.")
class MeetingLogInput:
    subject: str = shown("The title, not empty.")
    body: str | None = shown("Free-text notes.", default=UNSET)
    due_at: datetime | None = shown("The scheduled time.", default=UNSET)
    completed_at: datetime | None = shown("When it was done.", default=UNSET)
    duration_minutes: int | None = shown("How long it takes, in minutes.", default=UNSET)
    metadata: MeetingMetadataInput | None = shown("What else is known.", default=UNSET)
    account_id: strawberry.ID | None = shown("The account's identifier.", default=UNSET)
    deal_id: strawberry.ID | None = shown("The deal's identifier.", default=UNSET)
    contact_id: strawberry.ID | None = shown("The contact's identifier.", default=UNSET)


@strawberry.input(description="Changes to a meeting; an explicit null clears a field, an omitted one stays.")
class MeetingUpdateInput:
    subject: str | None = shown("The title, not empty.", default=UNSET)
    body: str | None = shown("Free-text notes.", default=UNSET)
    due_at: datetime | None = shown("The scheduled time.", default=UNSET)
    completed_at: datetime | None = shown("When it was done.", default=UNSET)
    duration_minutes: int | None = shown("How long it takes, in minutes.", default=UNSET)
    metadata: MeetingMetadataInput | None = shown(
        "Keys to set; a null key is removed, and null removes all of them. What synchronisation wrote stays.",
        default=UNSET,
    )
    account_id: strawberry.ID | None = shown("The account's identifier.", default=UNSET)
    deal_id: strawberry.ID | None = shown("The deal's identifier.", default=UNSET)
    contact_id: strawberry.ID | None = shown("The contact's identifier.", default=UNSET)


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
