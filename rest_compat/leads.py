"""Serves the paths of leads: confirmed captures, and "the leads view" (specification 4.2; decision 41)."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from contract.criteria import Op
from contract.vocabulary import CaptureSource, LeadStatus
from resolvers.lead_conversion import LeadConversion, convert_lead
from resolvers.leads import CardCapture, confirm_capture, get_lead, list_leads
from rest_compat.documents import Document
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Exactly, ListParameters, Since, Where
from rest_compat.resources import Resource
from storage import tables as t

_KEYS: Final = (
    "lead_id=id",  # the specification names the identifier so (2.4)
    *("id", "org_id", "owner_id", "status", "card_id", "name", "title", "company", "company_domain", "email", "phone"),
    *("linkedin", "notes", "tags", "source", "disqualified_reason", "converted_at", "account_id", "contact_id"),
    *("deal_id", "created_at", "updated_at", "version"),
)
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
LEADS: Final = Resource("/leads/{lead_id}", LEAD, has_etags=False)


class LeadQuery(ListParameters):
    """Has the query parameters of GET /leads."""

    status: Annotated[LeadStatus | None, Where()] = Field(default=None, description="Only leads in this state.")
    source: Annotated[CaptureSource | None, Where()] = Field(
        default=None, description="Only leads that were captured so."
    )
    owner_id: Exactly = Field(default=None, description="Only leads owned by this user.")
    updated_since: Since = Field(default=None, description="Only leads that changed at or after this time.")
    tag: Annotated[str | None, Where(Op.CONTAINS, "tags")] = Field(
        default=None, description="Only leads with this tag."
    )


async def confirm(call: RestRequest) -> RestResponse:
    """Writes the lead; answers with its id alone (specification 4.2)."""
    body: CardCapture = call.body
    lead = await confirm_capture(call.ctx, body)
    return RestResponse({"lead_id": lead.id})


async def convert(call: RestRequest) -> RestResponse:
    """Converts the lead, and answers with what it became."""
    done = await convert_lead(call.ctx, call.path["lead_id"], call.body)
    lead = done.lead
    into = {name: getattr(lead, name) for name in ("account_id", "contact_id", "deal_id")}
    return RestResponse({"lead_id": lead.id, **into})


OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/cards/captures/confirm",
        confirm,
        "Confirm a capture",
        resolver=confirm_capture,
        body=CardCapture,
        answer="LeadId",
        graphql_field="Mutation.cardCaptureConfirm",
        description="Writes a lead. The same card_id again answers the same lead_id and updates the lead's fields. An "
        "optional field that is blank counts as not given, but for card_id, and blank tags are left out.",
        response_headers=("X-Ignored-Fields",),
    ),
    LEADS.listing(list_leads, LeadQuery, description="The newest first, then by id; without their capture payloads."),
    LEADS.detail(get_lead, LEAD_WITH_PAYLOAD),
    RestOperation(
        "POST",
        "/leads/{lead_id}/convert",
        convert,
        "Convert a lead",
        resolver=convert_lead,
        body=LeadConversion,
        body_required=False,
        answer="LeadConversionResult",
        graphql_field="Mutation.leadConvert",
        description="In one transaction, into the records that are named, of which only empty fields are filled, or "
        "into new ones; a deal only where deal_id or deal_name is given. Repeating it answers the first conversion.",
        response_headers=("X-Ignored-Fields",),
        errors=(404, 409),
    ),
)
