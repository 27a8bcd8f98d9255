"""Whole operations, planned once: which resolvers to call with which arguments, and how their results are put together.

The library's executor finds out anew for every request which fields there are, which resolver each has, what its
arguments are and what becomes of its result, and makes an object that describes each field. After a document has run
once, all of that is known, and is kept here as a tree of blocks: a block is an object type's selection, with the shape
(schema/execution/shapes.py) that makes everything that can be read off the row, and a step for each field that has to
be called. Running a plan is calling the steps and filling in what they give.

A plan covers queries and mutations whose fields are guarded (schema/declare.py), are links, or take no arguments; it
holds nothing of a request. Whatever goes otherwise than planned, be it a resolver that raises or a value that is not as
its field promises, ends in `Unplanned`: the library then runs the operation, and is given what the root fields gave, so
that nothing is done twice and the answer is the library's to the last byte.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from inspect import iscoroutinefunction, signature
from typing import Any, cast

from graphql import (
    FieldNode,
    GraphQLError,
    GraphQLField,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    OperationType,
)
from graphql.execution.collect_fields import FieldDetailsList, GroupedFieldSet

from resolvers.context import Context
from schema.declare import LINK, Call, Info, call_key
from schema.execution.shapes import DEFINITION, Collect, Unexpected, compile_value, shape_of_all

Outcomes = dict[int, tuple[Any, Exception | None]]
"""What the root fields gave, or raised, by their field of the document."""


class Unplanned(Exception):
    """There is no plan, or it does not hold; `outcomes` are those of the root fields that were called."""

    def __init__(self, outcomes: Outcomes | None = None) -> None:
        super().__init__()
        self.outcomes = outcomes or {}


class NotYet(Exception):
    """Nothing was remembered of a field's arguments, because no run has reached it."""


class NotPlanned(Exception):
    """A field that no plan covers."""


@dataclass(frozen=True, slots=True)
class Field:
    """What a method may ask of its field, as the library would tell it."""

    field_nodes: list[FieldNode]
    parent_type: GraphQLObjectType
    return_type: GraphQLOutputType
    fragments: Mapping[str, Any]


class _Info:
    """One field of one request, for the methods that are given an `Info`."""

    __slots__ = ("_raw_info", "context")

    def __init__(self, context: Context, field: Field) -> None:
        self.context = context
        self._raw_info = field


@dataclass(slots=True)
class _Run:
    """One run of a plan."""

    context: Context
    variables: dict[str, Any]
    outcomes: Outcomes


_Start = Callable[[Any, Info, dict[str, Any]], Any]
_Waiting = list[Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class _Completion:
    """What becomes of a field's value: `check` makes the whole of it, or the block does, for each item of a list."""

    check: Callable[[Any], Any] | None
    block: "_Block | None" = None
    is_list: bool = False
    nullable: bool = False
    nullable_item: bool = False

    def finish(self, value: Any, run: _Run, waiting: _Waiting) -> Any:
        """The value as the answer has it; what is still to come is added to `waiting`. Raises Unexpected."""
        if self.check is not None:
            return self.check(value)
        block = cast("_Block", self.block)
        if value is None:
            if self.nullable:
                return None
            raise Unexpected
        if not self.is_list:
            return block.begin(value, run, waiting)
        if not isinstance(value, list | tuple) or (not self.nullable_item and None in value):
            raise Unexpected
        return [None if item is None else block.begin(item, run, waiting) for item in value]


@dataclass(frozen=True, slots=True)
class _Step:
    """A field to be called; `start` gives what is to be awaited."""

    key: str
    node: int
    start: _Start
    field: Field
    completion: _Completion

    def begin(self, source: Any, into: dict[str, Any], run: _Run, waiting: _Waiting) -> None:
        """Fill the field in, now or later."""
        waiting.append(self.later(source, into, run))

    async def later(self, source: Any, into: dict[str, Any], run: _Run, *, root: bool = False) -> None:
        """Call the field, fill its value in, and wait for what is below."""
        try:
            value = await self.start(source, cast("Info", _Info(run.context, self.field)), run.variables)
        except Exception as error:
            if root:
                run.outcomes[self.node] = (None, error)
            raise
        if root:
            run.outcomes[self.node] = (value, None)
        waiting: _Waiting = []
        try:
            into[self.key] = self.completion.finish(value, run, waiting)
        except BaseException:
            _drop(waiting)
            raise
        if waiting:
            await _settle(waiting)


@dataclass(frozen=True, slots=True)
class _Inner:
    """A field whose value lies in the row; of a link that did not come along, `call` fetches it."""

    key: str
    read: Callable[[Any], Any]
    completion: _Completion
    call: _Step | None

    def begin(self, source: Any, into: dict[str, Any], run: _Run, waiting: _Waiting) -> None:
        """Fill the field in, now or later."""
        value = self.read(source)
        if value is _MISSING and self.call is not None:
            self.call.begin(source, into, run, waiting)
        else:
            into[self.key] = self.completion.finish(value, run, waiting)


_MISSING = object()


@dataclass(frozen=True, slots=True)
class _Block:
    """An object type's selection."""

    make: Callable[[Any], dict[str, Any]]
    fields: tuple[_Step | _Inner, ...]

    def begin(self, row: Any, run: _Run, waiting: _Waiting) -> dict[str, Any]:
        """The object, with its called fields to come."""
        made = self.make(row)
        for field in self.fields:
            field.begin(row, made, run, waiting)
        return made


async def _settle(waiting: _Waiting) -> None:
    """Let all of it end; raise what the first of them raised."""
    if len(waiting) == 1:
        await waiting[0]
        return
    for outcome in await asyncio.gather(*waiting, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


def _drop(waiting: _Waiting) -> None:
    for coroutine in waiting:
        coroutine.close()


@dataclass(frozen=True, slots=True)
class Plan:
    """One operation; `serial` where its root fields run one after the other."""

    serial: bool
    fixed: dict[str, Any]
    steps: tuple[_Step, ...]

    async def run(self, context: Context, variables: dict[str, Any]) -> dict[str, Any]:
        """The answer's data. Raises Unplanned."""
        run = _Run(context, variables, {})
        data = self.fixed.copy()
        try:
            if self.serial:
                for step in self.steps:
                    await step.later(None, data, run, root=True)
            else:
                await _settle([step.later(None, data, run, root=True) for step in self.steps])
        except Exception:  # whatever it is, the library meets it again and reports it
            raise Unplanned(run.outcomes) from None
        return data


_TRIES_MAX = 50


class Plans:
    """The plans of one operation, by the values of the variables that @skip and @include read."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], Plan | None] = {}
        self._tries = 0

    def __bool__(self) -> bool:
        return bool(self._made)

    def get(self, variant: tuple[Any, ...]) -> Plan | None:
        """The plan, where there is one."""
        return self._made.get(variant)

    def learn(self, variant: tuple[Any, ...], make: Callable[[], Plan]) -> None:
        """Make a plan after a run, where one can be made and none is there."""
        if variant in self._made or self._tries == _TRIES_MAX:
            return
        self._tries += 1
        try:
            self._made[variant] = make()
        except (NotPlanned, GraphQLError):  # the library's own: a condition that is null below the root
            self._made[variant] = None
        except NotYet:
            return


class Planner:
    """Makes the plan of an operation from what its last run left behind."""

    def __init__(self, collect: Collect, worked_out: Mapping[Any, Any], fragments: Mapping[str, Any]) -> None:
        self._collect = collect
        self._worked_out = worked_out
        self._fragments = fragments

    def plan(self, kind: GraphQLObjectType, operation: OperationType, grouped: GroupedFieldSet) -> Plan:
        """The plan. Raises NotYet or NotPlanned."""
        fixed: dict[str, Any] = {}
        steps = []
        for name, details in grouped.items():
            fixed[name] = None
            if details[0].node.name.value == "__typename":
                fixed[name] = kind.name
                continue
            field = self._field(kind, name, details)
            if not isinstance(field, _Step):
                raise NotPlanned
            steps.append(field)
        return Plan(operation is OperationType.MUTATION, fixed, tuple(steps))

    def _block(self, kind: GraphQLObjectType, details: FieldDetailsList) -> _Block:
        grouped = self._collect(kind, details)
        shape = shape_of_all(kind, grouped, self._collect)
        if shape is None:
            raise NotPlanned
        return _Block(shape.make, tuple(self._field(kind, name, below) for name, below in shape.rest.items()))

    def _field(self, kind: GraphQLObjectType, name: str, details: FieldDetailsList) -> _Step | _Inner:
        node = details[0].node
        field = kind.fields.get(node.name.value)
        definition = None if field is None else field.extensions.get(DEFINITION)
        if field is None or definition is None or details[0].fragment_variable_values is not None:
            raise NotPlanned
        completion = self._completion(field.type, details)
        about = Field([d.node for d in details], kind, field.type, self._fragments)

        def step(start: _Start) -> _Step:
            return _Step(name, id(node), start, about, completion)

        if (link := definition.metadata.get(LINK)) is not None:
            follow = step(_Unguarded(definition.base_resolver.wrapped_func))
            return _Inner(name, lambda row: getattr(row, link, _MISSING), completion, follow)
        if definition.base_resolver is None:
            attribute = definition.python_name
            return _Inner(name, lambda row: getattr(row, attribute), completion, None)
        function = definition.base_resolver.wrapped_func
        if hasattr(function, "guarded"):
            return step(self._call(kind, field, node))
        if not set(signature(function).parameters) <= {"root", "info"}:
            raise NotPlanned
        if iscoroutinefunction(function):
            return step(_Unguarded(function))
        return _Inner(name, function, completion, None)

    def _call(self, kind: GraphQLObjectType, field: GraphQLField, node: FieldNode) -> Call:
        key = call_key(kind, node)
        if key not in self._worked_out:
            raise NotYet
        call: Call | None = self._worked_out[key]
        if call is None:
            raise NotPlanned
        return call

    def _completion(self, kind: GraphQLOutputType, details: FieldDetailsList) -> _Completion:
        check = compile_value(kind, details, self._collect)
        if check is not None:
            return _Completion(check)
        nullable, kind = _nullable(kind)
        is_list = isinstance(kind, GraphQLList)
        nullable_item, item = _nullable(kind.of_type) if isinstance(kind, GraphQLList) else (False, kind)
        if not isinstance(item, GraphQLObjectType):
            raise NotPlanned
        return _Completion(None, self._block(item, details), is_list, nullable, nullable_item)


def _nullable(kind: Any) -> tuple[bool, Any]:
    return (False, kind.of_type) if isinstance(kind, GraphQLNonNull) else (True, kind)


class _Unguarded:
    """A method that takes nothing but the row and perhaps the field."""

    __slots__ = ("_function", "_takes_info", "_takes_root")

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = signature(function).parameters
        self._function = function
        self._takes_root, self._takes_info = "root" in parameters, "info" in parameters

    def __call__(self, source: Any, info: Info, _variables: dict[str, Any]) -> Any:
        """What the method gives of this row."""
        arguments: dict[str, Any] = {"info": info} if self._takes_info else {}
        return self._function(source, **arguments) if self._takes_root else self._function(**arguments)
