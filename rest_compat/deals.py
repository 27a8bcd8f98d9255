"""Serves the paths of deals (specification 2.2, 4.4, 4.5, 4.11)."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final

from pydantic import Field, StrictStr

from contract.criteria import Op, Selection
from contract.errors import NotFound
from contract.vocabulary import DealStatus, GeoScope, TaggedKind
from resolvers.deals import (
    LinkInput,
    contacts_of_deal,
    create_deal,
    get_deal,
    link_contact,
    list_deals,
    unlink_contact,
    update_deal,
)
from resolvers.shared.inputs import Currency, Input, RequiredLine
from resolvers.shared.record_inputs import fields_of
from rest_compat.documents import Document
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Exactly, ListParameters, Since, Tagged, Where
from rest_compat.record_types import CONTACT
from rest_compat.resources import Resource
from rest_compat.schemas import or_null
from storage import tables as t
from storage.columns import CREATE, MADE_AT, UPDATE


class DealQuery(ListParameters):
    """Has the query parameters of GET /deals."""

    stage_id: Exactly = Field(default=None, description="Only deals in this stage.")
    account_id: Exactly = Field(default=None, description="Only deals of this account.")
    owner_id: Exactly = Field(default=None, description="Only deals owned by this user.")
    status: Annotated[DealStatus | None, Where()] = Field(default=None, description="Only deals that stand so.")
    source: Exactly = Field(default=None, description="Only deals that came from there.")
    geo_scope: Annotated[GeoScope | None, Where()] = Field(default=None, description="Only deals of this reach.")
    updated_since: Since = Field(default=None, description="Only deals that changed at or after this time.")
    tag: Tagged = Field(default=None, description="Only deals with this tag, letter case aside.")
    unstaged: Annotated[bool, Where(Op.IS_NULL, "stage_id")] = Field(
        default=False, description="When true, only deals without a stage."
    )


_KEPT: Final = ("name", "account_id", "value", "stage_id", "close_date", "currency", "geo_scope")
"""Names the fields that a new deal keeps. They are published, so by hand: a column that the table gets is not in it."""


@fields_of(t.Deal, CREATE, only=_KEPT)
class _NewDeal(Input):
    """Has the fields of specification 2.2 that a new deal keeps."""


class DealBody(_NewDeal):
    """A new deal. The last five fields are checked for their type and dropped (specification 2.2)."""

    source: StrictStr | None = None
    champion_id: StrictStr | None = None
    notes: StrictStr | None = None
    parent_deal_id: StrictStr | None = None
    competitors: list[StrictStr] | None = None


DROPPED = frozenset(DealBody.model_fields) - frozenset(_KEPT)


@fields_of(t.Deal, UPDATE, only=(*_KEPT, "source", "champion_id", "notes", "owner_id", "external_key"))
class _DealChanges(Input):
    """Has the fields of specification 2.2 that can be changed."""


class DealPatch(_DealChanges):
    """Changes to a deal; an explicit null clears a field, but a deal is never without name and currency."""

    name: RequiredLine = None  # type: ignore[assignment]  # a default that is never read: it may be left out
    currency: Currency = None  # type: ignore[assignment]  # the same


async def link(call: RestRequest) -> RestResponse:
    """Puts the contact on the deal; answers with how it stands there."""
    body: LinkInput = call.body
    linked = await link_contact(call.ctx, call.path["deal_id"], call.path["contact_id"], body)
    names = ("deal_id", "contact_id", "role", "is_primary", "linked_at")
    return RestResponse({name: getattr(linked.link, name) for name in names})


async def contacts(call: RestRequest) -> RestResponse:
    """Lists the contacts on the deal, each with how it stands there."""
    deal = await get_deal(call.ctx, call.path["deal_id"])
    if deal is None:
        raise NotFound()
    if call.query.limit == 0:
        return RestResponse([])
    page = await contacts_of_deal(call.ctx, deal.id, call.query.listing(), _LINKED_SELECTION)
    return RestResponse(await LINKED_CONTACT.shown(call.ctx, page.rows))


async def unlink(call: RestRequest) -> RestResponse:
    """Unlinks the contact; 204 whether or not it was linked (specification 4.5)."""
    await unlink_contact(call.ctx, call.path["deal_id"], call.path["contact_id"])
    return RestResponse()


DEAL: Final = Document(
    "Deal",
    t.Deal,
    "The full record of a deal.",
    (
        *("id", "org_id", "owner_id", "name", "account_id", "value", "stage_id", "close_date", "currency", "geo_scope"),
        *("source", "champion_id", "notes", "parent_deal_id", "competitors", "status", "created_at", "updated_at"),
        *("version", "closed_at", "external_key", "tags"),
    ),
    tagged=TaggedKind.DEAL,
    texts={"status": "The type of the deal's stage; open without a stage."},
)
"""The document of a deal: whose it is, the fields of specification 2.2 in their order, then its state (decision 24)."""

LINKED_CONTACT: Final = replace(
    CONTACT,
    name="LinkedContact",
    text="A contact on a deal, with how it stands there.",
    keys=(*CONTACT.keys, "role", "is_primary", "linked_at"),
    schemas={
        "role": or_null({"type": "string"}, "What the contact is to the deal."),
        "is_primary": {"type": "boolean", "description": "Whether it is the deal's primary contact."},
        "linked_at": {"type": "string", "format": "date-time", "description": "When it was put on the deal."},
    },
    examples={**CONTACT.examples, "role": "decision maker", "is_primary": True, "linked_at": MADE_AT},
)
_LINKED_SELECTION: Final = Selection(frozenset(LINKED_CONTACT.columns))


DEALS: Final = Resource("/deals/{deal_id}", DEAL)
OPERATIONS: Final = (
    DEALS.create(
        create_deal,
        DealBody,
        dropped=DROPPED,
        only_id=True,  # specification 4.4
        description="The caller becomes the owner. source, champion_id, notes, parent_deal_id and competitors are "
        "accepted and dropped. Emits deal_created.",
    ),
    DEALS.listing(list_deals, DealQuery),
    DEALS.detail(get_deal),
    DEALS.change(
        update_deal,
        DealPatch,
        example={"value": 13000, "notes": "They decide in spring.", "close_date": None},
        description="A field that is left out stays, an explicit null clears it. parent_deal_id and competitors cannot "
        "be set and are ignored.",
    ),
    RestOperation(
        "GET",
        "/deals/{deal_id}/contacts",
        contacts,
        "List the contacts on a deal",
        resolver=contacts_of_deal,
        query=ListParameters,
        answer=LINKED_CONTACT,
        many=True,
        graphql_field="Deal.contacts",
        description="In the order in which they were put there.",
        errors=(404,),
    ),
    RestOperation(
        "PUT",
        "/deals/{deal_id}/contacts/{contact_id}",
        link,
        "Put a contact on a deal",
        resolver=link_contact,
        body=LinkInput,
        body_required=False,
        example={"role": "decision maker", "is_primary": True},
        answer="DealContactLink",
        graphql_field="Mutation.dealContactLink",
        description="Or changes how it stands there: what is left out stays. Idempotent. A deal has at most one "
        "primary contact, which is the last that was made so.",
        response_headers=("X-Ignored-Fields",),
        errors=(404,),
    ),
    RestOperation(
        "DELETE",
        "/deals/{deal_id}/contacts/{contact_id}",
        unlink,
        "Unlink a contact from a deal",
        resolver=unlink_contact,
        status=204,
        graphql_field="Mutation.dealContactUnlink",
        description="Idempotent: succeeds whether or not there was a link.",
    ),
)
