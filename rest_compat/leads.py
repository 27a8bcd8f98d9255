"""The leads' paths: confirmed captures, and "the leads view" (specification 4.2; decision 41)."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from contract.criteria import All, Compare, Condition, Listing, Op, Page, Selection
from contract.errors import NotFound
from contract.limits import LISTING_DEFAULT
from contract.vocabulary import CaptureSource, LeadStatus
from resolvers.inputs import Input
from resolvers.lead_conversion import LeadConversion, convert_lead
from resolvers.leads import CardCapture, confirm_capture, get_lead, list_leads
from rest_compat.documents import Document
from rest_compat.operations import Answer, Call, Operation
from rest_compat.parameters import Limit, Offset
from storage import tables as t

_RECORD: Final = (
    *("id", "org_id", "owner_id", "status", "card_id", "name", "title", "company", "company_domain", "email", "phone"),
    *("linkedin", "notes", "tags", "source", "disqualified_reason", "converted_at", "account_id", "contact_id"),
    *("deal_id", "created_at", "updated_at", "version"),
)
_LISTED: Final = Selection(frozenset(_RECORD))
_KEYS: Final = ("lead_id=id", *_RECORD)  # the specification names the identifier so (2.4)
_TEXTS: Final = {
    "account_id": "What the lead was converted into, like the next two.",
    "disqualified_reason": "Null unless the lead is disqualified.",
    "version": "Counts the changes.",
}
LEAD: Final = Document("Lead", t.Lead, "A person met.", _KEYS, texts=_TEXTS)
LEAD_WITH_PAYLOAD: Final = Document(
    "LeadWithPayload",
    t.Lead,
    "A person met, with what the scan gave.",
    (*_KEYS, "capture_payload"),
    texts={**_TEXTS, "capture_payload": "The raw output of the extraction."},
)


class LeadQuery(Input):
    """The parameters of the listing."""

    limit: Limit = Field(default=LISTING_DEFAULT, description="Rows at most; more than 500 is 500.")
    offset: Offset = Field(default=0, description="Rows to skip.")
    status: LeadStatus | None = Field(default=None, description="Only leads in this state.")
    source: CaptureSource | None = Field(default=None, description="Only leads that were captured so.")
    owner_id: str | None = Field(default=None, description="Only leads owned by this user.")
    tag: str | None = Field(default=None, description="Only leads with this tag.")

    def listing(self) -> Listing:
        """The question in the terms of the resolver; the newest come first, then by id."""
        named = {"status": self.status, "source": self.source, "owner_id": self.owner_id}
        parts: list[Condition] = [Compare(n, Op.EQ, str(value)) for n, value in named.items() if value is not None]
        if self.tag is not None:
            parts.append(Compare("tags", Op.CONTAINS, self.tag))
        return Listing(All(tuple(parts)), page=Page(first=self.limit, offset=self.offset))


async def confirm(call: Call) -> Answer:
    """Answers with only the lead's id (specification 4.2)."""
    body: CardCapture = call.body
    lead = await confirm_capture(call.ctx, body)
    return Answer({"lead_id": lead.id})


async def listing(call: Call) -> Answer:
    """The leads, whose payloads are not even read; none are asked for with `limit=0`."""
    query: LeadQuery = call.query
    if query.limit == 0:
        return Answer([])
    page = await list_leads(call.ctx, query.listing(), _LISTED)
    return Answer(LEAD.all_of(page.rows))


async def detail(call: Call) -> Answer:
    """The lead, with its payload."""
    lead = await get_lead(call.ctx, call.path["lead_id"])
    if lead is None:
        raise NotFound()
    return Answer(LEAD_WITH_PAYLOAD.of(lead))


async def convert(call: Call) -> Answer:
    """Converts the lead, and answers with what it became."""
    done = await convert_lead(call.ctx, call.path["lead_id"], call.body)
    lead = done.lead
    into = {name: getattr(lead, name) for name in ("account_id", "contact_id", "deal_id")}
    return Answer({"lead_id": lead.id, **into})


OPERATIONS: Final = (
    Operation(
        "POST",
        "/cards/captures/confirm",
        confirm,
        "Confirm a capture",
        resolver=confirm_capture,
        body=CardCapture,
        answer="LeadId",
        twin="Mutation.cardCaptureConfirm",
        description="Writes a lead. The same card_id again answers the same lead_id and updates the lead's fields.",
        response_headers=("X-Ignored-Fields",),
    ),
    Operation(
        "GET",
        "/leads",
        listing,
        "List leads",
        resolver=list_leads,
        query=LeadQuery,
        answer=LEAD,
        many=True,
        twin="Query.leads",
        description="The newest first, then by id; without their capture payloads.",
    ),
    Operation(
        "GET",
        "/leads/{lead_id}",
        detail,
        "Get a lead",
        resolver=get_lead,
        answer=LEAD_WITH_PAYLOAD,
        twin="Query.lead",
        errors=(404,),
    ),
    Operation(
        "POST",
        "/leads/{lead_id}/convert",
        convert,
        "Convert a lead",
        resolver=convert_lead,
        body=LeadConversion,
        body_required=False,
        answer="LeadConversionResult",
        twin="Mutation.leadConvert",
        description="In one transaction, into the records that are named, of which only empty fields are filled, or "
        "into new ones; a deal only where deal_id or deal_name is given. Repeating it answers the first conversion.",
        response_headers=("X-Ignored-Fields",),
        errors=(404, 409),
    ),
)
