"""Says who takes part in a meeting, and where a synchronised one comes from, on the GraphQL surface."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from contract.integrations import IntegrationProvider, ParticipantResponse, SyncedField
from resolvers import contacts, meeting_sync
from resolvers.meeting_sync import Participant
from schema import integration_enums as _vocabularies  # noqa: F401  # declares the enums
from schema.declare import Info, argument, computed_field, field, guarded_field, operation_field
from schema.inputs import change
from schema.links import ContactLink, DealLink
from schema.meetings import MeetingId, MeetingPayload
from storage.rows import SyncedMeetingRow


@strawberry.type(description="Somebody who takes part in a meeting.")
class MeetingParticipant:
    name: str | None = field("As the invitation has it.")
    email: str = field("The address, in the form in which contacts are matched.")
    response: ParticipantResponse = field("Whether the invitation was accepted.")
    is_organizer: bool = field("Whether the meeting is theirs.")

    @computed_field("Whether the address is of an internal domain.", "email")
    async def is_internal(root: strawberry.Parent[Participant], info: Info) -> bool:
        return await meeting_sync.is_internal(info.context, root.email)

    @guarded_field(contacts.get_contact, "The contact with this address.", "email")
    async def contact(root: strawberry.Parent[Participant], info: Info) -> ContactLink | None:
        contact_id = await meeting_sync.contact_of(info.context, root.email)
        return None if contact_id is None else await contacts.get_contact(info.context, contact_id)


@strawberry.type(description="A connection that shows the meeting.")
class MeetingSyncSource:
    integration_id: strawberry.ID = field("The connection.")
    provider: IntegrationProvider = field("Whose account.")
    owner_id: str | None = field("The member whose it is.")
    seen_at: datetime = field("When it was last shown there.")
    url: str | None = field("The event at the provider, for its owner.")


@strawberry.type(description="What synchronisation knows of a meeting.")
class MeetingSync:
    uid: str = field("The identifier that all calendars share.")
    all_day: bool = field("Whether it has days instead of times.")
    time_zone: str | None = field("The zone in which the event was written, of the IANA database.")
    conference_url: str | None = field("Where to join; null where the visibility keeps it back.")
    cancelled_at: datetime | None = field(
        "When the provider said that it does not take place; such a meeting stays only where a member has worked on it."
    )

    @computed_field("The start that this occurrence of a series had at first; null for a single event.")
    def recurrence_id(root: strawberry.Parent[SyncedMeetingRow]) -> str | None:
        return root.recurrence or None

    @computed_field("The fields that members changed: no run writes them.")
    def overridden_fields(root: strawberry.Parent[SyncedMeetingRow]) -> list[SyncedField]:
        return [SyncedField(name) for name in root.overridden]

    @guarded_field(
        meeting_sync.candidates_of_meeting,
        "Open deals that fit equally well, where no single one does.",
        "meeting_id",
    )
    async def deal_candidates(root: strawberry.Parent[SyncedMeetingRow], info: Info) -> list[DealLink]:
        return await meeting_sync.candidates_of_meeting(info.context, root.meeting_id or "")

    @guarded_field(meeting_sync.sources_of_meeting, "The connections that show it, the first one first.", "meeting_id")
    async def sources(root: strawberry.Parent[SyncedMeetingRow], info: Info) -> list[MeetingSyncSource]:
        return await meeting_sync.sources_of_meeting(info.context, root.meeting_id or "")


@strawberry.type
class MeetingSyncMutations:
    @operation_field(
        meeting_sync.release_meeting,
        "Gives fields that a member changed by hand back to the provider, which fills them again; all of them unless "
        "named.",
    )
    async def meeting_sync_release(
        self,
        info: Info,
        id: MeetingId,
        fields: Annotated[list[SyncedField] | None, argument("Which fields.")] = UNSET,
    ) -> MeetingPayload:
        named = None if fields is UNSET else fields
        return _payload(await change(info, meeting_sync.release_meeting, id, named))


def _payload(changed: tuple[Any, Sequence[Any]]) -> MeetingPayload:  # Any: a row stands for its type
    meeting, problems = changed
    return MeetingPayload(meeting=meeting, user_errors=list(problems))


MUTATIONS = MeetingSyncMutations
