"""Describes the refusals of an operation: their statuses, bodies, examples and headers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from contract.errors import (
    AuthenticationLimited,
    Expired,
    Forbidden,
    GatewayError,
    Gone,
    InvalidState,
    KeyInUse,
    MailsSpent,
    NotConfigured,
    NotFound,
    NotInPerson,
    OrganizationHeader,
    OrganizationMismatch,
    OrganizationRequired,
    PreconditionFailed,
    ProviderFailed,
    RateLimited,
    TimedOut,
    TooManyRuns,
    Unauthenticated,
    Unavailable,
)
from contract.file_errors import ChecksumMismatch, QuotaExceeded, TusVersion, UploadHeld
from contract.http_errors import HeadersTooLarge, NotAcceptable, RangeNotSatisfiable, TooLarge, UnsupportedMedia
from rest_compat import examples
from rest_compat.openapi_headers import header_refs
from rest_compat.operations import RestOperation
from rest_compat.schemas import JsonObject, reference_to
from transport.budget_headers import BUDGET_HEADERS

# Which Python knows these two by which name depends on its version; the rest it knows by one.
_PHRASES: Final = {413: "Content Too Large", 422: "Unprocessable Content", 460: "Checksum Mismatch"}
_ERRORS: Final[dict[int, tuple[type[GatewayError], ...]]] = {
    400: (OrganizationRequired, OrganizationHeader),
    401: (Unauthenticated,),
    403: (Forbidden, NotInPerson, OrganizationMismatch),
    404: (NotFound,),
    406: (NotAcceptable,),
    409: (InvalidState, KeyInUse),
    410: (Gone, Expired),
    412: (PreconditionFailed, TusVersion),
    413: (TooLarge, QuotaExceeded),
    415: (UnsupportedMedia,),
    416: (RangeNotSatisfiable,),
    423: (UploadHeld,),
    460: (ChecksumMismatch,),
    431: (HeadersTooLarge,),
    429: (RateLimited, AuthenticationLimited, TooManyRuns, MailsSpent),
    500: (GatewayError,),
    501: (NotConfigured,),
    502: (ProviderFailed,),
    503: (Unavailable,),
    504: (TimedOut,),
}
_REFUSAL_HEADERS: Final = {
    304: ("ETag",),
    401: ("WWW-Authenticate",),
    410: ("Location",),
    416: ("Content-Range",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
# Among these are refusals of callers that nobody knows, or that are in no organization to have a budget in; and of
# requests that are not read to their end.
_UNMETERED: Final = frozenset({400, 401, 403, 429, 431, 503})


def refused_with(operation: RestOperation) -> list[int]:
    """Lists the error statuses: those that follow from rule and inputs, and those that the operation names."""
    statuses = set(operation.errors) | {500}
    if operation.rule is not None:
        # 422 also where nothing but a path can be wrong: the specification lists it for every path with a placeholder.
        statuses |= {400, 401, 403, 429, 431, 503} | ({422} if operation.path_parameters or operation.query else set())
    if operation.follows:
        statuses.add(422)  # X-Read-After
    if operation.writes:
        statuses |= {409, 422}
    if operation.form is not None:
        statuses |= {429, 431, 503}
    if operation.body is not None or operation.raw is not None:
        statuses |= {413, 415, 422}
    return sorted(statuses)


def refusal_of(operation: RestOperation, status: int) -> JsonObject:
    headers = () if operation.rule is None or status in _UNMETERED else budget_of(operation)
    described: JsonObject = {
        "description": _PHRASES.get(status) or HTTPStatus(status).phrase,
        "headers": header_refs("X-Request-Id", *_REFUSAL_HEADERS.get(status, ()), *headers),
    }
    if status == 304:
        return described
    content: JsonObject
    if status == 422:
        content = {"schema": reference_to("ValidationError"), "example": examples.VALIDATION}
    elif status == 503 and operation.answer == "Readiness":
        content = {"schema": reference_to("Readiness"), "example": examples.NOT_READY}
    else:
        needs_organization = operation.rule is None or operation.rule.organization
        kinds = [k for k in _ERRORS[status] if needs_organization or k is not OrganizationRequired]
        mails = operation.path.endswith("/email")  # the only operation that has a message sent
        unnamed = (
            (TooManyRuns, MailsSpent) if status not in operation.errors else (TooManyRuns if mails else MailsSpent,)
        )
        kinds = [k for k in kinds if k not in unnamed]
        kinds = [k for k in kinds if operation.rule is not None or k not in (OrganizationRequired, Forbidden)]
        if operation.rule is None or not operation.rule.in_person:
            kinds = [k for k in kinds if k is not NotInPerson]
        if status == 409 and status not in operation.errors:
            kinds = [KeyInUse]
        content = {
            "schema": reference_to("Error"),
            "examples": {k.__name__: {"value": _example(operation, k)} for k in kinds},
        }
    described["content"] = {"application/json": content}
    return described


def budget_of(operation: RestOperation) -> tuple[str, ...]:
    """Returns the headers of a response that the caller's budget is charged for."""
    return () if operation.rule is None and operation.form is None else BUDGET_HEADERS


def _example(operation: RestOperation, kind: type[GatewayError]) -> JsonObject:
    message = "The body must be JSON, and not compressed" if kind is UnsupportedMedia else kind.message
    body = examples.refusal(message, kind.code.lower())
    if kind is Forbidden and operation.rule is not None and operation.rule.group is not None:
        body |= {"required_scopes": sorted(operation.rule.group.value), "granted_scopes": ["outreach:read"]}
    return body
