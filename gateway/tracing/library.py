"""The one way to OpenTelemetry, imported only where CRM_OTEL is on: spans, and their way out of the process.

The provider is this service's own and never the global one, so that no other library adds spans whose facts nobody
here has looked at. Of what comes in, `traceparent` alone is read (decision 881).
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from contextvars import Token
from types import TracebackType
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from contract import tracing
from contract.errors import GatewayError
from contract.limits import VERSION
from contract.tracing import NO_FACTS, Fact, Facts, SpanKind

_log = logging.getLogger(__name__)

SPANS_MAX: Final = 1_000
"""Spans that one request, job or event of a subscription may have."""
FLUSH_SECONDS: Final = 1.5
"""How long the end of the process waits for the last spans to be taken."""
_SERVICE: Final = "crm-gateway"
_NANO: Final = 1_000_000_000
_KINDS: Final = {
    SpanKind.WITHIN: trace.SpanKind.INTERNAL,
    SpanKind.SERVED: trace.SpanKind.SERVER,
    SpanKind.CALL: trace.SpanKind.CLIENT,
    SpanKind.JOB: trace.SpanKind.CONSUMER,
}
_FAILED: Final = trace.Status(trace.StatusCode.ERROR)
_HEADERS: Final = TraceContextTextMapPropagator()


class _Room:
    """Holds what the spans below one root have in common: who begins them, and how many there may still be."""

    __slots__ = ("left", "left_out", "tracer")

    def __init__(self, tracer: trace.Tracer) -> None:
        self.tracer = tracer
        self.left = SPANS_MAX - 1
        self.left_out = 0

    def take(self) -> bool:
        """Says whether there may be another span, which is counted, too, where there may not."""
        if self.left:
            self.left -= 1
            return True
        self.left_out += 1
        return False


class Span:
    """A span of the library, and those below it."""

    __slots__ = ("_is_root", "_room", "_span", "_token")

    def __init__(self, span: trace.Span, room: _Room, *, is_root: bool = False) -> None:
        self._span = span
        self._room = room
        self._is_root = is_root
        self._token: Token[tracing.Span | None] | None = tracing.running.set(self)

    @property
    def traceparent(self) -> str:
        """The place in the trace, as W3C writes it."""
        context = self._span.get_span_context()
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"

    @property
    def is_live(self) -> bool:
        """Says whether it is recorded and has not ended."""
        return self._span.is_recording()

    def child(self, name: str, kind: SpanKind = SpanKind.WITHIN, facts: Facts = NO_FACTS) -> tracing.Span:
        """Begin a piece of this work; where there are too many, one that is counted and not told."""
        if not self._room.take():
            return _LeftOut(self)
        around = trace.set_span_in_context(self._span)
        span = self._room.tracer.start_span(name, around, _KINDS[kind], _known(facts))
        return Span(span, self._room)

    def past(self, name: str, seconds: float, facts: Facts = NO_FACTS) -> None:
        """Tell of a call that has just ended, and took so long."""
        if not self._room.take():
            return
        end = time.time_ns()
        around = trace.set_span_in_context(self._span)
        begin = end - int(seconds * _NANO)
        self._room.tracer.start_span(name, around, trace.SpanKind.CLIENT, _known(facts), start_time=begin).end(end)

    def rename(self, name: str) -> None:
        """Call it by what was found out about it."""
        self._span.update_name(name)

    def note(self, facts: Facts) -> None:
        """Add facts."""
        self._span.set_attributes(_known(facts))

    def fail(self, error: BaseException | None = None) -> None:
        """Note the code of a refusal, or the type of an error and that it is one; being cancelled is none."""
        if isinstance(error, GatewayError):
            self._span.set_attribute("error.type", error.code)
            return
        if error is not None:
            self._span.set_attribute("error.type", type(error).__name__)
        if error is None or isinstance(error, Exception):
            self._span.set_status(_FAILED)

    def end(self) -> None:
        """It has ended, and is what runs no more; a second time nothing happens."""
        token, self._token = self._token, None
        if token is None:
            return
        if self._is_root and self._room.left_out:
            self._span.set_attribute("crm.spans.left_out", self._room.left_out)
        self._span.end()
        with suppress(ValueError):  # the work was closed by somebody else, where this never ran
            tracing.running.reset(token)

    def __enter__(self) -> "Span":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self.fail(error)
        self.end()


class _LeftOut:
    """Stands for a span too many; whatever is below it is left out as well."""

    __slots__ = ("_around", "_token")

    is_live = False

    def __init__(self, around: Span) -> None:
        self._around = around
        self._token: Token[tracing.Span | None] | None = tracing.running.set(self)

    @property
    def traceparent(self) -> str:
        """That of the span around it."""
        return self._around.traceparent

    def child(self, name: str, kind: SpanKind = SpanKind.WITHIN, facts: Facts = NO_FACTS) -> tracing.Span:
        return self._around.child(name, kind, facts)

    def past(self, name: str, seconds: float, facts: Facts = NO_FACTS) -> None: ...

    def rename(self, name: str) -> None: ...

    def note(self, facts: Facts) -> None: ...

    def fail(self, error: BaseException | None = None) -> None: ...

    def end(self) -> None:
        token, self._token = self._token, None
        if token is not None:
            with suppress(ValueError):
                tracing.running.reset(token)

    def __enter__(self) -> "_LeftOut":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()


class Tracer:
    """Begins the spans of one process, and gives them to whoever takes them."""

    def __init__(self, exporter: SpanExporter | None, *, at_once: bool = False) -> None:
        """`at_once` has each span exported when it ends, by whoever ends it: for tests."""
        self._provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        self._tracer = self._provider.get_tracer(_SERVICE, VERSION)
        if exporter is not None:
            made = SimpleSpanProcessor(exporter) if at_once else BatchSpanProcessor(_Watched(exporter))
            self._provider.add_span_processor(made)

    def root(
        self,
        name: str,
        kind: SpanKind,
        facts: Facts = NO_FACTS,
        *,
        parent: str | None = None,
        linked: str | None = None,
    ) -> tracing.Span:
        """Begin a piece of work that is within nothing of this process."""
        around = _HEADERS.extract({} if parent is None else {tracing.TRACEPARENT: parent}, Context())
        links = [] if linked is None else _links(linked)
        span = self._tracer.start_span(name, around, _KINDS[kind], _known(facts), links)
        return Span(span, _Room(self._tracer), is_root=True)

    def close(self) -> None:
        """Have the last spans taken, for as long as the end of a process may wait; in a thread of its own.

        The library would wait for half a minute, and a thread that is not a daemon would hold the process.
        """
        ending = threading.Thread(target=self._provider.shutdown, name="traces-end", daemon=True)
        ending.start()
        ending.join(FLUSH_SECONDS)


class _Watched(SpanExporter):
    """Says once that spans are not taken, and once that they are again, in place of the library's lines for each."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self._is_in_trouble = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Have them taken; what is not taken is lost, and never waited for by a request."""
        try:
            result = self._inner.export(spans)
        except Exception:  # whatever the way out does, spans go on
            result = SpanExportResult.FAILURE
        failed = result is not SpanExportResult.SUCCESS
        if failed != self._is_in_trouble:
            self._is_in_trouble = failed
            if failed:
                _log.warning("traces are not taken, and are lost meanwhile; OTEL_EXPORTER_OTLP_ENDPOINT says where to")
            else:
                _log.info("traces are taken again")
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


def exporter() -> SpanExporter | None:
    """The way out that OTEL_TRACES_EXPORTER names: `otlp` unless set, `console` (stderr) or `none`."""
    match os.environ.get("OTEL_TRACES_EXPORTER") or "otlp":
        case "console":
            return ConsoleSpanExporter(out=sys.stderr)
        case "none":
            return None
    return OTLPSpanExporter()


def _resource() -> Resource:
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create({"service.version": VERSION} | ({} if named else {"service.name": _SERVICE}))


def _links(linked: str) -> list[trace.Link]:
    found = trace.get_current_span(_HEADERS.extract({tracing.TRACEPARENT: linked}, Context()))
    context = found.get_span_context()
    return [trace.Link(context)] if context.is_valid else []


def _known(facts: Facts) -> dict[str, Fact]:
    return {name: value for name, value in facts.items() if value is not None}
