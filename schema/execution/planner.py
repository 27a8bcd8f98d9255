"""Makes an operation's steps of its tree, before its first run (decision 181)."""

from operator import attrgetter

from graphql import (
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    OperationType,
)

from schema.declare import Guarded
from schema.execution.arguments import Members, Unbuilt, arguments_of
from schema.execution.calls import NO_ARGUMENTS, FieldCall, unguarded_call
from schema.execution.rows import Data, row_function, value_function
from schema.execution.sources import Column, Event, Function, Link, Reason, Row, Unguarded, names_its_rows
from schema.execution.steps import (
    MISSING,
    CallField,
    Completion,
    Linked,
    ObjectPlan,
    Objects,
    PlanByType,
    SchemaField,
    Step,
    Steps,
    ValueField,
    WholeValue,
)
from schema.execution.tree import Field, ObjectSelection, Tree


class _NotPlanned(Exception):
    """Something of the operation is left to the library."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason


def steps_of(tree: Tree) -> Steps | Reason:
    """Makes the steps of an operation, or says why the library runs it."""
    if tree.is_open:
        return Reason("condition", "a variable of @skip or @include is null")
    fixed: Data = {field.key: field.parent.name if field.name == "__typename" else None for field in tree.fields}
    serial = tree.operation.operation is OperationType.MUTATION
    try:
        roots = [_root(field) for field in tree.fields if field.name != "__typename"]
    except _NotPlanned as error:
        return error.reason
    return Steps(tree, serial, fixed, tuple(roots))


def _root(field: Field) -> Step:
    """Plans a field of the operation. A called one has to be guarded: its guard keeps it from being called twice."""
    if field.name.startswith("__"):
        return SchemaField(field)
    source = field.source
    if isinstance(source, Event):
        return ValueField(field, _event, NO_ARGUMENTS, _completion(field, True))
    if isinstance(source, Guarded):
        return CallField(field, FieldCall(source), _arguments(field), _completion(field, True), is_root=True)
    reason = source if isinstance(source, Reason) else Reason("root", f"{field.parent.name}.{field.name} has no guard")
    raise _NotPlanned(reason)


def _event(row: Row) -> Row:
    return row


def _step(field: Field, inlining: bool) -> Step:
    """Plans a field that its row's function leaves out."""
    source = field.source
    if isinstance(source, Reason | Event):
        raise _NotPlanned(source if isinstance(source, Reason) else Reason("field", f"{field.name} is an event"))
    completion = _completion(field, inlining)
    if isinstance(source, Column):
        return ValueField(field, attrgetter(source.attribute), NO_ARGUMENTS, completion)
    if isinstance(source, Link):
        name = source.name
        follow = CallField(field, unguarded_call(source.follow), NO_ARGUMENTS, completion)
        return ValueField(field, lambda row: getattr(row, name, MISSING), NO_ARGUMENTS, completion, follow)
    if isinstance(source, Guarded):
        return CallField(field, FieldCall(source), _arguments(field), completion)
    if isinstance(source, Unguarded):
        return CallField(field, unguarded_call(source), NO_ARGUMENTS, completion)
    return ValueField(field, source.function, _arguments(field), completion)


def _arguments(field: Field) -> Members:
    try:
        return arguments_of(field.schema_field, field.nodes[0])
    except Unbuilt:
        text = f"{field.parent.name}.{field.name} has arguments of an unknown kind"
        raise _NotPlanned(Reason("argument", text)) from None


def _completion(field: Field, inlining: bool) -> Completion:
    along = _whole_or_objects(field, inlining)
    return Linked(along, lambda: _whole_or_objects(field, False)) if inlining and _brings_links(field) else along


def _brings_links(field: Field) -> bool:
    """Says whether rows of the field's value, or rows in them, are expected to bring links along."""
    for selection in field.below.values():
        for inner in selection.fields:
            source = inner.source
            if isinstance(source, Link) or (isinstance(source, Column | Function) and _brings_links(inner)):
                return True
    return False


def _whole_or_objects(field: Field, inlining: bool) -> WholeValue | Objects:
    whole = value_function(field, inlining=inlining)
    if whole is not None:
        return WholeValue(whole)
    is_nullable, kind = _nullable(field.schema_field.type)
    is_list = isinstance(kind, GraphQLList)
    is_item_nullable, item = _nullable(kind.of_type) if isinstance(kind, GraphQLList) else (False, kind)
    plan = _plan_of(field, item, inlining)
    return Objects(plan, is_list, is_nullable, is_item_nullable)


def _plan_of(field: Field, kind: GraphQLOutputType, inlining: bool) -> ObjectPlan | PlanByType:
    if isinstance(kind, GraphQLObjectType):
        return _object_plan(field.below[kind.name], inlining)
    if isinstance(kind, GraphQLInterfaceType) and names_its_rows(kind):
        return PlanByType({name: _object_plan(one, inlining) for name, one in field.below.items()})
    raise _NotPlanned(Reason("abstract", f"{field.parent.name}.{field.name} does not say which type its rows are of"))


def _object_plan(selection: ObjectSelection, inlining: bool) -> ObjectPlan:
    made = row_function(selection, inlining=inlining)
    if made is None:
        raise _NotPlanned(Reason("type", f"rows of {selection.kind.name} say what they are"))
    return ObjectPlan(made.make, tuple([_step(field, inlining) for field in made.rest]))


def _nullable(kind: GraphQLOutputType) -> tuple[bool, GraphQLOutputType]:
    return (False, kind.of_type) if isinstance(kind, GraphQLNonNull) else (True, kind)
