"""Mailboxes on the GraphQL surface."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.outreach_vocabulary import MailboxStatus
from resolvers import mailboxes, outreach_domains
from resolvers.outreach_inputs import MailboxCreate
from schema.connections import Node
from schema.declare import Info, argument, enum, field, guarded_field, operation_field
from schema.errors import UserError
from schema.inputs import IdempotencyKey, change
from schema.outreach_domains import OutreachDomain
from schema.records import record
from storage import tables as t
from storage.rows import MailboxRow

enum(
    MailboxStatus,
    "Whether a mailbox can send.",
    PENDING="It is ordered.",
    ACTIVE="It can send.",
    PAUSED="It does not send for the time being.",
    ERROR="It could not be made, or cannot send.",
)


@record(t.Mailbox, "A mailbox that campaigns are sent from.", hidden=("domain_id",))
class Mailbox(Node):
    @guarded_field(outreach_domains.get_domain, "The domain that it is on.", "domain_id")
    async def domain(root: strawberry.Parent[MailboxRow], info: Info) -> OutreachDomain:
        return await outreach_domains.get_domain(info.context, root.domain_id)


@strawberry.input(description="A new mailbox.")
class MailboxInput:
    domain_id: strawberry.ID = field("The domain's identifier.")
    local_part: str = field("What stands before the @: letters and digits, with single . _ + or - between them.")
    display_name: str | None = field("The name beside the address.", default=UNSET)


@strawberry.type(description="What became of the order of a mailbox.")
class MailboxPayload:
    mailbox: Mailbox | None = field("The mailbox; pending while the provider has not answered.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type
class MailboxQueries:
    @operation_field(mailboxes.list_mailboxes, "The organization's mailboxes, by address.")
    async def mailboxes(self, info: Info) -> list[Mailbox]:
        return await mailboxes.list_mailboxes(info.context)


@strawberry.type
class MailboxMutations:
    @operation_field(
        mailboxes.provision_mailbox,
        "Has a mailbox made, which costs money: asks for an Idempotency-Key. Idempotent by address, too: one that is "
        "there is given as it stands.",
    )
    async def mailbox_provision(
        self,
        info: Info,
        input: Annotated[MailboxInput, argument("The mailbox.")],
        idempotency_key: IdempotencyKey = UNSET,
    ) -> MailboxPayload:
        mailbox, problems = await change(
            info, mailboxes.provision_mailbox, model=MailboxCreate, input=input, key=idempotency_key
        )
        return MailboxPayload(mailbox=mailbox, user_errors=problems)


QUERIES, MUTATIONS = MailboxQueries, MailboxMutations
