"""Mails on the GraphQL surface."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.vocabulary import MailStatus, ReportFormat
from resolvers import mails
from schema.connections import Node
from schema.declare import Info, argument, computed_field, enum, field, operation_field
from schema.execution.selections import selected
from schema.inputs import change
from schema.records import record
from schema.report_runs import ReportRunPayload, payload
from storage import tables as t
from storage.rows import MailRow

enum(
    MailStatus,
    "Where a message stands.",
    QUEUED="It waits.",
    SENT="The mail server took it.",
    FAILED="It was given up.",
)


@record(
    t.Mail,
    "A message that the service sends.",
    hidden=("recipients", "body", "file_ids", "asked_by", "reached", "refused"),
)
class Mail(Node):
    @computed_field("The addresses.", "recipients")
    def to(root: strawberry.Parent[MailRow]) -> list[str]:
        return root.recipients


@strawberry.input(description="To whom a report goes, and with which words.")
class ReportEmailInput:
    to: list[str] = field("1 to 20 addresses: members' of the organization; any address for ORG_ADMIN.")
    subject: str | None = field("The report's name unless told.", default=UNSET)
    message: str | None = field("Plain text, at most 10,000 characters.", default=UNSET)
    formats: list[ReportFormat] = field("Which files, each once.", default_factory=lambda: [ReportFormat.PDF])


@strawberry.type
class MailQueries:
    @operation_field(mails.get_mail, "A message by its id.")
    async def mail(
        self, info: Info, id: Annotated[strawberry.ID, argument("The message's identifier.")]
    ) -> Mail | None:
        return await mails.get_mail(info.context, id, selected(info))


@strawberry.type
class MailMutations:
    @operation_field(
        mails.email_report, "Renders and mails, once, however often it is retried under one idempotency key."
    )
    async def report_email(
        self,
        info: Info,
        id: Annotated[strawberry.ID, argument("The report's identifier.")],
        input: Annotated[ReportEmailInput, argument("To whom it goes.")],
    ) -> ReportRunPayload:
        return payload(await change(info, mails.email_report, id, model=mails.ReportEmail, input=input))


QUERIES, MUTATIONS = MailQueries, MailMutations
