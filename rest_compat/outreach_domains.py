"""The outreach domains' path (specification 4.9)."""

from __future__ import annotations

from typing import Final

from resolvers.outreach_domains import list_domains
from rest_compat.documents import Document
from rest_compat.operations import Answer, Call, Operation
from storage import tables as t


async def listing(call: Call) -> Answer:
    """All domains, by name."""
    return Answer(DOMAIN.all_of(await list_domains(call.ctx)))


DOMAIN: Final = Document(
    "OutreachDomain",
    t.OutreachDomain,
    "A domain that mailboxes are made on.",
    ("id", "org_id", "name", "status", "spf", "dkim", "dmarc", "mailbox_count", "created_at"),
    schemas={"mailbox_count": {"type": "integer", "description": "How many mailboxes are on it."}},
    examples={"mailbox_count": 2},
)


OPERATIONS: Final = (
    Operation(
        "GET",
        "/outreach/domains",
        listing,
        "List outreach domains",
        resolver=list_domains,
        answer=DOMAIN,
        many=True,
        twin="Query.outreachDomains",
        description="By name.",
    ),
)
