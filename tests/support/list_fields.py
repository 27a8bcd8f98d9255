"""The lists of a schema, found in the schema itself: every field that gives several objects, and every list taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphql import (
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
    is_composite_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
    is_required_argument,
)

_INFRASTRUCTURE = ("Connection", "Payload", "Edge")


def list_fields(schema: GraphQLSchema) -> Iterator[str]:
    """`Type.field` of every field that gives a page or a list of objects; what a mutation gives is not among them."""
    for kind in schema.type_map.values():
        if is_object_type(kind) and not kind.name.startswith("__") and not kind.name.endswith(_INFRASTRUCTURE):
            yield from (f"{kind.name}.{name}" for name, field in kind.fields.items() if _is_list(field))


def list_inputs(schema: GraphQLSchema) -> Iterator[str]:
    """`field argument.path` of every list that a root field takes, but for those of filters."""
    for root in (schema.query_type, schema.mutation_type):
        assert root is not None
        for name, field in root.fields.items():
            for argument, taken in field.args.items():
                if argument != "filter":
                    yield from (f"{name} {path}" for path in _lists(taken.type, argument, ()))


def _lists(kind: Any, path: str, above: tuple[str, ...]) -> Iterator[str]:
    if _holds_list(kind):
        yield path
    named = get_named_type(kind)
    if isinstance(named, GraphQLInputObjectType) and named.name not in above:
        for name, field in named.fields.items():
            if get_named_type(field.type).name.endswith("Filter"):  # as those of lists, which an export has within
                continue
            yield from _lists(field.type, f"{path}.{name}", (*above, named.name))


def _holds_list(kind: Any) -> bool:
    return is_list_type(kind.of_type if is_non_null_type(kind) else kind)


def _is_list(field: GraphQLField) -> bool:
    named = get_named_type(field.type)
    return named.name.endswith("Connection") or (_holds_list(field.type) and is_composite_type(named))


class Queries:
    """Queries that reach a list by way of other lists, each with everything of the records that it gives.

    `arguments` are those of fields, `Type.field`, that have to have some.
    """

    def __init__(self, schema: GraphQLSchema, arguments: Mapping[str, str]) -> None:
        self.schema = schema
        self._arguments = arguments
        self._paths = self._reached()

    def of(self, list_field: str) -> str:
        """The query."""
        kind, name = list_field.split(".")
        field = self.schema.type_map[kind].fields[name]  # type: ignore[attr-defined]
        text = self._field(kind, name, field)
        for above, step in reversed(self._paths[kind]):
            text = self._around(above, step, text)
        return f"{{ {text} }}"

    def reaches(self, list_field: str) -> bool:
        return list_field.split(".")[0] in self._paths

    def _reached(self) -> dict[str, list[tuple[str, str]]]:
        """The steps to each type of the schema: through lists before others, and as few as there can be."""
        assert self.schema.query_type is not None
        paths: dict[str, list[tuple[str, str]]] = {"Query": []}
        waiting = ["Query"]
        while waiting:
            kind = waiting.pop(0)
            fields = self.schema.type_map[kind].fields  # type: ignore[attr-defined]
            for name, field in sorted(fields.items(), key=lambda item: not _is_list(item[1])):
                node = self._node(field)
                if isinstance(node, GraphQLObjectType) and node.name not in paths and self._can_ask(kind, name, field):
                    paths[node.name] = [*paths[kind], (kind, name)]
                    waiting.append(node.name)
        return paths

    def _can_ask(self, kind: str, name: str, field: GraphQLField) -> bool:
        return f"{kind}.{name}" in self._arguments or not any(map(is_required_argument, field.args.values()))

    def _node(self, field: GraphQLField) -> Any:
        named: Any = get_named_type(field.type)
        return get_named_type(named.fields["nodes"].type) if named.name.endswith("Connection") else named

    def _around(self, kind: str, name: str, inner: str) -> str:
        field = self.schema.type_map[kind].fields[name]  # type: ignore[attr-defined]
        arguments = self._arguments.get(f"{kind}.{name}", "")
        inner = f"__typename {inner}"
        if get_named_type(field.type).name.endswith("Connection"):
            inner = f"nodes {{ {inner} }}"
        return f"{name}{arguments} {{ {inner} }}"

    def _field(self, kind: str, name: str, field: GraphQLField) -> str:
        node, arguments = self._node(field), self._arguments.get(f"{kind}.{name}", "")
        inner = (
            " ".join(self._members(node))
            if isinstance(node, GraphQLInterfaceType | GraphQLObjectType)
            else "id __typename"
        )
        if get_named_type(field.type).name.endswith("Connection"):
            counted = "totalCount" if "totalCount" in get_named_type(field.type).fields else ""  # type: ignore[attr-defined]
            inner = f"nodes {{ {inner} }} {counted} pageInfo {{ hasNextPage }}"
        return f"{name}{arguments} {{ {inner} }}"

    def _members(self, node: GraphQLInterfaceType | GraphQLObjectType) -> Iterator[str]:
        """Everything of a record but its own lists, which are asked for on their own, and one step of its links."""
        yield "__typename"
        for name, field in node.fields.items():
            if _is_list(field) or not self._can_ask(node.name, name, field):
                continue
            composite = is_composite_type(get_named_type(field.type))
            yield f"{name} {{ __typename }}" if composite else name
