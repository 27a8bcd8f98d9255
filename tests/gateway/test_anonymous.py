"""Callers without a credential: what they are refused, what that costs, and that nobody else notices (146, 147)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import pytest_asyncio
from graphql import get_introspection_query

from contract.limits import (
    ANONYMOUS_DOCUMENT_MAX,
    ANONYMOUS_POINTS_MAX,
    ANONYMOUS_POINTS_PER_SECOND,
    ANONYMOUS_TOKENS_MAX,
)
from gateway.graphql.ws_connection import Shared
from schema.execution import Executor
from schema.execution.steps import Steps
from tests.gateway.conftest import Start
from tests.support.clock import Clock
from tests.support.gateway import Gateway
from tests.support.hostile import HOSTILE

pytestmark = pytest.mark.asyncio(loop_scope="module")

WHOLE = get_introspection_query(input_value_deprecation=True)
PRIVATE = {
    "a list": "{ deals { nodes { id } } }",
    "by another name": "{ __typename: deals { totalCount } }",
    "beside a name that there is not": "{ viewr { name } viewer { name } }",
    "a mutation": 'mutation { dealCreate(input: {name: "x"}) { deal { id } } }',
    "a subscription": "subscription { events { id } }",
    "a subscription of two": "subscription { events { id } jobUpdated { id } }",
    "beside the schema": "{ __schema { description } viewer { name } }",
    "left out": "{ __typename viewer @skip(if: true) { name } }",
    "in a fragment": "{ ...A } fragment A on Query { __typename ...B } fragment B on Query { viewer { name } }",
    "in an inline fragment": "{ ... { ... on Query { ... @include(if: false) { viewer { name } } } } }",
    "in a circle": "{ ...A } fragment A on Query { ...B __typename } fragment B on Query { ...A viewer { name } }",
    "beside what there is not": "{ ...Nowhere viewer { name } }",
    "in the second of a name": "{ ...A } fragment A on Query { __typename } fragment A on Query { viewer { id } }",
    "of no type": "{ ...A } fragment A on Nothing { viewer { subject } }",
    "without its selection": "{ viewer }",
    "with what it does not take": "query($a: Nothing!) { deals(nothing: $b) { nothing } }",
    "with nothing given": "query($id: ID!) { deal(id: $id) { id } }",
    "hidden in a thousand": "{ " + " ".join(["__typename"] * 200) + " viewer { subject } }",
    "one of several without a name": "query A { __typename } query B { viewer { subject } }",
    "400 levels": "{ viewer " + "{ a " * 120 + "}" * 121,
}  # fmt: skip
PUBLIC = {
    "its kind": "{ __typename }",
    "the schema": "{ __schema { queryType { name } } }",
    "a type": '{ __type(name: "Deal") { name } }',
    "in fragments": "{ ...A } fragment A on Query { ... { __schema { description } } }",
    "a mutation's kind": "mutation { __typename }",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(start: Start) -> AsyncIterator[Gateway]:
    async with start() as gateway:
        await gateway.graphql("{ viewer { subject } }", gateway.world.session("admin@one", gateway.world.one))
        yield gateway


def _socket(app: Any) -> Shared:
    while not hasattr(app, "endpoints"):
        app = app.app
    shared: Shared = app.endpoints["websocket"].shared
    return shared


def executor_of(gateway: Gateway) -> Executor:
    if getattr(gateway.app, "middleware_stack", None) is None:
        gateway.app.middleware_stack = gateway.app.build_middleware_stack()  # type: ignore[attr-defined]
    return _socket(gateway.app.middleware_stack).executor  # type: ignore[attr-defined]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often documents were parsed, looked at, validated, priced and run."""
    done: Counter[str] = Counter()

    def count(place: str) -> None:
        module, _, name = place.rpartition(".")
        found = __import__(module, fromlist=[name])
        original = getattr(found, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            done[name] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(found, name, counted)

    for place in ("parsing.parse", "documents.validate", "compiled.cost_of", "limits._Sums"):
        count(f"schema.execution.{place}")
    run = Steps.run

    async def running(*args: Any) -> Any:
        done["run"] += 1
        return await run(*args)

    monkeypatch.setattr(Steps, "run", running)
    return done


def kept(gateway: Gateway) -> list[Any]:
    """Everything that is kept of documents and statements, in the order of its use."""
    executor, database = executor_of(gateway), gateway.runtime.database
    automatic = _socket(gateway.app.middleware_stack).operations._automatic._kept  # type: ignore[attr-defined]
    caches = (executor.documents.texts, executor.documents.parsed, database.statements, automatic)
    return [[e.key for e in (*cache._probation, *cache._protected)] for cache in caches]


def refused(answer: httpx.Response, status: int = 401) -> None:
    [error] = answer.json()["errors"]
    assert (answer.status_code, error["message"]) == (status, "Valid credential required")
    assert error["extensions"].keys() == {"code", "request_id"}
    assert error["extensions"]["code"] == "UNAUTHENTICATED"
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json().keys() == {"errors", "extensions"}


@pytest.mark.parametrize(
    "query", ["{ viewr { name } }", "{ __deals ...A } fragment A on Query { none }", "mutation { viewer }"]
)
async def test_a_root_field_that_there_is_not_is_told_when_it_is_parsed(
    gateway: Gateway, work: Counter[str], query: str
) -> None:
    """As validation would, without it and without the names that there are."""
    answer = await gateway.http.post("/graphql", json={"query": query})
    errors = answer.json()["errors"]
    assert {error["extensions"]["code"] for error in errors} == {"GRAPHQL_VALIDATION_FAILED"}
    assert all(error["message"].startswith("Cannot query field '") and error["locations"] for error in errors)
    assert "Did you mean" not in answer.text
    assert work == {"parse": 1}


def hash_of(text: str) -> dict[str, Any]:
    return {"persistedQuery": {"version": 1, "sha256Hash": hashlib.sha256(text.encode()).hexdigest()}}


@pytest.mark.parametrize("query", PRIVATE.values(), ids=PRIVATE)
async def test_what_needs_a_credential_is_refused_when_it_is_parsed(
    gateway: Gateway, work: Counter[str], query: str
) -> None:
    before = kept(gateway)
    for accept in ("*/*", "application/graphql-response+json", "text/event-stream"):
        body = {"query": query, "operationName": None, "variables": {"x": 1}}
        refused(await gateway.http.post("/graphql", json=body, headers={"Accept": accept}))
    refused(await gateway.http.get("/graphql", params={"query": query}))
    refused(await gateway.http.post("/graphql", json={"query": query, "extensions": hash_of(query)}))
    assert work == {"parse": 5}
    assert kept(gateway) == before


async def test_by_a_hash_strangers_find_what_they_may_run(gateway: Gateway) -> None:
    before = kept(gateway)
    public, private, wrong = "{ __typename a: __typename }", "{ viewer { subject name email } }", "{ __schema { no } }"
    for query in (public, private, wrong):
        await gateway.http.post("/graphql", json={"query": query, "extensions": hash_of(query)})
    answer = await gateway.http.post("/graphql", json={"extensions": hash_of(public)})
    assert answer.json()["data"] == {"__typename": "Query", "a": "Query"}
    for query in (private, wrong):
        [error] = (await gateway.http.post("/graphql", json={"extensions": hash_of(query)})).json()["errors"]
        assert error["extensions"]["code"] == "PERSISTED_QUERY_NOT_FOUND"
    for number in range(150):
        query = f"{{ a{number}: __typename }}"
        await gateway.http.post("/graphql", json={"query": query, "extensions": hash_of(query)})
    assert kept(gateway) == before


async def test_what_a_member_sent_is_found_by_its_hash_and_not_kept_any_longer(
    gateway: Gateway, work: Counter[str]
) -> None:
    headers = gateway.world.session("admin@one", gateway.world.one)
    for query in ("{ viewer { subject name } }", "{ viewer { subject email } }"):
        body = {"query": query, "extensions": hash_of(query)}
        assert "errors" not in (await gateway.http.post("/graphql", json=body, headers=headers)).json()
    before = kept(gateway)
    work.clear()
    refused(await gateway.http.post("/graphql", json={"extensions": hash_of("{ viewer { subject name } }")}))
    assert work == {"parse": 1}
    assert kept(gateway) == before


async def test_a_registered_document_is_read_once_for_everybody(
    start: Start, work: Counter[str], tmp_path: Path
) -> None:
    documents = {"mine": "query Mine { viewer { subject } }", "open": "{ __typename }"}
    (tmp_path / "documents.json").write_text(json.dumps(documents))
    async with start(persisted_documents=tmp_path / "documents.json", document_cache_bytes=0) as gateway:
        for _ in range(3):
            refused(await gateway.http.post("/graphql", json={"documentId": "mine"}))
            answer = await gateway.http.post("/graphql", json={"documentId": "open"})
            assert answer.json()["data"] == {"__typename": "Query"}
        headers = gateway.world.session("admin@one", gateway.world.one)
        for _ in range(3):
            answer = await gateway.http.post("/graphql", json={"documentId": "mine"}, headers=headers)
            assert answer.json()["data"]["viewer"]["subject"]
        assert (work["parse"], work["validate"]) == (2, 2)


@pytest.mark.parametrize("name", ["A", "B", None, "C"])
async def test_the_operation_that_is_asked_for_counts(gateway: Gateway, work: Counter[str], name: str | None) -> None:
    query = "query A { __typename } query B { viewer { subject } }"
    answer = await gateway.http.post("/graphql", json={"query": query, "operationName": name})
    if name == "A":
        assert answer.json()["data"] == {"__typename": "Query"}
    else:
        refused(answer)
        assert work == {"parse": 1}


@pytest.mark.parametrize("query", PUBLIC.values(), ids=PUBLIC)
async def test_the_schema_is_everybody_s(gateway: Gateway, query: str) -> None:
    before = kept(gateway)
    first, again = [(await gateway.http.post("/graphql", json={"query": query})).json() for _ in range(2)]
    headers = gateway.world.session("admin@one", gateway.world.one)
    assert first == again
    assert kept(gateway) == before
    assert first["data"] == (await gateway.graphql(query, headers)).json()["data"]


@pytest.mark.parametrize("query", ["{ __typename", "{ __typename }}", "", "{ __schema { nothing } }", "{ ...A }"])
async def test_what_is_wrong_with_a_public_document_is_told(gateway: Gateway, query: str) -> None:
    answer = await gateway.http.post("/graphql", json={"query": query})
    [error] = answer.json()["errors"]
    assert error["extensions"]["code"] in ("GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED", "BAD_REQUEST")
    assert error["extensions"]["code"] == "BAD_REQUEST" or error["locations"]


async def test_tools_get_the_schema_from_memory(gateway: Gateway, work: Counter[str]) -> None:
    executor_of(gateway).public.answers.clear()
    bodies = {(await gateway.http.post("/graphql", json={"query": WHOLE})).content for _ in range(120)}
    assert len(bodies) == 1
    assert len(json.loads(bodies.pop())["data"]["__schema"]["types"]) > 100
    assert work == {"parse": 1, "_Sums": 1, "validate": 1, "cost_of": 1, "run": 1}


async def test_made_up_introspections_push_out_nobody_s(gateway: Gateway, work: Counter[str]) -> None:
    for _ in range(2):
        await gateway.http.post("/graphql", json={"query": WHOLE})
    before = kept(gateway)
    for number in range(40):
        await gateway.http.post("/graphql", json={"query": f"query Q{number} {WHOLE[WHOLE.index('{') :]}"})
    work.clear()
    await gateway.http.post("/graphql", json={"query": WHOLE})
    assert not work
    answers = executor_of(gateway).public.answers
    assert answers.used <= (answers.size or 0)
    assert kept(gateway) == before


async def test_an_answer_is_kept_for_its_own_document_alone(gateway: Gateway) -> None:
    both = "query A { __schema { queryType { name } } } query B { __typename }"
    told = [
        (await gateway.http.post("/graphql", json={"query": both, "operationName": name})).json()["data"]
        for name in ("A", "B", "A", "B")
    ]
    assert told == [{"__schema": {"queryType": {"name": "Query"}}}, {"__typename": "Query"}] * 2
    by_name = "query($n: String!) { __type(name: $n) { name } }"
    for name in ("Deal", "Account", "Deal"):
        answer = await gateway.http.post("/graphql", json={"query": by_name, "variables": {"n": name}})
        assert answer.json()["data"] == {"__type": {"name": name}}


LONG = {
    "1 MB": {"query": "{ deals { nodes { id } } }" + " " * 1_000_000},
    "1 MB of variables": {"query": "{ __typename }", "variables": {"a": [{}] * 200_000}},
    "1 MB of escapes": {"query": "{ __typename }", "variables": {"a": "\u0001" * 150_000}},
    "1 MB of commas": {"query": "{ __typename }" + "," * 1_000_000},
    "more text than is needed": {"query": "{ __typename }" + "#" * ANONYMOUS_DOCUMENT_MAX},
    "more tokens than are needed": {"query": "{ __typename }" + " { a }" * ANONYMOUS_TOKENS_MAX},
}


@pytest.mark.parametrize("name", LONG)
async def test_whoever_says_more_than_strangers_have_to_say_needs_a_credential(
    gateway: Gateway, work: Counter[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    content = json.dumps(LONG[name]).encode()
    many = content.count(b",") > 1_000
    parsed: list[int] = []

    def counting(text: Any, *args: Any, **kwargs: Any) -> Any:
        parsed.append(len(text))
        return loads(text, *args, **kwargs)

    loads = orjson.loads
    monkeypatch.setattr("gateway.graphql.operations.orjson.loads", counting)
    refused(await gateway.http.post("/graphql", content=content, headers={"Content-Type": "application/json"}))
    assert work.total() <= (name == "more tokens than are needed")
    assert len(parsed) == (0 if many else 1)


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_documents_are_no_burden_without_a_credential(
    gateway: Gateway, work: Counter[str], name: str
) -> None:
    hostile = HOSTILE[name]
    before = kept(gateway)
    body = {"query": hostile.query, "variables": hostile.variables, "operationName": hostile.operation}
    answer = await gateway.http.post("/graphql", json=body)
    assert answer.json()["errors"]
    assert len(answer.content) < 2_000
    if answer.status_code == 401:
        assert work.total() <= 1
    else:
        assert len(hostile.query) <= ANONYMOUS_DOCUMENT_MAX
        assert not work["run"]
    assert kept(gateway) == before


async def spoken(gateway: Gateway, *payloads: Any) -> list[Any]:
    """What a WebSocket without a credential is told, one operation after the other."""
    said: asyncio.Queue[Any] = asyncio.Queue()
    heard: asyncio.Queue[Any] = asyncio.Queue()
    scope = {
        "type": "websocket", "path": "/graphql", "raw_path": b"/graphql", "query_string": b"", "headers": [],
        "subprotocols": ["graphql-transport-ws"], "client": ("192.0.2.7", 1), "state": {}, "scheme": "ws",
    }  # fmt: skip
    task = asyncio.create_task(gateway.app(scope, said.get, heard.put))

    async def hear() -> Any:
        message = await asyncio.wait_for(heard.get(), 60)
        return json.loads(message["text"]) if "text" in message else message

    said.put_nowait({"type": "websocket.connect"})
    assert (await hear())["type"] == "websocket.accept"
    told = []
    for message in ({"type": "connection_init"}, *({"type": "subscribe", "id": "1", "payload": p} for p in payloads)):
        said.put_nowait({"type": "websocket.receive", "text": json.dumps(message)})
        told.append(await hear())
        if told[-1].get("type") == "next":
            assert (await hear())["type"] == "complete"
        await asyncio.sleep(0.01)
    said.put_nowait({"type": "websocket.disconnect", "code": 1000})
    await asyncio.wait_for(task, 60)
    return told[1:]


async def test_the_same_over_a_websocket(gateway: Gateway, work: Counter[str]) -> None:
    before = kept(gateway)
    told = await spoken(gateway, *({"query": query, "extensions": hash_of(query)} for query in PRIVATE.values()))
    codes = [(message["type"], [e["extensions"]["code"] for e in message["payload"]]) for message in told]
    assert codes == [("error", ["UNAUTHENTICATED"])] * len(PRIVATE)
    assert work == {"parse": len(PRIVATE)}
    long = {"query": "{ __typename }" + " " * 900_000}
    [error, answer] = await spoken(gateway, long, {"query": "{ __typename }"})
    assert error["payload"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    assert answer["payload"]["data"] == {"__typename": "Query"}
    assert kept(gateway) == before


# The budget of an address.


@pytest.fixture
async def metered(start: Start) -> AsyncIterator[tuple[Gateway, Clock]]:
    async with start(rate_limit=True) as gateway:
        clock = Clock()
        anonymous_callers = gateway.runtime.limiting.anonymous
        assert anonymous_callers is not None
        anonymous_callers._buckets._clock = clock  # type: ignore[attr-defined]
        yield gateway, clock


def _from(gateway: Gateway, address: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=gateway.app, client=(address, 1))
    return httpx.AsyncClient(transport=transport, base_url="http://gateway")


async def test_anonymous_have_a_budget_at_each_address(metered: tuple[Gateway, Clock], work: Counter[str]) -> None:
    gateway, clock = metered
    body = {"query": "{ viewer { subject } }"}
    async with _from(gateway, "192.0.2.1") as here, _from(gateway, "192.0.2.2") as there:
        for _ in range(ANONYMOUS_POINTS_MAX):
            refused(await here.post("/graphql", json=body))
        work.clear()
        limited = await here.post("/graphql", json=body)
        assert (limited.status_code, limited.headers["retry-after"]) == (429, "1")
        [error] = limited.json()["errors"]
        assert error["message"].startswith("The budget of this address for requests without a credential is used up")
        assert error["extensions"]["code"] == "RATE_LIMITED"
        throttle = {"maximum": ANONYMOUS_POINTS_MAX, "available": 0, "restoreRate": ANONYMOUS_POINTS_PER_SECOND}
        assert limited.json()["extensions"]["cost"]["throttle"] == throttle
        assert not work
        refused(await there.post("/graphql", json=body))
        headers = gateway.world.session("admin@one", gateway.world.one)
        assert (await here.post("/graphql", json=body, headers=headers)).status_code == 200
        clock.forward(0.1)
        refused(await here.post("/graphql", json=body))
        assert (await here.post("/graphql", json=body)).status_code == 429


async def test_what_has_to_be_worked_out_costs_more(metered: tuple[Gateway, Clock]) -> None:
    """What was told before costs a point, and what is new ten: whoever makes up texts gets few answers."""
    gateway, _ = metered
    async with _from(gateway, "2001:db8::1") as here, _from(gateway, "2001:db8::2") as neighbour:
        for _ in range(100):
            assert (await here.post("/graphql", json={"query": WHOLE})).status_code == 200
        statuses = [
            (await neighbour.post("/graphql", json={"query": f"{{ a{n}: __typename }}"})).status_code for n in range(60)
        ]
        assert Counter(statuses)[200] == (ANONYMOUS_POINTS_MAX - 109) // 10
        assert statuses[-1] == 429


async def test_a_websocket_spends_from_the_same_bucket(metered: tuple[Gateway, Clock]) -> None:
    gateway, _ = metered
    anonymous_callers = gateway.runtime.limiting.anonymous
    assert anonymous_callers is not None
    await anonymous_callers.charge("192.0.2.7", ANONYMOUS_POINTS_MAX - 1)
    codes = [m["payload"][0]["extensions"]["code"] for m in await spoken(gateway, *[{"query": "{ deals { id } }"}] * 2)]
    assert codes == ["UNAUTHENTICATED", "RATE_LIMITED"]
