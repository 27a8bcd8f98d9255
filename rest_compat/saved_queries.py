"""Serves the paths of saved queries."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StrictBool

from contract.limits import ANALYTICS_ROWS_MAX
from resolvers.saved_queries import (
    SavedQueryRun,
    create_saved_query,
    delete_saved_query,
    get_saved_query,
    list_saved_queries,
    run_saved_query,
    share_saved_query,
    update_saved_query,
    verify_saved_query,
)
from resolvers.shared.inputs import Input
from rest_compat.documents import Document
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import ListParameters, Whole
from rest_compat.resources import Resource
from rest_compat.sql_queries import CSV, CSV_HEADERS, FormatQuery, shown
from storage import tables as t

_SHOWN: Final = (
    *("id", "name", "description", "question", "query", "sql", "dialect", "owner_id", "is_shared", "is_verified"),
    *("created_at", "updated_at", "version"),
)
SAVED_QUERY: Final = Document(
    "SavedQuery",
    t.SavedQuery,
    "A query that was kept.",
    _SHOWN,
)
_PATH: Final = "/analytics/saved-queries/{saved_query_id}"
_SAVED: Final = Resource(_PATH, SAVED_QUERY)


_Rows = Annotated[Whole, AfterValidator(lambda number: min(number, ANALYTICS_ROWS_MAX))]


class SharedBody(Input):
    """Whether the organization sees a saved query."""

    shared: StrictBool


class VerifiedBody(Input):
    """Whether a saved query is right."""

    verified: StrictBool


class RunQuery(FormatQuery):
    """Has the query parameters of a run."""

    rows: _Rows = Field(
        default=ANALYTICS_ROWS_MAX, alias="limit", description=f"How many rows, {ANALYTICS_ROWS_MAX} at most."
    )


async def run(call: RestRequest) -> RestResponse:
    """Answers with the rows of the saved query."""
    wanted = SavedQueryRun(first=call.query.rows)
    return shown(call, await run_saved_query(call.ctx, call.path["saved_query_id"], wanted))


async def share(call: RestRequest) -> RestResponse:
    """Shows the saved query to the organization, or hides it."""
    body: SharedBody = call.body
    saved = await share_saved_query(call.ctx, call.path["saved_query_id"], body.shared)
    return RestResponse(SAVED_QUERY.of(saved), {"ETag": f'"{saved.version}"'})


async def verify(call: RestRequest) -> RestResponse:
    """Marks the saved query as checked, or takes the mark away."""
    body: VerifiedBody = call.body
    saved = await verify_saved_query(call.ctx, call.path["saved_query_id"], body.verified)
    return RestResponse(SAVED_QUERY.of(saved), {"ETag": f'"{saved.version}"'})


OPERATIONS: Final = (
    replace(
        _SAVED.listing(list_saved_queries, ListParameters, description="The caller's own and those that are shared."),
        summary="List saved queries",
    ),
    _SAVED.detail(get_saved_query),
    replace(
        _SAVED.create(
            create_saved_query,
            description="Exactly one of `sql`, `query`, or `question` with or without `query`. 409 where the caller "
            "has one of the name.",
        ),
        errors=(409,),
    ),
    replace(
        _SAVED.change(update_saved_query, description="The caller's own. Another text loses its verification."),
        errors=(404, 409, 412),
    ),
    _SAVED.delete(delete_saved_query, description="The caller's own."),
    RestOperation(
        "POST",
        f"{_PATH}/run",
        run,
        "Run a saved query",
        resolver=run_saved_query,
        query=RunQuery,
        answer="AnalyticsResult",
        files=(CSV,),
        graphql_field="Query.savedQueryRun",
        description="Under the scopes that the caller has now. 409 for a statement in another SQL than the one spoken "
        "here, and for a question that cannot be read.",
        request_headers=("Accept",),
        response_headers=CSV_HEADERS,
        errors=(404, 409, 429, 501, 504),
        operation_id="saved_queries_run",
    ),
    RestOperation(
        "PUT",
        f"{_PATH}/shared",
        share,
        "Share a saved query",
        resolver=share_saved_query,
        body=SharedBody,
        answer=SAVED_QUERY,
        graphql_field="Mutation.savedQueryShare",
        description="The caller's own.",
        example={"shared": True},
        response_headers=("ETag", "X-Ignored-Fields"),
        errors=(404,),
        operation_id="saved_queries_share",
    ),
    RestOperation(
        "PUT",
        f"{_PATH}/verified",
        verify,
        "Verify a saved query",
        resolver=verify_saved_query,
        body=VerifiedBody,
        answer=SAVED_QUERY,
        graphql_field="Mutation.savedQueryVerify",
        description="A shared one that has a question: the assistant answers that question with it.",
        example={"verified": True},
        response_headers=("ETag", "X-Ignored-Fields"),
        errors=(404, 409),
        operation_id="saved_queries_verify",
    ),
)
