"""Whole operations as steps: which resolvers to call with which arguments, and how their results are put together.

The library's executor finds out anew for every request which fields there are, which resolver each has, what its
arguments are and what becomes of its result, and makes an object that describes each field. All of that follows from
the document and the schema. Steps are read off the operation's tree before its first run (schema/execution/planner.py),
and hold nothing of a request: an object plan is an object type's selection, with the function that makes all that can
be read off the row (schema/execution/rows.py), and a step for each field that has to be called or looked into.

A field that raises, or an argument that does not fit, has its error placed here (decision 183). Where a
value is not as its field promises the run ends in `Unplanned`: the library then runs the operation, and is given what
the root fields gave, so that nothing is done twice and the answer is the library's to the last byte (decision 73).
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import cast

from graphql import GraphQLError
from graphql.execution import VariableValues as LibraryValues
from graphql.execution import get_argument_values, get_variable_values

from resolvers.shared.context import Context, Outcomes
from schema.declare import Info
from schema.execution.arguments import Members, Unfit
from schema.execution.calls import Arguments, Call, VariableValues
from schema.execution.introspection import read_schema
from schema.execution.places import FieldErrors, Place
from schema.execution.rows import Data, Unexpected
from schema.execution.selections import StepInfo
from schema.execution.sources import Method, Row
from schema.execution.tree import Field, Tree
from schema.execution.values import Values

Raw = Mapping[str, object]
"""The variables of a request as they were sent."""
_Waiting = list[Coroutine[object, object, None]]

MISSING = object()
"""Stands for a link that did not come along with its row."""


class Unplanned(Exception):
    """There are no steps, or they do not hold; `reason` says why in a word of the service, by which it is counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NothingLeft(Exception):
    """An error has left the answer without any data: what still runs is stopped, as the library does."""


@dataclass(slots=True)
class Run:
    """One run of an operation's steps."""

    tree: Tree
    context: Context
    values: VariableValues
    raw: Raw
    errors: FieldErrors = field(default_factory=FieldErrors)
    outcomes: Outcomes = field(default_factory=dict)
    misfits: dict[Field, Exception] = field(default_factory=dict)

    def go_on(self) -> None:
        """Raises NothingLeft where that is so."""
        if self.errors.is_nothing_left:
            raise NothingLeft

    def misfit(self, field: Field, around: Place | None) -> None:
        """Places what the library says of an argument that does not fit."""
        if field not in self.misfits:
            self.misfits[field] = self._misfit(field)
        self.errors.add(self.misfits[field], field, around)

    def _misfit(self, field: Field) -> Exception:
        try:
            get_argument_values(field.schema_field, field.nodes[0], self.library_values())
        except GraphQLError as error:
            return error
        raise Unexpected  # to the library it does fit

    def library_values(self) -> LibraryValues:
        """Returns the variables as the library coerces them."""
        definitions = self.tree.operation.variable_definitions or ()
        values = get_variable_values(self.tree.schema, definitions, dict(self.raw))
        if isinstance(values, list):
            raise Unexpected
        return values


@dataclass(frozen=True, slots=True)
class WholeValue:
    """Completes a field's value by one function."""

    make: Callable[[Row], object]

    def finish(self, value: Row, _run: Run, _place: Place, _waiting: _Waiting) -> object:
        """Makes the value as the answer has it. Raises Unexpected."""
        return self.make(value)


@dataclass(frozen=True, slots=True)
class Objects:
    """Completes an object, or a list of them, by what is planned for one."""

    plan: "ObjectPlan | PlanByType"
    is_list: bool
    is_nullable: bool
    is_item_nullable: bool

    def finish(self, value: Row, run: Run, place: Place, waiting: _Waiting) -> object:
        """Makes the value as the answer has it; what is still to come is added to `waiting`. Raises Unexpected."""
        if value is None:
            if self.is_nullable:
                return None
            raise Unexpected
        begin = self.plan.begin
        if not self.is_list:
            return begin(value, run, place, waiting)
        nullable = self.is_item_nullable
        if not isinstance(value, list | tuple) or (not nullable and None in value):
            raise Unexpected
        return [
            None if item is None else begin(item, run, (place, index, nullable), waiting)
            for index, item in enumerate(value)
        ]


@dataclass(slots=True)
class Linked:
    """Completes a value with rows that may or may not have brought their links along: if not, links are followed."""

    along: WholeValue | Objects
    plan_apart: "Callable[[], Completion]"
    apart: "Completion | None" = None

    def finish(self, value: Row, run: Run, place: Place, waiting: _Waiting) -> object:
        """Makes the value as the answer has it; what is still to come is added to `waiting`. Raises Unexpected."""
        begun = len(waiting)
        try:
            return self.along.finish(value, run, place, waiting)
        except Exception:  # a link that is not there, or what is wrong otherwise, which is met again
            drop(waiting[begun:])
            del waiting[begun:]
        if self.apart is None:
            self.apart = self.plan_apart()
        return self.apart.finish(value, run, place, waiting)


Completion = WholeValue | Objects | Linked


@dataclass(frozen=True, slots=True)
class CallField:
    """A field to be called."""

    field: Field
    call: Call
    arguments: Members
    completion: Completion
    is_root: bool = False

    def begin(self, row: Row, into: Data, run: Run, around: Place | None, waiting: _Waiting) -> None:
        """Has the field filled in later."""
        members = self.arguments
        try:
            arguments = run.values.to(members) if members.slots else members.fixed
        except Unfit:
            run.misfit(self.field, around)
        else:
            waiting.append(self._filled(row, into, run, around, arguments))

    async def _filled(self, row: Row, into: Data, run: Run, around: Place | None, arguments: Arguments) -> None:
        """Calls the field, fills its value in, and waits for what is below it."""
        field = self.field
        try:
            value = await self.call(row, cast("Info", StepInfo(run.context, field)), arguments)
        except Exception as error:
            if self.is_root:
                run.outcomes[field.key] = (None, error)
            run.errors.add(error, field, around)
            run.go_on()
            return
        if self.is_root:
            run.outcomes[field.key] = (value, None)
        waiting: _Waiting = []
        try:
            into[field.key] = self.completion.finish(value, run, (around, field.key, field.is_nullable), waiting)
            if run.errors.errors:
                run.go_on()
        except BaseException:
            drop(waiting)
            raise
        if waiting:
            await settle(waiting)


@dataclass(frozen=True, slots=True)
class ValueField:
    """A field whose value lies in the row, or is worked out of it and of the field's arguments, at once.

    Of a link that did not come along, `follow` fetches it.
    """

    field: Field
    read: Method
    arguments: Members
    completion: Completion
    follow: CallField | None = None

    def begin(self, row: Row, into: Data, run: Run, around: Place | None, waiting: _Waiting) -> None:
        """Fills the field in, now or later."""
        field = self.field
        members = self.arguments
        try:
            arguments = run.values.to(members) if members.slots else members.fixed
        except Unfit:
            run.misfit(field, around)
            return
        value = self.read(row, **arguments)
        if value is MISSING and self.follow is not None:
            self.follow.begin(row, into, run, around, waiting)
        else:
            into[field.key] = self.completion.finish(value, run, (around, field.key, field.is_nullable), waiting)


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A field that asks for the schema itself."""

    field: Field

    def begin(self, _row: Row, into: Data, run: Run, _around: Place | None, _waiting: _Waiting) -> None:
        """Fills the field in."""
        into[self.field.key] = read_schema(run.tree.schema, self.field, run.library_values())


Step = CallField | ValueField | SchemaField


@dataclass(frozen=True, slots=True)
class ObjectPlan:
    """An object type's selection."""

    make: Callable[[Row], Data]
    steps: tuple[Step, ...]

    def begin(self, row: Row, run: Run, place: Place, waiting: _Waiting) -> Data:
        """Makes the object, with its called fields to come."""
        made = self.make(row)
        for step in self.steps:
            step.begin(row, made, run, place, waiting)
        return made


@dataclass(frozen=True, slots=True)
class PlanByType:
    """The selections of a value that may be of several types, which its row names."""

    plans: Mapping[str, ObjectPlan]

    def begin(self, row: Row, run: Run, place: Place, waiting: _Waiting) -> Data:
        """Makes the object, with its called fields to come."""
        return self.plans[row.typename].begin(row, run, place, waiting)


async def settle(waiting: _Waiting) -> None:
    """Lets all of it end; raises what was raised first, and stops the rest where nothing is left to wait for."""
    if len(waiting) == 1:
        await waiting[0]
        return
    tasks = [asyncio.ensure_future(coroutine) for coroutine in waiting]
    try:
        await asyncio.gather(*tasks)
    except BaseException as error:
        if isinstance(error, NothingLeft):
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def drop(waiting: _Waiting) -> None:
    """Closes what will not be waited for."""
    for coroutine in waiting:
        coroutine.close()


@dataclass(frozen=True, slots=True)
class Steps:
    """One operation; `serial` where its root fields run one after the other."""

    tree: Tree
    serial: bool
    fixed: Data
    roots: tuple[Step, ...]

    async def run(
        self, context: Context, values: Values, raw: Raw, row: Row = None
    ) -> tuple[Data | None, list[GraphQLError]]:
        """Gives the answer's data and its errors; of a subscription, `row` is the event. Raises Unplanned."""
        run = Run(self.tree, context, VariableValues(values), raw)
        data = self.fixed.copy()
        waiting: _Waiting = []
        try:
            for root in self.roots:
                root.begin(row, data, run, None, waiting)
                if self.serial and waiting:
                    await waiting.pop()
                if run.errors.errors:
                    run.go_on()
            if waiting:
                begun, waiting = waiting, []
                await settle(begun)
        except NothingLeft:
            pass
        except Exception:  # a value is not as promised: the library meets it again, and says what that means
            context.outcomes = run.outcomes
            raise Unplanned("value") from None
        finally:
            if waiting:
                drop(waiting)
        return (data, []) if not run.errors.errors else (run.errors.left_of(data), run.errors.errors)
