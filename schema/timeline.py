"""Timelines and histories on the GraphQL surface: what happened to a record, newest first."""

from dataclasses import dataclass
from datetime import datetime

import strawberry
from strawberry.scalars import JSON

from contract.timeline import ACTIVITIES
from contract.vocabulary import TimelineKind
from resolvers import activities, deals, enrollments, files, members
from resolvers.shared.lists import PageResult
from schema.activities import Activity
from schema.adapters.strawberry import to_camel_case
from schema.connections import PageInfo, PageOfRows, RowOfPage, edges_of, nodes_of, page_info_of
from schema.deals import Deal, StageChange
from schema.declare import Info, computed_field, field, guarded_field
from schema.enrollments import Enrollment
from schema.execution.selections import selected
from schema.links import FileLink
from schema.members import Member
from storage.joined_rows import FeedItem


@strawberry.type(description="One field of a change.")
class FieldChange:
    field_name: str = field("The field's name, such as closeDate.", name="field")
    before: JSON | None = field("The value before; texts over 1,000 characters are cut there.")
    after: JSON | None = field("The value after; texts over 1,000 characters are cut there.")


@strawberry.type(description="One change of a record, as the change log has it, with values.")
class RecordChange:
    id: strawberry.ID = field("The identifier of the change; of the record's creation, the record's.")
    at: datetime = field("When; of several edits in two minutes by one actor, the last.")
    actor: str = field("Who: a member's subject, or system.")
    type: str = field("The event's type, such as deal_updated.")

    @guarded_field(members.get_member, "Who, where a member.")
    async def actor_member(root: strawberry.Parent[FeedItem], info: Info) -> Member | None:
        return None if root.actor is None else await members.get_member(info.context, root.actor)

    @computed_field("What changed, by field name in the words of the schema.")
    def fields(root: strawberry.Parent[FeedItem]) -> list[FieldChange]:
        told = (root.fields or {}).items()
        return [FieldChange(field_name=to_camel_case(name), before=old, after=new) for name, (old, new) in told]


@dataclass(frozen=True, slots=True)
class _Move:
    """The move of an item, as `StageChange` reads it."""

    at: datetime
    by: str | None
    from_stage_id: str | None
    to_stage_id: str | None


@strawberry.type(description="What happened to a record at a moment.")
class TimelineItem:
    id: strawberry.ID = field("The identifier of the activity, the change, the attachment or the enrollment.")
    at: datetime = field("When.")
    actor: str | None = field("Who: a member's subject, or system; of an activity, its owner.")

    @computed_field("What it is.")
    def kind(root: strawberry.Parent[FeedItem]) -> TimelineKind:
        return TimelineKind(root.kind)

    @guarded_field(members.get_member, "Who, where a member.")
    async def actor_member(root: strawberry.Parent[FeedItem], info: Info) -> Member | None:
        return None if root.actor is None else await members.get_member(info.context, root.actor)

    @guarded_field(activities.get_activity, "The activity, of the five kinds of them.")
    async def activity(root: strawberry.Parent[FeedItem], info: Info) -> Activity | None:
        if root.kind not in ACTIVITIES:
            return None
        return await activities.get_activity(info.context, root.id, selected(info, "type"))

    @guarded_field(deals.get_deal, "The deal that moved.")
    async def deal(root: strawberry.Parent[FeedItem], info: Info) -> Deal | None:
        return None if root.deal_id is None else await deals.get_deal(info.context, root.deal_id, selected(info))

    @computed_field("From which stage to which.")
    def stage_change(root: strawberry.Parent[FeedItem]) -> StageChange | None:
        if root.kind != TimelineKind.STAGE_CHANGE:
            return None
        return _Move(root.at, root.actor, root.from_stage_id, root.to_stage_id)

    @computed_field("What changed in the record itself.")
    def change(root: strawberry.Parent[FeedItem]) -> RecordChange | None:
        return root if root.kind == TimelineKind.CHANGE else None

    @guarded_field(files.get_file, "The file that was attached.")
    async def file(root: strawberry.Parent[FeedItem], info: Info) -> FileLink | None:
        return None if root.file_id is None else await files.get_file(info.context, root.file_id, selected(info))

    @guarded_field(enrollments.get_enrollment, "The campaign that the contact came into.")
    async def enrollment(root: strawberry.Parent[FeedItem], info: Info) -> Enrollment | None:
        if root.kind != TimelineKind.ENROLLMENT:
            return None
        return await enrollments.get_enrollment(info.context, root.id)


@strawberry.type(description="An item in a page.")
class TimelineEdge(RowOfPage):
    cursor: str = field("Where the feed goes on after this item.")
    node: TimelineItem = field("The item.")


@strawberry.type(description="A page of a timeline, newest first. There is no count: the feed is read on demand.")
class TimelineConnection(PageOfRows):
    @computed_field("The items, each with its cursor.")
    def edges(root: strawberry.Parent[PageResult[FeedItem]]) -> list[TimelineEdge]:
        return edges_of(root)

    @computed_field("The items of the page.")
    def nodes(root: strawberry.Parent[PageResult[FeedItem]]) -> list[TimelineItem]:
        return nodes_of(root)

    @computed_field("Whether and where the feed goes on.")
    def page_info(root: strawberry.Parent[PageResult[FeedItem]]) -> PageInfo:
        return page_info_of(root)


@strawberry.type(description="A change in a page.")
class RecordChangeEdge(RowOfPage):
    cursor: str = field("Where the list goes on after this change.")
    node: RecordChange = field("The change.")


@strawberry.type(description="A page of changes, newest first.")
class RecordChangeConnection(PageOfRows):
    @computed_field("The changes, each with its cursor.")
    def edges(root: strawberry.Parent[PageResult[FeedItem]]) -> list[RecordChangeEdge]:
        return edges_of(root)

    @computed_field("The changes of the page.")
    def nodes(root: strawberry.Parent[PageResult[FeedItem]]) -> list[RecordChange]:
        return nodes_of(root)

    @computed_field("Whether and where the list goes on.")
    def page_info(root: strawberry.Parent[PageResult[FeedItem]]) -> PageInfo:
        return page_info_of(root)

    @computed_field("How many changes are kept; counted only when selected.")
    async def total_count(root: strawberry.Parent[PageResult[FeedItem]]) -> int:
        return await root.total()
