"""What a process that traces tells: a tree for each request and job, and no customer data."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from contract import tracing
from contract.tracing import TRACEPARENT, current
from gateway.observability import logs
from gateway.settings import Settings
from gateway.tracing import library
from jobs.queue import enqueue, schedule
from jobs.work import KINDS, Run, work
from storage.base import new_id
from storage.queries import jobs
from tests.gateway.conftest import Start
from tests.gateway.telemetry.conftest import Traces, drawn
from tests.gateway.test_requests import log
from tests.isolation.canaries import new_side
from tests.isolation.cases import CASES, Graph
from tests.isolation.records import send
from tests.support.gateway import Gateway
from tests.support.loopback import Reply, serving
from tests.support.world import Headers

__all__ = ["log"]

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
ASKED = f"00-{TRACE}-{PARENT}-01"
MEETINGS = "query Mine($n: Int) { meetings(first: $n) { nodes { subject } } }"


@pytest.fixture
async def traced(start: Start, traces: Traces) -> AsyncIterator[Gateway]:
    async with start(tracer=traces.tracer, otel=True) as gateway:
        yield gateway


def _member(gateway: Gateway) -> Headers:
    return gateway.world.session("admin@one", gateway.world.one)


async def test_a_graphql_request_is_a_tree(traced: Gateway, traces: Traces, log: StringIO) -> None:
    # Decision 880.
    logs.access.configure(Settings(_env_file=None, otel=True, log_format="json").logs, _handler(log))
    answer = await traced.graphql(MEETINGS, _member(traced) | {"traceparent": ASKED}, n=2)
    assert answer.status_code == 200
    spans = traces.taken()
    assert drawn(spans) == (
        "POST /graphql\n  SELECT memberships\n  query meetings\n    meetings.list_meetings\n      SELECT activities"
    )
    by_name = {span.name: span for span in spans}
    request, document = by_name["POST /graphql"], by_name["query meetings"]
    assert {span.context.trace_id for span in spans} == {int(TRACE, 16)}
    assert request.parent.span_id == int(PARENT, 16)
    assert request.kind is SpanKind.SERVER
    facts = dict(request.attributes)
    assert facts.pop("crm.cost") >= 1
    assert facts == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "http.route": "/graphql",
        "crm.surface": "graphql",
        "crm.operation": "query meetings",
        "crm.caller": "session",
        "crm.organization.id": traced.world.one.id,
    }
    assert dict(document.attributes) == {"graphql.operation.type": "query", "graphql.operation.name": "Mine"}
    statement = by_name["SELECT activities"]
    assert statement.kind is SpanKind.CLIENT
    assert set(statement.attributes) == {"db.system.name", "db.query.summary", "crm.statement.digest"}
    assert re.fullmatch(r"[0-9a-f]{16}", str(statement.attributes["crm.statement.digest"]))
    line = json.loads(log.getvalue().splitlines()[-1])
    assert (line["trace_id"], line["span_id"]) == (TRACE, f"{request.context.span_id:016x}")


def test_what_has_ended_has_its_time(traces: Traces) -> None:
    with traces.tracer.root("around", tracing.SpanKind.WITHIN) as span:
        span.past("call", 0.25, {"crm.provider": "web"})
    call, around = traces.taken()
    assert call.end_time - call.start_time == 250_000_000
    assert call.parent.span_id == around.context.span_id
    assert dict(call.attributes) == {"crm.provider": "web"}


def _handler(log: StringIO) -> logging.StreamHandler[Any]:
    streams = [one for one in logging.getLogger().handlers if isinstance(one, logging.StreamHandler)]
    return next(one for one in streams if one.stream is log)


async def test_rest_and_tools_are_trees_too(traced: Gateway, traces: Traces) -> None:
    headers = _member(traced)
    await traced.rest("POST", "/deals", headers, {"name": "n"})
    assert traces.tree().splitlines()[:4] == [
        "POST /deals",
        "  SELECT memberships",
        "  deals.create_deal",
        "    INSERT deals",
    ]
    await traced.rest("GET", f"/deals/{new_id()}", headers)
    spans = traces.taken()
    [request] = [span for span in spans if span.parent is None]
    assert (request.name, request.attributes["http.response.status_code"]) == ("GET /deals/{deal_id}", 404)
    assert request.status.status_code is StatusCode.UNSET
    call = {"name": "list_records", "arguments": {"kind": "deal"}}
    answer = await traced.rest(
        "POST", "/mcp", headers, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    )
    assert "result" in answer.json()
    spans = traces.taken()
    assert drawn(spans).splitlines()[::2] == ["POST /mcp", "  query deals", "      SELECT deals"]
    [request] = [span for span in spans if span.parent is None]
    assert (request.attributes["crm.surface"], request.attributes["crm.operation"]) == ("mcp", "mcp tools/call")


async def test_probes_have_no_span_and_unknown_paths_no_name(traced: Gateway, traces: Traces) -> None:
    for path in ("/health", "/ready", "/metrics"):
        await traced.http.get(path)
    assert traces.taken() == []
    await traced.http.get("/customers/of/acme?q=canary", headers={"User-Agent": "canary", "X-Request-Id": "canary"})
    [span] = traces.taken()
    assert (span.name, span.attributes["http.response.status_code"]) == ("GET", 404)
    assert "canary" not in span.to_json()
    assert "acme" not in span.to_json()


@pytest.mark.parametrize(
    "given",
    [
        ["nonsense"],
        [f"ff-{TRACE}-{PARENT}-01"],
        [f"00-{'0' * 32}-{PARENT}-01"],
        [f"00-{TRACE}-{'0' * 16}-01"],
        [f"00-{TRACE.upper()}-{PARENT}-01"],
        [ASKED, ASKED],
        ["x" * 60_000],
    ],
)
async def test_a_traceparent_that_is_none_begins_a_trace(traced: Gateway, traces: Traces, given: list[str]) -> None:
    await traced.http.get("/deals", headers=[("traceparent", one) for one in given])
    [request] = [span for span in traces.taken() if span.name == "GET /deals"]
    assert request.parent is None
    assert request.context.trace_id != int(TRACE, 16)


async def test_of_what_comes_in_the_traceparent_alone_is_kept(traced: Gateway, traces: Traces) -> None:
    # Decision 881.
    more = {"tracestate": "vendor=canary", "baggage": "customer=canary"}
    await traced.http.get("/deals", headers={"traceparent": ASKED} | more)
    spans = traces.taken()
    assert spans
    assert "canary" not in "".join(span.to_json() for span in spans)


async def test_what_the_caller_does_not_have_recorded_is_not(traced: Gateway, traces: Traces) -> None:
    await traced.graphql(MEETINGS, _member(traced) | {"traceparent": f"{ASKED[:-2]}00"})
    assert traces.taken() == []


async def test_an_error_is_told_by_its_type(traced: Gateway, traces: Traces, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("canary")

    monkeypatch.setattr("resolvers.deals.page_of", broken)
    await traced.graphql("{ deals { nodes { name } } }", _member(traced))
    spans = {span.name: span for span in traces.taken()}
    failed = spans["deals.list_deals"]
    assert (failed.status.status_code, failed.attributes["error.type"]) == (StatusCode.ERROR, "RuntimeError")
    assert spans["query deals"].attributes["error.type"] == "INTERNAL"
    assert not failed.events
    await traced.rest("GET", "/deals", _member(traced))
    request = next(span for span in traces.taken() if span.name == "GET /deals")
    assert (request.status.status_code, request.attributes["error.type"]) == (StatusCode.ERROR, "INTERNAL")
    await traced.graphql("{ deals { nodes { name } } }", traced.world.session("viewer@one", traced.world.one))
    assert "canary" not in "".join(span.to_json() for span in traces.taken())


async def test_a_request_has_so_many_spans_and_no_more(
    traced: Gateway, traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "SPANS_MAX", 4)
    await traced.rest("POST", "/deals", _member(traced), {"name": "n"})
    spans = traces.taken()
    [request] = [span for span in spans if span.parent is None]
    assert len(spans) == 4
    assert request.attributes["crm.spans.left_out"] >= 1
    assert current() is None


async def test_an_event_of_a_subscription_is_a_trace_of_its_own(traced: Gateway, traces: Traces) -> None:
    # Decision 883.
    headers = _member(traced)
    created = asyncio.create_task(_create_soon(traced, headers))
    await traced.first_event("subscription Told { events { type } }", headers)
    await created
    spans = traces.taken()
    [event] = [span for span in spans if span.name == "event subscription events"]
    [request] = [span for span in spans if span.name == "POST /graphql" and "stream" in str(span.attributes)]
    assert event.parent is None
    assert event.links[0].context.span_id == request.context.span_id
    assert event.attributes["graphql.operation.name"] == "Told"


async def _create_soon(gateway: Gateway, headers: Headers) -> None:
    for _ in range(20):
        await asyncio.sleep(0.1)
        await gateway.rest("POST", "/deals", headers, {"name": "n"})


@pytest.fixture
def _kinds() -> Any:
    known = dict(KINDS)
    yield
    KINDS.clear()
    KINDS.update(known)


@pytest.mark.usefixtures("_kinds")
async def test_a_job_carries_who_asked_for_it(traced: Gateway, traces: Traces) -> None:
    # Decision 882.
    ran: list[dict[str, Any]] = []

    @work("traced")
    async def run(run: Run, **arguments: Any) -> None:
        ran.append(arguments)
        if "fails" in arguments:
            raise RuntimeError("canary")

    org, database = traced.world.one.id, traced.runtime.database
    with traces.tracer.root("asked", tracing.SpanKind.SERVED, parent=ASKED) as asking:
        async with database.writing(org) as session:
            first = await enqueue(session, "traced", {"n": 1})
            await schedule(session, "traced", {"n": 2}, every=timedelta(days=1), key="k")
            row = await jobs.find(session, first.id)
        parent = asking.traceparent
    assert row is not None
    assert row.arguments == {"n": 1, TRACEPARENT: parent}
    async with database.writing(org) as session:
        await enqueue(session, "traced", {"n": 3, "fails": True})
    traces.taken()
    async with traced.runtime.working(), asyncio.timeout(30):
        while len(ran) < 3:  # noqa: ASYNC110  # a worker has no event to wait for
            await asyncio.sleep(0.02)
    assert sorted(one["n"] for one in ran) == [1, 2, 3]
    assert all(TRACEPARENT not in one for one in ran)
    spans = [span for span in traces.taken() if span.name == "job traced"]
    [own] = [span for span in spans if span.parent is not None]
    assert own.kind is SpanKind.CONSUMER
    assert f"{own.parent.span_id:016x}" == parent.split("-")[2]
    assert own.context.trace_id == int(TRACE, 16)
    facts = dict(own.attributes)
    assert facts == {
        "crm.job.kind": "traced",
        "crm.job.id": first.id,
        "crm.job.attempt": 1,
        "crm.job.outcome": "succeeded",
        "crm.organization.id": org,
    }
    [failed] = [span for span in spans if span.attributes["crm.job.outcome"] == "retried"]
    assert failed.status.status_code is StatusCode.ERROR
    assert "canary" not in failed.to_json()


@pytest.mark.usefixtures("_kinds")
async def test_a_worker_that_does_not_trace_takes_what_carries(start: Start) -> None:
    ran: list[dict[str, Any]] = []

    @work("traced")
    async def run(run: Run, **arguments: Any) -> None:
        ran.append(arguments)

    async with start() as gateway:
        async with gateway.runtime.database.writing(gateway.world.one.id) as session:
            await enqueue(session, "traced", {"n": 1, TRACEPARENT: ASKED})
            plain = await enqueue(session, "traced", {"n": 2})
            row = await jobs.find(session, plain.id)
        assert row is not None
        assert row.arguments == {"n": 2}
        async with gateway.runtime.working(), asyncio.timeout(30):
            while len(ran) < 2:  # noqa: ASYNC110  # a worker has no event to wait for
                await asyncio.sleep(0.02)
    assert sorted(one["n"] for one in ran) == [1, 2]
    assert all(TRACEPARENT not in one for one in ran)


EMIT = "mutation($i: NotificationInput!) { notificationEmit(input: $i) { eventId userErrors { code } } }"


async def test_a_provider_is_told_and_who_members_name_is_not(start: Start, traces: Traces) -> None:
    # Decision 882.
    async with serving(lambda _: Reply({})) as provider, serving(lambda _: Reply({})) as website:
        settings = {"notifications_url": f"{provider.url}/canary", "outbound_allow_loopback": True}
        async with start(tracer=traces.tracer, otel=True, **settings) as gateway:
            for number in (1, 2):  # of one actor, which the first makes
                headers = _member(gateway) | {"traceparent": f"00-{number:032x}-{PARENT}-01"}
                notification = {"type": "t", "data": {"text": "canary"}}
                assert "errors" not in (await gateway.graphql(EMIT, headers, i=notification)).json()
                async with asyncio.timeout(30):
                    while len(provider.asked) < number:  # noqa: ASYNC110  # the provider has no event to wait for
                        await asyncio.sleep(0.02)
            with traces.tracer.root("asked", tracing.SpanKind.SERVED):
                await gateway.runtime.outbound.request("GET", f"{website.url}/canary")
    spans = traces.taken()
    calls = [span for span in spans if span.name == "call workflow"]
    assert [span.context.trace_id for span in calls] == [1, 2]
    assert [asked.headers["traceparent"] for asked in provider.asked] == [
        f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-01" for span in calls
    ]
    [web] = [span for span in spans if span.name == "call web"]
    assert dict(web.attributes) == {"crm.provider": "web", "crm.outcome": "ok"}
    [asked] = website.asked
    assert TRACEPARENT not in asked.headers
    assert "canary" not in "".join(span.to_json() for span in spans)


FACTS = {
    "http.request.method": r"[A-Z]+",
    "http.route": r"/[a-z0-9_/{}.-]*",
    "http.response.status_code": r"\d{3}",
    "crm.surface": r"[a-z]+",
    "crm.operation": r"[A-Z]+ /[a-z0-9_/{}.-]*|(query|mutation|subscription) \w+|mcp( [a-z/]+)?",
    "crm.caller": r"[a-z_]+",
    "crm.organization.id": r"[0-9a-f-]{36}",
    "crm.cost": r"\d+",
    "error.type": r"[A-Za-z_]+",
    "graphql.operation.type": r"query|mutation|subscription",
    "graphql.operation.name": r"\w+",
    "crm.graphql.fallback": r"[a-z]+",
    "db.system.name": r"sqlite|postgresql",
    "db.query.summary": r"[A-Z]+( [a-z_]+)?",
    "crm.statement.digest": r"[0-9a-f]{16}",
    "crm.job.kind": r"[a-z_]+",
    "crm.job.id": r"[0-9a-f-]{36}",
    "crm.job.attempt": r"\d+",
    "crm.job.outcome": r"[a-z]+",
    "crm.provider": r"[a-z_]+",
    "crm.outcome": r"[a-z_0-9]+",
    "crm.spans.left_out": r"\d+",
}
"""Every fact that a span may have, with what it may be: words, numbers and identifiers."""
NAMES = re.compile(
    r"[A-Z]+|[A-Z]+ /[a-z0-9_/{}.-]*|[A-Z]+ [a-z_]+|(query|mutation|subscription) \w+|document|[a-z_]+\.[a-z_]+"
    r"|(job|call) [a-z_]+|(chat|analytics) run|event subscription \w+"
)


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.long), 7])
async def test_no_operation_puts_a_customers_data_into_a_span(traced: Gateway, traces: Traces, step: int) -> None:
    """Operations of both surfaces, on an organization whose every text is a canary, and the jobs that follow.

    What a span may have follows from the door and the layer, which a seventh of the operations pass as all do.
    """
    side = await new_side(traced.world)
    callers = list(side.callers.values())
    requests = [request for case in CASES.values() for request in case.requests][::step]
    for number, request in enumerate(requests):
        if request.writes and number % 8 == 0:
            await side.fill()
        own = {f"own {key}": value for key, value in side.ids.items()}
        asked = request.filled(side.ids | own | {"name": side.fresh()})
        await send(traced, asked, callers[number % 3] | {"traceparent": ASKED, "User-Agent": side.canary(1)})
        if isinstance(asked, Graph):
            assert current() is None
    async with traced.runtime.working():
        await asyncio.sleep(2)
    spans = traces.taken()
    assert len(spans) > len(requests)
    for span in spans:
        assert NAMES.fullmatch(span.name), span.name
        for name, value in span.attributes.items():
            assert re.fullmatch(FACTS[name], str(value)), (span.name, name, value)
        assert not span.events
        assert span.status.description is None
    text = "".join(span.to_json() for span in spans)
    assert not re.search(r"cnry\d+q", text)
    assert "@" not in text
    seen = {name for span in spans for name in span.attributes}
    assert seen >= {"crm.job.kind", "crm.statement.digest", "graphql.operation.type", "http.route", "error.type"}


ANALYTICS = "subscription($input: AnalyticsAskInput!) { analyticsAsk(input: $input) { __typename } }"


async def test_an_answer_of_analytics_is_worked_on_within_the_request(traced: Gateway, traces: Traces) -> None:
    await traced.first_event(ANALYTICS, _member(traced), input={"question": "How many deals are there?"})
    await traced.runtime.services.runs.stop(20)
    spans = traces.taken()
    [run] = [span for span in spans if span.name == "analytics run"]
    by_id = {span.context.span_id: span for span in spans}
    assert by_id[run.parent.span_id].context.trace_id == run.context.trace_id
    below = [span.name for span in spans if span.parent is not None and span.parent.span_id == run.context.span_id]
    assert "SELECT deals" in below, below
    # The channel reads for all that follow the organization: none of it is a part of this request.
    assert "SELECT jobs" not in {span.name for span in spans}
