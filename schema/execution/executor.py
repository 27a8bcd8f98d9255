"""The library's executor, with compiled selections where they serve (schema/execution/shapes.py)."""

from collections.abc import Awaitable, Iterable, Sequence
from typing import Any, cast

from graphql import (
    GraphQLError,
    GraphQLField,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLResolveInfo,
    OperationType,
    is_introspection_type,
)
from graphql.pyutils import AwaitableOrValue, Path

from schema.adapters.graphql_core import Executor, FieldDetailsList, GroupedFieldSet, collect_fields
from schema.adapters.strawberry import info_of
from schema.declare import Guarded, Info
from schema.execution.calls import Call, Given, call_key, call_of, guarded_of
from schema.execution.documents import Prepared
from schema.execution.introspection import Introspection
from schema.execution.planner import Planner
from schema.execution.plans import NotPlanned, Outcomes, Plan
from schema.execution.shapes import Shape, compile_shape


class CompiledExecutor(Executor[Any]):
    """Completes objects and lists of objects by the shapes of their document.

    Shapes are kept with the document they came from, so that no document can get another's, and hold nothing of a
    request but the values of the variables that @skip and @include read, which are part of the key.
    """

    def __init__(self, *args: Any, prepared: Prepared, outcomes: Outcomes, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._outcomes = outcomes
        self.variant = prepared.variant(self.variable_values.coerced)
        self.is_kept = prepared.keeps(self.variant)
        self._shapes = prepared.shapes if self.is_kept else {}
        self._worked_out = prepared.worked_out if self.is_kept else {}
        self._given = Given(self.variable_values.coerced)
        self._calls: dict[Any, Call | None] = {}

    def plan(self) -> Plan:
        """The plan of the operation. Raises NotPlanned."""
        kind = self.schema.get_root_type(self.operation.operation)
        if kind is None or self.operation.operation is OperationType.SUBSCRIPTION:
            raise NotPlanned("operation", "a subscription is a run of the library's for each event")
        planner = Planner(self.schema, self._collected, self._worked_out, self.fragment_definitions)
        try:
            grouped = collect_fields(self.schema, self.fragments, self.variable_values, kind, self.operation, False)[0]
            return planner.plan(kind, self.operation.operation, grouped)
        except GraphQLError as error:  # a condition that is null, which the library says where it stands
            raise NotPlanned("condition", error.message) from None

    def execute_field(
        self,
        parent_type: GraphQLObjectType,
        source: Any,
        field_details_list: FieldDetailsList,
        path: Path,
        position_context: Any,
    ) -> Any:
        """Resolve a field; a guarded one's arguments are made once, however many rows it is below."""
        node = field_details_list[0].node
        if path.prev is None and id(node) in self._outcomes:
            return self._known(self._outcomes[id(node)], parent_type, field_details_list, path, position_context)
        field = parent_type.fields.get(node.name.value)
        guarded = None if field is None else guarded_of(field)
        if field is None or guarded is None:
            return super().execute_field(parent_type, source, field_details_list, path, position_context)
        call = self._call(guarded, parent_type, field, field_details_list)
        if call is None:
            return super().execute_field(parent_type, source, field_details_list, path, position_context)
        raw = self.build_resolve_info(field, [d.node for d in field_details_list], parent_type, path)
        result = call(source, info_of(Info, raw, field), self._given)
        return self.complete_awaitable_value(field.type, field_details_list, raw, path, result, position_context)

    def _call(
        self, guarded: Guarded, kind: GraphQLObjectType, field: GraphQLField, details: FieldDetailsList
    ) -> Call | None:
        """The call of a guarded field; None where something is wrong with its arguments, which the library tells."""
        key = call_key(kind, details[0].node)
        if key in self._calls:
            return self._calls[key]
        call: Call | None = None
        if details[0].fragment_variable_values is None:
            call = call_of(self._worked_out, guarded, kind, field, details[0].node)
        try:
            if call is not None:
                self._given.to(call.arguments)
        except Exception:  # whatever it is, the library's own way meets it again and reports it
            call = None
        self._calls[key] = call
        return call

    def _known(
        self,
        outcome: tuple[Any, Exception | None],
        kind: GraphQLObjectType,
        details: FieldDetailsList,
        path: Path,
        position_context: Any,
    ) -> Any:
        """Complete what a root field gave before, or raise what it raised, as if it had been called now."""

        async def again() -> Any:
            value, error = outcome
            if error is not None:
                raise error
            return value

        field = kind.fields[details[0].node.name.value]
        info = self.build_resolve_info(field, [d.node for d in details], kind, path)
        return self.complete_awaitable_value(field.type, details, info, path, again(), position_context)

    def complete_object_value(
        self,
        return_type: GraphQLObjectType,
        field_details_list: FieldDetailsList,
        info: GraphQLResolveInfo[Any],
        path: Path,
        result: Any,
        position_context: Any,
    ) -> AwaitableOrValue[dict[str, Any]]:
        """Complete an object: its covered fields at once, the others one by one; a part of the schema at once."""
        if is_introspection_type(return_type):
            shape = self._shape_of_schema(return_type, field_details_list, info)
        else:
            shape = self._shape(return_type, field_details_list)
        if shape is not None:
            try:
                made = shape.make(result)
            except Exception:  # whatever it is, the library's own way meets it again and reports it
                return super().complete_object_value(
                    return_type, field_details_list, info, path, result, position_context
                )
            if not shape.rest:
                return made
            return self._fill(made, self.execute_fields(return_type, result, path, shape.rest, position_context))
        return super().complete_object_value(return_type, field_details_list, info, path, result, position_context)

    def complete_iterable_value(
        self,
        item_type: GraphQLOutputType,
        field_details_list: FieldDetailsList,
        info: GraphQLResolveInfo[Any],
        path: Path,
        items: Iterable[Any],
        position_context: Any,
    ) -> AwaitableOrValue[list[Any]]:
        """Complete a list: one function for all rows where the selection is covered whole."""
        kind = item_type.of_type if isinstance(item_type, GraphQLNonNull) else item_type
        if isinstance(kind, GraphQLObjectType) and isinstance(items, list | tuple):
            shape = self._shape(kind, field_details_list)
            if shape is not None and not shape.rest:
                made = _all(shape, items)
                if made is not None:
                    return made
        return super().complete_iterable_value(item_type, field_details_list, info, path, items, position_context)

    def _fill(self, made: dict[str, Any], rest: AwaitableOrValue[dict[str, Any]]) -> AwaitableOrValue[dict[str, Any]]:
        if not self.is_awaitable(rest):
            made.update(cast("dict[str, Any]", rest))
            return made

        async def filled() -> dict[str, Any]:
            made.update(await cast("Awaitable[dict[str, Any]]", rest))
            return made

        return filled()

    def _shape(self, kind: GraphQLObjectType, details: FieldDetailsList) -> Shape | None:
        key = (kind.name, *map(_identity, details), self.variant)
        try:
            return self._shapes[key]
        except KeyError:
            shape = self._shapes[key] = self._compiled(kind, details)
            return shape

    def _shape_of_schema(
        self, kind: GraphQLObjectType, details: FieldDetailsList, info: GraphQLResolveInfo[Any]
    ) -> Shape | None:
        try:
            return Introspection(self._collected, self.variable_values, info).shape(kind, details)
        except GraphQLError:  # an argument or a condition is wrong: the library says so where it stands
            return None

    def _compiled(self, kind: GraphQLObjectType, details: FieldDetailsList) -> Shape | None:
        try:
            return compile_shape(kind, self._collected(kind, details), self._collected)
        except GraphQLError:  # a condition that is null: the library says so where it stands
            return None

    def _collected(self, kind: GraphQLObjectType, details: FieldDetailsList) -> GroupedFieldSet:
        return self.collect_subfields(kind, details)[0]


def _all(shape: Shape, items: Sequence[Any]) -> list[Any] | None:
    """All items by the shape; None where one of them is not as expected, or null."""
    make = shape.make
    try:
        return [make(item) for item in items]
    except Exception:  # whatever it is, the library's own way meets it again and reports it
        return None


def _identity(details: Any) -> int:
    """A field of the document; the document is kept as long as its shapes are."""
    return id(details.node)
