"""Whole operations, planned once: which resolvers to call with which arguments, and how their results are put together.

The library's executor finds out anew for every request which fields there are, which resolver each has, what its
arguments are and what becomes of its result, and makes an object that describes each field. All of that follows from
the document and the schema, and is kept here as a tree of blocks: a block is an object type's selection, with the shape
(schema/execution/shapes.py) that makes everything that can be read off the row, and a step for each field that has to
be called. Running a plan is calling the steps and filling in what they give.

A plan covers queries and mutations whose fields are guarded (schema/declare.py), are links, or take no arguments; it
holds nothing of a request. Where a root field raises, which a caller can bring about at will, the place of its error is
known. Whatever else goes otherwise than planned, be it a field below that raises or a value that is not as its field
promises, ends in `Unplanned`: the library then runs the operation, and is given what the root fields gave, so that
nothing is done twice and the answer is the library's to the last byte (decisions 73 and 183).
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from graphql import (
    FieldNode,
    GraphQLError,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    located_error,
)

from resolvers.context import Context
from schema.declare import Info
from schema.execution.arguments import Members, Unfit
from schema.execution.calls import Given
from schema.execution.shapes import Unexpected

Outcomes = dict[int, tuple[Any, Exception | None]]
"""The values or exceptions of the root fields, by their field of the document."""


class Unplanned(Exception):
    """There is no plan, or it does not hold; `outcomes` are those of the root fields that were called.

    `reason` says why in a word of the service, by which it is counted.
    """

    def __init__(self, reason: str, outcomes: Outcomes | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.outcomes = outcomes or {}


class NotPlanned(Exception):
    """There is no plan for an operation; `kind` says why in a word of the service, the text what it is about."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Field:
    """The facts of its field that a method may ask for, as the library would give them."""

    field_nodes: list[FieldNode]
    parent_type: GraphQLObjectType
    return_type: GraphQLOutputType
    fragments: Mapping[str, Any]
    schema: GraphQLSchema


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
    given: Given
    outcomes: Outcomes
    failed: "list[tuple[Step, Exception]]"
    """The root fields that raised, in the order in which they did."""


Start = Callable[[Any, Info, Given], Any]
_Waiting = list[Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Completion:
    """The way a field's value is completed: `check` makes all of it, or the block does, for each item of a list."""

    check: Callable[[Any], Any] | None
    block: "Block | None" = None
    is_list: bool = False
    nullable: bool = False
    nullable_item: bool = False

    def finish(self, value: Any, run: _Run, waiting: _Waiting) -> Any:
        """The value as the answer has it; what is still to come is added to `waiting`. Raises Unexpected."""
        if self.check is not None:
            return self.check(value)
        block = cast("Block", self.block)
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
class Step:
    """A field to be called; `start` gives what is to be awaited."""

    key: str
    node: int
    start: Start
    field: Field
    completion: Completion

    @property
    def is_needed(self) -> bool:
        """Whether there is nothing at all without its value."""
        return isinstance(self.field.return_type, GraphQLNonNull)

    def begin(self, source: Any, into: dict[str, Any], run: _Run, waiting: _Waiting) -> None:
        """Fill the field in, now or later."""
        waiting.append(self.later(source, into, run))

    async def later(self, source: Any, into: dict[str, Any], run: _Run, *, root: bool = False) -> None:
        """Call the field, fill its value in, and wait for what is below. Of a root field, note that it raised."""
        try:
            value = await self.start(source, cast("Info", _Info(run.context, self.field)), run.given)
        except Unfit:  # nothing was called, and the library does not call it either
            raise
        except Exception as error:
            if not root:
                raise
            run.outcomes[self.node] = (None, error)
            run.failed.append((self, error))
            return
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
class Inner:
    """A field whose value lies in the row; of a link that did not come along, `call` fetches it."""

    key: str
    read: Callable[[Any], Any]
    completion: Completion
    call: Step | None

    def begin(self, source: Any, into: dict[str, Any], run: _Run, waiting: _Waiting) -> None:
        """Fill the field in, now or later."""
        value = self.read(source)
        if value is MISSING and self.call is not None:
            self.call.begin(source, into, run, waiting)
        else:
            into[self.key] = self.completion.finish(value, run, waiting)


MISSING = object()


@dataclass(frozen=True, slots=True)
class Worked:
    """A field whose value a function works out of the row and its arguments, at once."""

    key: str
    function: Callable[..., Any]
    arguments: Members
    completion: Completion

    def begin(self, source: Any, into: dict[str, Any], run: _Run, waiting: _Waiting) -> None:
        """Fill the field in, now or later."""
        value = self.function(source, **run.given.to(self.arguments))
        into[self.key] = self.completion.finish(value, run, waiting)


@dataclass(frozen=True, slots=True)
class Block:
    """An object type's selection."""

    make: Callable[[Any], dict[str, Any]]
    fields: tuple[Step | Inner | Worked, ...]

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
    steps: tuple[Step, ...]

    async def run(
        self, context: Context, variables: dict[str, Any]
    ) -> tuple[dict[str, Any] | None, Sequence[GraphQLError]]:
        """The answer's data, and its errors. Raises Unplanned."""
        run = _Run(context, Given(variables), {}, [])
        data = self.fixed.copy()
        try:
            if self.serial:
                for step in self.steps:
                    await step.later(None, data, run, root=True)
                    if run.failed and run.failed[-1][0].is_needed:
                        break
            else:
                await _settle([step.later(None, data, run, root=True) for step in self.steps])
        except Unfit:
            raise Unplanned("argument", run.outcomes) from None
        except Unexpected:
            raise Unplanned("value", run.outcomes) from None
        except Exception:  # whatever it is, the library meets it again and reports it
            raise Unplanned("raised", run.outcomes) from None
        return (data, ()) if not run.failed else _broken(data, run)


def _broken(data: dict[str, Any], run: _Run) -> tuple[dict[str, Any] | None, Sequence[GraphQLError]]:
    """Returns what is left of the data where root fields raised, and the errors in their places.

    Where one of several is needed, which of the errors are told is the library's to say. Raises Unplanned.
    """
    is_nothing_left = any(step.is_needed for step, _ in run.failed)
    if is_nothing_left and len(run.failed) > 1:
        raise Unplanned("raised", run.outcomes)
    errors = [located_error(error, step.field.field_nodes, [step.key]) for step, error in run.failed]
    return None if is_nothing_left else data, errors


Plans = dict[tuple[Any, ...], "Plan | NotPlanned"]
"""The plans of one operation, by the values of the variables that @skip and @include read, or why there is none."""
