"""Every place of the schema that takes an identifier was given one of another organization."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from graphql import (
    FieldNode,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    OperationDefinitionNode,
    parse,
    type_from_ast,
    value_from_ast_untyped,
)

from tests.isolation.canaries import new_side
from tests.isolation.cases import CASES, Graph, fill, names
from tests.isolation.records import missing, plain
from tests.support.gateway import Gateway
from tests.support.schemas import built

SCHEMA = built().graphql
OPERATORS = ["eq", "neq", "in", "nin"]
Place = tuple[str, str]


def bare(kind: Any) -> Any:
    """The type without its lists and non-nulls."""
    while isinstance(kind, GraphQLList | GraphQLNonNull):
        kind = kind.of_type
    return kind


def roots() -> Iterator[tuple[str, Any]]:
    """The fields of the three root types."""
    for root in (SCHEMA.query_type, SCHEMA.mutation_type, SCHEMA.subscription_type):
        assert isinstance(root, GraphQLObjectType)
        yield from root.fields.items()


def places() -> set[Place]:
    """Arguments and fields of the type ID, by the field or input that has them; filters have a test of their own."""
    found = {(name, key) for name, field in roots() for key, a in field.args.items() if bare(a.type).name == "ID"}
    for kind in SCHEMA.type_map.values():
        if isinstance(kind, GraphQLInputObjectType) and not kind.name.endswith("Filter"):
            found |= {(kind.name, name) for name, field in kind.fields.items() if bare(field.type).name == "ID"}
    return found


def given(request: Graph) -> Iterator[Place]:
    """Where the request names a record of another organization."""
    [operation] = parse(request.document).definitions
    assert isinstance(operation, OperationDefinitionNode)
    for definition in operation.variable_definitions or ():
        kind = bare(type_from_ast(SCHEMA, definition.type))
        yield from _inside(kind, request.variables.get(definition.variable.name.value))
    for field in operation.selection_set.selections:
        assert isinstance(field, FieldNode)
        for argument in field.arguments or ():
            if names(value_from_ast_untyped(argument.value, request.variables)):
                yield field.name.value, argument.name.value


def _inside(kind: Any, value: Any) -> Iterator[Place]:
    for each in value if isinstance(value, list | tuple) else [value]:
        if isinstance(kind, GraphQLInputObjectType) and isinstance(each, dict):
            for name, part in each.items():
                field = bare(kind.fields[name].type)
                if field.name == "ID" and names(part):
                    yield kind.name, name
                yield from _inside(field, part)


def test_every_identifier_of_an_input_is_in_a_case() -> None:
    asked = {place for case in CASES.values() for r in case.requests if isinstance(r, Graph) for place in given(r)}
    assert places() - asked == {("MemberAddInput", "id")}  # the subject of somebody new


def filters() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each list with each of its filters by identifier, those of linked records too: `<id>` stands for it."""
    for field, definition in roots():
        if "filter" in definition.args:
            kind = bare(definition.args["filter"].type)
            for way in _ways(kind, 2):
                yield field, kind.name, way


def _ways(kind: Any, deep: int) -> Iterator[dict[str, Any]]:
    for name, field in kind.fields.items():
        inner = bare(field.type)
        if inner.name == "IDFilter":
            for operator in OPERATORS:
                yield {name: {operator: ["<id>"] if operator in ("in", "nin") else "<id>"}}
        elif deep > 1 and inner is not kind and inner.name.endswith("Filter"):
            yield from ({name: way} for way in _ways(inner, deep - 1))


@pytest.mark.long_on("postgresql")
async def test_no_filter_tells_another_s_record_from_none(gateway: Gateway) -> None:
    side, other = [await new_side(gateway.world) for _ in range(2)]
    headers = gateway.world.session(side.member, side.organization)
    nothing = missing(other.ids)
    asked = 0
    for field, kind, way in filters():
        page = "nodes { id }" if "Connection" in str(dict(roots())[field].type) else "__typename"
        document = f"query($filter: {kind}) {{ {field}(filter: $filter) {{ {page} }} }}"
        for name in ("account", "contact", "deal", "lead", "stage", "meeting", "campaign", "run"):
            answers = []
            for values in (nothing, other.ids):
                filled = fill(way, {"id": values[name]})
                response = await gateway.graphql(document, headers, filter=filled)
                assert "errors" not in response.json(), (way, response.text)
                answers.append(plain(response, values, {name}))
            assert answers[0] == answers[1], (field, way, name)
            asked += 1
    print(f"{asked} filters")
    assert asked > 500
