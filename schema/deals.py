"""Deals on the GraphQL surface (specification 2.2, 4.4, 4.5).

What follows from a column stands in `storage/tables/deals.py`: the classes here have the rest, and
`schema.graphql` shows both together.
"""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from contract.vocabulary import DealStatus, GeoScope
from resolvers import accounts, contacts, deals, pipeline_stages
from resolvers.lists import PageOf
from schema.accounts import Account, AccountFilter
from schema.connections import (
    After,
    Before,
    Connection,
    EdgeOf,
    First,
    Last,
    Node,
    Offset,
    PageInfo,
    PageOfRows,
    RowOfPage,
    edges_of,
    listing,
    nodes_of,
    page_info_of,
)
from schema.contacts import Contact
from schema.declare import Info, argument, enum, guarded, linked, operation, resolved, shown
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.filters import condition_of, order_of
from schema.inputs import DeletePayload, change, deletion
from schema.links import MeetingLink
from schema.pipeline_stages import PipelineStage
from schema.records import record, record_filter, record_input, record_order
from storage import tables as t
from storage.columns import CREATE, UPDATE

enum(
    GeoScope,
    "The reach of a deal.",
    LOCAL="Within one place.",
    REGIONAL="Within one region.",
    INTERNATIONAL="Across borders.",
)
enum(
    DealStatus,
    "Where a deal stands; it follows the type of its stage.",
    OPEN="In no stage, or in an open one.",
    WON="In a stage that means won.",
    LOST="In a stage that means lost.",
)


@strawberry.type(description="A contact on a deal, with how it stands there.")
class DealContactEdge(RowOfPage):
    cursor: str = shown("Names the row's place in this list, for `after`.")
    node: Contact = shown("The contact.")

    @resolved("What the contact is to the deal.", "role")
    def role(root: strawberry.Parent[EdgeOf]) -> str | None:
        return root.node.role

    @resolved("Whether it is the deal's primary contact.", "is_primary")
    def is_primary(root: strawberry.Parent[EdgeOf]) -> bool:
        return root.node.is_primary

    @resolved("When it was put on the deal.", "linked_at")
    def linked_at(root: strawberry.Parent[EdgeOf]) -> datetime:
        return root.node.linked_at


@strawberry.type(description="A page of a deal's contacts.")
class DealContactConnection(PageOfRows):
    @resolved("The contacts of the page, each with its link.")
    def edges(root: strawberry.Parent[PageOf]) -> list[DealContactEdge]:
        return edges_of(root)

    @resolved("The contacts of the page.")
    def nodes(root: strawberry.Parent[PageOf]) -> list[Contact]:
        return nodes_of(root)

    @resolved("Whether and where the list goes on.")
    def page_info(root: strawberry.Parent[PageOf]) -> PageInfo:
        return page_info_of(root)

    @resolved("How many contacts are on the deal; counted only when selected.")
    async def total_count(root: strawberry.Parent[PageOf]) -> int:
        return await root.total()


@strawberry.type(description="A move of a deal from one stage to another.")
class StageChange:
    at: datetime = shown("When it moved.")
    by: str | None = shown("The subject of who moved it.")

    @guarded(pipeline_stages.get_stage, "Where it was; null for no stage, or one that was deleted since.")
    async def from_stage(root: strawberry.Parent[Any], info: Info) -> PipelineStage | None:
        return await pipeline_stages.get_stage(info.context, root.from_stage_id)

    @guarded(pipeline_stages.get_stage, "Where it went; null for no stage, or one that was deleted since.")
    async def to_stage(root: strawberry.Parent[Any], info: Info) -> PipelineStage | None:
        return await pipeline_stages.get_stage(info.context, root.to_stage_id)


@record(t.Deal, "A deal.")
class Deal(Node):
    account: Account | None = linked("account", accounts.get_account, "The account.")

    stage: PipelineStage | None = linked("stage", pipeline_stages.get_stage, "The stage.")

    champion: Contact | None = linked("champion", contacts.get_contact, "The internal champion.")

    @guarded(deals.contacts_of_deal, "The contacts on the deal, in the order they were put there.")
    async def contacts(
        root: strawberry.Parent[Any], info: Info, first: First = UNSET, after: After = UNSET
    ) -> DealContactConnection:
        question = listing(first=first, after=after)
        return await deals.contacts_of_deal(info.context, root.id, question, selected_nodes(info))

    @guarded(deals.meetings_of_deal, "The deal's meetings, latest first, those without a time last.")
    async def meetings(
        root: strawberry.Parent[Any], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[MeetingLink]:
        question = listing(first=first, after=after)
        return await deals.meetings_of_deal(info.context, root.id, question, selected_nodes(info))

    @guarded(deals.stage_history, "The deal's moves between stages, oldest first.")
    async def stage_history(root: strawberry.Parent[Any], info: Info) -> list[StageChange]:
        return await deals.stage_history(info.context, root.id)


@record_order(t.Deal)
class DealOrder:
    """The order that a list of deals is asked for in: by a column to SORT by."""


@record_filter(t.Deal)
class DealFilter:
    """Which deals, by the columns to FILTER by; a link's filter holds for the linked record."""

    account: AccountFilter | None = shown("There is an account, and this holds for it.", default=UNSET)


@record_input(t.Deal, CREATE, "A new deal: only what is kept on creation; the rest is set with dealUpdate.")
class DealCreateInput:
    """Creates a deal (specification 2.2): the columns to CREATE with."""


@record_input(t.Deal, UPDATE, "Changes to a deal; an explicit null clears a nullable field, an omitted one stays.")
class DealUpdateInput:
    """Changes a deal: the columns to UPDATE, and the version that is expected."""


@strawberry.type(description="What became of a change to a deal.")
class DealPayload:
    deal: Deal | None = shown("The deal after the change.")
    user_errors: list[UserError] = shown("What stood in the way; empty when it worked.")


@strawberry.type(description="What became of taking a contact off a deal.")
class DealContactUnlinkPayload:
    deal_id: strawberry.ID = shown("The deal that was named.")
    contact_id: strawberry.ID = shown("The contact that was named.")
    user_errors: list[UserError] = shown("What stood in the way; empty when it worked.")


@strawberry.type(description="An exact sum of money in one currency.")
class MoneyTotal:
    currency: str = shown("The ISO 4217 code.")
    amount: Decimal = shown("The sum of the deals' amounts.")
    count: int = shown("How many deals, those without an amount included.")


@strawberry.type(description="A stage with the deals in it.")
class DealBoardColumn:
    stage: PipelineStage = shown("The stage.")
    totals: list[MoneyTotal] = shown("What the deals are worth, per currency.")

    @guarded(deals.deals_of_stage, "The deals in the stage, newest first.")
    async def deals(
        root: strawberry.Parent[Any], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[Deal]:
        question = listing(root.condition, first=first, after=after)
        return await deals.deals_of_stage(info.context, root.stage.id, question, selected_nodes(info))


@strawberry.type(description="The deals by stage.")
class DealBoard:
    columns: list[DealBoardColumn] = shown("A column per stage, in the board's order.")

    @guarded(deals.unstaged_deals, "The deals that no column holds because they have no stage, newest first.")
    async def unstaged(root: strawberry.Parent[Any], info: Info) -> Connection[Deal]:
        return await deals.unstaged_deals(info.context, root.condition, selected_nodes(info))


DealId = Annotated[strawberry.ID, argument("The deal's identifier.")]
ContactId = Annotated[strawberry.ID, argument("The contact's identifier.")]
DealFilterArgument = Annotated[DealFilter | None, argument("Which deals.")]
_DEFAULT_ORDER = DealOrder()


@strawberry.type
class DealQueries:
    @operation(deals.get_deal, "One deal; null where there is none.")
    async def deal(self, info: Info, id: DealId) -> Deal | None:
        return await deals.get_deal(info.context, id, selected(info))

    @operation(
        deals.deal_board,
        "The board: a column per stage, and the deals that no column holds because they have no stage.",
    )
    async def deal_board(self, info: Info, filter: DealFilterArgument = UNSET) -> DealBoard:
        return await deals.deal_board(info.context, condition_of(filter))

    @operation(deals.list_deals, "The organization's deals.")
    async def deals(
        self,
        info: Info,
        filter: DealFilterArgument = UNSET,
        order_by: Annotated[DealOrder | None, argument("In which order.")] = _DEFAULT_ORDER,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[Deal]:
        question = listing(
            condition_of(filter), order_of(order_by), first=first, after=after, last=last, before=before, offset=offset
        )
        return await deals.list_deals(info.context, question, selected_nodes(info))


@strawberry.type
class DealMutations:
    @operation(deals.create_deal, "Creates a deal; the caller becomes the owner. Emits deal_created.")
    async def deal_create(self, info: Info, input: Annotated[DealCreateInput, argument("The deal.")]) -> DealPayload:
        made, problems = await change(info, deals.create_deal, model=deals.DealCreate, input=input)
        return DealPayload(deal=made, user_errors=problems)

    @operation(deals.update_deal, "Changes a deal; a change of stage goes into its history.")
    async def deal_update(
        self, info: Info, id: DealId, input: Annotated[DealUpdateInput, argument("The changes.")]
    ) -> DealPayload:
        changed, problems = await change(info, deals.update_deal, id, model=deals.DealUpdate, input=input)
        return DealPayload(deal=changed, user_errors=problems)

    @operation(deals.delete_deal, "Deletes a deal with its links and history; its meetings stay, unlinked.")
    async def deal_delete(self, info: Info, id: DealId) -> DeletePayload:
        return await deletion(info, deals.delete_deal, id)

    @operation(deals.link_contact, "Puts a contact on a deal, or changes how it stands there.")
    async def deal_contact_link(
        self,
        info: Info,
        deal_id: DealId,
        contact_id: ContactId,
        role: Annotated[str | None, argument("What the contact is to the deal.")] = UNSET,
        is_primary: Annotated[bool | None, argument("Whether it is the deal's only primary contact.")] = UNSET,
    ) -> DealPayload:
        named = {"role": role, "is_primary": is_primary if is_primary is UNSET else bool(is_primary)}
        link = {name: value for name, value in named.items() if value is not UNSET}
        deal, problems = await change(
            info, deals.link_contact, deal_id, contact_id, model=deals.LinkInput, input=link, at=()
        )
        return DealPayload(deal=deal, user_errors=problems)

    @operation(deals.unlink_contact, "Takes a contact off a deal. Idempotent: unlinking what is not linked succeeds.")
    async def deal_contact_unlink(self, info: Info, deal_id: DealId, contact_id: ContactId) -> DealContactUnlinkPayload:
        _, problems = await change(info, deals.unlink_contact, deal_id, contact_id)
        return DealContactUnlinkPayload(deal_id=deal_id, contact_id=contact_id, user_errors=problems)


QUERIES, MUTATIONS = DealQueries, DealMutations
