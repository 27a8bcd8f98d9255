"""Makes a plan: from an operation's selections and the schema, before its first run (decision 181)."""

from collections.abc import Callable, Hashable, Mapping
from inspect import iscoroutinefunction, signature
from typing import Any

from graphql import (
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    OperationType,
)

from schema.adapters.graphql_core import FieldDetailsList, GroupedFieldSet
from schema.declare import LINK, Info
from schema.execution.arguments import Unbuilt, arguments_of
from schema.execution.calls import Given, call_of, guarded_of
from schema.execution.known import known, unknown_of
from schema.execution.plans import MISSING, Block, Completion, Field, Inner, NotPlanned, Plan, Start, Step, Worked
from schema.execution.shapes import Collect, compile_value, shape_of_all


class Planner:
    """Makes the plan of an operation; `kept` has the calls of its document's fields."""

    def __init__(
        self, schema: GraphQLSchema, collect: Collect, kept: dict[Hashable, Any], fragments: Mapping[str, Any]
    ) -> None:
        self._schema = schema
        self._collect = collect
        self._kept = kept
        self._fragments = fragments

    def plan(self, kind: GraphQLObjectType, operation: OperationType, grouped: GroupedFieldSet) -> Plan:
        """The plan. Raises NotPlanned."""
        fixed: dict[str, Any] = {}
        steps = []
        for name, details in grouped.items():
            fixed[name] = None
            if details[0].node.name.value == "__typename":
                fixed[name] = kind.name
                continue
            field = self._field(kind, name, details)
            if not isinstance(field, Step):
                raise NotPlanned("function", f"{kind.name}.{name} is read off a row, of which there is none")
            steps.append(field)
        return Plan(operation is OperationType.MUTATION, fixed, tuple(steps))

    def _block(self, kind: GraphQLObjectType, details: FieldDetailsList) -> Block:
        grouped = self._collect(kind, details)
        shape = shape_of_all(kind, grouped, self._collect)
        if shape is None:
            raise NotPlanned("type", f"rows of {kind.name} say what they are")
        return Block(shape.make, tuple(self._field(kind, name, below) for name, below in shape.rest.items()))

    def _field(self, kind: GraphQLObjectType, name: str, details: FieldDetailsList) -> Step | Inner | Worked:
        node = details[0].node
        field = kind.fields.get(node.name.value)
        where = f"{kind.name}.{node.name.value}"
        if field is None:
            raise NotPlanned("introspection", f"{where} is the library's")
        definition = known(field)
        if definition is None:
            raise NotPlanned("field", f"{where} has {unknown_of(field)}")
        if details[0].fragment_variable_values is not None:
            raise NotPlanned("fragment", f"{where} stands in a fragment with variables of its own")
        completion = self._completion(field.type, details)
        about = Field([d.node for d in details], kind, field.type, self._fragments, self._schema)

        def step(start: Start) -> Step:
            return Step(name, id(node), start, about, completion)

        if (link := definition.metadata.get(LINK)) is not None:
            follow = step(_Unguarded(definition.base_resolver.wrapped_func))
            return Inner(name, lambda row: getattr(row, link, MISSING), completion, follow)
        if definition.base_resolver is None:
            attribute = definition.python_name
            return Inner(name, lambda row: getattr(row, attribute), completion, None)
        guarded = guarded_of(field)
        if guarded is not None:
            call = call_of(self._kept, guarded, kind, field, node)
            if call is None:
                raise NotPlanned("argument", f"{where} has arguments of an unknown kind")
            return step(call)
        function = definition.base_resolver.wrapped_func
        parameters = list(signature(function).parameters)
        if iscoroutinefunction(function) and set(parameters) <= {"root", "info"}:
            return step(_Unguarded(function))
        if iscoroutinefunction(function) or parameters[:1] != ["root"] or "info" in parameters:
            raise NotPlanned("function", f"{where} is a function of more than its row and its arguments")
        if parameters == ["root"]:
            return Inner(name, function, completion, None)
        try:
            return Worked(name, function, arguments_of(field, node), completion)
        except Unbuilt:
            raise NotPlanned("argument", f"{where} has arguments of an unknown kind") from None

    def _completion(self, kind: GraphQLOutputType, details: FieldDetailsList) -> Completion:
        check = compile_value(kind, details, self._collect)
        if check is not None:
            return Completion(check)
        nullable, kind = _nullable(kind)
        is_list = isinstance(kind, GraphQLList)
        nullable_item, item = _nullable(kind.of_type) if isinstance(kind, GraphQLList) else (False, kind)
        if not isinstance(item, GraphQLObjectType):
            raise NotPlanned("abstract", f"{item} may be of several types, or a list of lists")
        return Completion(None, self._block(item, details), is_list, nullable, nullable_item)


def _nullable(kind: Any) -> tuple[bool, Any]:
    return (False, kind.of_type) if isinstance(kind, GraphQLNonNull) else (True, kind)


class _Unguarded:
    """A method that takes nothing but the row and perhaps the field."""

    __slots__ = ("_function", "_takes_info", "_takes_root")

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = signature(function).parameters
        self._function = function
        self._takes_root, self._takes_info = "root" in parameters, "info" in parameters

    def __call__(self, source: Any, info: Info, _given: Given) -> Any:
        """Returns what the method gives of this row."""
        arguments: dict[str, Any] = {"info": info} if self._takes_info else {}
        return self._function(source, **arguments) if self._takes_root else self._function(**arguments)
