"""The fields `activities`, `timeline`, `history`, `files` and `mergedFrom` of the records that have them."""

from typing import TYPE_CHECKING, Annotated

import strawberry
from strawberry import UNSET

from contract.bulk_vocabulary import MergeableKind
from contract.vocabulary import TimelineKind
from resolvers import activities, files, merging, timeline
from schema.connections import After, Connection, First, listing
from schema.declare import DeclaredField, Info, argument, enum, guarded_field
from schema.execution.selections import selected_nodes
from schema.filters import condition_of
from schema.links import ActivityFilterLink, ActivityLink, FileLink
from storage.rows import Row

if TYPE_CHECKING:
    from schema.timeline import RecordChangeConnection, TimelineConnection

enum(
    TimelineKind,
    "What an item of a timeline is.",
    MEETING="A meeting.",
    TASK="Something to be done.",
    NOTE="A text.",
    CALL="A telephone call.",
    EMAIL="An e-mail message.",
    STAGE_CHANGE="A deal came into another stage.",
    CHANGE="The record itself changed.",
    FILE="A file was attached.",
    ENROLLMENT="The contact came into a campaign; needs OUTREACH_READ and is left out without it.",
)

TimelineLink = Annotated["TimelineConnection", strawberry.lazy("schema.timeline")]
HistoryLink = Annotated["RecordChangeConnection", strawberry.lazy("schema.timeline")]
FirstItems = Annotated[int | None, argument("At most this many items; 50 unless told, at most 100.")]
Kinds = Annotated[list[TimelineKind] | None, argument("Only items of these kinds; of all unless told.")]
Upcoming = Annotated[bool | None, argument("Whether activities of the future are shown, too.")]


def activities_field(subject: str, how: str) -> DeclaredField:
    """Make the field `activities` of a record of this kind; how says how an activity stands to it: on, with."""
    read = activities.OF_RECORD[subject]

    @guarded_field(read, f"Activities of every type {how} the {subject}, latest first.")
    async def listed(
        root: strawberry.Parent[Row],
        info: Info,
        filter: Annotated[ActivityFilterLink | None, argument("Which activities.")] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
    ) -> Connection[ActivityLink]:
        question = listing(condition_of(filter), first=first, after=after)
        record_id: str = root.id  # type: ignore[attr-defined]  # a record's row
        return await read(info.context, record_id, question, selected_nodes(info, "type"))

    return listed


def timeline_field(subject: str, description: str) -> DeclaredField:
    """Make the field `timeline` of a record of this kind."""
    read = timeline.TIMELINES[subject]

    @guarded_field(read, f"{description} Items of the future only when asked for.")
    async def feed(
        root: strawberry.Parent[Row],
        info: Info,
        kinds: Kinds = UNSET,
        include_upcoming: Upcoming = False,
        first: FirstItems = UNSET,
        after: After = UNSET,
    ) -> TimelineLink:
        page = listing(first=first, after=after).page
        chosen = None if kinds is UNSET else kinds
        record_id: str = root.id  # type: ignore[attr-defined]  # the same
        return await read(info.context, record_id, page, kinds=chosen, is_upcoming=bool(include_upcoming))

    return feed


def history_field(subject: str) -> DeclaredField:
    """Make the field `history` of a record of this kind."""
    read = timeline.HISTORIES[subject]

    @guarded_field(read, "What changed in the record itself.")
    async def changes(
        root: strawberry.Parent[Row], info: Info, first: FirstItems = UNSET, after: After = UNSET
    ) -> HistoryLink:
        page = listing(first=first, after=after).page
        return await read(info.context, root.id, page)  # type: ignore[attr-defined]  # the same

    return changes


def merged_from_field(kind: MergeableKind) -> DeclaredField:
    """Make the field `mergedFrom` of a record of this kind."""

    async def ids(root: strawberry.Parent[Row], info: Info) -> list[strawberry.ID]:
        found = await merging.merged_from(info.context, kind, root.id)  # type: ignore[attr-defined]  # a record's row
        return [strawberry.ID(each) for each in found]

    text = f"The {kind.value}s that were merged into this one; their ids still lead here."
    return strawberry.field(resolver=ids, description=text)


def files_field(description: str = "The files attached to it, newest first.") -> DeclaredField:
    """Make the field `files` of a record."""

    @guarded_field(files.files_of_record, description)
    async def listed(
        root: strawberry.Parent[Row], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[FileLink]:
        record_id: str = root.id  # type: ignore[attr-defined]  # a record's row
        question = listing(first=first, after=after)
        return await files.files_of_record(info.context, record_id, question, selected_nodes(info))

    return listed
