"""The printed schema: committed as it is served, described throughout, guarded throughout, and as it was promised."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLSchema,
    build_schema,
    introspection_from_schema,
    is_enum_type,
    is_input_object_type,
    is_interface_type,
    is_object_type,
    is_scalar_type,
    parse,
    print_ast,
    specified_scalar_types,
)

from contract.scopes import ScopeGroup
from gateway.printed import SCHEMA
from resolvers.shared.access import FINDABLE, OPERATIONS
from schema.build import build
from schema.declare import rules_of
from tests.support import schemas

PROMISED = Path(__file__).with_name("promised.graphql").read_text(encoding="utf-8")
UNGUARDED = {"viewer", "node", "nodes", "feedbackSubmit", "costEstimate"}


@pytest.fixture(scope="module")
def printed() -> str:
    return schemas.sdl()


@pytest.fixture(scope="module")
def served() -> GraphQLSchema:
    return schemas.printed()


@pytest.fixture(scope="module")
def promised() -> GraphQLSchema:
    return build_schema(PROMISED)


def own_types(schema: GraphQLSchema) -> Iterator[Any]:
    """The types of the schema without introspection and the scalars of the language."""
    builtin = {"ID", "String", "Int", "Float", "Boolean"}
    return (kind for name, kind in schema.type_map.items() if not name.startswith("__") and name not in builtin)


def fields(kind: Any) -> dict[str, Any]:
    return dict(kind.fields) if is_object_type(kind) or is_interface_type(kind) or is_input_object_type(kind) else {}


def default(value: Any) -> str | None:
    """The default as it is written in the schema's text."""
    node = value.ast_node.default_value
    return None if node is None else print_ast(node)


def guard(field: Any) -> tuple[str, bool] | None:
    """What @requiresScope on the field says: the group, and whether an organization is needed."""
    found = [d for d in field.ast_node.directives or () if d.name.value == "requiresScope"]
    if not found:
        return None
    [directive] = found
    arguments = {argument.name.value: print_ast(argument.value) for argument in directive.arguments or ()}
    return arguments["group"], arguments.get("organization", "true") == "true"


def test_the_committed_schema_is_the_printed_one(printed: str) -> None:
    assert SCHEMA.read_text(encoding="utf-8") == printed


def test_a_node_that_nothing_finds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(FINDABLE, "Deal")
    with pytest.raises(TypeError, match="Deal is a Node, but no resolver says that it finds one"):
        build()


def test_it_is_served_as_text(printed: str) -> None:
    parse(printed)
    assert printed.endswith("}\n")


def test_everything_has_a_description(served: GraphQLSchema) -> None:
    silent = []
    for kind in own_types(served):
        if not kind.description and kind.name not in ("Query", "Mutation", "Subscription"):
            silent.append(kind.name)
        members = dict(kind.values) if is_enum_type(kind) else fields(kind)
        for name, member in members.items():
            if not member.description:
                silent.append(f"{kind.name}.{name}")
            arguments = getattr(member, "args", {})
            silent += [f"{kind.name}.{name}({a}:)" for a, argument in arguments.items() if not argument.description]
    for directive in served.directives:
        if directive.name in ("requiresScope", "cost") and not directive.description:
            silent.append(directive.name)
    assert silent == []


@pytest.mark.parametrize("root", ["Query", "Mutation", "Subscription"])
def test_every_operation_has_a_rule_and_shows_it(served: GraphQLSchema, root: str) -> None:
    rules = rules_of(schemas.built().graphql)
    for name, field in fields(served.type_map[root]).items():
        rule = rules[f"{root}.{name}"]
        assert rule in OPERATIONS.values()
        if rule.group is None:
            assert name in UNGUARDED
            assert guard(field) is None
        else:
            assert guard(field) == (rule.group.name, rule.organization), name
        assert field.description.endswith("\n\n" + rule.line), name


def test_a_requirement_is_one_line_with_the_group_and_the_group_names_every_scope(served: GraphQLSchema) -> None:
    guarded = [
        (field, found) for kind in own_types(served) for field in fields(kind).values() if (found := _guarded(field))
    ]
    assert len(guarded) >= 40
    for field, (group, needs_organization) in guarded:
        _, _, line = field.description.rpartition("\n\n")
        assert line.endswith(f"Needs {group}{', in an organization' if needs_organization else ''}.")
        assert len(line) < 100
    groups = served.type_map["ScopeGroup"]
    assert isinstance(groups, GraphQLEnumType)
    for name, value in groups.values.items():
        _, _, listed = (value.description or "").partition(" Any of: ")
        assert set(listed.removesuffix(".").split(", ")) == {str(scope) for scope in ScopeGroup[name].value}


def test_what_is_there_says_what_it_is(served: GraphQLSchema) -> None:
    """The schema, its roots and every scalar of its own, which has a page that defines it."""
    introspected = introspection_from_schema(served)["__schema"]
    assert "X-Service-Org" in introspected["description"]
    about = {kind["name"]: kind for kind in introspected["types"]}
    assert all(about[root]["description"] for root in ("Query", "Mutation", "Subscription"))
    own = {kind["name"] for kind in about.values() if kind["kind"] == "SCALAR"} - set(specified_scalar_types)
    assert own == {"Date", "DateTime", "Decimal", "JSON"}
    for name in own:
        assert about[name]["specifiedByURL"].startswith("https://")
        assert "such as" in about[name]["description"]
    assert schemas.printed().description == introspected["description"]


def _guarded(field: Any) -> tuple[str, bool] | None:
    return guard(field) if getattr(field, "args", None) is not None else None


def test_the_names_are_the_promised_ones(served: GraphQLSchema, promised: GraphQLSchema) -> None:
    missing = []
    for kind in own_types(promised):
        have = served.type_map.get(kind.name)
        if have is None:
            missing.append(kind.name)
            continue
        assert type(have) is type(kind), kind.name
        for tell in (is_object_type, is_interface_type, is_input_object_type, is_enum_type, is_scalar_type):
            assert tell(have) == tell(kind), kind.name
        members = kind.values if is_enum_type(kind) else fields(kind)
        others = have.values if is_enum_type(kind) else fields(have)
        missing += [f"{kind.name}.{name}" for name in members if name not in others]
        if is_object_type(kind):
            assert {i.name for i in kind.interfaces} <= {i.name for i in have.interfaces}, kind.name
    assert missing == []


def _members(served: GraphQLSchema, promised: GraphQLSchema) -> Iterator[tuple[str, Any, Any]]:
    """Every promised field and argument, and the served one of the same name."""
    for kind in own_types(promised):
        for name, field in fields(kind).items():
            have = fields(served.type_map[kind.name])[name]
            yield f"{kind.name}.{name}", field, have
            for argument, value in getattr(field, "args", {}).items():
                yield f"{kind.name}.{name}({argument}:)", value, have.args.get(argument)


def test_the_types_are_the_promised_ones(served: GraphQLSchema, promised: GraphQLSchema) -> None:
    differing = {
        place: (str(field.type), have and str(have.type))
        for place, field, have in _members(served, promised)
        if have is None or str(have.type) != str(field.type)
    }
    assert differing == {}


def test_the_defaults_are_the_promised_ones(served: GraphQLSchema, promised: GraphQLSchema) -> None:
    inputs = [(p, f, h) for p, f, h in _members(served, promised) if not hasattr(f, "args")]
    assert len([p for p, field, _ in inputs if default(field)]) >= 12
    assert {p: default(have) for p, field, have in inputs if default(field) != default(have)} == {}


def test_the_guards_are_the_promised_ones(served: GraphQLSchema, promised: GraphQLSchema) -> None:
    guarded = [(p, f, h) for p, f, h in _members(served, promised) if hasattr(f, "args") and guard(f)]
    assert len(guarded) >= 40
    assert {place: guard(have) for place, field, have in guarded if guard(field) != guard(have)} == {}


def test_what_was_added_asks_for_nothing_more(served: GraphQLSchema, promised: GraphQLSchema) -> None:
    """An argument or an input field that a client of the promise does not know must have a way to be left out."""
    demanding = []
    for kind in own_types(promised):
        have = served.type_map[kind.name]
        if is_input_object_type(kind):
            new = {n: v for n, v in fields(have).items() if n not in fields(kind)}
            demanding += [f"{kind.name}.{n}" for n, v in new.items() if str(v.type).endswith("!") and not default(v)]
        for name, field in fields(kind).items():
            arguments = getattr(fields(have)[name], "args", {})
            new = {n: v for n, v in arguments.items() if n not in getattr(field, "args", {})}
            demanding += [
                f"{kind.name}.{name}({n}:)" for n, v in new.items() if str(v.type).endswith("!") and not default(v)
            ]
    assert demanding == []


@pytest.mark.parametrize("name", ["requiresScope", "cost"])
def test_the_directive_is_the_promised_one(served: GraphQLSchema, promised: GraphQLSchema, name: str) -> None:
    [mine], [theirs] = ([d for d in s.directives if d.name == name] for s in (served, promised))
    assert mine.locations == theirs.locations
    for argument_name, argument in theirs.args.items():
        assert str(mine.args[argument_name].type) == str(argument.type)
        assert default(mine.args[argument_name]) == default(argument)
