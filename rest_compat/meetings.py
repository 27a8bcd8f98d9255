"""GET /activities/meetings (specification 2.1, 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

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


# In the order in which `documents` unpacks them.
_COLUMNS: Final = (
    "id",
    "type",
    "subject",
    "body",
    "due_at",
    "completed_at",
    "duration_minutes",
    "metadata",
    "account_id",
    "deal_id",
    "contact_id",
    "owner_id",
    "source",
    "direction",
    "created_at",
    "accounts_id",
    "accounts_name",
    "accounts_domain",
    "deals_id",
    "deals_name",
    "deals_stage_id",
    "contacts_id",
    "contacts_first_name",
    "contacts_last_name",
    "contacts_email",
)


def documents(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """The rows as the objects of specification 2.1, in its order.

    Unpacked by position, which for a whole page takes an eighth of the time that asking each row by name does.
    """
    if not rows:
        return []
    fields = rows[0]._fields
    take = itemgetter(*map(fields.index, _COLUMNS))
    return [
        {
            "id": id_,
            "type": type_,
            "subject": subject,
            "body": body,
            "due_at": due_at,
            "completed_at": completed_at,
            "duration_minutes": duration_minutes,
            "metadata": metadata,
            "account_id": account_id,
            "deal_id": deal_id,
            "contact_id": contact_id,
            "owner_id": owner_id,
            "source": source,
            "direction": direction,
            "created_at": created_at,
            "accounts": None if account is None else {"id": account, "name": account_name, "domain": domain},
            "deals": None if deal is None else {"id": deal, "name": deal_name, "stage_id": stage_id},
            "contacts": None
            if contact is None
            else {"id": contact, "first_name": first_name, "last_name": last_name, "email": email},
        }
        for (
            id_,
            type_,
            subject,
            body,
            due_at,
            completed_at,
            duration_minutes,
            metadata,
            account_id,
            deal_id,
            contact_id,
            owner_id,
            source,
            direction,
            created_at,
            account,
            account_name,
            domain,
            deal,
            deal_name,
            stage_id,
            contact,
            first_name,
            last_name,
            email,
        ) in map(take, rows)
    ]
