"""Fields of which the compiled ways do not know all: the library asks their permissions and extensions, always.

The schema is the test's own. Every field here once was served past what guards or changes it (decision 151).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable
from types import SimpleNamespace
from typing import Any

import pytest
import strawberry
from graphql import GraphQLObjectType, execute, parse
from graphql.execution import Executor as LibraryExecutor
from strawberry.directive import DirectiveLocation
from strawberry.extensions import FieldExtension, SchemaExtension
from strawberry.permission import BasePermission
from strawberry.schema.config import StrawberryConfig
from strawberry.schema_directive import Location
from strawberry.types.field import StrawberryField

from contract.scopes import ScopeGroup
from contract.vocabulary import CredentialKind
from identity.principal import Organization, Principal
from resolvers.shared.access import OPERATIONS, requires
from resolvers.shared.context import Context
from resolvers.shared.deadline import Deadlines
from resolvers.shared.lanes import Lanes
from resolvers.shared.settling import Settling
from schema.build import Schema
from schema.connections import Node
from schema.costs import declare_costs
from schema.declare import Info, computed_field, guarded_field, link_field
from schema.execution import Executor, Request
from schema.execution.known import Unsupported, unknown_of
from schema.execution.selections import selected, selected_by_type
from schema.execution.sources import Reason
from schema.execution.steps import Steps
from tests.support.schemas import built


class Denied(BasePermission):
    message = "denied"

    def has_permission(self, source: Any, info: Any, **kwargs: Any) -> bool:
        return False


class DeniedLater(BasePermission):
    message = "denied later"

    async def has_permission(self, source: Any, info: Any, **kwargs: Any) -> bool:
        return False


class Owned(BasePermission):
    """Looks at a column that nobody selected."""

    message = "not yours"

    def has_permission(self, source: Any, info: Any, **kwargs: Any) -> bool:
        return bool(source.owner == "me")


class Louder(FieldExtension):
    def resolve(self, next_: Callable[..., Any], source: Any, info: Any, **kwargs: Any) -> Any:
        return f"{next_(source, info, **kwargs)}!"

    async def resolve_async(self, next_: Callable[..., Awaitable[Any]], source: Any, info: Any, **kwargs: Any) -> Any:
        return f"{await next_(source, info, **kwargs)}!"


class Fewer(FieldExtension):
    def resolve(self, next_: Callable[..., Any], source: Any, info: Any, **kwargs: Any) -> Any:
        return next_(source, info, **kwargs)[:1]

    async def resolve_async(self, next_: Callable[..., Awaitable[Any]], source: Any, info: Any, **kwargs: Any) -> Any:
        return (await next_(source, info, **kwargs))[:1]


class Shouting(StrawberryField):
    """A field class of its own."""

    def get_result(self, source: Any, info: Any, args: Any, kwargs: Any) -> Any:
        return super().get_result(source, info, args, kwargs).upper()

    @property
    def is_basic_field(self) -> bool:
        return False


@dataclass
class Row:
    """What the resolvers give; a link came along with it."""

    id: str = "1"
    name: str = "row"
    owner: str = "you"
    inner: Any = None
    inner_id: str | None = None
    typename: str = "Inner"


@requires(ScopeGroup.MEETINGS_READ)
async def _row(ctx: Context, *_: Any) -> Row:
    return Row(inner=Row("2", "inner"))


@requires(ScopeGroup.MEETINGS_READ)
async def _name(ctx: Context, *_: Any) -> str:
    return "guarded"


# Other tests go through the operations of the service, of which these are none.
for _own in (_row, _name):
    del OPERATIONS[f"test_unknown_fields.{_own.__name__}"]


def _with(field: Any, *extensions: FieldExtension, permissions: tuple[type[BasePermission], ...] = ()) -> Any:
    """The field that a declaration of this service makes, as somebody else might go on with it."""
    made = StrawberryField(
        description=field.description, base_resolver=field.base_resolver, permission_classes=permissions,
        extensions=extensions, directives=field.directives, metadata=field.metadata,
    )  # fmt: skip
    return made


@strawberry.interface
class Named(Node):
    name: str = strawberry.field(permission_classes=[Denied])


@strawberry.type
class Inner(Named):
    owner: str | None = strawberry.field(permission_classes=[DeniedLater])


@strawberry.type
class Thing(Named):
    plain: str = strawberry.field(resolver=lambda root: "plain", permission_classes=[Denied])
    shown_name: str | None = strawberry.field(name="shownName", resolver=lambda root: root.name, extensions=[Louder()])
    mine: str | None = strawberry.field(resolver=lambda root: "mine", permission_classes=[Owned])
    owner: str | None = strawberry.field(extensions=[Louder()])
    inner: Inner | None = link_field("inner", _row, "A link.")
    closed: Inner | None = strawberry.field(resolver=lambda root: root.inner, permission_classes=[DeniedLater])

    @guarded_field(_name, "A guarded field.")
    async def guarded(self, info: Info) -> str | None:
        return await _name(info.context)

    @computed_field("Several.")
    def names(root: Any) -> list[str]:  # as the service's own are written
        return ["a", "b"]


_LOUD = _with(Thing.__strawberry_definition__.get_field("guarded"), Louder())  # type: ignore[attr-defined]
_SHUT = _with(Thing.__strawberry_definition__.get_field("guarded"), permissions=(Denied,))  # type: ignore[attr-defined]
_FEWER = _with(Thing.__strawberry_definition__.get_field("names"), Fewer())  # type: ignore[attr-defined]
_NO_LINK = _with(Thing.__strawberry_definition__.get_field("inner"), permissions=(Denied,))  # type: ignore[attr-defined]


@strawberry.type
class More(Named):
    loud: str | None = _LOUD
    shut: str | None = _SHUT
    fewer: list[str] | None = _FEWER
    inner: Inner | None = _NO_LINK
    owner: str | None = Shouting(python_name=None)
    seen: list[str] | None = strawberry.field(resolver=lambda root: ["x", "y"], extensions=[Fewer()])


@strawberry.type
class Query:
    @guarded_field(_row, "A thing.")
    async def thing(self, info: Info) -> Thing | None:
        selected(info)
        return await _row(info.context)  # type: ignore[return-value]  # the row stands for the object

    @guarded_field(_row, "Things.")
    async def things(self, info: Info) -> list[Thing] | None:
        return [await _row(info.context), await _row(info.context)]  # type: ignore[list-item]

    @guarded_field(_row, "More.")
    async def more(self, info: Info) -> More | None:
        selected(info)
        return await _row(info.context)  # type: ignore[return-value]

    @guarded_field(_row, "Something with a name.")
    async def named(self, info: Info) -> Named | None:
        selected_by_type(info)
        return await _row(info.context)  # type: ignore[return-value]

    denied: str | None = strawberry.field(resolver=lambda: "never", permission_classes=[DeniedLater])
    loud: str | None = strawberry.field(resolver=lambda: "hey", extensions=[Louder()])


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def things(self) -> AsyncGenerator[Thing | None, None]:
        for _ in range(3):
            yield Row(inner=Row("2", "inner"))  # type: ignore[misc]  # the row stands for the object

    @strawberry.subscription(permission_classes=[Denied])
    async def denied(self) -> AsyncGenerator[Thing | None, None]:
        yield Row()  # type: ignore[misc]


DOCUMENTS = {
    "a plain field": "{ thing { id name } }",
    "a method": "{ thing { id plain } }",
    "an extension of a method": "{ thing { id shownName } }",
    "an extension of a plain field": "{ thing { id owner } }",
    "a permission that looks at the row": "{ thing { mine } }",
    "an object behind one that is asked later": "{ thing { id closed { id } } }",
    "a link and what is behind it": "{ thing { inner { id owner } } }",
    "a link that is shut": "{ more { id inner { id } } }",
    "a guarded field with an extension": "{ more { id loud } }",
    "a guarded field that is shut": "{ more { id shut } }",
    "lists": "{ more { id fewer seen } }",
    "a field class": "{ more { id owner } }",
    "in a list": "{ things { id owner shownName inner { owner id } } }",
    "not null in a list": "{ things { id name } }",
    "by its interface": "{ named { id ... on Named { name } } }",
    "of a type that inherits it": "{ named { ... on Inner { owner } } thing { ...F } } fragment F on Named { name }",
    "at the root": "{ denied loud thing { id } }",
    "beside what is free": "{ thing { id names guarded owner mine inner { id } } more { fewer loud shut } __typename }",
}  # fmt: skip


def caller() -> Context:
    one = Organization("11111111-1111-1111-1111-111111111111", "one", "One")
    scopes = frozenset(ScopeGroup.MEETINGS_READ.value)
    services: Any = SimpleNamespace(deadlines=Deadlines(), lanes=Lanes(), settling=Settling())
    return Context(services, Principal("ada", CredentialKind.SESSION, scopes, one, (one,)), "x")


@pytest.fixture(scope="module")
def schema() -> Schema:
    made = Schema(query=Query, subscription=Subscription, types=[Inner])
    declare_costs(made.graphql)
    return made


async def _library(schema: Schema, query: str) -> Any:
    result = execute(schema.graphql, parse(query), context_value=caller(), executor_class=LibraryExecutor)
    return await result if isawaitable(result) else result


@pytest.mark.parametrize("query", DOCUMENTS.values(), ids=DOCUMENTS)
async def test_the_library_asks_whatever_guards_or_changes_a_field(schema: Schema, query: str) -> None:
    executor = Executor(schema.graphql)
    steps = _steps(executor, query)
    assert isinstance(steps, Reason)
    assert steps.kind == "field"
    expected = await _library(schema, query)
    assert {error.message for error in expected.errors or []} <= {"denied", "denied later", "not yours"}
    for _ in range(4):
        body = (await executor.run(Request(query), caller())).body
        assert body["data"] == expected.data
        told = [(error["path"], error["extensions"]["code"]) for error in body.get("errors", [])]
        assert told == sorted((error.path, "INTERNAL") for error in expected.errors or [])


def _steps(executor: Executor, query: str) -> Any:
    operation = executor.documents.prepare(query).operation(None)
    assert operation is not None
    return operation.compiled({}).steps


def test_a_root_field_without_a_guard_is_left_to_the_library() -> None:
    """Nothing else would keep it from being called twice."""

    async def unguarded() -> str:
        return "a"

    @strawberry.type
    class Root:
        a: str = strawberry.field(resolver=unguarded)

    steps = _steps(Executor(Schema(query=Root).graphql), "{ a }")
    assert steps == Reason("root", "Root.a has no guard")


@pytest.mark.parametrize(
    "query", ["{ thing { id names guarded inner { id } } named { id ... on Inner { id } } more { id } }"]
)
async def test_what_is_known_beside_them_is_planned(schema: Schema, query: str) -> None:
    executor = Executor(schema.graphql)
    assert isinstance(_steps(executor, query), Steps)
    expected = await _library(schema, query)
    assert expected.errors is None
    assert (await executor.run(Request(query), caller())).body["data"] == expected.data


@pytest.mark.parametrize(
    ("query", "data"),
    [
        ("subscription { things { id owner shownName inner { id owner } } }",
         {"things": {"id": "1", "owner": "you!", "shownName": "row!", "inner": {"id": "2", "owner": None}}}),
        ("subscription { things { id mine } }", {"things": {"id": "1", "mine": None}}),
        ("subscription { things { id name } }", {"things": None}),
    ],
)  # fmt: skip
async def test_each_event_of_a_subscription_is_asked(schema: Schema, query: str, data: Any) -> None:
    executor = Executor(schema.graphql)
    for _ in range(2):
        answers: Any = await executor.stream(Request(query), caller())
        bodies = [answer.body["data"] async for answer in answers]
        assert bodies == [data] * 3


async def test_a_subscription_that_is_denied_does_not_begin(schema: Schema) -> None:
    answer: Any = await Executor(schema.graphql).stream(Request("subscription { denied { id } }"), caller())
    bodies = [answer] if hasattr(answer, "body") else [one async for one in answer]
    assert all(one.body.get("errors") and not (one.body.get("data") or {}).get("denied") for one in bodies)


def test_all_of_the_service_s_own_schema_is_known() -> None:
    """A permission class or an extension on a field shows up here by its name: it is slower, and is meant to be."""
    kinds = [kind for kind in built().graphql.type_map.values() if isinstance(kind, GraphQLObjectType)]
    fields = {f"{kind.name}.{name}": f for kind in kinds if kind.name[:2] != "__" for name, f in kind.fields.items()}
    assert len(fields) > 500
    assert {name: reason for name, field in fields.items() if (reason := unknown_of(field))} == {}


class Timing(SchemaExtension):
    pass


@strawberry.directive(locations=[DirectiveLocation.FIELD])
def upper(value: str) -> str:
    return value.upper()


@strawberry.schema_directive(locations=[Location.FIELD_DEFINITION])
class Noted:
    text: str


@pytest.mark.parametrize(
    ("what", "given"),
    [
        ("schema extensions would not be asked: \\['Timing'\\]", {"extensions": [Timing]}),
        ("@upper", {"directives": [upper]}),
        ("default resolver", {"config": StrawberryConfig(default_resolver=lambda source, name: None)}),
    ],
)
def test_what_nobody_would_ask_is_refused_when_the_schema_is_built(what: str, given: dict[str, Any]) -> None:
    @strawberry.type
    class Root:
        a: str = strawberry.field(resolver=lambda: "a", directives=[Noted(text="x")])

    assert Executor(Schema(query=Root).graphql) is not None
    with pytest.raises(Unsupported, match=what):
        Schema(query=Root, **given)
    with pytest.raises(Unsupported, match=what):
        Executor(strawberry.Schema(query=Root, **given)._schema)


@strawberry.input
class Given:
    secret: str = strawberry.field(permission_classes=[Denied])


@strawberry.interface
class Secret:
    text: str = strawberry.field(permission_classes=[Denied])


@strawberry.type
class Told(Secret):
    text: str = strawberry.field(resolver=lambda: "told")


def test_what_guards_a_field_of_an_input_is_refused() -> None:
    @strawberry.type
    class Root:
        @strawberry.field
        def a(self, given: Given) -> str:
            return given.secret

    with pytest.raises(Unsupported, match=r"Given\.secret is a field of an input, of which .*'Denied'"):
        Schema(query=Root)
    with pytest.raises(Unsupported, match=r"Given\.secret"):
        Executor(strawberry.Schema(query=Root)._schema)


def test_a_type_does_not_lose_what_guards_a_field_in_its_interface() -> None:
    @strawberry.type
    class Root:
        told: Told | None = strawberry.field(resolver=lambda: Told())

    with pytest.raises(Unsupported, match=r"Told\.text has not got what guards it in Secret: .*'Denied'"):
        Schema(query=Root)
