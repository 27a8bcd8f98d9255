"""Serves GET /activities/meetings (specification 2.1, 4.1)."""

from __future__ import annotations

from functools import partial, update_wrapper
from typing import Annotated, Final

from pydantic import Field

from contract.criteria import Op, Order
from contract.vocabulary import SortDirection
from resolvers.meetings import list_meetings
from resolvers.shared.inputs import Input
from rest_compat.documents import Document, Linked
from rest_compat.parameters import Exactly, ListParameters, Moment, Where
from rest_compat.resources import Resource
from storage import tables as t


class MeetingConditions(Input):
    """Has the query parameters that say which meetings (specification 4.1), in their order."""

    from_: Annotated[Moment | None, Where(Op.GTE, "due_at")] = Field(
        default=None, alias="from", description="Only meetings due at or after this time."
    )
    to: Annotated[Moment | None, Where(Op.LTE, "due_at")] = Field(
        default=None, description="Only meetings due at or before this time."
    )
    owner_id: Exactly = Field(default=None, description="Only meetings owned by this user.")
    account_id: Exactly = Field(default=None, description="Only meetings linked to this account.")
    deal_id: Exactly = Field(default=None, description="Only meetings linked to this deal.")
    unlinked_account: Annotated[bool, Where(Op.IS_NULL, "account_id")] = Field(
        default=False, description="When true, only meetings with no account_id."
    )
    unlinked_deal: Annotated[bool, Where(Op.IS_NULL, "deal_id")] = Field(
        default=False, description="When true, only meetings with no deal_id."
    )


class _MeetingFilters(MeetingConditions):
    """Has the query parameters of specification 4.1 that come before limit and offset, in their order."""

    order: str = Field(
        default="desc",
        description="`asc`, in any letter case, sorts ascending on due_at; any other value sorts descending.",
    )


class MeetingQuery(ListParameters, _MeetingFilters):
    """Has the query parameters of GET /activities/meetings."""

    def sorting(self) -> Order:
        """Returns the order by due_at, in the requested direction."""
        return Order("due_at", SortDirection.ASC if self.order.lower() == "asc" else SortDirection.DESC)


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


# The row has the summaries of the linked records too.
_list_with_links: Final = update_wrapper(partial(list_meetings, with_links=True), list_meetings)
OPERATIONS: Final = (
    Resource("/activities/meetings/{meeting_id}", MEETING).listing(
        _list_with_links,
        MeetingQuery,
        description="Sorted by due_at in the chosen direction, meetings without it last in either direction, then by "
        "created_at descending. unlinked_account with account_id, or unlinked_deal with deal_id, is an empty array.",
    ),
)
