"""Serves the change log by time."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from resolvers.events import list_changes
from rest_compat.documents import Document
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import ListParameters, Moment, Repeatable
from storage import tables as t

EVENT: Final = Document(
    "Event",
    t.Event,
    "Something that happened in the organization.",
    ("id", "type", "actor", "occurred_at", "request_id", "data"),
    schemas={"data": {"type": "object", "description": "What it was about."}},
    examples={"data": {"id": "0199b2c4-5a10-7c3e-9d55-0d5f3c1a7e42"}},
)


class ChangesQuery(ListParameters):
    """Has the query parameters of GET /changes."""

    since: Moment = Field(description="Only what happened at or after this moment.", examples=["2026-01-01T00:00:00Z"])
    until: Moment | None = Field(default=None, description="Only what happened before this moment; now unless given.")
    type: Annotated[list[str] | None, Repeatable()] = Field(
        default=None, description="Only events of these types: several times, or by commas."
    )


async def changes(call: RestRequest) -> RestResponse:
    """Lists what happened between two moments."""
    query: ChangesQuery = call.query
    page = await list_changes(call.ctx, query.since, query.until, query.type, query.listing().page)
    return RestResponse(EVENT.all_of(page.rows))


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/changes",
        changes,
        "List what happened",
        resolver=list_changes,
        query=ChangesQuery,
        answer=EVENT,
        many=True,
        graphql_field="Query.changes",
        errors=(410,),
        description="Oldest first. Events are shown to callers whose scopes cover their area.",
    ),
)
