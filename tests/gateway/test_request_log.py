"""One line and one count for each request, with what was found out about it (decision 122)."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from gateway.observability.metrics import REGISTRY
from tests.gateway.test_requests import log
from tests.support.gateway import Gateway
from transport.request_log import RequestLog

__all__ = ["log"]
pytestmark = pytest.mark.asyncio(loop_scope="module")

KEYS = [
    "method",
    "path",
    "status",
    "ms",
    "surface",
    "operation",
    "operation_name",
    "caller",
    "organization",
    "cost",
    "code",
    "request_id",
    "level",
    "logger",
    "timestamp",
    "event",
]
MEETINGS = "query Mine { meetings(first: 2) { nodes { subject } } }"


def _line(log: Any) -> dict[str, Any]:
    [line] = [json.loads(line) for line in log.getvalue().splitlines()]
    assert list(line) == KEYS
    log.truncate(log.seek(0))
    return dict(line)


def _told(log: Any) -> tuple[Any, ...]:
    line = _line(log)
    return tuple(line[name] for name in ("surface", "operation", "operation_name", "caller", "organization", "code"))


async def test_the_line_of_a_graphql_request(gateway: Gateway, log: Any) -> None:
    world = gateway.world
    session = world.session("admin@one", world.one)
    await gateway.graphql(MEETINGS, session)
    assert _told(log) == ("graphql", "query meetings", "Mine", "session", world.one.id, None)
    await gateway.graphql("{ meetings { nodes { id } } deals { nodes { id } } }", session)
    assert _told(log) == ("graphql", "query several", None, "session", world.one.id, None)
    await gateway.graphql("{ first: meetings { nodes { id } } second: meetings { nodes { id } } }", session)
    assert _told(log)[1] == "query meetings"
    await gateway.graphql('mutation { dealDelete(id: "x") { userErrors { code } } }', session)
    assert _told(log) == ("graphql", "mutation dealDelete", None, "session", world.one.id, None)
    await gateway.graphql("{ __schema { queryType { name } } }", {})
    assert _told(log) == ("graphql", "query __schema", None, "anonymous", None, None)


async def test_the_line_has_the_cost_that_the_answer_tells(gateway: Gateway, log: Any) -> None:
    session = gateway.world.session("admin@one", gateway.world.one)
    count = REGISTRY.get_sample_value("crm_request_cost_count", {"surface": "graphql"}) or 0.0
    wide = "{ meetings(first: 100) { nodes { id account { id } } } }"
    for document in (MEETINGS, wide, "{ __typename }"):
        answer = (await gateway.graphql(document, session)).json()
        assert _line(log)["cost"] == answer["extensions"]["cost"]["actual"]
    heavy = "{ accounts(first: 500) { nodes { contacts(first: 500) { nodes { id } } } } }"
    await gateway.graphql(heavy, session)
    line = _line(log)
    assert (line["cost"], line["code"]) == (0, "COST_EXCEEDED")
    assert REGISTRY.get_sample_value("crm_request_cost_count", {"surface": "graphql"}) == count + 4


async def test_the_line_of_a_refused_graphql_request(gateway: Gateway, log: Any) -> None:
    world = gateway.world
    session = world.session("admin@one", world.one)
    await gateway.graphql("{ canary }", session)
    assert _told(log) == ("graphql", None, None, "session", world.one.id, "GRAPHQL_VALIDATION_FAILED")
    await gateway.graphql("{", session)
    assert _told(log) == ("graphql", None, None, "session", world.one.id, "GRAPHQL_PARSE_FAILED")
    await gateway.graphql(MEETINGS, {})
    assert _told(log) == ("graphql", "query meetings", "Mine", "anonymous", None, "UNAUTHENTICATED")
    await gateway.graphql(MEETINGS, {"Authorization": "Bearer nonsense"})
    assert _told(log) == ("graphql", None, None, "anonymous", None, "UNAUTHENTICATED")
    await gateway.http.post("/graphql", content=b"x")
    assert _told(log) == ("graphql", None, None, "anonymous", None, "UNSUPPORTED_MEDIA_TYPE")


async def test_the_line_of_a_rest_request(gateway: Gateway, log: Any) -> None:
    world = gateway.world
    session = world.session("admin@one", world.one)
    missing = "00000000-0000-7000-8000-000000000000"
    await gateway.rest("GET", "/deals", session)
    assert _told(log) == ("rest", "GET /deals", None, "session", world.one.id, None)
    await gateway.rest("HEAD", f"/deals/{missing}", session)
    assert _told(log) == ("rest", "GET /deals/{deal_id}", None, "session", world.one.id, "NOT_FOUND")
    await gateway.rest("POST", "/deals", session, {})
    assert _told(log) == ("rest", "POST /deals", None, "session", world.one.id, "VALIDATION")
    await gateway.rest("POST", "/deals", world.session("viewer@one", world.one), {"name": "x"})
    assert _told(log) == ("rest", "POST /deals", None, "session", world.one.id, "FORBIDDEN")
    await gateway.rest("PUT", "/deals", session)
    assert _told(log) == ("rest", None, None, "anonymous", None, "METHOD_NOT_ALLOWED")
    await gateway.rest("GET", "/canary", session)
    assert _told(log) == ("rest", None, None, "anonymous", None, "NOT_FOUND")


async def test_no_line_quotes_what_was_asked(gateway: Gateway, log: Any) -> None:
    session = gateway.world.session("admin@one", gateway.world.one)
    document = 'query Mine($name: String!) { deals(filter: {search: "canary-text"}) { nodes { id } } }'
    await gateway.graphql(document, session, name="canary-variable")
    await gateway.graphql(
        "mutation($n: String!) { dealCreate(input: {name: $n}) { deal { id } } }", session, n="canary"
    )
    await gateway.rest("POST", "/deals", session, {"name": "canary"})
    await gateway.rest("GET", "/deals?search=canary", session)
    assert "canary" not in log.getvalue()


async def test_counts_carry_words_of_the_service_alone(gateway: Gateway) -> None:
    session = gateway.world.session("admin@one", gateway.world.one)
    labels = {"surface": "graphql", "operation": "query meetings", "status": "200"}
    refused = {"surface": "graphql", "code": "GRAPHQL_VALIDATION_FAILED"}
    before = REGISTRY.get_sample_value("crm_requests_total", labels) or 0.0
    series = len(_series())
    for number in range(30):
        await gateway.graphql(f"query Canary{number} {{ canary{number}: meetings {{ nodes {{ id }} }} }}", session)
        await gateway.graphql(f"query Canary{number} {{ canary{number} }}", session)
        await gateway.rest("GET", f"/deals/canary{number}", session)
    assert REGISTRY.get_sample_value("crm_requests_total", labels) == before + 30
    assert (REGISTRY.get_sample_value("crm_refusals_total", refused) or 0) >= 30
    assert len(_series()) - series < 20
    answer = await gateway.http.get("/metrics")
    assert "canary" not in answer.text.lower()
    assert gateway.world.one.id not in answer.text
    assert _lines(answer, "crm_jobs_queued") == {
        'crm_jobs_queued{state="due"}': 0.0,
        'crm_jobs_queued{state="later"}': 0.0,
        'crm_jobs_queued{state="held"}': 0.0,
    }
    pool = _lines(answer, "crm_pool_connections")
    assert sum(pool.values()) == 10
    assert _lines(answer, "crm_pool_waiting") == {"crm_pool_waiting": 0.0}


def _series() -> set[tuple[str, ...]]:
    return {(s.name, *s.labels.values()) for m in REGISTRY.collect() for s in m.samples}


def _lines(answer: httpx.Response, name: str) -> dict[str, float]:
    found = [line.rpartition(" ") for line in answer.text.splitlines() if line.partition("{")[0].split()[0] == name]
    return {key: float(value) for key, _, value in found}


@pytest.mark.parametrize(
    ("bodies", "cost", "code"),
    [
        ([{"data": {}}], None, ""),
        ([{"data": {}, "extensions": {"cost": {"requested": 9, "actual": 4}}}], 4, ""),
        ([{"data": {}, "extensions": {"cost": {"actual": 4}}}] * 3, 12, ""),
        ([{"errors": [{"extensions": {"code": "COST_EXCEEDED"}}], "extensions": {"cost": {"actual": 0}}}], 0, None),
    ],
)
async def test_what_an_answer_says_is_noted(bodies: list[dict[str, Any]], cost: int | None, code: str | None) -> None:
    record = RequestLog("id", "graphql")
    for body in bodies:
        record.answered(body)
    assert (record.cost, record.code) == (cost, "COST_EXCEEDED" if code is None else code)


async def test_an_event_that_is_too_large_is_told(gateway: Gateway, log: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The status went before it."""
    world = gateway.world
    headers = world.session("admin@one", world.one)
    labels = {"surface": "stream", "code": "RESPONSE_TOO_LARGE"}
    before = REGISTRY.get_sample_value("crm_refusals_total", labels) or 0
    monkeypatch.setattr("gateway.graphql.encoding.RESPONSE_MAX_BYTES", 600)
    names = " ".join(f"name_of_{number:020}: __typename" for number in range(20))
    events = headers | {"Accept": "text/event-stream"}
    answer = await gateway.http.post("/graphql", json={"query": f"{{ {names} }}"}, headers=events)
    assert answer.status_code == 200
    assert '"RESPONSE_TOO_LARGE"' in answer.text
    line = _line(log)
    assert (line["surface"], line["status"], line["code"]) == ("stream", 200, "RESPONSE_TOO_LARGE")
    assert REGISTRY.get_sample_value("crm_refusals_total", labels) == before + 1
