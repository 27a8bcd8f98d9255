"""Defines what a client asked, and what it gets: the two ends of the executor."""

from collections.abc import Callable
from dataclasses import dataclass, field

from schema.execution.documents import Document, Operation, Refused
from schema.execution.values import Value


@dataclass(slots=True)
class Request:
    """The request of a client: a text, and what goes with it."""

    query: str
    variables: dict[str, Value] | None = None
    operation_name: str | None = None
    key: str | None = None
    """The idempotency key in its extensions."""
    anonymous_address: str | None = None
    """The address of a caller without a credential; None for a member."""
    read_after: str | None = None
    """The position in its extensions that its reads have to have reached."""
    accepted: Callable[[], None] | None = field(default=None, compare=False, repr=False)
    """Called once the document is seen to be one that a caller without a credential may run."""
    document: Document | Refused | None = field(default=None, compare=False, repr=False)
    """The document, once it was read."""
    operation: Operation | None = field(default=None, compare=False, repr=False)
    """The operation of that document which is asked for, where there is one."""
    answer: bytes | None = field(default=None, compare=False, repr=False)
    """The data of its answer, where that is the same for everybody."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer's body, and what its transport needs to know: did it run, and was a credential wanting."""

    body: dict[str, Value]
    executed: bool
    needs_credential: bool = False
