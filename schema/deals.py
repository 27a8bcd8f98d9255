"""Deals on the GraphQL surface (specification 2.2, 4.4, 4.5)."""

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from contract.vocabulary import DealStatus, GeoScope, SortDirection
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
    edges_of,
    listing,
    nodes_of,
    page_info_of,
)
from schema.contacts import Contact
from schema.declare import Info, argument, enum, guarded, linked, operation, resolved, shown
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.filters import DateFilter, DateTimeFilter, DecimalFilter, IDFilter, StringFilter, condition_of, order_of
from schema.inputs import DeletePayload, change, deletion
from schema.links import MeetingLink
from schema.pipeline_stages import PipelineStage

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
class DealContactEdge:
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
class DealContactConnection:
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


@strawberry.type(description="A deal.")
class Deal(Node):
    name: str = shown("The deal's name.")
    account_id: strawberry.ID | None = shown("The account's identifier.")
    value: Decimal | None = shown("The amount in `currency`, exact to four decimals.")
    currency: str = shown("The ISO 4217 code.")
    stage_id: strawberry.ID | None = shown("The stage's identifier; null until a stage is set.")
    status: DealStatus = shown("Where the deal stands.")
    close_date: date | None = shown("When it is expected to close, or closed.")
    geo_scope: GeoScope | None = shown("Its reach.")
    source: str | None = shown("Where it came from.")
    champion_id: strawberry.ID | None = shown("The identifier of the internal champion.")
    notes: str | None = shown("Free text.")
    parent_deal_id: strawberry.ID | None = shown("The deal that this one is part of.")
    competitors: list[str] = shown("Names of competitors on the deal.")
    owner_id: str | None = shown("The subject of the owning rep.")
    created_at: datetime = shown("When the record was made.")
    updated_at: datetime = shown("When the record last changed.")
    version: int = shown("Grows with each change; see `expectedVersion`.")

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


class DealOrderField(Enum):
    NAME = "name"
    VALUE = "value"
    CLOSE_DATE = "close_date"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"


enum(
    DealOrderField,
    "What deals can be ordered by.",
    NAME="The name, by code point.",
    VALUE="The amount, whatever its currency; deals without one come last.",
    CLOSE_DATE="The closing day; deals without one come last.",
    CREATED_AT="When the record was made.",
    UPDATED_AT="When the record last changed.",
)


@strawberry.input(description="The order of deals; createdAt descending, then id, break ties.")
class DealOrder:
    field: DealOrderField = shown("What to order by.", default=DealOrderField.CREATED_AT)
    direction: SortDirection = shown("Which end comes first.", default=SortDirection.DESC)


@strawberry.input(description="Conditions on deals, all of which must hold.")
class DealFilter:
    and_: list["DealFilter"] | None = shown("All of these hold.", name="and", default=UNSET)
    or_: list["DealFilter"] | None = shown("At least one of these holds.", name="or", default=UNSET)
    not_: "DealFilter | None" = shown("This does not hold.", name="not", default=UNSET)
    id: IDFilter | None = shown("On the identifier.", default=UNSET)
    name: StringFilter | None = shown("On the name.", default=UNSET)
    value: DecimalFilter | None = shown("On the amount.", default=UNSET)
    currency: StringFilter | None = shown("On the currency code.", default=UNSET)
    close_date: DateFilter | None = shown("On the closing day.", default=UNSET)
    stage_id: IDFilter | None = shown("On the stage's identifier.", default=UNSET)
    account_id: IDFilter | None = shown("On the account's identifier.", default=UNSET)
    owner_id: StringFilter | None = shown("On the owning rep.", default=UNSET)
    champion_id: IDFilter | None = shown("On the champion's identifier.", default=UNSET)
    created_at: DateTimeFilter | None = shown("On when the record was made.", default=UNSET)
    account: AccountFilter | None = shown("There is an account, and this holds for it.", default=UNSET)


@strawberry.input(description="A new deal: only what is kept on creation; the rest is set with dealUpdate.")
class DealCreateInput:
    name: str = shown("The deal's name, not empty.")
    account_id: strawberry.ID | None = shown("The account's identifier.", default=UNSET)
    value: Decimal | None = shown("The amount: not negative, under 10^15, at most four decimals.", default=UNSET)
    stage_id: strawberry.ID | None = shown("The initial stage; none is chosen by itself.", default=UNSET)
    close_date: date | None = shown("When it is expected to close.", default=UNSET)
    currency: str | None = shown("The ISO 4217 code.", default="USD")
    geo_scope: GeoScope | None = shown("Its reach.", default=UNSET)


@strawberry.input(description="Changes to a deal; an explicit null clears a nullable field, an omitted one stays.")
class DealUpdateInput:
    name: str | None = shown("The deal's name, not empty.", default=UNSET)
    account_id: strawberry.ID | None = shown("The account's identifier.", default=UNSET)
    value: Decimal | None = shown("The amount: not negative, under 10^15, at most four decimals.", default=UNSET)
    stage_id: strawberry.ID | None = shown("The stage's identifier.", default=UNSET)
    close_date: date | None = shown("When it is expected to close, or closed.", default=UNSET)
    currency: str | None = shown("The ISO 4217 code.", default=UNSET)
    geo_scope: GeoScope | None = shown("Its reach.", default=UNSET)
    source: str | None = shown("Where it came from.", default=UNSET)
    champion_id: strawberry.ID | None = shown("The identifier of the internal champion.", default=UNSET)
    notes: str | None = shown("Free text.", default=UNSET)
    expected_version: int | None = shown("Change only this version of the record.", default=UNSET)


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
        is_primary: Annotated[bool | None, argument("Whether it becomes the deal's only primary contact.")] = False,
    ) -> DealPayload:
        link = {"is_primary": bool(is_primary)} | ({} if role is UNSET else {"role": role})
        deal, problems = await change(
            info, deals.link_contact, deal_id, contact_id, model=deals.LinkInput, input=link, at=()
        )
        return DealPayload(deal=deal, user_errors=problems)

    @operation(deals.unlink_contact, "Takes a contact off a deal. Idempotent: unlinking what is not linked succeeds.")
    async def deal_contact_unlink(self, info: Info, deal_id: DealId, contact_id: ContactId) -> DealContactUnlinkPayload:
        _, problems = await change(info, deals.unlink_contact, deal_id, contact_id)
        return DealContactUnlinkPayload(deal_id=deal_id, contact_id=contact_id, user_errors=problems)
