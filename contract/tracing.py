"""Says what runs now, to whoever traces: a port, with a library behind it only while CRM_OTEL is on (decision 880).

While it is off nothing runs by this account, and to ask costs the reading of a variable. A fact is a word of the
service, a number or an identifier: never a value, a text or an address of a customer.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from enum import Enum, auto
from types import MappingProxyType, TracebackType
from typing import Final, Protocol

Fact = str | int | float | bool
Facts = Mapping[str, Fact | None]
"""Facts by their names; None is one that nobody found out."""

TRACEPARENT: Final = "traceparent"
"""The header, and the argument of a job, that says within which span a piece of work was asked for (W3C)."""
NO_FACTS: Final[Facts] = MappingProxyType({})


class SpanKind(Enum):
    """Says how a span stands to what is around it: within it, a request to be served, a call to others, a job."""

    WITHIN = auto()
    SERVED = auto()
    CALL = auto()
    JOB = auto()


class Span(Protocol):
    """A piece of work that is traced; as a context manager it ends with its block, and notes what that raises."""

    @property
    def traceparent(self) -> str:
        """The place in the trace, as W3C writes it."""

    @property
    def is_live(self) -> bool:
        """Says whether it is recorded and has not ended."""

    def child(self, name: str, kind: SpanKind = SpanKind.WITHIN, facts: Facts = NO_FACTS) -> "Span":
        """Begin a piece of this work, which is what runs now until it ends."""

    def past(self, name: str, seconds: float, facts: Facts = NO_FACTS) -> None:
        """Tell of a call that has just ended, and took so long."""

    def rename(self, name: str) -> None:
        """Call it by what was found out about it."""

    def note(self, facts: Facts) -> None:
        """Add facts."""

    def fail(self, error: BaseException | None = None) -> None:
        """Note what ended it, its code or its type, and none of its words; without it, only that it is an error."""

    def end(self) -> None:
        """It has ended; what is around it is what runs now."""

    def __enter__(self) -> "Span": ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Tracer(Protocol):
    """Begins spans that are within nothing of this process."""

    def root(
        self,
        name: str,
        kind: SpanKind,
        facts: Facts = NO_FACTS,
        *,
        parent: str | None = None,
        linked: str | None = None,
    ) -> Span:
        """Begin a piece of work, which is what runs now until it ends.

        `parent` is the traceparent of what asked for it, wherever that runs, `linked` that of what it only follows
        from; one that is none is left aside.
        """


running: ContextVar[Span | None] = ContextVar("span", default=None)
"""What runs now, for those that begin and end it."""
current = running.get
"""Returns what runs now, if it is traced."""


def ids_of(span: Span) -> dict[str, str]:
    """The trace and the span by the names that log lines have for them."""
    _, trace_id, span_id, _ = span.traceparent.split("-")
    return {"trace_id": trace_id, "span_id": span_id}
