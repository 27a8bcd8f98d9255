"""Tells of the kinds of records that tools read: their fields, and the words that these may have."""

from typing import cast

from graphql import GraphQLEnumType, GraphQLObjectType, GraphQLSchema, get_named_type, is_enum_type, is_leaf_type

from contract.canonical_json import JsonObject


def kind_of(schema: GraphQLSchema, kind: str) -> JsonObject:
    """A kind, by its name in lower case: its own fields, and the vocabularies of these."""
    record = cast(GraphQLObjectType, schema.type_map[kind.capitalize()])
    leaves = {name: one for name, one in record.fields.items() if is_leaf_type(get_named_type(one.type))}
    words = [cast(GraphQLEnumType, get_named_type(one.type)) for one in leaves.values()]
    return {
        "kind": kind,
        "about": record.description,
        "fields": [
            {"name": name, "type": str(one.type), "about": one.description}
            for name, one in leaves.items()
            if not one.args
        ],
        "vocabularies": {one.name: [*one.values] for one in words if is_enum_type(one)},
    }
