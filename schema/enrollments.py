"""Enrollments on the GraphQL surface."""

from typing import Annotated

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from contract.outreach_vocabulary import EnrollmentStatus
from resolvers import contacts, enrollments
from resolvers.outreach_inputs import Enrollments
from schema.connections import Node
from schema.contacts import Contact
from schema.declare import Info, argument, enum, field, guarded_field, operation_field
from schema.errors import UserError
from schema.inputs import DeletePayload, change, deletion, given
from schema.records import record
from storage import tables as t
from storage.rows import EnrollmentRow

enum(
    EnrollmentStatus,
    "How far a campaign has come with one recipient.",
    PENDING="Nothing was sent yet.",
    ACTIVE="Messages are being sent.",
    PAUSED="The provider holds messages back.",
    REPLIED="The recipient has answered.",
    BOUNCED="A message could not be delivered.",
    UNSUBSCRIBED="The recipient wants no more messages.",
    COMPLETED="All messages were sent.",
    FAILED="The provider has given up.",
)


@record(
    t.Enrollment,
    "A recipient of a campaign.",
    hidden=("campaign_id", "contact_id", "email_key", "variables", "step", "next_at", "told_at"),
)
class Enrollment(Node):
    @guarded_field(
        contacts.get_contact, "The contact; null where none was named, or it was deleted since.", "contact_id"
    )
    async def contact(root: strawberry.Parent[EnrollmentRow], info: Info) -> Contact | None:
        return None if root.contact_id is None else await contacts.get_contact(info.context, root.contact_id)


@strawberry.input(description="A recipient to be enrolled.")
class EnrollmentInput:
    email: str = field("The address; once per campaign, whatever its letter case.")
    contact_id: strawberry.ID | None = field("The contact's identifier; once per campaign.", default=UNSET)
    variables: JSON | None = field(
        "What fills the placeholders of the messages: an object of texts, numbers and booleans.", default=UNSET
    )


@strawberry.type(description="Someone who was not enrolled.")
class SkippedEnrollment:
    email: str = field("The address, as it was given.")
    reason: str = field("Why, in words.")


@strawberry.type(description="What became of enrolling recipients.")
class EnrollmentsPayload:
    created: list[Enrollment] = field("The new enrollments, in the order of the request.")
    skipped: list[SkippedEnrollment] = field("Who was not enrolled, and why, in the order of the request.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type
class EnrollmentMutations:
    @operation_field(
        enrollments.enroll_contacts,
        "Enrolls recipients, at most 500 at a time. Whoever is in the campaign already, by address or as a contact, is "
        "skipped, so that it may be repeated.",
    )
    async def enrollments_create(
        self,
        info: Info,
        campaign_id: Annotated[strawberry.ID, argument("The campaign's identifier.")],
        contacts: Annotated[list[EnrollmentInput], argument("The recipients.")],
    ) -> EnrollmentsPayload:
        done, problems = await change(
            info,
            enrollments.enroll_contacts,
            campaign_id,
            model=Enrollments,
            input={"contacts": given(contacts)},
            at=(),
        )
        return EnrollmentsPayload(
            created=list(done.created) if done else [], skipped=list(done.skipped) if done else [], user_errors=problems
        )

    @operation_field(enrollments.remove_enrollment, "Takes a recipient out of its campaign.")
    async def enrollment_remove(
        self, info: Info, id: Annotated[strawberry.ID, argument("The enrollment's identifier.")]
    ) -> DeletePayload:
        return await deletion(info, enrollments.remove_enrollment, id)


MUTATIONS = EnrollmentMutations
