"""Every operation of the schema is planned before its first run, or the reason why not is known here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    get_named_type,
    is_leaf_type,
)

from gateway.observability.metrics import REGISTRY
from schema.execution import Executor
from schema.execution.documents import Document
from schema.execution.rows import Unexpected
from schema.execution.steps import Steps, WholeValue
from storage.tables import Deal
from tests.support.documents import literal
from tests.support.schemas import built
from tests.support.tenants import Tenant

SCHEMA = built().graphql
DEPTH = 3
SAMPLES = {"ID": "00000000-0000-7000-8000-000000000000", "String": "x", "Int": 1, "Float": 1.5, "Boolean": True}
SAMPLES |= {"Decimal": "1.50", "Date": "2026-02-28", "DateTime": "2026-05-01T09:30:00Z", "JSON": {"a": 1}}


def operations() -> Iterator[Any]:
    """A document for every field of Query and Mutation, with its required arguments as variables and all fields."""
    for operation, kind in (("query", SCHEMA.query_type), ("mutation", SCHEMA.mutation_type)):
        assert kind is not None
        for name, field in kind.fields.items():
            yield pytest.param(name, _document(operation, name, field), id=f"{operation} {name}")


def _document(operation: str, name: str, field: GraphQLField) -> str:
    needed = {n: a.type for n, a in field.args.items() if isinstance(a.type, GraphQLNonNull)}
    declared = ", ".join(f"${n}: {kind} = {literal(kind, _sample(kind))}" for n, kind in needed.items())
    given = ", ".join(f"{n}: ${n}" for n in needed)
    head = f"{operation}({declared})" if declared else operation
    return f"{head} {{ {name}{f'({given})' if given else ''} {_selection(get_named_type(field.type), DEPTH)} }}"


def _sample(kind: Any) -> Any:
    if isinstance(kind, GraphQLNonNull):
        return _sample(kind.of_type)
    if isinstance(kind, GraphQLList):
        return [_sample(kind.of_type)]
    if isinstance(kind, GraphQLInputObjectType):
        return {n: _sample(f.type) for n, f in kind.fields.items() if isinstance(f.type, GraphQLNonNull)}
    return next(iter(kind.values)) if isinstance(kind, GraphQLEnumType) else SAMPLES[kind.name]


def _selection(kind: Any, depth: int) -> str:
    if is_leaf_type(kind):
        return ""
    names = ["__typename"]
    for name, field in kind.fields.items():
        target = get_named_type(field.type)
        if depth > 0 or is_leaf_type(target):
            needed = {n: a.type for n, a in field.args.items() if isinstance(a.type, GraphQLNonNull)}
            given = ", ".join(f"{n}: {literal(kind, _sample(kind))}" for n, kind in needed.items())
            names.append(f"{name}{f'({given})' if given else ''} {_selection(target, depth - 1)}")
    if isinstance(kind, GraphQLInterfaceType):
        names += [f"... on {one.name} {{ __typename }}" for one in SCHEMA.get_possible_types(kind)]
    return f"{{ {' '.join(names)} }}"


@pytest.mark.parametrize(("name", "document"), [*operations()])
def test_an_operation_is_planned_before_its_first_run(
    name: str, document: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schema.execution.limits.check", lambda _: None)
    monkeypatch.setattr("schema.execution.documents.TOKENS_MAX", 4_000)  # all fields, three levels deep
    steps = _steps(document)
    assert isinstance(steps, Steps), (name, steps)


@pytest.mark.parametrize(
    "document",
    [
        "subscription { events { id data cursor } }",
        "subscription($types: [String!]) { events(types: $types) { type ... on Event { at: occurredAt } } }",
        'subscription { analyticsAsk(input: {question: "Deals"}) { sequence ... on AnalyticsRowsShown { rows } } }',
        '{ __typename __schema { types { name } } type: __type(name: "Deal") { fields { name } } viewer { name } }',
        "{ nodes(ids: []) { ... on Deal { account { name } contacts { totalCount } } ... on Lead { name } id } }",
    ],
)
def test_what_is_no_root_field_of_its_own_is_planned_as_well(document: str) -> None:
    assert isinstance(_steps(document), Steps)


def _steps(document: str) -> Any:
    found = Executor(SCHEMA).documents.prepare(document)
    assert isinstance(found, Document), found.errors
    operation = found.operation(None)
    assert operation is not None
    values = operation.variables.coerced({})
    assert isinstance(values, dict), values
    return operation.compiled(values).steps


@pytest.mark.asyncio(loop_scope="session")
async def test_the_library_runs_no_operation_that_is_planned(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    await one.add(Deal(name="first"))
    ran: list[Any] = []
    monkeypatch.setattr("schema.execution.fallback.execute", lambda *args, **_: ran.append(args))
    query = "query($new: String) { deals(filter: {name: {eq: $new}}) { nodes { name account { name } } } }"
    assert await one.ask(query, new="first") == {"nodes": [{"name": "first", "account": None}]}
    assert ran == []


@pytest.mark.asyncio(loop_scope="session")
async def test_a_run_by_the_library_is_counted_by_its_reason(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(reason: str) -> float:
        return REGISTRY.get_sample_value("crm_graphql_fallbacks_total", {"reason": reason}) or 0.0

    await one.add(Deal(name="first"))
    before = {reason: counted(reason) for reason in ("condition", "value")}
    # What a caller can bring about at will has its place in the steps, and is not counted.
    await one.post("{ a: deals(first: -1) { totalCount } b: deals(last: -1) { totalCount } }")
    await one.post('query($q: ID = "x") { deal(id: $q) { id } }', q=None)
    await one.ask('{ node(id: "x") { id } viewer { organizations { id } } }')
    assert {reason: counted(reason) for reason in before} == before
    await one.post("query($q: Boolean = true) { deals @skip(if: $q) { totalCount } }", q=None)
    monkeypatch.setattr(WholeValue, "finish", _unexpected)
    await one.post("{ viewer { name } }")
    assert {reason: counted(reason) - number for reason, number in before.items()} == {"condition": 1, "value": 1}


def _unexpected(*_: Any) -> Any:
    raise Unexpected


@pytest.mark.asyncio(loop_scope="session")
async def test_a_function_with_arguments_is_part_of_a_plan(one: Tenant) -> None:
    query = 'query($it: String = "deals") { viewer { a: can(operation: $it) b: can(operation: "none") } }'
    assert await one.ask(query) == {"a": True, "b": False}
    assert await one.ask(query, it="no such") == {"a": False, "b": False}
    error = await one.error(query, it=None)
    assert (error["path"], error["extensions"]["code"]) == (["viewer", "a"], "BAD_USER_INPUT")


@pytest.mark.asyncio(loop_scope="session")
async def test_a_condition_of_one_operation_may_be_a_list_in_another(one: Tenant) -> None:
    document = """
        query A($a: Boolean!) { viewer @include(if: $a) { __typename } }
        query B($a: [ID!]) { accounts(first: 1, filter: {id: {in: $a}}) { totalCount } }
        query C($a: AccountFilter) { accounts(first: 1, filter: $a) { totalCount } }
    """
    headers = one.headers()
    for _ in range(2):  # as it comes, and from what is kept
        for name, value, data in (
            ("A", True, {"viewer": {"__typename": "Viewer"}}),
            ("B", ["00000000-0000-7000-8000-000000000000"], {"accounts": {"totalCount": 0}}),
            ("C", {"name": {"eq": "nobody"}}, {"accounts": {"totalCount": 0}}),
        ):
            body = {"query": document, "operationName": name, "variables": {"a": value}}
            answer = await one.gateway.http.post("/graphql", json=body, headers=headers)
            assert (answer.status_code, answer.json().get("data")) == (200, data), answer.text
