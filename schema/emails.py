"""E-mails on the GraphQL surface."""

from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.vocabulary import ActivityDirection, ActivityType
from resolvers import emails
from schema.activities import Activity
from schema.connections import Node
from schema.declare import Info, argument, computed_field, field, operation_field
from schema.errors import UserError
from schema.inputs import change
from schema.records import record, record_input
from schema.tags import first_tags
from storage import tables as t
from storage.columns import CREATE, UPDATE
from storage.rows import ActivityRow
from storage.tables.activities import COLUMNS

_COLUMNS = COLUMNS[ActivityType.EMAIL]


@record(
    t.Activity,
    "An e-mail message, logged by a rep or synced. Occurs when it was sent, else when it was logged.",
    only=COLUMNS[ActivityType.EMAIL],
)
class Email(Activity, Node):
    @computed_field("Who wrote to whom.", "direction")
    def direction(root: strawberry.Parent[ActivityRow]) -> ActivityDirection:
        return ActivityDirection(str(root.direction))

    @computed_field("When it was sent.", "due_at")
    def sent_at(root: strawberry.Parent[ActivityRow]) -> datetime | None:
        return root.due_at


@record_input(t.Activity, CREATE, "A message that was sent or received elsewhere.", only=_COLUMNS)
class EmailLogInput:
    """Logs a message."""

    subject: str = field("The title, not empty.")
    direction: ActivityDirection = field("Who wrote to whom.", default=ActivityDirection.OUTBOUND)
    sent_at: datetime | None = field("When it was sent.", default=UNSET)
    to_addresses: list[str] | None = field("The addresses it went to, at most 500.", default=UNSET)
    cc_addresses: list[str] | None = field("The addresses that got a copy, at most 500.", default=UNSET)
    message_id: str | None = field("The Message-ID header; the same again answers the same record.", default=UNSET)
    thread_id: str | None = field("The conversation, in the provider's terms.", default=UNSET)
    tags: list[str] | None = first_tags()


@record_input(
    t.Activity,
    UPDATE,
    "Changes to a logged message; the content of a synced one cannot be changed, its links can.",
    only=_COLUMNS,
)
class EmailUpdateInput:
    """Changes a message."""

    direction: ActivityDirection | None = field("Who wrote to whom.", default=UNSET)
    sent_at: datetime | None = field("When it was sent.", default=UNSET)
    to_addresses: list[str] | None = field("The addresses it went to, at most 500.", default=UNSET)
    cc_addresses: list[str] | None = field("The addresses that got a copy, at most 500.", default=UNSET)


@strawberry.type(description="What became of a change to a message.")
class EmailPayload:
    email: Email | None = field("The message; null where nothing was done.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


EmailId = Annotated[strawberry.ID, argument("The message's identifier.")]


@strawberry.type
class EmailMutations:
    @operation_field(
        emails.log_email,
        "Logs a message with source MANUAL; sends nothing. The same messageId again answers the same record.",
    )
    async def email_log(self, info: Info, input: Annotated[EmailLogInput, argument("The message.")]) -> EmailPayload:
        made, problems = await change(info, emails.log_email, model=emails.EmailLog, input=input)
        return EmailPayload(email=made, user_errors=problems)

    @operation_field(emails.update_email, "Changes what is named; null clears what may be empty.")
    async def email_update(
        self, info: Info, id: EmailId, input: Annotated[EmailUpdateInput, argument("The changes.")]
    ) -> EmailPayload:
        changed, problems = await change(info, emails.update_email, id, model=emails.EmailUpdate, input=input)
        return EmailPayload(email=changed, user_errors=problems)


MUTATIONS = EmailMutations
