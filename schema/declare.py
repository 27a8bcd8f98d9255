"""Says who may use a field: the rule is read off its resolver, and shows as directive and as sentence."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import strawberry
from graphql import GraphQLSchema
from strawberry import UNSET
from strawberry.schema_directive import Location

from contract.scopes import ScopeGroup
from resolvers.shared.access import Rule, rule_of
from resolvers.shared.context import Context
from schema.adapters.strawberry import definition_of, enum_values
from storage.rows import Row

Info = strawberry.Info[Context, None]
E = TypeVar("E", bound=type[Enum])
T = TypeVar("T")
DeclaredField = Any
"""A field as the library makes it. Any: a class says the type of its values where it stands."""
_Method = Callable[..., object]
_Serve = Callable[..., Awaitable[object]]
_Declare = Callable[[_Method], DeclaredField]

LINK = "link"
"""The key, in a field's metadata, of the row's attribute that holds the linked row, where it came along with it."""

NEEDS = "needs"
"""The key, in a field's metadata, of the columns of the row that its function reads."""

SECRET = "secret"
"""The key, in a field's metadata, of whether it shows a new secret, this once."""

ALONG = "along"
"""The key, in a field's metadata, of the name of the list that it gives, which may come along with a record."""

RULE = "rule"
"""The key, in a field's metadata, of the rule that guards it."""


def enum(cls: E, description: str, called: str | None = None, /, **values: str) -> E:
    """Show a vocabulary of the contract as an enum, each value with its own description; `called` names it anew."""
    strawberry.enum(cls, name=called, description=description)
    for value in enum_values(cls):
        value.description = values[value.name]
    return cls


enum(
    ScopeGroup,
    "A set of scopes of which a caller needs one. A field that needs a group names it; its scopes stand here, once.",
    **{group.name: group.text for group in ScopeGroup},
)


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    name="requiresScope",
    description="The rule that guards a field: any one scope of the group, and an active organization unless told.",
)
class RequiresScope:
    group: ScopeGroup = strawberry.directive_field(name="group")
    organization: bool = strawberry.directive_field(name="organization", default=True)


@dataclass(frozen=True, slots=True)
class Guarded:
    """The parts of a guarded field: its rule, and its method, which takes the source as `self` or as `root`."""

    rule: Rule
    method: _Serve
    is_method: bool


def guarded_field(
    resolver: _Serve, description: str, *needs: str, along: str | None = None
) -> Callable[[_Serve], DeclaredField]:
    """A field of an object type that this resolver serves; its rule comes before a look at the arguments.

    `needs` names the columns of the row that its method reads; the record's id unless told. `along` names the list that
    it gives among those that come along with a record (storage/queries/along.py). A root field that was called already
    gives what it gave, or raises what it raised (schema/execution/fallback.py).
    """
    rule = rule_of(resolver)
    metadata = {RULE: rule} | _metadata(needs, along)
    directives = _directives(rule)

    def declare(method: _Serve) -> DeclaredField:
        @wraps(method)
        async def enforced(*args: object, info: Info, **kwargs: object) -> object:
            context = info.context
            if context.outcomes and info.path.prev is None and (known := context.outcomes.get(str(info.path.key))):
                value, error = known
                if error is not None:
                    raise error
                return value
            rule.enforce(context.principal)
            return await method(*args, info=info, **kwargs)

        is_method = "self" in signature(method).parameters
        enforced.guarded = Guarded(rule, method, is_method)  # type: ignore[attr-defined]  # for schema/execution/sources.py
        return strawberry.field(
            enforced, description=f"{description}\n\n{rule.line}", directives=directives, metadata=metadata
        )

    return declare


def link_field(name: str, resolver: _Serve, description: str) -> DeclaredField:
    """A to-one link: the row that came along under this name, else the one that `<name>_id` leads to.

    Who may read a CRM record may follow its links, which is what lets them come along: a rule that says otherwise is
    refused here.
    """
    rule = rule_of(resolver)
    if rule.group is None or not ScopeGroup.MEETINGS_READ.value <= rule.group.value:
        raise TypeError(f"the link {name} is narrower than the records that it hangs on")
    directives = [RequiresScope(group=rule.group, organization=rule.organization)]
    column = f"{name}_id"

    async def link(root: strawberry.Parent[Row], info: Info) -> object:
        rule.enforce(info.context.principal)
        found = getattr(root, name, UNSET)
        if found is not UNSET:
            return found
        identifier = getattr(root, column)
        return None if identifier is None else await resolver(info.context, identifier)

    del link.__annotations__["return"]  # the class says what the link leads to
    text = f"{description}\n\n{rule.line}"
    return strawberry.field(resolver=link, description=text, directives=directives, metadata={LINK: name})


def rules_of(schema: GraphQLSchema) -> dict[str, Rule]:
    """The rules of all root fields, each behind the name of its type: a query and a mutation may be called alike."""
    roots = [kind for kind in (schema.query_type, schema.mutation_type, schema.subscription_type) if kind is not None]
    fields = {f"{kind}.{name}": definition_of(field) for kind in roots for name, field in kind.fields.items()}
    return {name: field.metadata[RULE] for name, field in fields.items() if field is not None}


def operation_field(resolver: _Serve, description: str) -> Callable[[_Serve], DeclaredField]:
    """A field of Query or Mutation that this resolver serves."""
    return guarded_field(resolver, description)


def subscription(resolver: _Serve, description: str) -> _Declare:
    """A field of Subscription: its method gives the iterator of what this resolver watches."""
    rule = rule_of(resolver)
    return lambda method: strawberry.subscription(
        method,
        description=f"{description}\n\n{rule.line}",
        directives=_directives(rule),
        metadata={RULE: rule},
    )


def _directives(rule: Rule) -> list[RequiresScope]:
    return [RequiresScope(group=rule.group, organization=rule.organization)] if rule.group else []


def field(description: str, **kwargs: Any) -> DeclaredField:  # Any: the library's own
    """A plain field, read off the row by its name."""
    return strawberry.field(description=description, **kwargs)


def secret_field(description: str) -> DeclaredField:
    """A plain field that shows a new secret, so that no answer with it is compressed or kept (decision 209)."""
    return strawberry.field(description=description, metadata={SECRET: True})


def computed_field(description: str, *needs: str, along: str | None = None) -> _Declare:
    """A field that a method works out, free to whoever has the object; `needs` and `along` are as for a guarded one."""
    return lambda method: strawberry.field(method, description=description, metadata=_metadata(needs, along))


def _metadata(needs: tuple[str, ...], along: str | None) -> dict[str, object]:
    return ({NEEDS: needs} if needs else {}) | ({ALONG: along} if along else {})


def clearing(cls: type[T]) -> type[T]:
    """Marks an input of changes: what it leaves out stays, and null clears what may be empty."""
    cls.nulls_clear = True  # type: ignore[attr-defined]  # for schema/tool_schemas.py
    return cls


def argument(description: str, name: str | None = None) -> object:
    """Declares an argument by what it means."""
    return strawberry.argument(description=description, name=name)
