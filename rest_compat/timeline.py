"""Serves the timelines and the histories of accounts, contacts, deals and leads."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Iterator, Mapping
from typing import Annotated, Final
from urllib.parse import quote, urlencode

from pydantic import AfterValidator, Field

from contract.criteria import PageWindow, Selection
from contract.errors import NotFound
from contract.limits import PAGE_DEFAULT, TIMELINE_MAX
from contract.timeline import ACTIVITIES
from contract.vocabulary import TimelineKind
from resolvers.accounts import get_account
from resolvers.activities import get_activity
from resolvers.contacts import get_contact
from resolvers.deals import get_deal
from resolvers.leads import get_lead
from resolvers.shared.inputs import Input
from resolvers.shared.lists import PageResult
from resolvers.timeline import HISTORIES, TIMELINES
from rest_compat.activity_documents import ACTIVITY
from rest_compat.operations import Handler, Resolver, RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Repeatable, Whole
from rest_compat.schemas import JsonObject
from storage.joined_rows import FeedItem

_RECORDS: Final[Mapping[str, Resolver]] = {
    "account": get_account,
    "contact": get_contact,
    "deal": get_deal,
    "lead": get_lead,
}
_SHOWN: Final = Selection(frozenset(ACTIVITY.columns))

Limit = Annotated[Whole, AfterValidator(lambda size: min(size, TIMELINE_MAX))]


class HistoryQuery(Input):
    """Has the query parameters of a history."""

    limit: Limit = Field(
        default=PAGE_DEFAULT, description=f"Items at most; more than {TIMELINE_MAX} is {TIMELINE_MAX}."
    )
    after: str | None = Field(default=None, description="Only items behind this cursor, which the Link header has.")

    @property
    def page(self) -> PageWindow:
        """Returns the window of the page."""
        return PageWindow(first=self.limit, after=self.after)


class TimelineQuery(HistoryQuery):
    """Has the query parameters of a timeline."""

    kind: Annotated[list[TimelineKind] | None, Repeatable()] = Field(
        default=None, description="Only items of these kinds: several times, or by commas."
    )
    include_upcoming: bool = Field(default=False, description="When true, activities of the future are shown, too.")


def _timeline(subject: str) -> Handler:
    async def timeline(call: RestRequest) -> RestResponse:
        record_id, query = await _found(call, subject), call.query
        found = await TIMELINES[subject](
            call.ctx, record_id, query.page, kinds=query.kind, is_upcoming=query.include_upcoming
        )
        given = [("kind", kind.value) for kind in query.kind or ()]
        given += [("include_upcoming", "true")] if query.include_upcoming else []
        return RestResponse(await _items(call, found), _next(call, f"{subject}s/{record_id}/timeline", found, given))

    return timeline


def _history(subject: str) -> Handler:
    async def history(call: RestRequest) -> RestResponse:
        record_id = await _found(call, subject)
        found = await HISTORIES[subject](call.ctx, record_id, call.query.page)
        shown = [{"id": row.id, "at": row.at, "actor": row.actor, **_change(row)} for row in found.rows]
        return RestResponse(shown, _next(call, f"{subject}s/{record_id}/history", found, []))

    return history


async def _found(call: RestRequest, subject: str) -> str:
    """Returns the record's identifier in its canonical form."""
    record = await _RECORDS[subject](call.ctx, call.path[f"{subject}_id"])
    if record is None:
        raise NotFound()
    identifier: str = record.id
    return identifier


async def _items(call: RestRequest, page: PageResult[FeedItem]) -> list[JsonObject]:
    """Returns the items, with the records of their activities, which come in a statement for all of them."""
    ids = [row.id for row in page.rows if row.kind in ACTIVITIES]
    found = [each for each in await gather(*(get_activity(call.ctx, i, _SHOWN) for i in ids)) if each is not None]
    documents = await ACTIVITY.shown(call.ctx, found)
    activities = {document["id"]: document for document in documents}
    return [_item(row, activities) for row in page.rows]


def _item(row: FeedItem, activities: Mapping[object, JsonObject]) -> JsonObject:
    is_move, is_change = row.kind == TimelineKind.STAGE_CHANGE, row.kind == TimelineKind.CHANGE
    moved = {"from_stage_id": row.from_stage_id, "to_stage_id": row.to_stage_id}
    return {
        "id": row.id,
        "kind": row.kind,
        "at": row.at,
        "actor": row.actor,
        "activity": activities.get(row.id),
        "deal_id": row.deal_id,
        "stage_change": moved if is_move else None,
        "change": _change(row) if is_change else None,
        "file_id": row.file_id,
        "enrollment_id": row.id if row.kind == TimelineKind.ENROLLMENT else None,
    }


def _change(row: FeedItem) -> JsonObject:
    told = (row.fields or {}).items()
    return {"type": row.type, "fields": [{"field": name, "before": old, "after": new} for name, (old, new) in told]}


def _next(call: RestRequest, path: str, page: PageResult[FeedItem], given: list[tuple[str, str]]) -> dict[str, str]:
    """Returns the header that says where the feed goes on, where it does."""
    if not page.has_next or not page.rows:
        return {}
    query = urlencode([*given, ("limit", str(call.query.limit)), ("after", page.cursor(page.rows[-1]))])
    return {"Link": f'<{call.root_path}/{quote(path)}?{query}>; rel="next"'}


def _operations() -> Iterator[RestOperation]:
    for subject in _RECORDS:
        path, owner = f"/{subject}s/{{{subject}_id}}", subject.capitalize()
        yield RestOperation(
            "GET",
            f"{path}/timeline",
            _timeline(subject),
            f"Get the timeline of {'an' if subject[0] == 'a' else 'a'} {subject}",
            resolver=TIMELINES[subject],
            query=TimelineQuery,
            answer="TimelineItem",
            many=True,
            graphql_field=f"{owner}.timeline",
            description="Newest first; what is not of an item's kind is null. Enrollments need an outreach scope and "
            "are left out without it. Where there is more, Link has the next page.",
            response_headers=("Link",),
            errors=(404,),
            operation_id=f"{subject}s_timeline",
        )
        yield RestOperation(
            "GET",
            f"{path}/history",
            _history(subject),
            f"Get the history of {'an' if subject[0] == 'a' else 'a'} {subject}",
            resolver=HISTORIES[subject],
            query=HistoryQuery,
            answer="RecordChange",
            many=True,
            graphql_field=f"{owner}.history",
            description="Newest first; the creation has no fields. Where there is more, Link has the next page.",
            response_headers=("Link",),
            errors=(404,),
            operation_id=f"{subject}s_history",
        )


OPERATIONS: Final = tuple(_operations())
