"""What documents and operations may be: the limits from both sides, and documents that are meant to hurt."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from io import StringIO

import httpx
import pytest
import pytest_asyncio
import structlog
from graphql import get_introspection_query

from contract.limits import (
    CAPTURE_DEPTH_MAX,
    COST_MAX,
    DEPTH_MAX,
    DIRECTIVES_MAX,
    DOCUMENT_ALIASES_MAX,
    DOCUMENT_MAX_BYTES,
    ENROLLMENT_VARIABLES_MAX,
    ENROLLMENTS_MAX,
    FIELDS_MAX,
    FILTER_CONDITIONS_MAX,
    JSON_DEPTH_MAX,
    OBJECTS_MAX,
    OPERATION_NODES_MAX,
    ROOT_FIELDS_MAX,
    TOKENS_MAX,
    VARIABLES_MAX,
)
from gateway.observability import logs
from gateway.settings import Settings
from tests.support.costs import cost
from tests.support.counting import counted
from tests.support.gateway import Gateway
from tests.support.hostile import CAPTURE, FILTERED, HOSTILE, Hostile, deep, lists
from tests.support.world import Headers

Start = Callable[..., AbstractAsyncContextManager[Gateway]]
pytestmark = pytest.mark.asyncio(loop_scope="module")  # one application for all of them

CALLS = 250_000
"""Of functions: about 50 ms of a processor. The most that one of them takes is 185,000, most take far less."""
INVALID = "GRAPHQL_VALIDATION_FAILED"
ANSWER_BYTES = LINE_BYTES = 2_000


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(start: Start) -> AsyncIterator[Gateway]:
    """The application, once it has answered a first request."""
    async with start() as gateway:
        await gateway.graphql("{ viewer { name } }", await gateway.world.headers("admin@one", gateway.world.one))
        yield gateway


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def headers(gateway: Gateway) -> Headers:
    return await gateway.world.headers("admin@one", gateway.world.one)


@pytest.fixture
def log() -> Iterator[StringIO]:
    root, kept = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers, root.level
    logs.configure(Settings(_env_file=None, log_format="json").logs)
    written = StringIO()
    [handler] = root.handlers
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(written)
    yield written
    root.handlers, root.level = handlers, level
    structlog.configure(**kept)


async def send(gateway: Gateway, headers: Headers, hostile: Hostile) -> tuple[httpx.Response, int]:
    """The answer, and how many functions were called for it."""
    body = {"query": hostile.query, "variables": hostile.variables, "operationName": hostile.operation}
    content = json.dumps(body, separators=(",", ":")).encode()
    with counted() as calls:
        answer = await gateway.http.post(
            "/graphql", content=content, headers=headers | {"Content-Type": "application/json"}
        )
    return answer, calls.number


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE.keys())
async def test_a_hostile_document_is_refused_quickly_and_in_few_words(
    gateway: Gateway, headers: Headers, log: StringIO, hostile: Hostile
) -> None:
    answer, busy = await send(gateway, headers, hostile)
    [line] = log.getvalue().splitlines()
    assert len(line.encode()) < LINE_BYTES
    assert len(answer.content) < ANSWER_BYTES
    assert busy < CALLS
    body = answer.json()
    [*errors] = body["errors"]
    assert len(errors) <= 5
    assert errors[0]["extensions"]["code"] == hostile.code
    assert hostile.names in json.dumps(errors[0])
    assert not any((body.get("data") or {}).values())
    # It is known by now, and is refused again; and whoever shows no credential is told no name of the schema.
    for again in (headers, {}):
        answer, busy = await send(gateway, again, hostile)
        assert len(answer.content) < ANSWER_BYTES
        assert busy < CALLS
        assert answer.json()["errors"]
        assert again or "Did you mean" not in answer.text


async def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 60


def _aliases(number: int) -> str:
    return "{ viewer { " + " ".join(f"a{i}: name" for i in range(number)) + " } }"


def _fields(more: int) -> str:
    """Twenty times a fragment of twenty-four fields, without an alias in it."""
    inside = "{ id name __typename }"
    one = f"subject name email credentialKind scopes __typename organization {inside} organizations {inside}"
    fragment = f'fragment F on Viewer {{ {one} can(operation: "deals") ...G }}'
    again = 'fragment G on Viewer { subject name email credentialKind scopes __typename can(operation: "deals") ...H }'
    viewers = " ".join(f"a{i}: viewer {{ ...F {'name' if i < more else ''} }}" for i in range(ROOT_FIELDS_MAX))
    return f"{{ {viewers} }} {fragment} {again} fragment H on Viewer {{ subject name }}"


AT_THE_LIMIT: dict[str, Callable[[int], str]] = {
    "document": lambda more: "{ __typename }".ljust(DOCUMENT_MAX_BYTES + more),
    "tokens": lambda more: "{ nodes(ids: [" + "1 " * (TOKENS_MAX - 12 + more) + "]) { id } }",
    "depth": lambda more: deep(DEPTH_MAX + more),
    "aliases": lambda more: _aliases(DOCUMENT_ALIASES_MAX + more),
    "root fields": lambda more: "{ " + " ".join(f"a{i}: __typename" for i in range(ROOT_FIELDS_MAX + more)) + " }",
    "fields": _fields,
    "variables": lambda more: (
        "query(" + " ".join(f"$v{i}: Int" for i in range(VARIABLES_MAX + more)) + ") { __typename }"
    ),
    "objects": lambda more: "{ nodes(ids: [" + "{} " * (OBJECTS_MAX + more) + "]) { id } }",
    "directives": lambda more: "{ __typename" + " @include(if: true)" * (DIRECTIVES_MAX + more) + " }",
}


@pytest.mark.parametrize("limit", AT_THE_LIMIT)
async def test_a_document_at_a_limit_runs_and_one_beyond_it_is_told_which(
    gateway: Gateway, headers: Headers, limit: str
) -> None:
    largest = {"fields": FIELDS_MAX, "depth": DEPTH_MAX, "aliases": DOCUMENT_ALIASES_MAX}.get(limit)
    within = (await gateway.graphql(AT_THE_LIMIT[limit](0), headers)).json()
    codes = {error["extensions"]["code"] for error in within.get("errors", ())}
    # A list of so many, a directive so often, and variables that nothing uses have rules of their own.
    assert codes == {
        "tokens": {"VALIDATION"},
        "directives": {INVALID},
        "variables": {INVALID},
        "objects": {INVALID},
    }.get(limit, set())
    answer = await gateway.graphql(AT_THE_LIMIT[limit](1), headers)
    [error] = answer.json()["errors"]
    assert error["extensions"]["code"] == "LIMIT_EXCEEDED"
    assert error["extensions"]["limit"] == limit
    assert largest is None or error["extensions"]["maximum"] == largest


async def test_tools_may_introspect_whole(gateway: Gateway, headers: Headers) -> None:
    for options in ({}, {"input_value_deprecation": True, "specified_by_url": True, "directive_is_repeatable": True}):
        query = get_introspection_query(**options)  # type: ignore[arg-type]  # the option's names are literals
        answer = (await gateway.graphql(query, headers)).json()
        assert "errors" not in answer
        assert answer["extensions"] == cost(0, 0)


async def test_what_is_too_heavy_is_told_with_its_heaviest_places(gateway: Gateway, headers: Headers) -> None:
    query = """query($n: Int) { accounts(first: $n) { nodes { name
      deals(first: $n) { nodes { name } totalCount } contacts(first: 20) { nodes { lastName } } } } }"""
    body = (await gateway.graphql(query, headers, n=500)).json()
    [error] = body["errors"]
    nodes = 500 + 500 * 500 + 500 * 20
    assert error["message"].startswith(
        f"The operation may cost {(nodes + 500 * 20) // 10} points; the limit is {COST_MAX}."
    )
    assert error["extensions"]["heaviest"] == [
        {"path": "accounts.nodes.deals", "cost": 25_000},
        {"path": "accounts.nodes.deals.totalCount", "cost": 1_000},
        {"path": "accounts.nodes.contacts", "cost": 1_000},
    ]
    assert body["extensions"] == cost(0, 0)
    # And one that is cheap enough for its points may still give too many rows.
    [error] = (
        await gateway.graphql("{ accounts { nodes { deals(first: 201) { nodes { name } } } } }", headers)
    ).json()["errors"]
    assert error["message"].startswith(f"The operation may give 10100 nodes; the limit is {OPERATION_NODES_MAX}.")
    assert error["extensions"]["code"] == "COST_EXCEEDED"
    assert "errors" not in (await gateway.graphql(query, headers, n=50)).json()


async def test_an_answer_costs_what_it_gave(gateway: Gateway, headers: Headers) -> None:
    made = "mutation($name: String!) { accountCreate(input: {name: $name}) { account { id } } }"
    for number in range(12):
        await gateway.graphql(made, headers, name=f"Cost {number}")
    asked = (
        await gateway.graphql('{ accounts(first: 500, filter: {name: {contains: "Cost "}}) { nodes { id } } }', headers)
    ).json()
    assert len(asked["data"]["accounts"]["nodes"]) == 12
    assert asked["extensions"] == cost(50, 2)
    assert (await gateway.graphql("{ viewer { name } }", headers)).json()["extensions"] == cost(1, 1)
    assert (await gateway.graphql("{ nothing }", headers)).json()["extensions"] == cost(0, 0)
    assert (await gateway.graphql("{ viewer { name } }", {})).json()["extensions"] == cost(0, 0)


async def test_the_estimate_is_what_would_be_asked_for_and_free(gateway: Gateway, headers: Headers) -> None:
    estimate = """query($document: String!, $variables: JSON, $name: String) {
      costEstimate(document: $document, variables: $variables, operationName: $name) {
        requested limit heaviest { path cost } } }"""
    document = """query A($n: Int = 30) { deals(first: $n) { nodes { contacts(first: 10) { nodes { id } } } } }
      query B { viewer { name } }"""
    for variables, name, requested in (({}, "A", 33), ({"n": 100}, "A", 110), (None, "B", 1)):
        values = {"document": document, "variables": variables, "name": name}
        body = (await gateway.graphql(estimate, headers, **values)).json()
        assert body["extensions"] == cost(0, 0)
        report = body["data"]["costEstimate"]
        assert (report["requested"], report["limit"]) == (requested, COST_MAX)
        sent = {"query": document, "variables": variables, "operationName": name}
        ran = (await gateway.http.post("/graphql", json=sent, headers=headers)).json()
        assert ran["extensions"]["cost"]["requested"] == requested
    assert report["heaviest"] == [{"path": "viewer", "cost": 1}]
    for values, field in (
        ({"document": "{ nothing }"}, "document"),
        ({"document": document}, "operationName"),
        ({"document": document, "name": "A", "variables": {"n": "x"}}, "variables"),
        ({"document": document, "name": "A", "variables": [1]}, "variables"),
    ):
        [error] = (await gateway.graphql(estimate, headers, **values)).json()["errors"]
        assert error["extensions"]["code"] == "VALIDATION"
        assert error["extensions"]["problems"][0]["field"] == [field]
    # Nothing that was estimated is done.
    change = 'mutation { accountCreate(input: {name: "Only estimated"}) { account { id } } }'
    body = (await gateway.graphql(estimate, headers, document=change)).json()
    assert body["data"]["costEstimate"]["requested"] == 6
    found = '{ accounts(filter: {name: {eq: "Only estimated"}}) { nodes { id } } }'
    assert (await gateway.graphql(found, headers)).json()["data"]["accounts"]["nodes"] == []


async def test_names_are_suggested_to_members_only(gateway: Gateway, headers: Headers) -> None:
    for caller, suggested in ((headers, True), ({}, False)):
        [error] = (await gateway.graphql("{ viewr { name } }", caller)).json()["errors"]
        assert error["message"].startswith("Cannot query field 'viewr' on type 'Query'.")
        assert ("Did you mean" in error["message"]) is suggested


SOME = (
    "2^90 fields",
    "13 levels",
    "51 aliases",
    "500 by 500",
    "by a variable",
    "a negative size",
    "400 unknown fields",
)


@pytest.mark.parametrize("name", SOME)
async def test_streams_are_no_way_round(gateway: Gateway, headers: Headers, name: str) -> None:
    hostile = HOSTILE[name]
    body = {"query": hostile.query, "variables": hostile.variables}
    answer = await gateway.http.post("/graphql", json=body, headers=headers | {"Accept": "text/event-stream"})
    told = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")] or [answer.json()]
    assert told[0]["errors"][0]["extensions"]["code"] == hostile.code
    parameters = {"query": hostile.query, "variables": json.dumps(hostile.variables)}
    answer = await gateway.http.get("/graphql", params=parameters, headers=headers)
    assert answer.json()["errors"][0]["extensions"]["code"] == hostile.code


async def test_filters_at_the_limit_run(gateway: Gateway, headers: Headers) -> None:
    """A hundred conditions: each comparison is one, and each filter within another (decision 126)."""
    fifty = [{"subject": {"contains": f"x{i}"}} for i in range(FILTER_CONDITIONS_MAX // 2)]
    within = {"or": fifty}
    for _ in range(2):
        assert (await gateway.graphql(FILTERED, headers, f=within)).json()["data"] == {"meetings": {"nodes": []}}
    in_a_row = {"subject": {"in": [f"x{i}" for i in range(1_000)]}}
    assert (await gateway.graphql(FILTERED, headers, f=in_a_row)).json()["data"] == {"meetings": {"nodes": []}}
    for beyond in ({**within, "subject": {"contains": "y"}}, {"and": [within], "deal": {}}):
        [error] = (await gateway.graphql(FILTERED, headers, f=beyond)).json()["errors"]
        assert error["extensions"]["code"] == "VALIDATION"
        assert error["extensions"]["problems"] == [
            {"field": ["f"], "message": "must not have more than 100 conditions in all", "type": "filter_conditions"}
        ]


async def test_the_largest_documented_batch_runs(gateway: Gateway, headers: Headers) -> None:
    """500 contacts with 100 placeholders each; that there is no such campaign is said after all of them were read."""
    document = """mutation($c: [EnrollmentInput!]!) {
      enrollmentsCreate(campaignId: "00000000-0000-7000-8000-000000000000", contacts: $c) { userErrors { code } } }"""
    variables = {f"v{i}": 1 for i in range(ENROLLMENT_VARIABLES_MAX)}
    contacts = [{"email": f"p{i}@example.com", "variables": variables} for i in range(ENROLLMENTS_MAX)]
    body = (await gateway.graphql(document, headers, c=contacts)).json()
    assert body["data"]["enrollmentsCreate"]["userErrors"] == [{"code": "NOT_FOUND"}]


@pytest.mark.parametrize("depth", [JSON_DEPTH_MAX - 1, JSON_DEPTH_MAX])
async def test_a_json_value_has_a_depth(gateway: Gateway, headers: Headers, depth: int) -> None:
    """Within the limit of all values the field's own rule decides, beyond it nothing is looked at (decision 126)."""
    body = (await gateway.graphql(CAPTURE, headers, v={"a": lists(depth)})).json()
    if depth == JSON_DEPTH_MAX:
        assert [error["extensions"]["limit"] for error in body["errors"]] == ["input depth"]
    else:
        problem = {"message": f"must not nest deeper than {CAPTURE_DEPTH_MAX} levels"}
        assert body["data"]["cardCaptureConfirm"]["userErrors"] == [problem]


async def test_a_json_value_in_the_text_has_the_depth_that_the_grammar_allows(
    gateway: Gateway, headers: Headers
) -> None:
    for depth, told in ((180, "userErrors"), (250, "GRAPHQL_PARSE_FAILED")):
        literal = CAPTURE.replace("($v: JSON)", "").replace("$v", "{a: " + "[" * depth + "]" * depth + "}")
        answer = await gateway.graphql(literal, headers)
        assert told in answer.text
        assert "INTERNAL" not in answer.text
    for value in ([[["x"]]], lists(JSON_DEPTH_MAX - 1)):
        patch = """mutation($v: JSON) { cxReportEdit(runId: 1, resultId: 1, input: {analysisPatch: $v}) {
          userErrors { code field } } }"""
        [problem] = (await gateway.graphql(patch, headers, v=value)).json()["data"]["cxReportEdit"]["userErrors"]
        assert problem == {"code": "VALIDATION", "field": ["input", "analysisPatch"]}
