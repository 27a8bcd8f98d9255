"""Turns input objects into the resolvers' inputs, and makes the payloads that all record types share."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from contract.errors import Path, Problem, Problems
from resolvers.shared.access import rule_of
from resolvers.shared.idempotency import key_needed, read_key
from resolvers.shared.inputs import Input, parse
from resolvers.shared.told_at_once import all_wrong
from schema.declare import Info, argument, field
from schema.errors import UserError, outcome
from schema.execution.selections import field_of


def given(value: object) -> object:
    """Returns what the client wrote of an input object, under the names of the rows; what it left out is left out."""
    if is_dataclass(value):
        named = ((f.name, getattr(value, f.name)) for f in fields(value))
        return {name: given(inner) for name, inner in named if inner is not UNSET}
    if isinstance(value, list):
        return [given(item) for item in value]
    return value.value if isinstance(value, Enum) else value


async def change(
    info: Info,
    resolver: Callable[..., Awaitable[object]],
    *args: object,
    model: type[Input] | None = None,
    input: object = None,
    at: Path = ("input",),
    key: str | None = UNSET,
) -> tuple[Any, list[UserError]]:  # Any: a row stands for the type that its field declares
    """Run a mutation's resolver with its input read as the model: what it gave, or what stands in its way.

    A `key` that was given as an argument takes the place of the request's own (decision 112).
    """

    async def work() -> object:
        context, fields = info.context, given(input)
        found, read = list[Problem](), list[Input]()
        async with telling_all(info, model, fields, at):
            with noting(found):
                if model is not None:
                    read.append(parse(model, fields, at=at))
            with noting(found):
                if key not in (None, UNSET):
                    context = replace(context, key=read_key(key, ("idempotency_key",)))
                elif context.key is not None:
                    context.key.enter(field_of(info).key)
                elif found and rule_of(resolver).needs_key:
                    raise key_needed()
            if found:
                raise Problems(found)
            return await resolver(context, *args, *read)

    return await outcome(work())


@contextmanager
def noting(found: list[Problem]) -> Iterator[None]:
    """Note what is wrong within the block, so that what follows is looked at, too."""
    try:
        yield
    except Problems as error:
        found += error.problems


@asynccontextmanager
async def telling_all(
    info: Info, model: type[Input] | None, fields: object, at: Path = ("input",)
) -> AsyncIterator[None]:
    """Tell what else is wrong with an input together with what is found wrong within the block (decision 1110)."""
    try:
        yield
    except Problems as error:
        if model is None:
            raise
        raise Problems(await all_wrong(info.context, model, fields, error.problems, at)) from None


IdempotencyKey = Annotated[
    str | None,
    argument(
        "A name of the caller's choice for this order, such as a UUID: the same order under the same key is made once "
        "within 24 hours. Needed here, unless the header Idempotency-Key has one."
    ),
]


@strawberry.type(description="What became of a deletion.")
class DeletePayload:
    deleted_id: strawberry.ID | None = field("The identifier of what is gone.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


async def deletion(info: Info, resolver: Callable[..., Awaitable[str]], identifier: str) -> DeletePayload:
    """Run a deletion and give its payload."""
    deleted, problems = await change(info, resolver, identifier)
    return DeletePayload(deleted_id=None if deleted is None else strawberry.ID(deleted), user_errors=problems)
