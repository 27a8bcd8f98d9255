"""What is relied on of graphql-core below its documented surface (schema/adapters/graphql_core.py)."""

from __future__ import annotations

import pytest
from graphql import GraphQLError, VariableNode, parse
from graphql.execution import Executor, execute_sync
from graphql.execution.collect_fields import FieldDetails, collect_fields

from schema.adapters import graphql_core as adapter
from schema.build import build
from schema.execution.executor import CompiledExecutor
from tests.support.internals import attributes_of, library_members, members_in_use, signature_of

SIGNATURES = {
    "build_per_event_executor": "(self, payload)",
    "build_resolve_info": "(self, field_def, field_nodes, parent_type, path)",
    "collect_subfields": "(self, return_type, field_details_list)",
    "complete_awaitable_value": ("(self, return_type, field_details_list, info, path, result, position_context)"),
    "complete_iterable_value": "(self, item_type, field_details_list, info, path, items, position_context)",
    "complete_object_value": "(self, return_type, field_details_list, info, path, result, position_context)",
    "execute_field": "(self, parent_type, source, field_details_list, path, position_context)",
    "execute_fields": "(self, parent_type, source_value, path, grouped_field_set, position_context)",
    "execute_operation": "(self, serially=None)",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_member_of_the_executor_is_as_expected(name: str) -> None:
    assert signature_of(Executor, name) == SIGNATURES[name]


def test_every_member_in_use_is_named_and_there() -> None:
    used = members_in_use(CompiledExecutor) | attributes_of("schema/execution/run.py", "built", "CompiledExecutor")
    used -= {"variant", "is_kept", "plan"}  # its own
    assert used == set(adapter.EXECUTOR_MEMBERS)
    assert set(adapter.EXECUTOR_MEMBERS) <= library_members(Executor)
    assert all(adapter.EXECUTOR_MEMBERS.values())


def test_fields_are_collected_with_their_nodes_by_the_name_in_the_answer() -> None:
    schema, document = build().graphql, parse("{ a: __typename }")
    built = Executor.build(schema, document)
    assert not isinstance(built, list)
    kind = schema.query_type
    assert kind is not None
    grouped = collect_fields(schema, built.fragments, built.variable_values, kind, built.operation, False)[0]
    [details] = grouped["a"]
    assert isinstance(details, FieldDetails)
    assert details.node.name.value == "__typename"
    assert details.fragment_variable_values is None


def test_a_value_that_is_unfit_in_its_place_is_an_error_of_the_value() -> None:
    document = parse("query ($no: Boolean) { __typename @include(if: $no) }")
    [refused] = execute_sync(build().graphql, document, variable_values={"no": None}).errors or []
    cause = refused.original_error or refused
    assert isinstance(cause, GraphQLError)
    assert [type(node) for node in cause.nodes or ()] == [VariableNode]


def test_introspection_says_is_one_of_of_inputs_alone() -> None:
    schema = build().graphql
    answer = execute_sync(schema, parse("{ __schema { types { kind isOneOf } } }"))
    assert answer.errors is None
    kinds = {(t["kind"], t["isOneOf"]) for t in answer.data["__schema"]["types"]}
    assert {said for kind, said in kinds if kind != "INPUT_OBJECT"} == {None}
    assert {said for kind, said in kinds if kind == "INPUT_OBJECT"} <= {True, False}
