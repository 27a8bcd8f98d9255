"""Deals on the GraphQL surface (specification 2.2, 4.4, 4.5).

What follows from a column stands in `storage/tables/deals.py`: the classes here have the rest, and
`schema.graphql` shows both together.
"""

from datetime import datetime
from decimal import Decimal
from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.vocabulary import DealStatus, GeoScope, TaggedKind
from resolvers import accounts, contacts, deals, members, pipeline_stages
from resolvers.shared.lists import PageResult
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
from schema.declare import Info, argument, computed_field, enum, field, guarded_field, link_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.feeds import HistoryLink, TimelineLink, activities_field, files_field, history_field, timeline_field
from schema.filters import Comparator, condition_of, order_of
from schema.inputs import DeletePayload, change, deletion
from schema.links import ActivityLink, FileLink, MeetingLink
from schema.members import Member, owner_link
from schema.pipeline_stages import PipelineStage
from schema.records import record, record_filter, record_input, record_order
from schema.tags import TagsFilter, first_tags, on_tags, tags_field
from storage import tables as t
from storage.columns import CREATE, UPDATE
from storage.joined_rows import LinkedContactRow
from storage.rows import DealRow, StageChangeRow

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
    cursor: str = field("Names the row's place in this list, for `after`.")
    node: Contact = field("The contact.")

    @computed_field("What the contact is to the deal.", "role")
    def role(root: strawberry.Parent[EdgeOf[LinkedContactRow]]) -> str | None:
        return root.node.role

    @computed_field("Whether it is the deal's primary contact.", "is_primary")
    def is_primary(root: strawberry.Parent[EdgeOf[LinkedContactRow]]) -> bool:
        return root.node.is_primary

    @computed_field("When it was put on the deal.", "linked_at")
    def linked_at(root: strawberry.Parent[EdgeOf[LinkedContactRow]]) -> datetime:
        return root.node.linked_at


@strawberry.type(description="A page of a deal's contacts.")
class DealContactConnection(PageOfRows):
    @computed_field("The contacts of the page, each with its link.")
    def edges(root: strawberry.Parent[PageResult[LinkedContactRow]]) -> list[DealContactEdge]:
        return edges_of(root)

    @computed_field("The contacts of the page.")
    def nodes(root: strawberry.Parent[PageResult[LinkedContactRow]]) -> list[Contact]:
        return nodes_of(root)

    @computed_field("Whether and where the list goes on.")
    def page_info(root: strawberry.Parent[PageResult[LinkedContactRow]]) -> PageInfo:
        return page_info_of(root)

    @computed_field("How many contacts are on the deal; counted only when selected.")
    async def total_count(root: strawberry.Parent[PageResult[LinkedContactRow]]) -> int:
        return await root.total()


@strawberry.type(description="A move of a deal from one stage to another.")
class StageChange:
    at: datetime = field("When it moved.")
    by: str | None = field("The subject of who moved it.")

    @guarded_field(members.get_member, "Who moved it, where a member.")
    async def by_member(root: strawberry.Parent[StageChangeRow], info: Info) -> Member | None:
        return None if root.by is None else await members.get_member(info.context, root.by)

    @guarded_field(pipeline_stages.get_stage, "Where it was; null for no stage, or one that was deleted since.")
    async def from_stage(root: strawberry.Parent[StageChangeRow], info: Info) -> PipelineStage | None:
        return await pipeline_stages.get_stage(info.context, root.from_stage_id)

    @guarded_field(pipeline_stages.get_stage, "Where it went; null for no stage, or one that was deleted since.")
    async def to_stage(root: strawberry.Parent[StageChangeRow], info: Info) -> PipelineStage | None:
        return await pipeline_stages.get_stage(info.context, root.to_stage_id)


@record(t.Deal, "A deal.")
class Deal(Node):
    tags: list[str] = tags_field(TaggedKind.DEAL)

    account: Account | None = link_field("account", accounts.get_account, "The account.")

    stage: PipelineStage | None = link_field("stage", pipeline_stages.get_stage, "The stage.")

    champion: Contact | None = link_field("champion", contacts.get_contact, "The internal champion.")

    owner: Member | None = owner_link()

    @guarded_field(
        deals.contacts_of_deal, "The contacts on the deal, in the order they were put there.", along="contacts"
    )
    async def contacts(
        root: strawberry.Parent[DealRow], info: Info, first: First = UNSET, after: After = UNSET
    ) -> DealContactConnection:
        question = listing(first=first, after=after)
        return await deals.contacts_of_deal(info.context, root.id, question, selected_nodes(info))

    @guarded_field(
        deals.meetings_of_deal, "The deal's meetings, latest first, those without a time last.", along="meetings"
    )
    async def meetings(
        root: strawberry.Parent[DealRow], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[MeetingLink]:
        question = listing(first=first, after=after)
        return await deals.meetings_of_deal(info.context, root.id, question, selected_nodes(info))

    @guarded_field(deals.stage_history, "The deal's moves between stages, oldest first.")
    async def stage_history(root: strawberry.Parent[DealRow], info: Info) -> list[StageChange]:
        return await deals.stage_history(info.context, root.id)

    activities: Connection[ActivityLink] = activities_field("deal", "on")

    timeline: TimelineLink = timeline_field("deal", "The deal's feed.")

    history: HistoryLink = history_field("deal")

    files: Connection[FileLink] = files_field()


@record_order(t.Deal)
class DealOrder:
    """The order that a list of deals is asked for in: by a column to SORT by."""


@strawberry.input(description="Conditions on where a deal stands, all of which must hold.")
class DealStatusFilter(Comparator):
    eq: DealStatus | None = field("Is this.", default=UNSET)
    neq: DealStatus | None = field("Is not this.", default=UNSET)
    in_: list[DealStatus] | None = field("Is one of these.", name="in", default=UNSET)
    nin: list[DealStatus] | None = field("Is none of these.", default=UNSET)


@strawberry.input(description="Conditions on the reach of a deal, all of which must hold.")
class GeoScopeFilter(Comparator):
    eq: GeoScope | None = field("Is this; null asks for deals without one.", default=UNSET)
    neq: GeoScope | None = field("Is not this.", default=UNSET)
    in_: list[GeoScope] | None = field("Is one of these.", name="in", default=UNSET)
    nin: list[GeoScope] | None = field("Is none of these.", default=UNSET)
    is_null: bool | None = field("Whether there is no value.", default=UNSET)


@record_filter(t.Deal)
class DealFilter:
    """Says which deals, by the columns to FILTER by; a link's filter holds for the linked record."""

    status: DealStatusFilter | None = field("On where the deal stands.", default=UNSET)
    geo_scope: GeoScopeFilter | None = field("On the reach.", default=UNSET)
    account: AccountFilter | None = field("There is an account, and this holds for it.", default=UNSET)
    tags: TagsFilter | None = on_tags()


@record_input(t.Deal, CREATE, "A new deal: only what is kept on creation; the rest is set with dealUpdate.")
class DealCreateInput:
    """Creates a deal (specification 2.2): the columns to CREATE with."""

    tags: list[str] | None = first_tags()


@record_input(t.Deal, UPDATE, "Changes to a deal; an explicit null clears a nullable field, an omitted one stays.")
class DealUpdateInput:
    """Changes a deal: the columns to UPDATE, and the version that is expected."""


@strawberry.type(description="What became of a change to a deal.")
class DealPayload:
    deal: Deal | None = field("The deal after the change.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type(description="What became of taking a contact off a deal.")
class DealContactUnlinkPayload:
    deal_id: strawberry.ID = field("The deal that was named.")
    contact_id: strawberry.ID = field("The contact that was named.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type(description="An exact sum of money in one currency.")
class MoneyTotal:
    currency: str = field("The ISO 4217 code.")
    amount: Decimal = field("The sum of the deals' amounts.")
    count: int = field("How many deals, those without an amount included.")


@strawberry.type(description="A stage with the deals in it.")
class DealBoardColumn:
    stage: PipelineStage = field("The stage.")
    totals: list[MoneyTotal] = field("What the deals are worth, per currency.")
    deal_count: int = field("The number of deals in the column.")
    weighted_totals: list[MoneyTotal] = field(
        "Open deals: amount times the stage's probability, one item for each currency; empty where the stage has none."
    )

    @guarded_field(deals.deals_of_stage, "The deals in the stage, newest first.")
    async def deals(
        root: strawberry.Parent[deals.BoardColumn], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[Deal]:
        question = listing(root.condition, first=first, after=after)
        return await deals.deals_of_stage(info.context, root.stage.id, question, selected_nodes(info))


@strawberry.type(description="The deals by stage.")
class DealBoard:
    columns: list[DealBoardColumn] = field("A column per stage, in the board's order.")
    totals: list[MoneyTotal] = field("All columns together, one item for each currency.")
    unstaged_totals: list[MoneyTotal] = field("The deals in no stage, one item for each currency.")

    @guarded_field(deals.unstaged_deals, "The deals that no column holds because they have no stage, newest first.")
    async def unstaged(root: strawberry.Parent[deals.Board], info: Info) -> Connection[Deal]:
        return await deals.unstaged_deals(info.context, root.condition, selected_nodes(info))


DealId = Annotated[strawberry.ID, argument("The deal's identifier.")]
ContactId = Annotated[strawberry.ID, argument("The contact's identifier.")]
DealFilterArgument = Annotated[DealFilter | None, argument("Which deals.")]
_DEFAULT_ORDER = DealOrder()


@strawberry.type
class DealQueries:
    @operation_field(deals.get_deal, "One deal; null where there is none.")
    async def deal(self, info: Info, id: DealId) -> Deal | None:
        return await deals.get_deal(info.context, id, selected(info))

    @operation_field(
        deals.deal_board,
        "The board: a column per stage, and the deals that no column holds because they have no stage.",
    )
    async def deal_board(self, info: Info, filter: DealFilterArgument = UNSET) -> DealBoard:
        return await deals.deal_board(info.context, condition_of(filter))

    @operation_field(deals.list_deals, "The organization's deals.")
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
    @operation_field(deals.create_deal, "Creates a deal; the caller becomes the owner. Emits deal_created.")
    async def deal_create(self, info: Info, input: Annotated[DealCreateInput, argument("The deal.")]) -> DealPayload:
        made, problems = await change(info, deals.create_deal, model=deals.DealCreate, input=input)
        return DealPayload(deal=made, user_errors=problems)

    @operation_field(deals.update_deal, "Changes a deal; a change of stage goes into its history.")
    async def deal_update(
        self, info: Info, id: DealId, input: Annotated[DealUpdateInput, argument("The changes.")]
    ) -> DealPayload:
        changed, problems = await change(info, deals.update_deal, id, model=deals.DealUpdate, input=input)
        return DealPayload(deal=changed, user_errors=problems)

    @operation_field(deals.delete_deal, "Deletes a deal with its links and history; its meetings stay, unlinked.")
    async def deal_delete(self, info: Info, id: DealId) -> DeletePayload:
        return await deletion(info, deals.delete_deal, id)

    @operation_field(deals.link_contact, "Puts a contact on a deal, or changes how it stands there.")
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
        linked, problems = await change(
            info, deals.link_contact, deal_id, contact_id, model=deals.LinkInput, input=link, at=()
        )
        return DealPayload(deal=linked and linked.deal, user_errors=problems)

    @operation_field(
        deals.unlink_contact, "Takes a contact off a deal. Idempotent: unlinking what is not linked succeeds."
    )
    async def deal_contact_unlink(self, info: Info, deal_id: DealId, contact_id: ContactId) -> DealContactUnlinkPayload:
        _, problems = await change(info, deals.unlink_contact, deal_id, contact_id)
        return DealContactUnlinkPayload(deal_id=deal_id, contact_id=contact_id, user_errors=problems)


QUERIES, MUTATIONS = DealQueries, DealMutations
