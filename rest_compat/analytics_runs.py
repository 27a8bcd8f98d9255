"""Serves questions: asked and followed, read again, cancelled and forgotten."""

from __future__ import annotations

from asyncio import gather
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Annotated, Final

import orjson
from pydantic import AfterValidator, Field

from contract.analytics_events import AnalyticsPlanner, AnalyticsRunStatus, EventType
from contract.analytics_results import Result
from contract.criteria import PageWindow
from contract.errors import NotFound, Problem, Problems
from contract.guard_layers import GuardLayer
from contract.limits import RUN_SECONDS, RUNS_DEFAULT, RUNS_MAX
from resolvers.analytics_runs import (
    AnalyticsAsk,
    Asked,
    Followed,
    ask,
    cancel_run,
    delete_conversation,
    finished,
    get_run,
    list_runs,
    result_of,
    steps_of,
    watch_run,
)
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, Reference
from rest_compat.analytics_results import result_body
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Offset, Whole
from rest_compat.schemas import JsonObject, enumerated, or_null, record_schema, reference_to
from transport.event_stream import EVENT_STREAM, asks_for_events

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_ID: Final = {"type": "string", "format": "uuid"}
_TIME: Final = {"type": "string", "format": "date-time", "description": "ISO 8601 in UTC."}
_QUERY: Final = {"type": "object", "description": "The semantic query, as POST /analytics/query takes it."}
RUN_SCHEMA: Final = record_schema(
    {
        "id": _ID,
        "conversation_id": _ID,
        "question": {**_TEXT, "description": "As it was understood to be asked: trimmed, in one line."},
        "status": enumerated(AnalyticsRunStatus),
        "planner": or_null(enumerated(AnalyticsPlanner), "Null where there is no plan yet."),
        "plan": or_null(
            record_schema(
                {
                    "query": or_null(_QUERY),
                    "assumptions": {**_TEXTS, "description": "What was taken for granted, in words."},
                    "follows_run_id": or_null(_ID, "The run whose query this one changes."),
                },
                "How the question was read.",
            )
        ),
        "result": {
            "anyOf": [reference_to("AnalyticsResult"), {"type": "null"}],
            "description": "Null until there is an answer, and once its rows are forgotten.",
        },
        "explanation": {**_TEXT, "description": "As far as it is written."},
        "unread": {**_TEXTS, "description": "The words that could not be read, of a declined question."},
        "suggestions": {**_TEXTS, "description": "Questions that can be answered and are nearest; three at most."},
        "error": or_null(
            record_schema(
                {"code": _TEXT, "message": _TEXT, "layer": or_null(enumerated(GuardLayer))}, "What went wrong."
            )
        ),
        "created_at": _TIME,
        "finished_at": or_null(_TIME),
    },
    "A question and what became of it.",
)

Limit = Annotated[Whole, AfterValidator(lambda size: min(size, RUNS_MAX))]


class RunsQuery(Input):
    """Has the query parameters of GET /analytics/runs."""

    conversation_id: Reference | None = Field(default=None, description="Only those of this conversation.")
    limit: Limit = Field(default=RUNS_DEFAULT, description=f"Rows at most; more than {RUNS_MAX} is {RUNS_MAX}.")
    offset: Offset = Field(default=0, description="Rows to skip.")


class EventsQuery(Input):
    """Has the query parameters of GET /analytics/runs/{run_id}/events."""

    after: Whole = Field(default=0, description="Only steps behind this number; the header Last-Event-ID wins.")


async def begin(call: RestRequest) -> RestResponse:
    """Answers with the steps as they come where the client asks for events, else with the whole question."""
    body: AnalyticsAsk = call.body
    run = await ask(call.ctx, body, call.ctx.key)
    if asks_for_events(call.headers.get("accept")):
        return RestResponse(events=_written(await steps_of(call.ctx, run)))
    return RestResponse(await _shown(call.ctx, await finished(call.ctx, run)))


async def read(call: RestRequest) -> RestResponse:
    """Answers with a question of the caller."""
    run = await get_run(call.ctx, call.path["run_id"])
    if run is None:
        raise NotFound()
    return RestResponse(await _shown(call.ctx, run))


async def listing(call: RestRequest) -> RestResponse:
    """Lists the caller's questions."""
    query: RunsQuery = call.query
    page = await list_runs(call.ctx, query.conversation_id, PageWindow(first=query.limit, offset=query.offset))
    return RestResponse(await _all_shown(call.ctx, page.rows))


async def events(call: RestRequest) -> RestResponse:
    """Answers with the steps of an answer behind a number, and then with what comes."""
    query: EventsQuery = call.query
    last, after = call.headers.get("last-event-id"), query.after
    if last is not None:
        if not (last.isascii() and last.isdecimal()) or len(last) > _DIGITS:
            raise Problems([Problem(("header", "Last-Event-ID"), "must be the number of a step", "int_parsing")])
        after = int(last)
    try:
        found = await watch_run(call.ctx, call.path["run_id"], after)
    except Problems as error:
        if last is None:
            raise
        raise Problems([Problem(("header", "Last-Event-ID"), p.message, p.type) for p in error.problems]) from None
    return RestResponse(events=_written(found))


async def cancel(call: RestRequest) -> RestResponse:
    """Asks for the end of a question."""
    return RestResponse(await _shown(call.ctx, await cancel_run(call.ctx, call.path["run_id"])))


async def forget(call: RestRequest) -> RestResponse:
    """Deletes a conversation with its questions."""
    await delete_conversation(call.ctx, call.path["conversation_id"])
    return RestResponse()


_DIGITS = 18


async def _written(found: AsyncIterator[Followed]) -> AsyncIterator[bytes]:
    """Writes each step as an event: its number, its kind, and one line of data."""
    async with aclosing(found):  # type: ignore[type-var]  # a generator
        async for event in found:
            head = f"id: {event.sequence}\nevent: {event.type}\ndata: ".encode()
            yield head + orjson.dumps(event.data) + b"\n\n"


async def _shown(ctx: Context, run: Asked) -> JsonObject:
    [document] = await _all_shown(ctx, [run])
    return document


async def _all_shown(ctx: Context, runs: Sequence[Asked]) -> list[JsonObject]:
    """Returns the documents with the answers, whose rows come in the same statement for all."""
    results = await gather(*(result_of(ctx, run) for run in runs))
    return [_document(run, result) for run, result in zip(runs, results, strict=True)]


def _document(run: Asked, result: Result | None) -> JsonObject:
    plan = {"query": run.plan, "assumptions": run.assumptions or [], "follows_run_id": run.follows_run_id}
    return {
        "id": run.id,
        "conversation_id": run.conversation_id,
        "question": run.question,
        "status": run.status,
        "planner": run.planner,
        "plan": None if run.planner is None else plan,
        "result": None if result is None else result_body(result),
        "explanation": run.explanation,
        "unread": run.unread or [],
        "suggestions": run.suggestions or [],
        "error": run.error,
        "created_at": run.created_at,
        "finished_at": run.finished_at,
    }


_KINDS: Final = ", ".join(kind.value for kind in EventType)
_STREAMED: Final = f"The steps are server-sent events, numbered from 1 without gaps: {_KINDS}."

OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/analytics/ask",
        begin,
        "Ask a question",
        resolver=ask,
        body=AnalyticsAsk,
        answer="AnalyticsRun",
        streams=(EVENT_STREAM,),
        takes_key=True,
        seconds=RUN_SECONDS + 5,
        errors=(429,),
        graphql_field="Subscription.analyticsAsk",
        description="With `Accept: text/event-stream` the answer comes step by step; else the whole question is "
        f"answered with once it has ended. The client may leave: the work goes on. {_STREAMED}",
        example={"question": "How many deals are open?"},
        operation_id="analytics_ask",
    ),
    RestOperation(
        "GET",
        "/analytics/runs",
        listing,
        "List questions",
        resolver=list_runs,
        query=RunsQuery,
        answer="AnalyticsRun",
        many=True,
        graphql_field="Query.analyticsRuns",
        description="The caller's own, the newest first.",
        operation_id="analytics_runs_listing",
    ),
    RestOperation(
        "GET",
        "/analytics/runs/{run_id}",
        read,
        "Read a question",
        resolver=get_run,
        answer="AnalyticsRun",
        errors=(404,),
        graphql_field="Query.analyticsRun",
        description="One that the caller asked.",
        operation_id="analytics_runs_read",
    ),
    RestOperation(
        "GET",
        "/analytics/runs/{run_id}/events",
        events,
        "Follow a question",
        resolver=watch_run,
        query=EventsQuery,
        streams=(EVENT_STREAM,),
        request_headers=("Last-Event-ID",),
        errors=(404, 410),
        graphql_field="Subscription.analyticsRunEvents",
        description=f"All steps behind a number, then what comes, until the end. {_STREAMED}",
        operation_id="analytics_runs_events",
    ),
    RestOperation(
        "POST",
        "/analytics/runs/{run_id}/cancel",
        cancel,
        "Cancel a question",
        resolver=cancel_run,
        status=202,
        answer="AnalyticsRun",
        errors=(404,),
        graphql_field="Mutation.analyticsRunCancel",
        description="One that has ended stays as it is.",
        operation_id="analytics_runs_cancel",
    ),
    RestOperation(
        "DELETE",
        "/analytics/conversations/{conversation_id}",
        forget,
        "Delete a conversation",
        resolver=delete_conversation,
        status=204,
        errors=(404,),
        graphql_field="Mutation.analyticsConversationDelete",
        description="With all its questions and answers.",
        operation_id="analytics_conversations_delete",
    ),
)
