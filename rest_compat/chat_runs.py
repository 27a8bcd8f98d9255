"""Serves runs of a chat: begun by a message, followed, read again and stopped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Final, Literal

import orjson
from pydantic import Field

from contract.chat import ChatEventType
from contract.errors import NotFound, Problem, Problems
from contract.http_errors import NotAcceptable
from resolvers.chat_runs import ChatSend, Event, cancel_run, event_id, get_run, send, watch_run
from resolvers.shared.inputs import Input
from rest_compat import ai_sdk
from rest_compat.chat_documents import run_document
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from transport.event_stream import CLOSED, EVENT_STREAM
from transport.headers import weights_of

_JSON: Final = "application/json"


class StreamQuery(Input):
    """Has the query parameter of the paths that stream a run."""

    protocol: Literal["ai-sdk"] | None = Field(
        default=None, description="`ai-sdk` for the same events as the AI SDK's UI message stream."
    )


class EventsQuery(StreamQuery):
    """Has the query parameters of GET /chat/runs/{run_id}/events."""

    after: str | None = Field(
        default=None, description="Only events behind this one, by its id: what the header Last-Event-ID says, too."
    )


async def begin(call: RestRequest) -> RestResponse:
    """Adds a message; answers with the events of its run as they come, or with the run where JSON is asked for."""
    body: ChatSend = call.body
    streams = _is_streamed(call.headers.get("accept"))
    run = await send(call.ctx, call.path["thread_id"], body)
    headers = {"X-Chat-Run": run.id}
    if streams:
        query: StreamQuery = call.query
        return await _streamed(call, run.id, query, headers=headers)
    location = {"Location": f"{call.root_path}/chat/runs/{run.id}"}
    return RestResponse(run_document(run), headers | location, status=202)


def _is_streamed(accept: str | None) -> bool:
    """Says whether events are wanted, which they are unless JSON is wanted more. Raises NotAcceptable."""
    if not accept or not accept.strip():
        return True
    weights = weights_of(accept)

    def weight(kind: str) -> float:
        return next((weights[name] for name in (kind, f"{kind.partition('/')[0]}/*", "*/*") if name in weights), 0.0)

    events, json = weight(EVENT_STREAM), weight(_JSON)
    if not events and not json:
        raise NotAcceptable(f"There are {EVENT_STREAM} and {_JSON}")
    return events >= json


async def read(call: RestRequest) -> RestResponse:
    """Answers with a run of the caller."""
    run = await get_run(call.ctx, call.path["run_id"])
    if run is None:
        raise NotFound()
    return RestResponse(run_document(run))


async def events(call: RestRequest) -> RestResponse:
    """Answers with the events of a run behind one of them, and then with what comes."""
    query: EventsQuery = call.query
    last = call.headers.get("last-event-id") or None
    if last is not None and query.after is not None and last != query.after:
        raise Problems([Problem(("after",), "is not what Last-Event-ID says", "value_error")])
    try:
        return await _streamed(call, call.path["run_id"], query, query.after if last is None else last)
    except Problems as error:
        if last is None:
            raise
        raise Problems([Problem(("header", "Last-Event-ID"), p.message, p.type) for p in error.problems]) from None


async def _streamed(
    call: RestRequest,
    run_id: str,
    query: StreamQuery,
    after: str | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> RestResponse:
    """Answers with the events of a run as its reader wants them. Raises what watch_run raises."""
    found = await watch_run(call.ctx, run_id, after)
    if query.protocol is None:
        return RestResponse(events=_written(found), headers=headers, closed=CLOSED)
    behind = 0 if after is None else int(after.rpartition(".")[2])
    rendered = _rendered(await watch_run(call.ctx, run_id), behind)  # which needs the events before, too
    return RestResponse(events=rendered, headers={**headers, **ai_sdk.HEADER}, closed=CLOSED)


async def cancel(call: RestRequest) -> RestResponse:
    """Asks for the end of a run."""
    return RestResponse(run_document(await cancel_run(call.ctx, call.path["run_id"])))


async def _written(found: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    """Writes each event: its kind, its id, and one line of data."""
    async with aclosing(found):  # type: ignore[type-var]  # a generator
        async for event in found:
            head = f"event: {event.type}\nid: {event_id(event)}\ndata: ".encode()
            yield head + orjson.dumps(event.data, option=orjson.OPT_UTC_Z) + b"\n\n"


async def _rendered(found: AsyncIterator[Event], behind: int) -> AsyncIterator[bytes]:
    """Writes the events behind a number as the AI SDK reads them."""
    rendering = ai_sdk.Rendering()
    async with aclosing(found):  # type: ignore[type-var]  # a generator
        async for event in found:
            written = rendering.render(event)
            if written and event.sequence > behind:
                yield written
    yield ai_sdk.DONE


_KINDS: Final = ", ".join(kind.value for kind in ChatEventType)
_STREAMED: Final = (
    f"Server-sent events, their ids `{{run_id}}.{{sequence}}` without gaps: {_KINDS}. The last is run_finished, unless "
    "the credential or the service ends before: then comes the comment `: closed`, and a client resumes."
)

OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/chat/threads/{thread_id}/messages",
        begin,
        "Send a message",
        resolver=send,
        query=StreamQuery,
        body=ChatSend,
        answer="ChatRun",
        streams=(EVENT_STREAM,),
        outlives=True,
        accepted=202,
        errors=(404, 406, 409, 429),
        request_headers=("Accept",),
        response_headers=("X-Chat-Run", "Location"),
        graphql_field="Mutation.chatSend",
        description="Begins the run that answers, and answers with its events; with `Accept: application/json` 202 and "
        f"the run. It goes on when its reader leaves. {_STREAMED}",
        example={"text": "my open deals", "time_zone": "Europe/Berlin"},
        operation_id="chat_messages_send",
    ),
    RestOperation(
        "GET",
        "/chat/runs/{run_id}",
        read,
        "Read a run",
        resolver=get_run,
        answer="ChatRun",
        errors=(404,),
        graphql_field="Query.chatRun",
        description="One of the caller's own threads.",
        operation_id="chat_runs_read",
    ),
    RestOperation(
        "GET",
        "/chat/runs/{run_id}/events",
        events,
        "Follow a run",
        resolver=watch_run,
        query=EventsQuery,
        streams=(EVENT_STREAM,),
        outlives=True,
        request_headers=("Last-Event-ID",),
        errors=(404, 410),
        graphql_field="Subscription.chatRun",
        description=f"All events behind one of them, then what comes, until the end. {_STREAMED}",
        operation_id="chat_runs_events",
    ),
    RestOperation(
        "POST",
        "/chat/runs/{run_id}/cancel",
        cancel,
        "Stop a run",
        resolver=cancel_run,
        status=202,
        answer="ChatRun",
        errors=(404,),
        graphql_field="Mutation.chatRunCancel",
        description="From any device. One that has ended stays as it is.",
        operation_id="chat_runs_cancel",
    ),
)
