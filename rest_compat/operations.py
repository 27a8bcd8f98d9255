"""Defines a documented path: who may, what it takes, what it answers. The table of them is in routes.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from contract.errors import Path
from identity.principal import Principal
from providers.artifacts import Pieces
from resolvers.access import Rule, rule_of
from resolvers.context import Context
from resolvers.inputs import Input
from rest_compat.documents import Document
from transport.readiness import Readiness


class Metering(Protocol):
    """Charges the request to its caller; the driver does it itself where the caller stands in the headers."""

    async def charge(self, principal: Principal, points: int) -> None:
        """Take the points. Raises RateLimited."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, checked: `query` and `body` are instances of the operation's models.

    Header names in `headers` are lower case. `form` is None where the request carries no form. `address` is where the
    request came from.
    """

    ctx: Context
    headers: Mapping[str, str]
    path: Mapping[str, str]
    query: Any
    body: Any
    form: Mapping[str, str] | None
    root_path: str
    readiness: Readiness
    address: str
    meter: Metering


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to send: a JSON value, or bytes that are JSON already, or None for no body; the operation's own status
    unless another is named. A `stream` takes the content's place: it is opened where its bytes are wanted, which those
    of an answer to HEAD are not, and closed whatever becomes of them; type and length stand in the headers.
    """

    content: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int | None = None
    stream: Callable[[], Awaitable[Pieces]] | None = None


Handler = Callable[[Call], Awaitable[Answer]]

HIDDEN = frozenset({"expected_version"})
"""Fields of the inputs that no body carries: here a version is said by If-Match."""


@dataclass(frozen=True)
class Operation:
    """A method on a path.

    `resolver` is the guarded function that the handler calls: its rule is enforced before anything of the request but
    its headers is read. Without one the operation is public. Where a body is not required, none is an empty object.
    `dropped` are fields of the body that are checked and not kept. `form` lets a body be a form, which the handler
    reads. The rest is for the description: `example` is one of the body, where examples.py has none; `answer` is a
    record's document or names a schema of schemas.py (`many` of them in an array), `files` the media types of a file
    that takes an answer's place, `twin` the GraphQL field that does the same, `errors` what it can answer beside what
    follows from the rest.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    resolver: Any = None
    status: int = 200
    query: type[Input] | None = None
    body: type[Input] | None = None
    body_required: bool = True
    dropped: frozenset[str] = frozenset()
    example: Mapping[str, Any] | None = None
    form: type[Input] | None = None
    answer: str | Document | None = None
    many: bool = False
    files: tuple[str, ...] = ()
    twin: str | None = None
    description: str = ""
    request_headers: tuple[str, ...] = ()
    response_headers: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()

    @cached_property
    def rule(self) -> Rule | None:
        """The rule that says who may; None for everybody."""
        return None if self.resolver is None else rule_of(self.resolver)

    @cached_property
    def writes(self) -> bool:
        """Whether it takes an idempotency key."""
        return self.rule is not None and self.rule.writes

    @cached_property
    def path_parameters(self) -> tuple[str, ...]:
        """The names in braces, in their order."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @cached_property
    def query_parameters(self) -> frozenset[str]:
        """The names that the query string may carry."""
        if self.query is None:
            return frozenset()
        return frozenset(info.alias or name for name, info in self.query.model_fields.items())

    def locate(self, path: Path) -> Path:
        """Says where in the request the resolver's argument came from: `loc` of a 422."""
        if not path:
            return ("body",)
        first, *rest = path
        if first == "header":
            return path
        if first == "input":
            return ("body", *rest)
        if first in self.path_parameters:
            return ("path", *path)
        if first == "id" and self.path_parameters:
            return ("path", self.path_parameters[0], *rest)
        return ("query" if first in self.query_parameters else "body", *path)
