"""What is relied on of graphql-core below its documented surface (schema/adapters/graphql_core.py)."""

from __future__ import annotations

from graphql import GraphQLError, VariableNode, execute_sync, parse

from tests.support.schemas import built


def test_a_value_that_is_unfit_in_its_place_is_an_error_of_the_value() -> None:
    document = parse("query ($no: Boolean) { __typename @include(if: $no) }")
    [refused] = execute_sync(built().graphql, document, variable_values={"no": None}).errors or []
    cause = refused.original_error or refused
    assert isinstance(cause, GraphQLError)
    assert [type(node) for node in cause.nodes or ()] == [VariableNode]


def test_introspection_says_is_one_of_of_inputs_alone() -> None:
    schema = built().graphql
    answer = execute_sync(schema, parse("{ __schema { types { kind isOneOf } } }"))
    assert answer.errors is None
    kinds = {(t["kind"], t["isOneOf"]) for t in answer.data["__schema"]["types"]}
    assert {said for kind, said in kinds if kind != "INPUT_OBJECT"} == {None}
    assert {said for kind, said in kinds if kind == "INPUT_OBJECT"} <= {True, False}
