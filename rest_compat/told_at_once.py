"""Tells all that is wrong with a request at once, each at its place in the request (decision 1110)."""

from collections.abc import Sequence
from dataclasses import replace

from contract.errors import Problem
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input
from resolvers.shared.told_at_once import also_wrong
from rest_compat.operations import RestOperation


async def everything_wrong(
    operation: RestOperation, ctx: Context, body: Input | bytes | None, found: Sequence[Problem]
) -> list[Problem]:
    """Returns what the resolver found wrong where it is in the request, and behind it what else is (decision 1110)."""
    located = [replace(problem, path=operation.locate(problem.path)) for problem in found]
    if not isinstance(body, Input):
        return located
    inner = () if operation.listed is None else (operation.listed,)
    told = [(*inner, *problem.path[1:]) for problem in located if problem.path[0] == "body"]
    also = await also_wrong(ctx, type(body), _as_sent(body), told, ("body",))
    return [*located, *(located_problem(operation, problem) for problem in also)]


def _as_sent(value: object) -> object:
    """Returns an input as the objects and lists that were sent. Dumping it would look at each value's type again, which
    a resolver may have replaced.
    """
    if isinstance(value, Input):
        fields = type(value).model_fields
        return {fields[name].alias or name: _as_sent(each) for name, each in value.given().items()}
    return [_as_sent(each) for each in value] if isinstance(value, list | tuple) else value


def located_problem(operation: RestOperation, problem: Problem) -> Problem:
    """Returns the problem of a body's model, with its place in the body."""
    if operation.listed is None:
        return problem
    return replace(problem, path=("body", *operation.locate(problem.path[1:])[1:]))
