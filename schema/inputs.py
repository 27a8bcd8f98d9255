"""From input objects to the resolvers' inputs, and the payloads that all nouns share."""

from collections.abc import Awaitable, Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import strawberry
from strawberry import UNSET

from contract.errors import Path
from resolvers.inputs import Input, parse
from schema.declare import Info, shown
from schema.errors import UserError, outcome


def given(value: Any) -> Any:
    """What the client wrote of an input object, under the names of the rows; what it left out is left out."""
    if is_dataclass(value):
        named = ((f.name, getattr(value, f.name)) for f in fields(value))
        return {name: given(inner) for name, inner in named if inner is not UNSET}
    if isinstance(value, list):
        return [given(item) for item in value]
    return value.value if isinstance(value, Enum) else value


async def change(
    info: Info,
    resolver: Callable[..., Awaitable[Any]],
    *args: Any,
    model: type[Input] | None = None,
    input: Any = None,
    at: Path = ("input",),
) -> tuple[Any, list[UserError]]:
    """Run a mutation's resolver with its input read as the model: what it gave, or what stands in its way."""

    async def work() -> Any:
        read = () if model is None else (parse(model, given(input), at=at),)
        return await resolver(info.context, *args, *read)

    return await outcome(work())


@strawberry.type(description="What became of a deletion.")
class DeletePayload:
    deleted_id: strawberry.ID | None = shown("The identifier of what is gone.")
    user_errors: list[UserError] = shown("What stood in the way; empty when it worked.")


async def deletion(info: Info, resolver: Callable[..., Awaitable[str]], identifier: str) -> DeletePayload:
    """Run a deletion and give its payload."""
    deleted, problems = await change(info, resolver, identifier)
    return DeletePayload(deleted_id=None if deleted is None else strawberry.ID(deleted), user_errors=problems)
