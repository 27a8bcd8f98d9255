"""The error tree: every refusal that a client may see is a `GatewayError`; anything else is masked.

Refusals of a request for its form are in `http_errors.py`, those of files in `file_errors.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from contract.guard_layers import GuardLayer
from contract.scopes import ScopeGroup

Path = tuple[str | int, ...]


class GatewayError(Exception):
    """A refusal with an HTTP status, a stable code and words for the client."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "INTERNAL"
    message: str = "Internal error"
    retry_after: int | None = None
    """The seconds after which trying again is right; None where it is not known to be."""
    extensions: Mapping[str, Any] | None = None  # JSON, whose values the GraphQL surface decides
    """The extensions of a GraphQL answer that cost something before it came to this (decision 86)."""

    def __init__(self, message: str | None = None, *, field: Path | None = None) -> None:
        if message is not None:
            self.message = message
        self.field = field
        super().__init__(self.message)


class Unauthenticated(GatewayError):
    """The credential is missing or not valid; the message never says which part was wrong."""

    status = 401
    code = "UNAUTHENTICATED"
    message = "Valid credential required"


class OrganizationRequired(GatewayError):
    """The operation acts in an organization and the request names none (specification 5.6, part 7)."""

    status = 400
    code = "ORGANIZATION_REQUIRED"
    message = "Active organization required"


class OrganizationHeader(GatewayError):
    """An organization key is bound to its organization and takes no header (specification 5.5)."""

    status = 400
    code = "ORGANIZATION_NOT_ACCEPTED"
    message = "X-Service-Org is not accepted with an organization key"


class BadRequest(GatewayError):
    """The request is none of the kind that the address takes."""

    status = 400
    code = "BAD_REQUEST"


class DocumentRefused(GatewayError):
    """The GraphQL request is well formed, and its document is not one that may be run: a GraphQL request error."""

    status = 400
    code = "PERSISTED_QUERY_ID_REQUIRED"
    message = "Only registered documents are run here: send documentId in place of query"


class DocumentNotFound(DocumentRefused):
    """The identifier leads to no document."""

    code = "DOCUMENT_NOT_FOUND"
    message = "No document is registered under this identifier"


class PersistedQueryNotFound(DocumentRefused):
    """The hash leads to no document yet; code and words are those by which Apollo's clients send it again."""

    code = "PERSISTED_QUERY_NOT_FOUND"
    message = "PersistedQueryNotFound"


class LimitExceeded(GatewayError):
    """A GraphQL document is beyond one of the limits on documents, which is named (decision 85)."""

    status = 400
    code = "LIMIT_EXCEEDED"

    def __init__(self, limit: str, maximum: int, message: str) -> None:
        super().__init__(message)
        self.limit = limit
        self.maximum = maximum


@dataclass(frozen=True, slots=True)
class CostLine:
    """The cost of one place of an operation, what is below it left out."""

    path: str
    cost: int


class CostExceeded(GatewayError):
    """A GraphQL operation may cost more than one may, or give more nodes (decision 86)."""

    status = 400
    code = "COST_EXCEEDED"

    def __init__(self, message: str, requested: int, limit: int, heaviest: Sequence[CostLine]) -> None:
        super().__init__(message)
        self.requested = requested
        self.limit = limit
        self.heaviest = tuple(heaviest)


class OrganizationMismatch(GatewayError):
    """X-Service-Org names an organization that the caller is not in (specification 5.10)."""

    status = 403
    code = "ORGANIZATION_MISMATCH"
    message = "Organization mismatch"


class Forbidden(GatewayError):
    """The caller holds no scope of the group."""

    status = 403
    code = "FORBIDDEN"
    message = "Insufficient permissions"

    def __init__(self, group: ScopeGroup, granted: frozenset[str]) -> None:
        super().__init__()
        self.required_scopes: list[str] = sorted(group.value)
        self.granted_scopes: list[str] = sorted(granted)


class NotInPerson(GatewayError):
    """Neither an organization key nor an exchanged token touches what belongs to its owner alone (decision 154)."""

    status = 403
    code = "FORBIDDEN"
    message = "User tokens are managed with a session or a user token, not with an organization key or exchanged token"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with the input: where (a path into the operation's arguments), what, and its kind.

    `names` are the fields that the message ends with, which each surface writes as it calls them (decision 214).
    """

    path: Path
    message: str
    type: str = "value_error"
    names: tuple[str, ...] = ()

    def words(self, written: Callable[[str], str] = str) -> str:
        """The message with the names in it."""
        return f"{self.message} {', '.join(map(written, self.names))}" if self.names else self.message


class Problems(GatewayError):
    """Everything that is wrong with the input, found in one pass."""

    status = 422
    code = "VALIDATION"
    message = "Validation error"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{'.'.join(map(str, p.path))}: {p.words()}" for p in problems))


class AnalyticsRefused(GatewayError):
    """The guard does not let a statement through: which layer, why, and where in the text, counted from 1."""

    status = 422
    code = "ANALYTICS_REFUSED"

    def __init__(self, layer: GuardLayer, reason: str, line: int | None = None, column: int | None = None) -> None:
        place = "" if line is None else f" (line {line}, column {column})"
        super().__init__(f"{layer.value}: {reason}{place}", field=("sql",))
        self.layer = layer
        self.reason = reason
        self.line = line
        self.column = column


class AnalyticsFailed(GatewayError):
    """The database refuses what the guard let through; the words are ours and quote no value."""

    status = 422
    code = "ANALYTICS_FAILED"

    def __init__(self, message: str) -> None:
        super().__init__(message, field=("sql",))


class NotFound(GatewayError):
    """The operation names what does not exist in this organization; another organization's id is a missing id."""

    status = 404
    code = "NOT_FOUND"
    message = "Not found"


class InvalidState(GatewayError):
    """The record's state does not allow the operation."""

    status = 409
    code = "INVALID_STATE"
    message = "The record's state does not allow this"


class Conflict(GatewayError):
    """Another record stands in the way."""

    status = 409
    code = "CONFLICT"


class KeyInUse(Conflict):
    """The request that was begun under this idempotency key has not ended yet."""

    message = "A request with this Idempotency-Key is still under way"


class Proposed(Conflict):
    """The write was only to be looked at, and is not made (decision 501); no client sees it."""

    message = "Nothing was written: it is proposed"


class Duplicate(GatewayError):
    """There is a record of this name or key already."""

    status = 409
    code = "DUPLICATE"


class Gone(GatewayError):
    """The thing asked for was there, and is kept no longer; `location` is where what is left of it is."""

    status = 410
    code = "GONE"

    def __init__(self, message: str, location: str, place: str = "") -> None:
        """`place` is the name under which the body has the location, too."""
        super().__init__(message)
        self.location = location
        self.place = place


class Expired(GatewayError):
    """The thing asked for has come to its end by time."""

    status = 410
    code = "GONE"


class CursorExpired(GatewayError):
    """The change log does not have what comes next any more (decision 1005)."""

    status = 410
    code = "CURSOR_EXPIRED"
    message = "What follows this cursor is not kept any more; begin without one"


class PreconditionFailed(GatewayError):
    """The caller's version of the record is stale."""

    status = 412
    code = "PRECONDITION_FAILED"
    message = "The record has changed since it was read"


class ResponseTooLarge(GatewayError):
    """The answer is over the limit; what a mutation did stands (decision 87)."""

    status = 413
    code = "RESPONSE_TOO_LARGE"
    message = "The answer is larger than 5 MB; ask for fewer rows or fields"


class TooManyStreams(GatewayError):
    """As many subscriptions run as one connection, one caller or one process may have (decisions 81 and 107)."""

    status = 429
    code = "TOO_MANY_STREAMS"
    message = "Too many subscriptions at once"


class TooManyRuns(GatewayError):
    """As many questions or statements run or wait as a caller, an organization or a process may have."""

    status = 429
    code = "TOO_MANY_RUNS"
    message = "Too many questions or statements at once"
    retry_after = 1


class MailsSpent(GatewayError):
    """The organization has had its messages of this day, which ends at midnight UTC (decision 863)."""

    status = 429
    code = "MAILS_SPENT"

    def __init__(self, most: int = 0, retry_after: int = 1) -> None:
        super().__init__(f"An organization may have {most} messages sent on a day, and these were")
        self.retry_after = retry_after


class RateLimited(GatewayError):
    """The caller's budget does not reach for the operation now; the first two numbers are points (decision 100)."""

    status = 429
    code = "RATE_LIMITED"
    message = "The budget of this member is used up for now"

    def __init__(
        self, requested: int = 0, available: int = 0, retry_after: int = 1, *, of_organization: bool = False
    ) -> None:
        super().__init__("The budget of this organization is used up for now" if of_organization else None)
        self.requested = requested
        self.available = available
        self.retry_after = retry_after


class AnonymousLimited(RateLimited):
    """The budget of an address for what comes without a credential is used up (decision 147)."""

    message = "The budget of this address for requests without a credential is used up for now; show a credential"


class AuthenticationLimited(GatewayError):
    """Too many credentials were refused that came from the same address, and this one is not known (decision 103)."""

    status = 429
    code = "AUTHENTICATION_LIMITED"
    message = "Too many failed authentications; try again later"

    def __init__(self, retry_after: int = 1) -> None:
        super().__init__()
        self.retry_after = retry_after


class NotConfigured(GatewayError):
    """The operator has not set up what the operation needs."""

    status = 501
    code = "NOT_CONFIGURED"


class ProviderFailed(GatewayError):
    """An outside provider refused, failed, or could not be reached."""

    status = 502
    code = "PROVIDER_ERROR"


class Unavailable(GatewayError):
    """Something needed cannot be reached; trying again later is right."""

    status = 503
    code = "UNAVAILABLE"
    message = "Temporarily unavailable"
    retry_after = 1


class TimedOut(GatewayError):
    """The request, or one statement of it, took longer than it may; asking for less is right (decision 87)."""

    status = 504
    code = "TIMEOUT"
    message = "This takes too long; ask for less at once"


class Overloaded(Unavailable):
    """As many requests are being served as may, or as many of the caller's organization (decision 107)."""

    message = "Too many requests at once"
