"""How a field says who may use it: the rule is read off its resolver, and shows as directive and as sentence."""

from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Any, TypeVar

import strawberry
from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLObjectType,
    ListValueNode,
    ObjectValueNode,
    ValueNode,
    VariableNode,
    get_named_type,
    is_leaf_type,
)
from strawberry import UNSET
from strawberry.schema_directive import Location
from strawberry.types.arguments import convert_argument
from strawberry.types.enum import StrawberryEnumDefinition
from strawberry.utils.str_converters import to_camel_case

from contract.scopes import ScopeGroup
from resolvers.access import Rule, rule_of
from resolvers.context import Context

Info = strawberry.Info[Context, None]
E = TypeVar("E", bound=type[Enum])
_Declare = Callable[[Callable[..., Any]], Any]

LINK = "link"
"""In a field's metadata: the attribute of the row that holds the linked row, where it came along with it."""

NEEDS = "needs"
"""In a field's metadata: the columns of the row that its function reads."""

RULES: dict[str, Rule] = {}
"""The rule of every field of Query and Mutation, by the field's name."""


def enum(cls: E, description: str, **values: str) -> E:
    """Show a vocabulary of the contract as an enum, each value with its own description."""
    strawberry.enum(cls, description=description)
    definition: StrawberryEnumDefinition = cls.__strawberry_definition__  # type: ignore[attr-defined]  # set just above
    for value in definition.values:
        value.description = values[value.name]
    return cls


_GROUPS = {
    "MEETINGS_READ": "The four reads of the endpoint table, or any CRM manage scope: meetings and health.",
    "CRM_READ": "Any CRM read or manage scope.",
    "CRM_MANAGE": "Any CRM manage scope.",
    "ORG_ADMIN": "The organization's administrators.",
    "DATA_ACCESS": "Read-only analytics.",
    "OUTREACH_READ": "Any outreach scope.",
    "OUTREACH_MANAGE": "Creating and editing campaigns and enrollments.",
    "OUTREACH_PROVISION": "Actions that cost money: domains and mailboxes.",
    "PATS_READ": "Exactly pats:read.",
    "PATS_CREATE": "Exactly pats:create.",
    "PATS_DELETE": "Exactly pats:delete.",
}
enum(ScopeGroup, "A set of scopes of which a caller needs one.", **_GROUPS)


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    name="requiresScope",
    description="The rule that guards a field: any one scope of the group, and an active organization unless told.",
)
class RequiresScope:
    group: ScopeGroup = strawberry.directive_field(name="group")
    organization: bool = strawberry.directive_field(name="organization", default=True)


_Convert = Callable[[Any], Any]


class Call:
    """A guarded field with the arguments that its document's text gives it, already as the method takes them.

    `variables` names the parameters whose values are variables, each with what makes its coerced value the method's;
    values of leaf types are that already.
    """

    __slots__ = ("_arguments", "_is_method", "_method", "_rule", "_variables")

    def __init__(
        self,
        rule: Rule,
        method: Callable[..., Any],
        *,
        is_method: bool,
        arguments: dict[str, Any],
        variables: dict[str, tuple[str, _Convert | None]],
    ) -> None:
        self._rule = rule
        self._method = method
        self._is_method = is_method
        self._arguments = {n: value for n, value in arguments.items() if n != "root" and n not in variables}
        self._variables = tuple((parameter, *variable) for parameter, variable in variables.items())

    async def __call__(self, source: Any, info: Info, variables: dict[str, Any]) -> Any:
        """What the field gives of this source, with these values of the document's variables."""
        self._rule.enforce(info.context.principal)
        arguments = self._arguments
        if self._variables:
            arguments = arguments | {
                parameter: variables[name] if convert is None else convert(variables[name])
                for parameter, name, convert in self._variables
                if name in variables
            }
        if self._is_method:
            return await self._method(source, info=info, **arguments)
        return await self._method(root=source, info=info, **arguments)


def call_key(parent: GraphQLObjectType, node: FieldNode) -> tuple[str, str, int]:
    """Where what is worked out for a field of a document is kept."""
    return ("call", parent.name, id(node))


def _remember(info: Info, rule: Rule, method: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> None:
    """Keep the call with its document, where the text and variables of leaf types say all of its arguments."""
    raw = info._raw_info
    node = raw.field_nodes[0]
    key = call_key(raw.parent_type, node)
    if key not in info.context.worked_out:
        variables = _variables(info, raw.parent_type.fields[node.name.value], node)
        info.context.worked_out[key] = (
            None
            if variables is None
            else Call(rule, method, is_method=bool(args), arguments=kwargs, variables=variables)
        )


def _variables(info: Info, field: GraphQLField, node: FieldNode) -> dict[str, tuple[str, _Convert | None]] | None:
    """The parameters that are variables, by name; None where a variable stands inside of a list or an object."""
    parameters = {a.graphql_name or to_camel_case(a.python_name): a for a in info._field.arguments}
    found: dict[str, tuple[str, _Convert | None]] = {}
    for argument in node.arguments or ():
        name = argument.name.value
        if isinstance(argument.value, VariableNode):
            is_leaf = is_leaf_type(get_named_type(field.args[name].type))
            convert = None if is_leaf else _converter(info, parameters[name].type)
            found[parameters[name].python_name] = (argument.value.name.value, convert)
        elif _has_variable(argument.value):
            return None
    return found


def _converter(info: Info, kind: Any) -> _Convert:
    """The library's way from the coerced value of an input object to an instance of its class."""
    converter = info.schema.schema_converter
    return lambda value: convert_argument(value, kind, converter.scalar_registry, converter.config)


def _has_variable(value: ValueNode) -> bool:
    if isinstance(value, VariableNode):
        return True
    if isinstance(value, ListValueNode):
        return any(map(_has_variable, value.values))
    return isinstance(value, ObjectValueNode) and any(_has_variable(field.value) for field in value.fields)


def guarded(resolver: Callable[..., Any], description: str, *needs: str) -> _Declare:
    """A field of an object type that this resolver serves; its rule comes before a look at the arguments.

    `needs` names the columns of the row that its method reads; the record's id unless told.
    """
    rule = rule_of(resolver)
    metadata = {NEEDS: needs} if needs else None
    directives = _directives(rule)

    def declare(method: Callable[..., Any]) -> Any:
        @wraps(method)
        async def enforced(*args: Any, info: Info, **kwargs: Any) -> Any:
            rule.enforce(info.context.principal)
            _remember(info, rule, method, args, kwargs)
            return await method(*args, info=info, **kwargs)

        enforced.guarded = True  # type: ignore[attr-defined]  # its calls are remembered: schema/execution/plans.py
        return strawberry.field(
            enforced, description=f"{description} {rule.sentence}", directives=directives, metadata=metadata
        )

    return declare


def linked(name: str, resolver: Callable[..., Any], description: str) -> Any:
    """A to-one link: the row that came along under this name, else the one that `<name>_id` leads to.

    Who may read a CRM record may follow its links, which is what lets them come along: a rule that says otherwise is
    refused here.
    """
    rule = rule_of(resolver)
    if rule.group is None or not ScopeGroup.MEETINGS_READ.value <= rule.group.value:
        raise TypeError(f"the link {name} is narrower than the records that it hangs on")
    directives = [RequiresScope(group=rule.group, organization=rule.organization)]
    column = f"{name}_id"

    async def link(root: strawberry.Parent[Any], info: Info) -> Any:
        rule.enforce(info.context.principal)
        found = getattr(root, name, UNSET)
        if found is not UNSET:
            return found
        identifier = getattr(root, column)
        return None if identifier is None else await resolver(info.context, identifier)

    del link.__annotations__["return"]  # the class says what the link leads to
    text = f"{description} {rule.sentence}"
    return strawberry.field(resolver=link, description=text, directives=directives, metadata={LINK: name})


def operation(resolver: Callable[..., Any], description: str) -> _Declare:
    """A field of Query or Mutation that this resolver serves."""
    field = guarded(resolver, description)

    def declare(method: Callable[..., Any]) -> Any:
        RULES[to_camel_case(method.__name__)] = rule_of(resolver)
        return field(method)

    return declare


def subscription(resolver: Callable[..., Any], description: str) -> _Declare:
    """A field of Subscription: its method gives the iterator of what this resolver watches."""
    rule = rule_of(resolver)

    def declare(method: Callable[..., Any]) -> Any:
        RULES[to_camel_case(method.__name__)] = rule
        return strawberry.subscription(
            method, description=f"{description} {rule.sentence}", directives=_directives(rule)
        )

    return declare


def _directives(rule: Rule) -> list[RequiresScope]:
    return [RequiresScope(group=rule.group, organization=rule.organization)] if rule.group else []


def shown(description: str, **kwargs: Any) -> Any:
    """A plain field, read off the row by its name."""
    return strawberry.field(description=description, **kwargs)


def resolved(description: str, *needs: str) -> _Declare:
    """A field that a method works out, free to whoever has the object; `needs` names the columns that it reads."""
    return lambda method: strawberry.field(method, description=description, metadata={NEEDS: needs} if needs else None)


def argument(description: str, name: str | None = None) -> Any:
    """What an argument means."""
    return strawberry.argument(description=description, name=name)
