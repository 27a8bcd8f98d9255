"""What is relied on of Strawberry below its documented surface (schema/adapters/strawberry.py)."""

from __future__ import annotations

from enum import Enum
from typing import Any

import strawberry
from graphql import GraphQLObjectType
from strawberry.schema.schema_converter import GraphQLCoreConverter

from schema.adapters import strawberry as adapter


@strawberry.enum
class Color(Enum):
    RED = "red"


@strawberry.input
class Given:
    some_text: str = "none"
    bare: int | None


@strawberry.input
class Wrapping:
    wrapped: strawberry.Maybe[str]


@strawberry.input
class Own:
    text: str


Own.__strawberry_definition__.from_input = lambda kind, value, context: kind(text="own")  # type: ignore[attr-defined]  # as its integrations set it


@strawberry.type
class Query:
    plain: str = strawberry.field(metadata={"of": "plain"}, default="x")

    @strawberry.field
    def told(
        self,
        info: strawberry.Info[Any, Any],
        given: Given,
        color: Color = Color.RED,
        maybe: strawberry.Maybe[Wrapping] = None,
        own: Own | None = None,
    ) -> str:
        seen.append(info)
        return f"{given.some_text} {color.name}"


seen: list[Any] = []
SCHEMA = adapter.Schema(query=Query)


def _field(name: str) -> Any:
    kind = SCHEMA.graphql.query_type
    assert isinstance(kind, GraphQLObjectType)
    return kind.fields[name]


def _info() -> Any:
    result = SCHEMA.execute_sync('{ told(given: {someText: "a"}) }', root_value=Query())
    assert result.data == {"told": "a RED"}
    return seen[-1]


def test_a_field_of_the_core_leads_to_its_definition() -> None:
    assert adapter.DEFINITION == GraphQLCoreConverter.DEFINITION_BACKREF
    plain, told = (_field(name).extensions[adapter.DEFINITION] for name in ("plain", "told"))
    assert (plain.python_name, plain.base_resolver, plain.metadata) == ("plain", None, {"of": "plain"})
    assert told.base_resolver.wrapped_func.__name__ == "told"
    assert [(one.python_name, one.graphql_name) for one in told.arguments][:2] == [("given", None), ("color", None)]
    kind = SCHEMA.graphql.query_type
    assert kind is not None
    assert kind.extensions[adapter.DEFINITION].origin is Query


def test_an_info_wraps_that_of_the_core() -> None:
    info = _info()
    raw = adapter.raw_info(info)
    assert (raw.field_nodes[0].name.value, raw.parent_type) == ("told", SCHEMA.graphql.query_type)


def test_an_input_tells_how_it_becomes_an_instance() -> None:
    arguments = _field("told").args
    assert {name: adapter.argument_name_of(one) for name, one in arguments.items()} == {
        "given": "given",
        "color": "color",
        "maybe": None,
        "own": "own",
    }
    kind = arguments["given"].type.of_type
    assert adapter.input_class_of(kind) == (Given, {"someText": "some_text", "bare": "bare"}, {"bare": None})


def test_an_input_that_makes_its_own_value_tells_so() -> None:
    kinds = {name: adapter.input_class_of(SCHEMA.graphql.type_map[name]) for name in ("Wrapping", "Own")}  # type: ignore[arg-type]  # both are inputs
    assert kinds == {"Wrapping": None, "Own": None}


def test_the_values_of_an_enum_can_be_described() -> None:
    [value] = adapter.enum_values(Color)
    assert value.name == "RED"
    value.description = "It is red."
    assert "It is red." in strawberry.Schema(query=Query).as_str()


def test_names_are_written_as_clients_see_them() -> None:
    assert [adapter.to_camel_case(name) for name in ("some_text", "id", "a_b_c")] == ["someText", "id", "aBC"]
