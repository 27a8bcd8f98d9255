"""The deals' paths (specification 2.2, 4.4, 4.5, 4.11)."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field, StrictStr

from contract.criteria import All, Compare, Condition, Listing, Op, Page
from contract.errors import NotFound
from contract.limits import LISTING_DEFAULT
from resolvers.deals import DealCreate, DealUpdate, create_deal, get_deal, list_deals, unlink_contact, update_deal
from resolvers.inputs import Currency, Input, RequiredLine
from resolvers.record_inputs import fields_of
from rest_compat.documents import Document
from rest_compat.etags import etag_of, has_seen, versions_in
from rest_compat.operations import Answer, Call, Operation
from rest_compat.parameters import Limit, Offset
from storage import tables as t
from storage.columns import CREATE, UPDATE


class DealQuery(Input):
    """The parameters of the listing."""

    limit: Limit = Field(default=LISTING_DEFAULT, description="Rows at most; more than 500 is 500.")
    offset: Offset = Field(default=0, description="Rows to skip.")
    stage_id: str | None = Field(default=None, description="Only deals in this stage.")
    account_id: str | None = Field(default=None, description="Only deals of this account.")
    owner_id: str | None = Field(default=None, description="Only deals owned by this user.")
    unstaged: bool = Field(default=False, description="When true, only deals without a stage.")

    def listing(self) -> Listing:
        """The question in the terms of the resolver; the newest come first, then by id."""
        named = {"stage_id": self.stage_id, "account_id": self.account_id, "owner_id": self.owner_id}
        parts: list[Condition] = [Compare(n, Op.EQ, value) for n, value in named.items() if value is not None]
        if self.unstaged:
            parts.append(Compare("stage_id", Op.IS_NULL, True))
        return Listing(All(tuple(parts)), page=Page(first=self.limit, offset=self.offset))


_KEPT: Final = ("name", "account_id", "value", "stage_id", "close_date", "currency", "geo_scope")
"""Names the fields that a new deal keeps. They are published, so by hand: a column that the table gets is not in it."""


@fields_of(t.Deal, CREATE, only=_KEPT)
class _NewDeal(Input):
    """The fields of specification 2.2 that a new deal keeps."""


class DealBody(_NewDeal):
    """A new deal. The last five fields are checked for their type and dropped (specification 2.2)."""

    source: StrictStr | None = None
    champion_id: StrictStr | None = None
    notes: StrictStr | None = None
    parent_deal_id: StrictStr | None = None
    competitors: list[StrictStr] | None = None

    def kept(self) -> DealCreate:
        """Without the dropped fields."""
        return DealCreate.model_construct(
            **{name: value for name, value in self.given().items() if name in _NewDeal.model_fields}
        )


DROPPED = frozenset(DealBody.model_fields) - frozenset(_KEPT)


@fields_of(t.Deal, UPDATE, only=(*_KEPT, "source", "champion_id", "notes"))
class _DealChanges(Input):
    """The fields of specification 2.2 that can be changed."""


class DealPatch(_DealChanges):
    """Changes to a deal; an explicit null clears a field, but a deal is never without name and currency."""

    name: RequiredLine = None  # type: ignore[assignment]  # a default that is never read: it may be left out
    currency: Currency = None  # type: ignore[assignment]  # the same

    def kept(self) -> DealUpdate:
        """Returns it as the resolver takes it."""
        return DealUpdate.model_construct(**self.given())


async def create(call: Call) -> Answer:
    """Answers with only the new deal's id (specification 4.4)."""
    body: DealBody = call.body
    deal = await create_deal(call.ctx, body.kept())
    return Answer({"id": deal.id}, {"Location": f"{call.root_path}/deals/{deal.id}"})


async def listing(call: Call) -> Answer:
    """The deals; none are asked for with `limit=0`, so none are read."""
    query: DealQuery = call.query
    if query.limit == 0:
        return Answer([])
    page = await list_deals(call.ctx, query.listing())
    return Answer(DEAL.all_of(page.rows))


async def detail(call: Call) -> Answer:
    """The deal, or that the caller's copy is current."""
    deal = await get_deal(call.ctx, call.path["deal_id"])
    if deal is None:
        raise NotFound()
    if has_seen(call.headers.get("if-none-match"), str(deal.version)):
        return Answer(None, etag_of(deal), status=304)
    return _deal(deal)


async def change(call: Call) -> Answer:
    """The deal after the change."""
    body: DealPatch = call.body
    deal = await update_deal(
        call.ctx, call.path["deal_id"], body.kept(), seen=versions_in(call.headers.get("if-match"))
    )
    return _deal(deal)


async def unlink(call: Call) -> Answer:
    """Nothing, whether or not there was a link (specification 4.5)."""
    await unlink_contact(call.ctx, call.path["deal_id"], call.path["contact_id"])
    return Answer()


DEAL: Final = Document(
    "Deal",
    t.Deal,
    "The full record of a deal.",
    (
        *("id", "org_id", "owner_id", "name", "account_id", "value", "stage_id", "close_date", "currency", "geo_scope"),
        *("source", "champion_id", "notes", "parent_deal_id", "competitors", "status", "created_at", "updated_at"),
        "version",
    ),
    texts={
        "status": "The type of the deal's stage; open without a stage.",
        "version": "Counts the changes; the ETag is this number in quotes.",
    },
)
"""The document of a deal: whose it is, the fields of specification 2.2 in their order, then its state (decision 24)."""


def _deal(deal: Any) -> Answer:
    return Answer(DEAL.of(deal), etag_of(deal))


OPERATIONS: Final = (
    Operation(
        "POST",
        "/deals",
        create,
        "Create a deal",
        resolver=create_deal,
        status=201,
        body=DealBody,
        example=DEAL.body_example(_NewDeal),
        dropped=DROPPED,
        answer="DealId",
        twin="Mutation.dealCreate",
        description="The caller becomes the owner. source, champion_id, notes, parent_deal_id and competitors are "
        "accepted and dropped. Emits deal_created.",
        response_headers=("Location", "X-Ignored-Fields"),
    ),
    Operation(
        "GET",
        "/deals",
        listing,
        "List deals",
        resolver=list_deals,
        query=DealQuery,
        answer=DEAL,
        many=True,
        twin="Query.deals",
        description="The newest first, then by id.",
    ),
    Operation(
        "GET",
        "/deals/{deal_id}",
        detail,
        "Get a deal",
        resolver=get_deal,
        answer=DEAL,
        twin="Query.deal",
        request_headers=("If-None-Match",),
        response_headers=("ETag",),
        errors=(304, 404),
    ),
    Operation(
        "PATCH",
        "/deals/{deal_id}",
        change,
        "Change a deal",
        resolver=update_deal,
        body=DealPatch,
        answer=DEAL,
        twin="Mutation.dealUpdate",
        description="A field that is left out stays, an explicit null clears it. parent_deal_id and competitors cannot "
        "be set and are ignored.",
        request_headers=("If-Match",),
        response_headers=("ETag", "X-Ignored-Fields"),
        errors=(404, 412),
    ),
    Operation(
        "DELETE",
        "/deals/{deal_id}/contacts/{contact_id}",
        unlink,
        "Unlink a contact from a deal",
        resolver=unlink_contact,
        status=204,
        twin="Mutation.dealContactUnlink",
        description="Idempotent: succeeds whether or not there was a link.",
    ),
)
