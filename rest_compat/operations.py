"""Defines an operation, a method on a path: who may call it, what it takes, what it answers. routes.py lists them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from starlette.types import Receive

from contract.errors import Path
from identity.principal import Principal
from providers.artifacts import Pieces
from resolvers.shared.access import Rule, rule_of
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input
from rest_compat.documents import Document
from rest_compat.parameters import repeatable
from transport.readiness import Readiness


class Metering(Protocol):
    """Charges the request to its caller; serving.py does it where the headers say who calls."""

    async def charge(self, principal: Principal, points: int) -> None:
        """Charges the points. Raises RateLimited."""


@dataclass(frozen=True, slots=True)
class RestRequest:
    """Has what a handler needs of a request, checked: `query` and `body` are instances of the operation's models.

    Header names in `headers` are lower case. `form` is None where the request carries no form. `address` is where the
    request came from. `receive` gives the body where the operation says that its handler reads it.
    """

    ctx: Context
    headers: Mapping[str, str]
    path: Mapping[str, str]
    query: Any  # Any: an instance of the model that the operation names
    body: Any  # Any: the same
    form: Mapping[str, str] | None
    root_path: str
    readiness: Readiness
    address: str
    meter: Metering
    receive: Receive


@dataclass(frozen=True, slots=True)
class RestResponse:
    """Has the response: a JSON value, or bytes that are JSON already, or None for no body; the operation's own status
    unless another is named. A `stream` takes the content's place: it is opened where its bytes are wanted, which those
    of an answer to HEAD are not, and closed whatever becomes of them; type and length stand in the headers. `events`
    take it too: each is sent as it comes, for as long as there are some.
    """

    content: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int | None = None
    stream: Callable[[], Awaitable[Pieces]] | None = None
    events: AsyncIterator[bytes] | None = None
    closed: bytes = b""
    """Ends events that end before they are over: the credential fell, or the service ends."""


Handler = Callable[[RestRequest], Awaitable[RestResponse]]
Resolver = Callable[..., Awaitable[Any]]  # Any: its parameters and what it gives are its own

HIDDEN = frozenset({"expected_version"})
"""Fields of the inputs that no body carries: here a version is said by If-Match."""


@dataclass(frozen=True, slots=True)
class RawBody:
    """Describes a body that is no JSON: its media type, the most bytes that it may have, and how its text looks."""

    media_type: str
    most: int
    example: str
    pattern: str


@dataclass(frozen=True)
class RestOperation:
    """Declares a method on a path.

    `resolver` is the guarded function that the handler calls: its rule is enforced before anything of the request but
    its headers is read. Without one the operation is public. One that `is_heavy` keeps the database busier than its
    rows say, and makes way for others (decision 994). Where a body is not required, none is an empty object.
    A body with `listed` is an array, which is the value of that field of its model.
    One that `takes_key` knows the idempotency key itself; others that write are made once under it. `seconds` is how
    long its handler may take, where that is longer than others may.
    `kept_as` gives the input of the record that the path names, where the body takes those of several types: what is
    wrong with the body is completed by that one.
    `dropped` are fields of the body that are checked and not kept. `reads` are the media types of a body that the
    handler reads as it comes. `always` are headers of every answer on the path. `form` lets a body be a form, which the
    handler reads; with `raw` it is bytes of one type. The rest is for the description: `example` is one of the body,
    where examples.py has none;
    `answer` is a record's document or names a schema of schemas.py (`many` of them in an array), `files` the media
    types of a file that takes an answer's place, `streams` those of events that do, which go on while the
    operation's rule lets the caller through where they are said to outlive a loss of other scopes, `accepted` the
    status of the answer that has no events, where that is another one, `empty` that of one without content where
    there may be one, `twin` the GraphQL field that does the same,
    `errors` what it can answer beside what follows from the rest. `operation_id` is what a client's generator calls
    it: the handler's module and name unless told.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    resolver: Resolver | None = None
    is_heavy: bool = False
    status: int = 200
    query: type[Input] | None = None
    body: type[Input] | None = None
    body_required: bool = True
    kept_as: Callable[[Context, Mapping[str, str]], Awaitable[type[Input]]] | None = None
    dropped: frozenset[str] = frozenset()
    listed: str | None = None
    example: Mapping[str, object] | None = None
    form: type[Input] | None = None
    raw: RawBody | None = None
    reads: tuple[str, ...] = ()
    always: Mapping[str, str] = field(default_factory=dict)
    answer: str | Document | None = None
    many: bool = False
    files: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    outlives: bool = False
    accepted: int | None = None
    empty: int | None = None
    takes_key: bool = False
    seconds: float | None = None
    graphql_field: str | None = None
    description: str = ""
    request_headers: tuple[str, ...] = ()
    response_headers: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    operation_id: str = ""

    @cached_property
    def rule(self) -> Rule | None:
        """Returns the rule that says who may; None for everybody."""
        return None if self.resolver is None else rule_of(self.resolver)

    @cached_property
    def writes(self) -> bool:
        """Tells whether it takes an idempotency key."""
        return self.rule is not None and self.rule.writes

    @cached_property
    def follows(self) -> bool:
        """Tells whether a replica may answer its reads: it only reads, and is over with its answer."""
        return self.rule is not None and not self.writes and not self.streams

    @cached_property
    def path_parameters(self) -> tuple[str, ...]:
        """Returns the names in braces, in their order."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @cached_property
    def query_parameters(self) -> frozenset[str]:
        """Returns the names that the query string may carry."""
        return _names(self.query)

    @cached_property
    def repeatable_parameters(self) -> frozenset[str]:
        """Returns the names that the query string may carry several times."""
        return repeatable(self.query)

    @cached_property
    def body_fields(self) -> frozenset[str]:
        """Returns the names that the body may carry."""
        return _names(self.body)

    def locate(self, path: Path) -> Path:
        """Returns where in the request the resolver's argument came from: `loc` of a 422."""
        if not path:
            return ("body",)
        first, *rest = path
        if first == "header":
            return path
        if first == "input":
            return ("body", *rest)
        if first == self.listed:
            return ("body", *rest)
        if first in self.path_parameters:
            return ("path", *path)
        if first == "id" and self.path_parameters:
            return ("path", self.path_parameters[0], *rest)
        return ("query" if first in self.query_parameters else "body", *path)


def _names(model: type[Input] | None) -> frozenset[str]:
    fields = {} if model is None else model.model_fields
    return frozenset(info.alias or name for name, info in fields.items())
