"""GET /activities/meetings (specification 2.1, 4.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import Field

from contract.criteria import All, Compare, Condition, Listing, Op, Order, Page
from contract.limits import LISTING_DEFAULT
from contract.vocabulary import SortDirection
from resolvers.inputs import Input
from resolvers.meetings import list_meetings
from rest_compat.operations import Answer, Call
from rest_compat.parameters import Limit, Moment, Offset


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
    return Answer(documents(page.rows))


def documents(rows: Iterable[Any]) -> list[dict[str, Any]]:
    """The rows as the objects of specification 2.1, in its order."""
    return [
        {
            "id": row.id,
            "type": row.type,
            "subject": row.subject,
            "body": row.body,
            "due_at": row.due_at,
            "completed_at": row.completed_at,
            "duration_minutes": row.duration_minutes,
            "metadata": row.metadata,
            "account_id": row.account_id,
            "deal_id": row.deal_id,
            "contact_id": row.contact_id,
            "owner_id": row.owner_id,
            "source": row.source,
            "direction": row.direction,
            "created_at": row.created_at,
            "accounts": None
            if row.accounts_id is None
            else {"id": row.accounts_id, "name": row.accounts_name, "domain": row.accounts_domain},
            "deals": None
            if row.deals_id is None
            else {"id": row.deals_id, "name": row.deals_name, "stage_id": row.deals_stage_id},
            "contacts": None
            if row.contacts_id is None
            else {
                "id": row.contacts_id,
                "first_name": row.contacts_first_name,
                "last_name": row.contacts_last_name,
                "email": row.contacts_email,
            },
        }
        for row in rows
    ]
