"""The fields of an operation as a tree, made of the document and the schema for each variant (decision 188).

A variant is an operation with the values of the variables that @skip and @include read. What the operation may cost,
what resolvers have to fetch, the functions that make rows and the steps of a run are read off the tree; nothing else
looks at selections, and nothing is learnt from a run. A tree holds nothing of a request.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLField,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLSchema,
    OperationDefinitionNode,
    get_named_type,
    is_abstract_type,
)
from graphql.pyutils import Path

from schema.adapters.strawberry import StrawberryField, definition_of
from schema.execution.outline import NEVER, Outline, Selected
from schema.execution.sources import Reason, Source, source_of
from schema.execution.values import Values


class ObjectSelection(NamedTuple):
    """The fields that are selected of an object of one type."""

    kind: GraphQLObjectType
    fields: tuple["Field", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field of one object type under one name of the answer; `nodes` are the places of the text that ask for it.

    `source` says where its value comes from, if that is known.
    `below` has what is selected of its value, by the name of the value's type: several where it may be of several.
    """

    key: str
    nodes: tuple[FieldNode, ...]
    parent: GraphQLObjectType
    schema_field: GraphQLField
    is_nullable: bool
    source: Source | Reason
    below: Mapping[str, ObjectSelection]
    needs: dict[str, object] = field(default_factory=dict, repr=False)
    """The selections that its resolver has asked for (schema/execution/selections.py), which follow from the tree."""

    @property
    def name(self) -> str:
        """The name of the field in the schema."""
        return self.nodes[0].name.value

    @property
    def kind(self) -> GraphQLNamedType:
        """The type of its value, or of the values in its list."""
        return get_named_type(self.schema_field.type)

    @property
    def declared(self) -> StrawberryField | None:
        """The field as it was declared; None for one that graphql-core adds."""
        return definition_of(self.schema_field)

    @property
    def fields(self) -> tuple["Field", ...]:
        """Lists what is selected of a value that is of one type; nothing where there is none."""
        found = self.below.get(self.kind.name)
        return () if found is None else found.fields


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """One variant of an operation. `is_open` says that a condition of it is null, which the library refuses."""

    schema: GraphQLSchema
    operation: OperationDefinitionNode
    root: GraphQLObjectType | None
    fields: tuple[Field, ...]
    is_open: bool

    def at(self, path: Path | None) -> Field:
        """Finds the field at a place of the answer."""
        names = []
        while path is not None:
            if path.typename is not None:  # an index of a list has none
                names.append((path.typename, path.key))
            path = path.prev
        (_, key), *rest = reversed(names)
        found = _named(self.fields, key)
        for typename, key in rest:
            found = _named(found.below[typename].fields, key)
        return found


def _named(fields: Sequence[Field], key: str | int) -> Field:
    return next(one for one in fields if one.key == key)


def tree_of(schema: GraphQLSchema, outline: Outline, operation: OperationDefinitionNode, values: Values) -> Tree:
    """Makes the tree of an operation of a valid document within the limits."""
    root = schema.get_root_type(operation.operation)
    planting = _Planting(schema, outline, values)
    fields = () if root is None else planting.fields(root, (operation,))
    return Tree(schema, operation, root, fields, planting.is_open)


def tree_of_run(info: GraphQLResolveInfo[object]) -> Tree:
    """Makes the tree of an operation that the library runs by itself."""
    outline = Outline(DocumentNode(definitions=(info.operation, *info.fragments.values())))
    return tree_of(info.schema, outline, info.operation, info.variable_values.coerced)


@dataclass(slots=True)
class _Planting:
    """Makes one tree. Limits on the document bound its depth and its fields (schema/execution/limits.py)."""

    schema: GraphQLSchema
    outline: Outline
    values: Values
    is_open: bool = False

    def fields(
        self, kind: GraphQLObjectType, nodes: Iterable[FieldNode | OperationDefinitionNode]
    ) -> tuple[Field, ...]:
        """Makes the fields that are selected of an object of this type, each name of the answer once."""
        found: dict[str, dict[int, FieldNode]] = {}
        for node in nodes:
            for one in self.outline.selected(node):
                if self._is_wanted(one) and self._applies(one, kind):  # in this order, as the library looks at them
                    # A fragment that is spread twice selects its fields once.
                    found.setdefault((one.node.alias or one.node.name).value, {})[id(one.node)] = one.node
        return tuple([self._field(kind, key, tuple(same.values())) for key, same in found.items()])

    def _field(self, kind: GraphQLObjectType, key: str, nodes: tuple[FieldNode, ...]) -> Field:
        name = nodes[0].name.value
        found = cast("GraphQLField", self.schema.get_field(kind, name))  # there is one: the document was validated
        kinds = self._objects(get_named_type(found.type))
        below = {one.name: ObjectSelection(one, self.fields(one, nodes)) for one in kinds}
        nullable = not isinstance(found.type, GraphQLNonNull)
        return Field(key, nodes, kind, found, nullable, source_of(f"{kind.name}.{name}", found), below)

    def _objects(self, kind: GraphQLNamedType) -> Sequence[GraphQLObjectType]:
        if isinstance(kind, GraphQLObjectType):
            return (kind,)
        return self.schema.get_possible_types(kind) if is_abstract_type(kind) else ()

    def _applies(self, selected: Selected, kind: GraphQLObjectType) -> bool:
        """Says whether the fragments around the field are on this type."""
        for name in selected.on:
            condition = self.schema.type_map[name]
            if condition is not kind and not (is_abstract_type(condition) and self.schema.is_sub_type(condition, kind)):
                return False
        return True

    def _is_wanted(self, selected: Selected) -> bool:
        """Says whether @skip and @include let the field through; one whose variable is null is left open."""
        wanted = True
        for condition in selected.when:
            name, let_through = condition
            value = self.values.get(name)
            if condition is NEVER or value is not let_through:
                wanted = False
            if condition is not NEVER and value is None:
                self.is_open = True
        return wanted
