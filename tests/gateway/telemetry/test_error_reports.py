"""What a tracker of errors is told of internal errors: where they broke, and nothing of what came (decision 884)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from gateway.observability.error_reports import ErrorReports, report_of
from jobs.queue import enqueue
from jobs.work import KINDS, Run, work
from tests.gateway.conftest import Start
from tests.support.collector import Receiver, receiving
from tests.support.gateway import Gateway
from tests.support.streams import EVENTS, PROTOCOL
from tests.support.world import Headers
from transport.errors import report

TEXTS = ["cnryText", "cnryName", "cnryQuery", "cnryHeader", "cnryCookie", "cnryAgent", "cnryId", "cnryAlias"]
SECRET = "cnryError"
REQUEST_ID = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def tracker() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
async def told(start: Start, tracker: Receiver, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gateway]:
    """An application whose lists of deals break, with what was asked in hand, and a tracker that is told."""

    async def broken(*arguments: Any, **options: Any) -> Any:
        local = f"{SECRET} {arguments} {options}"
        try:
            raise ValueError(local)
        except ValueError as error:
            raise RuntimeError(f"SELECT {local}") from error

    monkeypatch.setattr("resolvers.deals.page_of", broken)
    dsn = tracker.address.replace("://", "://0123456789abcdef@") + "/7"
    async with start(sentry_dsn=dsn) as gateway:
        yield gateway


def _headers(gateway: Gateway) -> Headers:
    return gateway.world.session("admin@one", gateway.world.one) | {
        "X-Request-Id": "cnryId",
        "X-Own": "cnryHeader",
        "Cookie": "session=cnryCookie",
        "User-Agent": "cnryAgent",
        "X-Forwarded-For": "198.51.100.77",
    }


async def _at_a_socket(gateway: Gateway, headers: Headers, document: str) -> list[Any]:
    """What a WebSocket is sent that asks for this."""
    begin = {"type": "connection_init", "payload": headers}
    ask = {"type": "subscribe", "id": "1", "payload": {"query": document, "variables": {"text": "cnryText"}}}
    messages = [{"type": "websocket.connect"}]
    messages += [{"type": "websocket.receive", "text": json.dumps(one)} for one in (begin, ask)]
    sent: list[Any] = []
    ended = asyncio.Event()

    async def receive() -> Any:
        if messages:
            return messages.pop(0)
        await ended.wait()
        return {"type": "websocket.disconnect", "code": 1000}

    async def send(message: Any) -> None:
        sent.append(message)
        if len(sent) > 2:
            ended.set()

    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items() if name != "Authorization"]
    scope = {"type": "websocket", "path": "/graphql", "headers": raw, "subprotocols": [PROTOCOL]}
    async with asyncio.timeout(60):
        await gateway.app(scope, receive, send)
    return sent


DEALS = "query cnryName($text: String) { cnryAlias: deals(filter: {name: {eq: $text}}) { nodes { name } } }"


async def test_every_door_tells_of_an_internal_error_and_of_nothing_else(told: Gateway, tracker: Receiver) -> None:
    headers, known = _headers(told), dict(KINDS)

    @work("broken")
    async def broken(run: Run, text: str) -> None:
        raise RuntimeError(f"{SECRET} {text}")

    answer = await told.graphql(DEALS, headers, text="cnryText")
    assert answer.json()["errors"][0]["extensions"]["code"] == "INTERNAL"
    sent = await _at_a_socket(told, headers, DEALS)
    assert "INTERNAL" in sent[2]["text"]
    events = await told.graphql(DEALS, headers | {"Accept": "text/event-stream"}, text="cnryText")
    assert "INTERNAL" in events.text
    answer = await told.rest("GET", "/deals?name=cnryQuery", headers)
    assert answer.status_code == 500
    call = {"name": "list_records", "arguments": {"kind": "deal"}, "_meta": {"crm-gateway/idempotencyKey": "cnryText"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answer = await told.rest("POST", "/mcp", headers, message)
    assert "INTERNAL" in answer.text, answer.text
    async with told.runtime.database.writing(told.world.one.id) as session:
        job = await enqueue(session, "broken", {"text": "cnryText"})
    try:
        async with told.runtime.working():
            await asyncio.to_thread(tracker.wait, lambda: len(tracker.events) >= 6)
    finally:
        KINDS.clear()
        KINDS.update(known)
    events_told = tracker.events
    assert [event["exception"]["values"][-1]["type"] for event in events_told] == ["RuntimeError"] * len(events_told)
    for event in events_told:
        frames = event["exception"]["values"][-1]["stacktrace"]["frames"]
        assert any(frame["in_app"] for frame in frames)
        assert all(set(frame) == {"filename", "lineno", "function", "in_app"} for frame in frames)
        assert event["release"] == "crm-gateway@0.0.1"
        assert not {"request", "user", "breadcrumbs", "extra", "modules", "contexts"} & set(event)
    assert {event["logger"] for event in events_told} == {"schema.errors", "transport.errors", "jobs.attempts"}
    [of_job] = [event for event in events_told if event["logger"] == "jobs.attempts"]
    assert of_job["tags"] == {"job": job.id, "kind": "broken"}
    came = b"".join(tracker.bodies)
    found = [text for text in [*TEXTS, SECRET, "SELECT", "198.51.100.77", "eyJ"] if text.encode() in came]
    assert found == []
    member = told.world.session("admin@one", told.world.one)["Authorization"].removeprefix("Bearer ")
    assert member.encode() not in came


async def test_an_identifier_of_the_services_own_form_is_told(told: Gateway, tracker: Receiver) -> None:
    await told.rest("GET", "/deals", _headers(told) | {"X-Request-Id": REQUEST_ID})
    await asyncio.to_thread(tracker.wait, lambda: len(tracker.events) == 1)
    assert tracker.events[0]["tags"] == {"request_id": REQUEST_ID}
    assert tracker.events[0]["logentry"]["message"] == "internal error"


def test_of_a_librarys_line_no_word_is_told() -> None:
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        record = logging.LogRecord(
            "asyncio", logging.ERROR, "", 0, f"Task failed {SECRET}", None, (type(error), error, error.__traceback__)
        )
    found = report_of(record)
    assert SECRET not in repr(found)
    assert (found.logger, found.raised[0].type) == ("asyncio", "ValueError")
    assert found.raised[0].frames[-1]["function"] == "test_of_a_librarys_line_no_word_is_told"


def test_a_tracker_that_is_away_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    reports = ErrorReports("http://0123456789abcdef@127.0.0.1:9/7")
    logging.getLogger().addHandler(reports)
    try:
        report(RuntimeError(SECRET), REQUEST_ID)
    finally:
        reports.close()
    own = [record.name for record in caplog.records if not record.name.startswith("urllib3")]
    assert own == ["transport.errors"]
    assert reports not in logging.getLogger().handlers


async def test_what_is_no_internal_error_is_not_told(start: Start, tracker: Receiver) -> None:
    dsn = tracker.address.replace("://", "://0123456789abcdef@") + "/7"
    async with start(sentry_dsn=dsn) as gateway:
        headers = _headers(gateway)
        assert (await gateway.rest("GET", "/deals/nothing", headers)).status_code == 404
        assert (await gateway.graphql("{ nothing }", headers)).status_code == 200
        assert (await gateway.graphql(EVENTS, {})).status_code in (200, 401)
        handlers = logging.getLogger().handlers
        assert any(isinstance(one, ErrorReports) for one in handlers)
    assert not any(isinstance(one, ErrorReports) for one in logging.getLogger().handlers)
    assert tracker.events == []
