"""Errors as GraphQL says them: `userErrors` for what a client can act on, `extensions.code` for refusals."""

import logging
from collections.abc import Awaitable, Sequence
from enum import StrEnum
from typing import TypeVar

import strawberry
from graphql import DirectiveNode, GraphQLError, GraphQLSyntaxError, ValueNode

from contract.error_origin import origin_of
from contract.errors import (
    AnalyticsRefused,
    CostExceeded,
    Forbidden,
    GatewayError,
    LimitExceeded,
    Problem,
    Problems,
    RateLimited,
)
from contract.limits import ERRORS_MAX, ERRORS_TEXT_MAX
from schema.adapters.strawberry import to_camel_case
from schema.declare import enum, field
from schema.filters import camel
from schema.spending import costless, refused
from storage.base import JsonDict

_log = logging.getLogger(__name__)
T = TypeVar("T")


class UserErrorCode(StrEnum):
    VALIDATION = "VALIDATION"
    NOT_FOUND = "NOT_FOUND"
    CONFLICT = "CONFLICT"
    INVALID_STATE = "INVALID_STATE"
    DUPLICATE = "DUPLICATE"
    PRECONDITION_FAILED = "PRECONDITION_FAILED"
    PROVIDER_ERROR = "PROVIDER_ERROR"


enum(
    UserErrorCode,
    "What kind of problem it is.",
    VALIDATION="A value is not acceptable, or refers to nothing in the organization.",
    NOT_FOUND="What the operation names does not exist in the organization.",
    CONFLICT="Another record stands in the way.",
    INVALID_STATE="The record's state does not allow it.",
    DUPLICATE="There is one already.",
    PRECONDITION_FAILED="The record has changed since the version that was given.",
    PROVIDER_ERROR="An outside provider refused or failed.",
)
_CODES = {code.value for code in UserErrorCode}


@strawberry.type(description="A domain problem that a client can act on: what, in words, and which input path.")
class UserError:
    code: UserErrorCode = field("The kind of problem.")
    message: str = field("What is wrong, in words.")
    field: list[str] | None = field('Path into the arguments, for example ["input", "accountId"].')


async def outcome(work: Awaitable[T]) -> tuple[T | None, list[UserError]]:
    """Returns what the operation gave, or what stands in its way; raises refusals for want of permission further."""
    try:
        return await work, []
    except GatewayError as error:
        if error.code not in _CODES:
            raise
        return None, user_errors(error)


def user_errors(error: GatewayError) -> list[UserError]:
    """A domain error as the client sees it."""
    code = UserErrorCode(error.code)
    if isinstance(error, Problems):
        return [UserError(code=code, message=p.words(to_camel_case), field=_field(p)) for p in error.problems]
    return [UserError(code=code, message=error.message, field=camel(error.field) if error.field else None)]


def _field(problem: Problem) -> list[str] | None:
    """The path into the arguments; None for what is in a header."""
    return None if problem.path[:1] == ("header",) else camel(problem.path) or None


_LOCATIONS_MAX = 3


def formatted(errors: Sequence[GraphQLError], request_id: str, *, executed: bool) -> list[JsonDict]:
    """The errors of an answer, the first few; `executed` says whether the document was good enough to run.

    Those of fields come by their path: fields run at the same time, and which fails first is chance. The
    library's words repeat the client's, and are cut.
    """
    if executed and len(errors) > 1:
        errors = sorted(errors, key=_place)
    errors = errors[:ERRORS_MAX]
    answers = [_formatted(error, request_id, executed) for error in errors]
    for answer in answers:
        answer["message"] = _cut(answer["message"], ERRORS_TEXT_MAX // len(answers))
    return answers


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _place(error: GraphQLError) -> list[tuple[int, str]]:
    return [(part, "") if isinstance(part, int) else (0, part) for part in error.path or ()]


def _formatted(error: GraphQLError, request_id: str, executed: bool) -> JsonDict:
    extensions: JsonDict = {"request_id": request_id}
    answer: JsonDict = {"message": error.message, "extensions": extensions}
    if error.locations:
        answer["locations"] = [location.formatted for location in error.locations[:_LOCATIONS_MAX]]
    if error.path is not None:
        answer["path"] = list(error.path)
    if error.extensions and "field" in error.extensions:
        extensions["field"] = error.extensions["field"]
    cause = error.original_error
    if isinstance(cause, GatewayError):
        answer["message"] = _words(cause)
        extensions.update(_details(cause))
    elif not executed:
        extensions["code"] = (
            "GRAPHQL_PARSE_FAILED" if isinstance(error, GraphQLSyntaxError) else "GRAPHQL_VALIDATION_FAILED"
        )
    elif error.path is None or _of_values(error):
        extensions["code"] = "BAD_USER_INPUT"
    else:
        answer["message"] = "Internal error"
        extensions["code"] = "INTERNAL"
        _report(error, request_id)
    return answer


def _words(error: GatewayError) -> str:
    """The message, with fields as the client writes them (decision 214)."""
    if not isinstance(error, Problems):
        return error.message
    return "; ".join(f"{'.'.join(camel(p.path))}: {p.words(to_camel_case)}" for p in error.problems)


def _details(error: GatewayError) -> JsonDict:
    details: JsonDict = {"code": error.code}
    if isinstance(error, Forbidden):
        details |= {"required_scopes": error.required_scopes, "granted_scopes": error.granted_scopes}
    if isinstance(error, LimitExceeded):
        details |= {"limit": error.limit, "maximum": error.maximum}
    if isinstance(error, CostExceeded):
        lines = [{"path": line.path, "cost": line.cost} for line in error.heaviest]
        details |= {"requested": error.requested, "limit": error.limit, "heaviest": lines}
    if isinstance(error, AnalyticsRefused):
        place = {"line": error.line, "column": error.column}
        details |= {"layer": error.layer.name, "reason": error.reason, **place}
    if isinstance(error, RateLimited):
        details |= {"requested": error.requested, "available": error.available}
    if error.retry_after is not None:
        details["retryAfter"] = error.retry_after
    if isinstance(error, Problems):
        details["problems"] = [_problem(p) for p in error.problems]
    return details


def _problem(problem: Problem) -> JsonDict:
    return {"field": camel(problem.path), "message": problem.words(to_camel_case), "type": problem.type}


def _of_values(error: GraphQLError) -> bool:
    """Says whether the library found a value unfit only in its place: a null variable in `@include(if:)`.

    Such an error is of the value, or of the directive that has none; whatever else fails while a document runs is of
    a field.
    """
    cause = error.original_error or error
    nodes = cause.nodes if isinstance(cause, GraphQLError) else None
    return bool(nodes) and all(isinstance(node, ValueNode | DirectiveNode) for node in nodes or ())


def _report(error: GraphQLError, request_id: str) -> None:
    """One line that says where it broke, and no value of a statement or a row."""
    cause: BaseException = error.original_error or error
    line = "internal error request_id=%s type=%s at=%s path=%s"
    _log.error(line, request_id, type(cause).__name__, origin_of(cause), error.path)


def refusal(error: GatewayError, request_id: str) -> JsonDict:
    """A whole answer for a request that was refused, or came to nothing as a whole."""
    errors = [{"message": error.message, "extensions": _details(error) | {"request_id": request_id}}]
    said = error.extensions or (refused(error) if isinstance(error, RateLimited) else costless())
    return {"errors": errors, "extensions": said}
