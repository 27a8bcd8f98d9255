"""What is asked of the schema itself is answered as the library would, without its work for each field."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from graphql import execute_sync, get_introspection_query, parse

from resolvers.shared.context import Context
from resolvers.shared.deadline import Deadlines
from schema.execution import Executor, Request
from tests.support.counting import counted
from tests.support.schemas import built

WHOLE = get_introspection_query(
    specified_by_url=True, directive_is_repeatable=True, schema_description=True, input_value_deprecation=True
)
QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "what tools send": (WHOLE, {}),
    "aliases and names of types": (
        """{ s: __schema { __typename q: queryType { __typename n: name name } mutationType { name }
          subscriptionType { name } directives { name args { name defaultValue type { kind __typename } } locations } }
          __typename }""",
        {},
    ),
    "one type": (
        """query($name: String!, $old: Boolean!) {
          __type(name: $name) { ...T interfaces { name possibleTypes { name } } }
          none: __type(name: "Nothing") { name } input: __type(name: "MeetingFilter") { ...T isOneOf }
          words: __type(name: "DealStatus") { ...T enumValues(includeDeprecated: $old) { name isDeprecated } } }
          fragment T on __Type { kind name description specifiedByURL ofType { name }
            fields(includeDeprecated: $old) { name type { name ofType { name kind ofType { name } } } args { name } }
            inputFields { name defaultValue type { kind ...on __Type { name } } } }""",
        {"name": "Meeting", "old": True},
    ),
    "conditions": (
        """query($yes: Boolean!, $no: Boolean!) { __schema { types @include(if: $no) { name }
          queryType { name @skip(if: $yes) description fields @include(if: $yes) { name isDeprecated } } } }""",
        {"yes": True, "no": False},
    ),
    "what is no input": (
        """{ __type(name: "Deal") { isOneOf
          fields { type { kind isOneOf ofType { isOneOf } } args { type { isOneOf } } } } }""",
        {},
    ),
    "fields asked twice": (
        "{ __schema { queryType { fields { name } } queryType { fields { description } } description } }",
        {},
    ),
    "nothing where null is wrong": (
        'query($old: Boolean = true) { __type(name: "Deal") { name fields(includeDeprecated: $old) { name } } }',
        {"old": None},
    ),
}


def anonymous() -> Context:
    """A request without a credential."""
    services: Any = SimpleNamespace(deadlines=Deadlines())  # nothing else is asked of the services
    return Context(services, None, "x")


@pytest.fixture(scope="module")
def executor() -> Executor:
    return Executor(built().graphql)


@pytest.mark.parametrize(("query", "values"), QUERIES.values(), ids=QUERIES)
async def test_the_answer_is_the_librarys(executor: Executor, query: str, values: dict[str, Any]) -> None:
    expected = execute_sync(executor.schema, parse(query), variable_values=values)
    for _ in range(2):
        body = (await executor.run(Request(query, values), anonymous())).body
        assert body.get("data") == expected.data
        assert [e["message"] for e in body.get("errors", [])] == [e.message for e in expected.errors or []]
        assert [e.get("path") for e in body.get("errors", [])] == [e.path for e in expected.errors or []]


async def test_what_cannot_be_read_is_wrong_alone(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(kind: Any, _info: Any) -> str:
        raise ValueError(kind)

    meta: Any = executor.schema.type_map["__Type"]
    monkeypatch.setattr(meta.fields["description"], "resolve", broken)
    asked = Request('{ __type(name: "Deal") { name description } }')
    body = (await executor.run(asked, anonymous())).body
    assert body["data"] == {"__type": {"name": "Deal", "description": None}}
    assert [error["path"] for error in body["errors"]] == [["__type", "description"]]


async def test_it_is_no_burden_to_answer_anonymous_callers(executor: Executor) -> None:
    """The library itself makes several times as many calls for each."""
    await executor.run(Request(WHOLE, anonymous_address="192.0.2.1"), anonymous())
    with counted() as ours:
        await executor.run(Request(WHOLE, anonymous_address="192.0.2.1"), anonymous())
    with counted() as the_librarys:
        execute_sync(executor.schema, parse(WHOLE))
    assert ours.number * 4 < the_librarys.number
