"""Outreach domains on the GraphQL surface (specification 4.9)."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.outreach_vocabulary import DomainStatus
from resolvers import outreach_domains
from resolvers.outreach_inputs import DomainName
from schema.connections import Node
from schema.declare import Info, argument, enum, field, operation_field
from schema.errors import UserError
from schema.inputs import IdempotencyKey, change
from schema.records import record
from storage import tables as t

enum(
    DomainStatus,
    "Whether a domain can be sent from.",
    PENDING="It is ordered.",
    VERIFYING="It is bought, and being set up.",
    ACTIVE="It can be sent from.",
    FAILED="It could not be bought.",
)


@record(t.OutreachDomain, "A domain that mailboxes are made on.")
class OutreachDomain(Node):
    mailbox_count: int = field("How many mailboxes are on it.")


@strawberry.type(description="What became of the purchase of a domain.")
class OutreachDomainPayload:
    domain: OutreachDomain | None = field("The domain; pending while the provider has not answered.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type
class OutreachDomainQueries:
    @operation_field(outreach_domains.list_domains, "The organization's outreach domains, by name.")
    async def outreach_domains(self, info: Info) -> list[OutreachDomain]:
        return await outreach_domains.list_domains(info.context)


@strawberry.type
class OutreachDomainMutations:
    @operation_field(
        outreach_domains.purchase_domain,
        "Buys a domain, which costs money: asks for an Idempotency-Key. Idempotent by name, too: a domain that was "
        "bought before is given as it stands.",
    )
    async def domain_purchase(
        self,
        info: Info,
        name: Annotated[str, argument("The domain's name, such as example.com.")],
        idempotency_key: IdempotencyKey = UNSET,
    ) -> OutreachDomainPayload:
        domain, problems = await change(
            info,
            outreach_domains.purchase_domain,
            model=DomainName,
            input={"name": name},
            at=(),
            key=idempotency_key,
        )
        return OutreachDomainPayload(domain=domain, user_errors=problems)


QUERIES, MUTATIONS = OutreachDomainQueries, OutreachDomainMutations
