"""Spans of what leaves the process: statements of the database, by name and digest, and calls of other services."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from contract.tracing import Facts, SpanKind, Tracer, current
from gateway.observability.statement_times import StatementTimes
from providers.calls import Call, Calls
from storage.statements import CompiledStatement


class TracedStatements(StatementTimes):
    """Tells of each statement within a request or a job; what looks for work every moment belongs to neither."""

    def __init__(self, slow_seconds: float, system: str) -> None:
        """`system` is the kind of the database."""
        super().__init__(slow_seconds)
        self._system = system

    def __call__(self, statement: CompiledStatement, seconds: float, failed: type[BaseException] | None) -> None:
        """Note the time of a statement, and what it raised, if it did."""
        super().__call__(statement, seconds, failed)
        span = current()
        if span is not None and span.is_live:
            facts: Facts = {
                "db.system.name": self._system,
                "db.query.summary": statement.summary,
                "crm.statement.digest": statement.digest,
                "error.type": None if failed is None else failed.__name__,
            }
            span.past(statement.summary, seconds, facts)


@dataclass(frozen=True, slots=True)
class TracedCalls(Calls):
    """Has each call be a span, with the provider's name and how it ended: no address, nothing of what was said."""

    tracer: Tracer | None = None

    @contextmanager
    def one(self, provider: str) -> Iterator[Call]:
        """Watch a call."""
        name, facts = f"call {provider}", {"crm.provider": provider}
        around = current()
        if around is not None:
            span = around.child(name, SpanKind.CALL, facts)
        elif self.tracer is not None:
            span = self.tracer.root(name, SpanKind.CALL, facts)
        else:
            raise RuntimeError("calls are traced without a tracer")
        call: Call | None = None
        with span:
            try:
                with Calls.one(self, provider) as call:
                    yield call
            finally:
                if call is not None:
                    span.note({"crm.outcome": call.outcome})
