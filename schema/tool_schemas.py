"""Derives the JSON Schema of a tool's arguments from the input types of its documents (decision 310).

Definitions are read with every question of a model, so they are short: no descriptions of fields, enums told once.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    is_input_object_type,
    is_required_input_field,
)

from schema.adapters.strawberry import class_of

JsonSchema = dict[str, Any]
"""A JSON Schema, or a part of one. Any: JSON."""

_SCALARS: Final[Mapping[str, JsonSchema]] = {
    "Int": {"type": "integer"},
    "Float": {"type": "number"},
    "Boolean": {"type": "boolean"},
    "DateTime": {"type": "string", "format": "date-time"},
    "Date": {"type": "string", "format": "date"},
}
_LEFT_OUT: Final = frozenset({"and", "neq", "nin"})
"""The fields that filters are offered without: `not` and `or` say it as well."""


class Forms:
    """The forms of input types; fields of the names in `hidden` are left out. What stands once has its form there."""

    def __init__(self, hidden: Collection[str] = ()) -> None:
        self._hidden = _LEFT_OUT | set(hidden)
        self._named: dict[str, JsonSchema] = {}
        self._uses: Counter[str] = Counter()

    def of(self, kind: GraphQLInputType) -> JsonSchema:
        """The form of a value of this type, which may refer to the `definitions`."""
        if isinstance(kind, GraphQLNonNull):
            return self.of(kind.of_type)
        if isinstance(kind, GraphQLList):
            return {"type": "array", "items": self.of(kind.of_type)}
        if isinstance(kind, GraphQLEnumType):
            return self._shared(kind.name, lambda: {"enum": [*kind.values]})
        if is_input_object_type(kind):
            return self._shared(kind.name, lambda: self._object(kind))
        return dict(_SCALARS.get(kind.name, {"type": "string"}))

    def any_of(self, kinds: Collection[GraphQLInputType]) -> JsonSchema:
        """The form of a value that is of one of these types."""
        forms = [self.of(kind) for kind in _distinct(kinds)]
        return forms[0] if len(forms) == 1 else {"anyOf": forms}

    def put(self, schema: JsonSchema) -> JsonSchema:
        """The whole schema of an object with such forms in it: what is used several times is defined beside it."""
        several = {name: one for name, one in self._named.items() if self._uses[name] > 1}
        placed: JsonSchema = self._placed(schema, several)
        defined = {name: self._placed(one, several) for name, one in several.items()}
        return placed | ({"$defs": defined} if defined else {})

    def _placed(self, form: Any, several: Collection[str]) -> Any:  # Any: JSON
        if isinstance(form, list):
            return [self._placed(one, several) for one in form]
        if not isinstance(form, dict):
            return form
        name = form.get("$ref")
        if name is None:
            placed = {key: self._placed(one, several) for key, one in form.items()}
            if "anyOf" in placed:  # orders of several kinds may have the same words
                placed["anyOf"] = [one for n, one in enumerate(placed["anyOf"]) if one not in placed["anyOf"][:n]]
            return placed
        beside = {key: one for key, one in form.items() if key != "$ref"}
        if name in several:
            return {"$ref": f"#/$defs/{name}", **beside}
        return {**self._placed(self._named[name], several), **beside}

    def _shared(self, name: str, make: Callable[[], JsonSchema]) -> JsonSchema:
        self._uses[name] += 1
        if name not in self._named:
            self._named[name] = {}  # a type may have itself within it
            self._named[name] = make()
        return {"$ref": name}

    def _object(self, kind: GraphQLInputObjectType) -> JsonSchema:
        fields = {name: one for name, one in kind.fields.items() if name not in self._hidden}
        required = [name for name, one in fields.items() if is_required_input_field(one)]
        clears = getattr(class_of(kind), "nulls_clear", False)
        properties = {
            name: _or_null(self.of(one.type)) if clears else self.of(one.type) for name, one in fields.items()
        }
        found: JsonSchema = {"type": "object", "properties": properties}
        return found | ({"required": required} if required else {}) | {"additionalProperties": False}


def _or_null(form: JsonSchema) -> JsonSchema:
    return {**form, "type": [form["type"], "null"]} if "type" in form else {"anyOf": [form, {"type": "null"}]}


def _distinct(kinds: Collection[GraphQLInputType]) -> Collection[GraphQLInputType]:
    return {str(kind): kind for kind in kinds}.values()
