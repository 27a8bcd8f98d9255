"""Holds what is known of one request, filled in by all that find it out: its log line and counts are made of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from contract.errors import GatewayError
from identity.principal import Principal

Answer = Mapping[str, Any]  # JSON, whose values follow from a GraphQL document
"""An answer of the GraphQL surface."""


@dataclass(slots=True)
class RequestLog:
    """One request, or one operation on a socket (decision 122).

    `operation` and `code` are words of the service, few enough to count by: a documented path with its method, the kind
    and root field of a GraphQL operation; the code of the refusal, or of the first error. `name` is what the client
    calls its operation, `cost` the points that it came to. Empty and None is what nobody found out.
    """

    request_id: str
    surface: str
    operation: str = ""
    name: str | None = None
    principal: Principal | None = None
    cost: int | None = None
    code: str = ""
    status: int = 0
    """The status of the answer, once it has begun."""
    on_begin: Callable[[int], None] | None = None
    """Told the status when the answer begins."""

    @property
    def caller(self) -> str:
        """The kind of the credential, or `anonymous`."""
        return "anonymous" if self.principal is None else self.principal.kind.value

    @property
    def organization(self) -> str | None:
        active = None if self.principal is None else self.principal.organization
        return None if active is None else active.id

    def begin(self, status: int) -> None:
        """Note that the answer begins."""
        self.status = status
        if self.on_begin is not None:
            self.on_begin(status)

    def refused(self, error: GatewayError) -> None:
        """Note a GraphQL answer that is a refusal, with its cost where that is not known yet."""
        self.code = error.code
        if self.cost is None and error.extensions:
            self.cost = error.extensions["cost"]["actual"]

    def answered(self, body: Answer) -> None:
        """Note what a GraphQL answer says: its cost, and the code of its first error."""
        errors = body.get("errors")
        if errors:
            self.code = errors[0]["extensions"]["code"]
        said = body.get("extensions")
        if said and (cost := said.get("cost")):
            self.cost = (self.cost or 0) + cost["actual"]
