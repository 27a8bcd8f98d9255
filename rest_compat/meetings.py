"""GET /activities/meetings (specification 2.1, 4.1)."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from contract.criteria import All, Compare, Condition, Listing, Op, Order, Page
from contract.limits import LISTING_DEFAULT
from contract.vocabulary import SortDirection
from resolvers.inputs import Input
from resolvers.meetings import list_meetings
from rest_compat.documents import Document, Linked
from rest_compat.operations import Answer, Call, Operation
from rest_compat.parameters import Limit, Moment, Offset
from storage import tables as t


class MeetingQuery(Input):
    """The parameters of the listing."""

    from_: Moment | None = Field(default=None, alias="from", description="Only meetings due at or after this time.")
    to: Moment | None = Field(default=None, description="Only meetings due at or before this time.")
    owner_id: str | None = Field(default=None, description="Only meetings owned by this user.")
    account_id: str | None = Field(default=None, description="Only meetings linked to this account.")
    deal_id: str | None = Field(default=None, description="Only meetings linked to this deal.")
    unlinked_account: bool = Field(default=False, description="When true, only meetings with no account_id.")
    unlinked_deal: bool = Field(default=False, description="When true, only meetings with no deal_id.")
    order: str = Field(
        default="desc",
        description="`asc`, in any letter case, sorts ascending on due_at; any other value sorts descending.",
    )
    limit: Limit = Field(default=LISTING_DEFAULT, description="Rows at most; more than 500 is 500.")
    offset: Offset = Field(default=0, description="Rows to skip.")

    def listing(self) -> Listing:
        """The question in the terms of the resolver."""
        parts: list[Condition] = []
        if self.from_ is not None:
            parts.append(Compare("due_at", Op.GTE, self.from_))
        if self.to is not None:
            parts.append(Compare("due_at", Op.LTE, self.to))
        if self.owner_id is not None:
            parts.append(Compare("owner_id", Op.EQ, self.owner_id))
        if self.account_id is not None:
            parts.append(Compare("account_id", Op.EQ, self.account_id))
        if self.deal_id is not None:
            parts.append(Compare("deal_id", Op.EQ, self.deal_id))
        if self.unlinked_account:
            parts.append(Compare("account_id", Op.IS_NULL, True))
        if self.unlinked_deal:
            parts.append(Compare("deal_id", Op.IS_NULL, True))
        direction = SortDirection.ASC if self.order.lower() == "asc" else SortDirection.DESC
        return Listing(All(tuple(parts)), Order("due_at", direction), Page(first=self.limit, offset=self.offset))


async def listing(call: Call) -> Answer:
    """The meetings; none are asked for with `limit=0`, so none are read."""
    query: MeetingQuery = call.query
    if query.limit == 0:
        return Answer([])
    page = await list_meetings(call.ctx, query.listing(), with_links=True)
    return Answer(MEETING.all_of(page.rows))


MEETING: Final = Document(
    "Meeting",
    t.Activity,
    "An activity with type `meeting`.",
    (
        *("id", "type", "subject", "body", "due_at", "completed_at", "duration_minutes", "metadata", "account_id"),
        *("deal_id", "contact_id", "owner_id", "source", "direction", "created_at", "accounts", "deals", "contacts"),
    ),
    texts={
        "metadata": "Free-form. Manual logging writes transcript, recording_url, attendees (objects with name and "
        "email), location and provider; synced rows may also carry started_at and ended_at.",
    },
    schemas={"type": {"const": "meeting"}},
    links={
        "accounts": Linked("MeetingAccount", t.Account, "The linked account.", ("id", "name", "domain")),
        "deals": Linked("MeetingDeal", t.Deal, "The linked deal.", ("id", "name", "stage_id")),
        "contacts": Linked(
            "MeetingContact", t.Contact, "The linked contact.", ("id", "first_name", "last_name", "email")
        ),
    },
    examples={"type": "meeting"},
)
"""The object of specification 2.1, in its order."""


OPERATIONS: Final = (
    Operation(
        "GET",
        "/activities/meetings",
        listing,
        "List meetings",
        resolver=list_meetings,
        query=MeetingQuery,
        answer=MEETING,
        many=True,
        twin="Query.meetings",
        description="Sorted by due_at in the chosen direction, meetings without it last in either direction, then by "
        "created_at descending. unlinked_account with account_id, or unlinked_deal with deal_id, is an empty array.",
    ),
)
