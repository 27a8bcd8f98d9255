"""Says what is wrong with the values in a document's text, as of variables: each with its place, in our words.

Whether a value fits is the library's to decide. What it says of one that does not, such as the text of the whole input,
is put aside for the sentences of the inputs (decision 986).
"""

from dataclasses import dataclass
from typing import Final

from graphql import (
    SKIP,
    ArgumentNode,
    BooleanValueNode,
    EnumValueNode,
    FieldNode,
    FloatValueNode,
    GraphQLError,
    GraphQLInputType,
    IntValueNode,
    ListValueNode,
    Node,
    NullValueNode,
    ObjectValueNode,
    ProvidedRequiredArgumentsRule,
    StringValueNode,
    ValueNode,
    ValuesOfCorrectTypeRule,
    VariableDefinitionNode,
    VisitorAction,
    is_required_argument,
    specified_rules,
    validate_input_literal,
)

from resolvers.shared.sentences import OTHERWISE, REQUIRED
from schema.execution.values import Value
from schema.execution.variable_errors import VARIABLE, Name, Real, Walk

_DIGITS: Final = 30
"""The digits of a whole number that are looked at; none of the schema has as many."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What a value is of: an argument, or a variable that has it as its default."""

    name: str
    said: str


class _LiteralsRule(ValuesOfCorrectTypeRule):
    """Values in the text, each told by the argument that it is of."""

    _place = _Place("value", "A value")  # each value of a document is in an argument or is a default

    def enter_argument(self, node: ArgumentNode, *_: object) -> None:
        """Note whose value comes."""
        self._place = _Place(node.name.value, node.name.value)

    def enter_variable_definition(self, node: VariableDefinitionNode, *_: object) -> None:
        """Note whose default may come."""
        name = node.variable.name.value
        self._place = _Place(name, f"${name}")

    def is_valid_value_node(self, node: ValueNode, input_type: GraphQLInputType | None) -> VisitorAction:
        """Report what is wrong with a value and with all that is in it."""
        found: list[GraphQLError] = []
        if input_type is not None:
            validate_input_literal(node, input_type, lambda error, _path: found.append(error))
            if found:
                self._tell(node, input_type)
        return SKIP

    def _tell(self, node: ValueNode, kind: GraphQLInputType) -> None:
        place, walk = self._place, Walk(suggesting=not self.context.hide_suggestions, literal=True)
        for path, words in list(walk.wrong(kind, _value(node), ())) or [((), OTHERWISE)]:  # what only the library finds
            told = ".".join((place.said, *map(str, path)))
            named = [place.name, *map(str, path)]
            self.report_error(GraphQLError(f"{told} {words}", _at(node, path), extensions={"field": named}))


class _ArgumentsRule(ProvidedRequiredArgumentsRule):
    """Arguments that are needed, each told as a value that is required."""

    def leave_field(self, field_node: FieldNode, *_: object) -> VisitorAction:
        """Report those that a field lacks."""
        field, given = self.context.get_field_def(), {one.name.value for one in field_node.arguments or ()}
        for name, argument in (field.args if field is not None else {}).items():
            if name not in given and is_required_argument(argument):
                self.report_error(GraphQLError(f"{name} {REQUIRED}", field_node, extensions={"field": [name]}))
        return None


def _value(node: ValueNode) -> Value:
    """The value as a variable would have it; what it has of variables is checked where these are given."""
    match node:
        case ObjectValueNode():
            return {field.name.value: _value(field.value) for field in node.fields}
        case ListValueNode():
            return [_value(item) for item in node.values]
        case IntValueNode():
            return int(node.value[:_DIGITS])
        case FloatValueNode():
            return Real(node.value)
        case StringValueNode() | BooleanValueNode():
            return node.value
        case NullValueNode():
            return None
        case EnumValueNode():
            return Name(node.value)
        case _:
            return VARIABLE


def _at(node: ValueNode, path: tuple[str | int, ...]) -> Node:
    """The part of a literal that is meant; where it is missing, what lacks it."""
    found: Node = node
    for part in path:
        if isinstance(found, ObjectValueNode):
            found = next((field.value for field in found.fields if field.name.value == part), found)
        elif isinstance(found, ListValueNode) and isinstance(part, int):
            found = found.values[part]
    return found


_OURS: Final = {ValuesOfCorrectTypeRule: _LiteralsRule, ProvidedRequiredArgumentsRule: _ArgumentsRule}
RULES: Final = tuple(_OURS.get(rule, rule) for rule in specified_rules)
"""The rules of GraphQL, with our words for values."""
