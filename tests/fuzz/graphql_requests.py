"""Random GraphQL requests over a schema: valid documents, with arguments as variables that need not be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    is_leaf_type,
)

from tests.fuzz.values import DATES, INTEGERS, JSONS, MOMENTS, NUMBERS, Values

_DEPTH = 2
_FILTER_DEPTH = 5
_KINDS = {
    "stage": "PipelineStage",
    "stages": "PipelineStage",
    "run": "ResearchRun",
    "result": "ResearchResult",
    "champion": "Contact",
    "enrollments": "Enrollment",
    "domain": "OutreachDomain",
    "parentDeal": "Deal",
    "mailbox": "Mailbox",
    "key": "OrganizationKey",
}


@dataclass
class _Text:
    """A document while it is written."""

    variables: dict[str, Any]
    declared: list[str]


class GraphQLRequests:
    """Makes requests, one after the other."""

    def __init__(self, schema: GraphQLSchema, values: Values) -> None:
        self.schema = schema
        self.values = values
        self.kinds = sorted((n for n in schema.type_map if not n.startswith("__")), key=len, reverse=True)

    def request(self, *, writing: bool) -> dict[str, Any]:
        """A body of POST /graphql: a mutation or a query, of one field mostly."""
        root = self.schema.mutation_type if writing else self.schema.query_type
        assert root is not None
        text = _Text({}, [])
        count = 1 if self.values.chance(85) else 2
        fields = [self._root(root.fields, number, text) for number in range(count)]
        declared = f"({', '.join(text.declared)})" if text.declared else ""
        query = f"{'mutation' if writing else 'query'}{declared} {{ {' '.join(fields)} }}"
        return {"query": query, "variables": text.variables}

    def every(self) -> Iterator[dict[str, Any]]:
        """A request for each field of each root, in the order of the schema."""
        for root in (self.schema.query_type, self.schema.mutation_type):
            assert root is not None
            for name, field in root.fields.items():
                text = _Text({}, [])
                written = self._field(name, field, _DEPTH, text, "r")
                declared = f"({', '.join(text.declared)})" if text.declared else ""
                kind = "query" if root is self.schema.query_type else "mutation"
                yield {"query": f"{kind}{declared} {{ {written} }}", "variables": text.variables}

    def _root(self, fields: dict[str, GraphQLField], number: int, text: _Text) -> str:
        name = self.values.one(sorted(fields))
        return self._field(name, fields[name], _DEPTH, text, f"r{number}")

    def _field(self, name: str, field: GraphQLField, depth: int, text: _Text, key: str) -> str:
        arguments = []
        for argument, definition in field.args.items():
            required = isinstance(definition.type, GraphQLNonNull)
            if not required and not self.values.chance(70 if argument == "first" else 25):
                continue
            variable = f"v{len(text.declared)}"
            text.declared.append(f"${variable}: {definition.type}")
            arguments.append(f"{argument}: ${variable}")
            if self.values.chance(98 if required else 92):
                text.variables[variable] = self._value(definition.type, argument, name, 0)
        written = f"{name}({', '.join(arguments)})" if arguments else name
        head = written if key == name else f"{key}: {written}"
        target = get_named_type(field.type)
        return head if is_leaf_type(target) else f"{head} {self._selection(target, depth - 1, text)}"

    def _selection(self, kind: Any, depth: int, text: _Text) -> str:
        if isinstance(kind, GraphQLInterfaceType | GraphQLUnionType):
            parts = [
                f"... on {target.name} {self._selection(target, depth - 1, text)}"
                for target in sorted(self.schema.get_possible_types(kind), key=lambda target: target.name)
            ]
            return f"{{ __typename {' '.join(parts)} }}"
        parts = ["__typename"]
        for name, field in kind.fields.items():
            target = get_named_type(field.type)
            # In fragments on several types, two fields of one name may differ in their types.
            key = name if name == "id" else f"{kind.name}_{name}"
            if name in ("startCursor", "endCursor", "cursor"):
                key = name
            if is_leaf_type(target):
                if name == "id" or self.values.chance(75):
                    parts.append(self._field(name, field, 0, text, key))
            elif depth > 0 and (name in ("nodes", "edges", "pageInfo", "userErrors") or self.values.chance(35)):
                parts.append(self._field(name, field, depth, text, key))
        return f"{{ {' '.join(parts)} }}"

    def _value(self, kind: Any, name: str, owner: str, depth: int) -> Any:
        if isinstance(kind, GraphQLNonNull):
            return None if self.values.chance(1) else self._value(kind.of_type, name, owner, depth)
        if self.values.chance(6):
            return None
        if isinstance(kind, GraphQLList):
            if self.values.chance(4):
                return self._value(kind.of_type, name, owner, depth)
            length = self.values.one((0, 1, 1, 2, 3, 8))
            return [self._value(kind.of_type, name, owner, depth) for _ in range(length)]
        if isinstance(kind, GraphQLInputObjectType):
            return self._object(kind, owner, depth)
        if isinstance(kind, GraphQLEnumType):
            return self.values.one(kind.values) if self.values.chance(98) else "NOPE"
        return self._scalar(kind.name, name, owner)

    def _object(self, kind: GraphQLInputObjectType, owner: str, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        optional = [n for n, field in kind.fields.items() if not isinstance(field.type, GraphQLNonNull)]
        share = 100 * min(1, 2.5 / max(len(optional), 1))
        for name, field in kind.fields.items():
            nested = isinstance(get_named_type(field.type), GraphQLInputObjectType)
            if isinstance(field.type, GraphQLNonNull):
                chosen = self.values.chance(98)
            else:
                chosen = self.values.chance(share) and not (nested and depth >= _FILTER_DEPTH)
            if chosen:
                inner = name if kind.name.endswith("Filter") and name not in _OPERATORS else owner
                shown = owner if name in _OPERATORS else name
                made[name] = self._value(field.type, shown, inner, depth + 1)
        if self.values.chance(1):
            made["nonsense"] = 1
        return made

    def _scalar(self, kind: str, name: str, owner: str) -> Any:
        if self.values.chance(1):
            return self.values.one((True, 1, 1.5, "x", [], {}, ["x"]))
        match kind:
            case "ID":
                return self.values.identifier(self._kind(name, owner))
            case "Int":
                return self.values.random.randint(0, 6) if self.values.chance(70) else self.values.one(INTEGERS)
            case "Float":
                return self.values.one((0.5, 1, -1, 1e300))
            case "Boolean":
                return self.values.chance(50)
            case "Decimal":
                return self.values.one(NUMBERS)
            case "Date":
                return self.values.one(DATES)
            case "DateTime":
                return self.values.one(MOMENTS)
            case "JSON":
                return self.values.one(JSONS)
        return self.values.cursor() if name in ("after", "before") else self.values.text(name)

    def _kind(self, name: str, owner: str) -> str:
        """The type that an argument, or the field that has it, is likely to mean."""
        for word in (name.removesuffix("s").removesuffix("Id"), name.removesuffix("Id"), owner):
            if word in _KINDS:
                return _KINDS[word]
            for kind in self.kinds:
                if word.lower().startswith(kind.lower()):
                    return kind
        return ""


_OPERATORS = frozenset(
    ("eq", "neq", "in", "nin", "gt", "gte", "lt", "lte", "contains", "startsWith", "isNull", "and", "or", "not", "has")
)
