"""Arguments made once for their document, against the library's own: random ones for every argument of the schema.

CRM_ARGUMENTS says how many documents for each field, CRM_DIFFERENTIAL_SEED which ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest
from graphql import (
    FieldNode,
    GraphQLEnumType,
    GraphQLError,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    OperationDefinitionNode,
    parse,
)
from graphql.execution import get_argument_values, get_variable_values
from strawberry.types.arguments import convert_arguments

from schema.adapters.strawberry import DEFINITION, declared_of
from schema.execution.arguments import Unfit, arguments_of
from schema.execution.variables import Variables
from tests.support.documents import Document, document_of
from tests.support.schemas import built

SCHEMA = built().graphql
DOCUMENTS = int(os.environ.get("CRM_ARGUMENTS", "40"))
SEED = os.environ.get("CRM_DIFFERENTIAL_SEED", "1")
SCALARS: Mapping[str, list[Any]] = {
    "ID": ["00000000-0000-7000-8000-000000000000", "no uuid", 7],
    "String": ["", "a text", "\x00"],
    "Int": [0, -1, 2**31 - 1],
    "Float": [0.5, 1],
    "Boolean": [True, False],
    "Decimal": ["1.50", 2, 0.25],
    "Date": ["2026-02-28"],
    "DateTime": ["2026-05-01T09:30:00Z", "2026-05-01T09:30:00.5+02:00"],
    "JSON": [{"a": [1, {"b": None}]}, ["x"], "text", 3],
}


def with_arguments() -> Iterator[Any]:
    """Every field that takes any."""
    for kind in SCHEMA.type_map.values():
        if not kind.name.startswith("__"):
            for name, field in getattr(kind, "fields", {}).items():
                if isinstance(field, GraphQLField) and field.args:
                    yield pytest.param(name, field, id=f"{kind.name}.{name}")


def some(kind: Any, random: Random, depth: int = 4) -> Any:
    """A value that may stand where this type is expected."""
    if not isinstance(kind, GraphQLNonNull) and random.random() < 0.1:
        return None
    kind = kind.of_type if isinstance(kind, GraphQLNonNull) else kind
    if isinstance(kind, GraphQLList):
        one = some(kind.of_type, random, depth - 1)
        return (
            one
            if random.random() < 0.1
            else [some(kind.of_type, random, depth - 1) for _ in range(random.randrange(3))]
        )
    if isinstance(kind, GraphQLInputObjectType):
        needed = [n for n, f in kind.fields.items() if isinstance(f.type, GraphQLNonNull)]
        chosen = random.sample(
            list(kind.fields), random.randrange(1 + min(len(kind.fields), depth if depth > 0 else 0))
        )
        return {n: some(kind.fields[n].type, random, depth - 1) for n in dict.fromkeys([*needed, *chosen])}
    if isinstance(kind, GraphQLEnumType):
        return random.choice(list(kind.values))
    return random.choice(SCALARS[kind.name])


def parts_of(made: Document) -> tuple[OperationDefinitionNode, FieldNode]:
    [operation] = parse(made.text).definitions
    assert isinstance(operation, OperationDefinitionNode)
    [node] = operation.selection_set.selections
    assert isinstance(node, FieldNode)
    return operation, node


@pytest.mark.parametrize(("name", "field"), [*with_arguments()])
def test_arguments_are_the_librarys(name: str, field: GraphQLField) -> None:
    converter = declared_of(SCHEMA).schema_converter
    definition = field.extensions[DEFINITION]
    for number in range(DOCUMENTS):
        random = Random(f"{SEED}/{name}/{number}")
        given = {n: some(a.type, random) for n, a in field.args.items() if random.random() < 0.6 or _is_needed(a)}
        made = document_of(SCHEMA, name, field, given, random)
        operation, node = parts_of(made)
        variables = Variables(SCHEMA, operation.variable_definitions or (), {})
        members = arguments_of(field, node)
        for _ in range(5):
            values = made.values(random)
            shown = f"{made.text}\nvariables {values}"
            known = get_variable_values(SCHEMA, operation.variable_definitions or (), values)
            coerced = variables.coerced(values)
            if isinstance(known, list):
                assert isinstance(coerced, list), shown
                places = [error.locations for error in known]  # the words are ours (decision 986)
                assert [error.locations for error in coerced] == places, shown
                continue
            assert coerced == known.coerced, shown
            try:
                expected = convert_arguments(
                    get_argument_values(field, node, known),
                    definition.arguments,
                    converter.scalar_registry,
                    converter.config,
                )
            except GraphQLError:
                with pytest.raises(Unfit):
                    members.filled(known.coerced)
            else:
                found = members.filled(known.coerced)
                assert found == expected, shown
                assert {n: repr(v) for n, v in found.items()} == {n: repr(v) for n, v in expected.items()}, shown


def _is_needed(argument: Any) -> bool:
    return isinstance(argument.type, GraphQLNonNull)
