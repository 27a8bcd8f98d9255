from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from contract.errors import GatewayError
from gateway.graphql.endpoint import GRAPHQL, JSON, negotiate
from gateway.graphql.sse import EVENT_STREAM
from tests.support.costs import cost, uncosted
from tests.support.gateway import Gateway

Start = Callable[..., AbstractAsyncContextManager[Gateway]]
pytestmark = pytest.mark.asyncio(loop_scope="module")  # one application for all of them
ASK = {"query": "{ __typename }"}
ANSWER = {"data": {"__typename": "Query"}, "extensions": cost(0, 0)}
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (None, JSON),
        ("", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        (JSON, JSON),
        ("application/json; charset=utf-8", JSON),
        (GRAPHQL, GRAPHQL),
        (GRAPHQL.upper(), GRAPHQL),
        (f"{GRAPHQL}, {JSON}", GRAPHQL),
        (f"{JSON}, {GRAPHQL}", GRAPHQL),
        (f"{GRAPHQL}; charset=utf-8, {JSON}; charset=utf-8", GRAPHQL),
        (f"{GRAPHQL};q=0.9, {JSON}", JSON),
        (f"{GRAPHQL};q=0.9, {JSON};q=0.8", GRAPHQL),
        (f"{GRAPHQL};q=0, */*", JSON),
        (f"{JSON};q=0, */*", GRAPHQL),
        (f"text/event-stream, {GRAPHQL}, {JSON}", GRAPHQL),
        (f"{GRAPHQL};q=high, {JSON};q=0.1", JSON),
        (BROWSER, JSON),
        ("text/html", None),
        ("text/event-stream", EVENT_STREAM),
        (f"{JSON};q=0", None),
        ("*/*;q=0", None),
        (f"{JSON};q=nan", None),
        ("*", None),
        (";;,,=", None),
    ],
)
async def test_negotiation(accept: str | None, media_type: str | None) -> None:
    if media_type is None:
        with pytest.raises(GatewayError, match="Answers are"):
            negotiate(accept)
    else:
        assert negotiate(accept) == media_type


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("media_type", [JSON, GRAPHQL])
async def test_both_methods_answer_in_the_type_that_was_asked_for(
    gateway: Gateway, method: str, media_type: str
) -> None:
    sent: dict[str, Any] = {"params": ASK} if method == "GET" else {"json": ASK}
    answer = await gateway.http.request(method, "/graphql", headers={"Accept": media_type}, **sent)
    assert (answer.status_code, answer.json()) == (200, ANSWER)
    assert answer.headers["content-type"] == f"{media_type}; charset=utf-8"
    assert answer.headers["vary"] == "Accept"


@pytest.mark.parametrize(
    "query", ["{", "{ none }", "query A { __typename } query B { __typename }", "fragment F on Query { __typename }"]
)
async def test_what_cannot_run_is_200_in_json_and_400_in_the_newer_type(gateway: Gateway, query: str) -> None:
    for media_type, status in ((JSON, 200), (GRAPHQL, 400)):
        answer = await gateway.http.post("/graphql", json={"query": query}, headers={"Accept": media_type})
        assert answer.status_code == status
        assert answer.json().keys() == {"errors", "extensions"}
        assert answer.json()["extensions"] == cost(0, 0)


async def test_nothing_acceptable_is_406(gateway: Gateway) -> None:
    answer = await gateway.http.post("/graphql", json=ASK, headers={"Accept": "image/png"})
    _refused(answer, 406, "NOT_ACCEPTABLE")
    assert answer.headers["content-type"] == "application/json; charset=utf-8"


def _refused(answer: httpx.Response, status: int, code: str) -> None:
    assert answer.status_code == status
    body = uncosted(answer.json())
    assert body.keys() == {"errors"}
    [error] = body["errors"]
    assert isinstance(error["message"], str)
    assert error["message"] != ""
    assert error["extensions"] == {"code": code, "request_id": answer.headers["x-request-id"]}


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
async def test_other_methods_are_405(gateway: Gateway, method: str) -> None:
    answer = await gateway.http.request(method, "/graphql", json=ASK)
    _refused(answer, 405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "GET, HEAD, POST"


async def test_a_mutation_by_get_is_405_and_does_nothing(gateway: Gateway) -> None:
    document = 'mutation M { dealCreate(input: {name: "x"}) { deal { id } } } query Q { __typename }'
    headers = gateway.world.session("admin@one", gateway.world.one)
    before = await gateway.world.dump()
    for name in ("M",):
        answer = await gateway.http.get("/graphql", params={"query": document, "operationName": name}, headers=headers)
        _refused(answer, 405, "METHOD_NOT_ALLOWED")
        assert answer.headers["allow"] == "GET, HEAD, POST"
    query = await gateway.http.get("/graphql", params={"query": document, "operationName": "Q"}, headers=headers)
    assert (query.status_code, query.json()) == (200, ANSWER)
    assert await gateway.world.dump() == before


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/graphql",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "application/json; charset=latin-1",
        "application/json; charset=utf-16",
    ],
)
async def test_other_bodies_are_415(gateway: Gateway, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    answer = await gateway.http.post("/graphql", content=json.dumps(ASK), headers=headers)
    _refused(answer, 415, "UNSUPPORTED_MEDIA_TYPE")


async def test_a_compressed_body_is_415(gateway: Gateway) -> None:
    headers = {"Content-Type": JSON, "Content-Encoding": "gzip"}
    answer = await gateway.http.post("/graphql", content=gzip.compress(json.dumps(ASK).encode()), headers=headers)
    _refused(answer, 415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON;charset=UTF-8",
        "application/json ; x=y",
        'application/json; charset="utf-8"',
    ],
)
async def test_json_bodies_are_taken(gateway: Gateway, content_type: str) -> None:
    answer = await gateway.http.post("/graphql", content=json.dumps(ASK), headers={"Content-Type": content_type})
    assert answer.json() == ANSWER


URQL = (
    "application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed"
)


async def test_urql_gets_an_answer_and_no_stream(gateway: Gateway) -> None:
    for sent in ({"json": ASK}, {"json": {"query": "{"}}):
        answer = await gateway.http.post("/graphql", headers={"Accept": URQL}, **sent)  # type: ignore[arg-type]
        assert answer.headers["content-type"] == f"{GRAPHQL}; charset=utf-8"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "The body is empty; it must be a JSON object"),
        (b"[]", "The body must be a JSON object; batches are not taken"),
        (b'{"query": NaN}', "The body must be valid JSON in UTF-8: "),
        (b'{"query": "{ __typename }\xff"}', "The body must be valid JSON in UTF-8: "),
        (b'{"query": "{ __typename }", "query": "{ a: __typename }"}', "query is given more than once"),
        (b'{"query": "{ __typename }", "\\u0071uery": "{ a: __typename }"}', "query is given more than once"),
        (b'{"query": "{ __typename }", "variables": {}, "variables": null}', "variables is given more than once"),
        (b'{"query": "{ __typename }", "variables": 1' + b"0" * 400 + b"}", "The body must be valid JSON in UTF-8: "),
        (
            b'{"query": "\\u0061", "variables": ' + b'{"a": ' * 1_010 + b"1" + b"}" * 1_011,
            "The body is nested too deeply",
        ),
    ],
)
async def test_a_refusal_says_what_is_wrong(gateway: Gateway, body: bytes, message: str) -> None:
    answer = await gateway.http.post("/graphql", content=body, headers={"Content-Type": JSON})
    _refused(answer, 400, "BAD_REQUEST")
    assert answer.json()["errors"][0]["message"].startswith(message)


async def test_a_name_in_variables_may_be_that_of_a_field(gateway: Gateway) -> None:
    body = b'{"query": "{ __typename }", "variables": {"query": "\\u00e9", "variables": 1}}'
    answer = await gateway.http.post("/graphql", content=body, headers={"Content-Type": JSON})
    assert answer.json() == ANSWER


async def test_an_integer_that_is_too_large_is_a_bad_variable(gateway: Gateway) -> None:
    headers = gateway.world.session("admin@one", gateway.world.one)
    body = b'{"query": "query ($n: Int) { meetings(first: $n) { totalCount } }", "variables": {"n": 1%s}}'
    for zeros in (12, 25, 400):
        for media_type, status in ((JSON, 200), (GRAPHQL, 400)):
            answer = await gateway.http.post(
                "/graphql",
                content=body % (b"0" * zeros),
                headers=headers | {"Content-Type": JSON, "Accept": media_type},
            )
            assert uncosted(answer.json()).keys() == {"errors"}
            assert answer.json()["errors"][0]["extensions"]["code"] in ("BAD_USER_INPUT", "BAD_REQUEST")
            assert answer.status_code in (status, 400)


async def test_get_refuses_what_is_there_twice(gateway: Gateway) -> None:
    answer = await gateway.http.get("/graphql?query=%7B__typename%7D&query=%7Ba%3A__typename%7D")
    _refused(answer, 400, "BAD_REQUEST")
    assert answer.json()["errors"][0]["message"] == "query is given more than once"
    assert (await gateway.http.get("/graphql?query=%7B__typename%7D&x=1&x=2")).json() == ANSWER


async def test_a_clients_mistakes_leave_one_line_each(
    gateway: Gateway, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    for query in ("{", "{ none " * 500, "{ none }", "{ __typename } #" + "x" * 3_500 + "\n}"):
        await gateway.http.post("/graphql", json={"query": query})
    assert caplog.records == []
    assert "Traceback" not in "".join(capfd.readouterr())


BAD_BODIES = {
    "nothing": b"",
    "null": b"null",
    "number": b"1",
    "text": b'"x"',
    "list": b"[]",
    "batch": json.dumps([ASK, ASK]).encode(),
    "true": b"true",
    "cut": b'{"query": "{ __typename }"',
    "constant": b'{"query": NaN}',
    "twice": b"{}{}",
    "bytes": b"\xff\xfe{}",
    "invalid UTF-8": b'{"query": "{ __typename }\xff"}',
    "surrogate": b'{"query": "\\ud800"}',
    "BOM": b'\xef\xbb\xbf{"query": "{ __typename }"}',
    "empty": b"{}",
    "null query": b'{"query": null}',
    "list query": b'{"query": ["{ __typename }"]}',
    "blank query": b'{"query": " "}',
    "nested lists": b'{"query": "{ __typename }", "variables": ' + b"[" * 100_000,
    "nested objects": b'{"a": ' * 100_000,
    "nested and closed": b'{"query": "{ __typename }", "variables": {"a": ' + b"[" * 5_000 + b"]" * 5_000 + b"}}",
    "list variables": b'{"query": "{ __typename }", "variables": []}',
    "text variables": b'{"query": "{ __typename }", "variables": "{}"}',
    "number name": b'{"query": "{ __typename }", "operationName": 1}',
    "list extensions": b'{"query": "{ __typename }", "extensions": [1]}',
}


@pytest.mark.parametrize("name", BAD_BODIES)
@pytest.mark.parametrize("media_type", [JSON, GRAPHQL])
async def test_bodies_that_are_no_request_are_400(gateway: Gateway, name: str, media_type: str) -> None:
    answer = await gateway.http.post(
        "/graphql", content=BAD_BODIES[name], headers={"Content-Type": JSON, "Accept": media_type}
    )
    _refused(answer, 400, "BAD_REQUEST")
    assert answer.headers["content-type"] == f"{media_type}; charset=utf-8"


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"query": ""},
        {"query": "{ __typename }", "variables": "{"},
        {"query": "{ __typename }", "variables": "[]"},
        {"query": "{ __typename }", "variables": "1"},
        {"query": "{ __typename }", "extensions": "x"},
    ],
)
async def test_get_without_a_request_is_400(gateway: Gateway, parameters: dict[str, str]) -> None:
    _refused(await gateway.http.get("/graphql", params=parameters), 400, "BAD_REQUEST")


@pytest.mark.parametrize(
    "more",
    [
        {"variables": None},
        {"variables": {}},
        {"variables": {"none": 10**30, "other": 1e300}},
        {"operationName": None},
        {"operationName": ""},
        {"extensions": None},
        {"extensions": {"persistedQuery": None, "other": {"version": 1}}},
        {"unknown": [1, {"x": None}], "id": 7},
    ],
)
async def test_what_else_a_request_may_hold(gateway: Gateway, more: dict[str, Any]) -> None:
    answer = await gateway.http.post("/graphql", json=ASK | more)
    assert (answer.status_code, answer.json()) == (200, ANSWER)


async def test_get_takes_variables_and_an_operation_name(gateway: Gateway) -> None:
    document = "query A($x: Boolean!) { a: __typename @include(if: $x) } query B { b: __typename }"
    for name, variables, data in (
        ("A", '{"x": true}', {"a": "Query"}),
        ("A", '{"x": false}', {}),
        ("B", "", {"b": "Query"}),
    ):
        parameters = {"query": document, "operationName": name, "variables": variables}
        answer = await gateway.http.get(f"/graphql?{urlencode(parameters)}")
        assert (answer.status_code, uncosted(answer.json())) == (200, {"data": data})
    for unknown in ({}, {"operationName": "C"}, {"operationName": ""}):
        answer = await gateway.http.post("/graphql", json={"query": document} | unknown, headers={"Accept": GRAPHQL})
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"


async def test_head_is_get_without_the_body(gateway: Gateway) -> None:
    assert (await gateway.http.head("/graphql", params=ASK)).status_code == 200
    assert (await gateway.http.head("/graphql")).status_code == 400


def _selection(depth: int) -> str:
    return "{ meetings " + "{ nodes { account { meetings " * depth + "{ totalCount }" + " } } }" * depth + " }"


DEEP = {
    "fields": _selection(200),
    "many fields": _selection(2_000),
    "braces": "{" * 9_000,
    "braces that close": "{ a" * 4_000 + "}" * 4_000,
    "lists": "{ meetings(filter: " + "[" * 9_000 + ") { totalCount } }",
    "lists that close": "{ nodes(ids: " + "[" * 4_000 + "]" * 4_000 + ") { id } }",
    "objects": "{ meetings(filter: " + "{ not: " * 2_500 + "{}" + "}" * 2_500 + ") { totalCount } }",
    "types": "query ($x: " + "[" * 4_000 + "Int" + "]" * 4_000 + ") { __typename }",
    "fragments": "{ ...F0 } "
    + " ".join(f"fragment F{i} on Query {{ ...F{i + 1} }}" for i in range(1_500))
    + " fragment F1500 on Query { __typename }",
    "a ring of fragments": "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }",
    "inline fragments": "{ " + "... { " * 3_000 + "__typename" + " }" * 3_000 + " }",
    "aliases": "{ " + " ".join(f"a{i}: __typename" for i in range(3_000)) + " }",
    "directives": "{ __typename " + "@skip(if: false) " * 1_500 + "}",
    "tokens": "{ " + "__typename " * 60_000 + "}",
    "a long name": "{ " + "a" * 100_000 + " }",
    "a long text": '{ node(id: "' + "a" * 500_000 + '") { id } }',
    "a long number": "{ meetings(first: " + "9" * 100_000 + ") { totalCount } }",
    "NUL": "{ \u0000 }",
    "not ASCII": '{ node(id: "\U0001f600\u2028") { id } }',
}


@pytest.mark.parametrize("name", DEEP)
async def test_extreme_documents_never_break_it(gateway: Gateway, name: str) -> None:
    headers = gateway.world.session("admin@one", gateway.world.one) | {"Accept": GRAPHQL}
    answer = await gateway.http.post("/graphql", json={"query": DEEP[name]}, headers=headers)
    assert answer.status_code in (200, 400)
    codes = {error["extensions"]["code"] for error in answer.json().get("errors", [])}
    assert "INTERNAL" not in codes
    assert len(answer.content) < 400_000
    # And the service goes on.
    assert (await gateway.http.post("/graphql", json=ASK)).json() == ANSWER


@pytest.mark.parametrize("depth", [500, 900, 5_000])
async def test_deep_variables_never_break_it(gateway: Gateway, depth: int) -> None:
    headers = gateway.world.session("admin@one", gateway.world.one)
    content = (
        '{"query": "query ($f: MeetingFilter) { meetings(filter: $f) { totalCount } }", "variables": {"f": '
        + '{"not": ' * depth
        + "{}"
        + "}" * depth
        + "}}"
    )
    answer = await gateway.http.post("/graphql", content=content, headers=headers | {"Content-Type": JSON})
    assert answer.status_code in (200, 400)
    assert "INTERNAL" not in {error["extensions"]["code"] for error in answer.json().get("errors", [])}


INTROSPECTION = {"query": "{ __schema { queryType { name } } }"}


async def test_introspection_can_be_switched_off(start: Start) -> None:
    async with start(introspection=False) as gateway:
        for headers in ({}, gateway.world.session("admin@one", gateway.world.one)):
            for query in (INTROSPECTION["query"], '{ __type(name: "Deal") { name } }'):
                answer = await gateway.http.post("/graphql", json={"query": query}, headers=headers)
                assert answer.json()["errors"][0]["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"
        assert (await gateway.http.post("/graphql", json=ASK)).json() == ANSWER


async def test_anyone_may_introspect_unless_it_is_off(gateway: Gateway) -> None:
    answer = await gateway.http.post("/graphql", json=INTROSPECTION)
    assert answer.json() == {"data": {"__schema": {"queryType": {"name": "Query"}}}, "extensions": cost(0, 0)}
    bad = await gateway.http.post("/graphql", json=INTROSPECTION, headers={"Authorization": "Bearer x"})
    _refused(bad, 401, "UNAUTHENTICATED")
    assert bad.headers["www-authenticate"] == "Bearer"
    nobody = await gateway.http.post("/graphql", json={"query": "{ meetings { totalCount } }"})
    assert nobody.status_code == 401
    assert nobody.headers["www-authenticate"] == "Bearer"


async def test_a_browser_gets_graphiql_and_a_client_its_answer(gateway: Gateway) -> None:
    page = await gateway.http.get("/graphql", headers={"Accept": BROWSER})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    asked = await gateway.http.get("/graphql", params=ASK, headers={"Accept": BROWSER})
    assert asked.json() == ANSWER
    posted = await gateway.http.post("/graphql", json=ASK, headers={"Accept": BROWSER})
    assert posted.json() == ANSWER
    rather = await gateway.http.get("/graphql", headers={"Accept": f"{JSON}, text/html;q=0.5"})
    _refused(rather, 400, "BAD_REQUEST")
    named = await gateway.http.get("/graphql", params={"documentId": "none"}, headers={"Accept": BROWSER})
    assert named.json()["errors"][0]["extensions"]["code"] == "DOCUMENT_NOT_FOUND"
    head = await gateway.http.head("/graphql", headers={"Accept": BROWSER})
    assert head.headers["content-type"] == "text/html; charset=utf-8"


async def test_graphiql_can_be_switched_off(start: Start) -> None:
    async with start(graphiql=False) as gateway:
        _refused(await gateway.http.get("/graphql", headers={"Accept": BROWSER}), 400, "BAD_REQUEST")
        _refused(await gateway.http.get("/graphql", headers={"Accept": "text/html"}), 406, "NOT_ACCEPTABLE")
        assert (await gateway.http.get("/graphql", params=ASK, headers={"Accept": BROWSER})).json() == ANSWER
