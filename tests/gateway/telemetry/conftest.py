"""Spans in memory, of an application that has the world's members and one of everything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gateway.tracing.library import Tracer


@dataclass
class Traces:
    """What a tracer was told, of the library's own kind."""

    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    tracer: Tracer = field(init=False)

    def __post_init__(self) -> None:
        self.tracer = Tracer(self.exporter, at_once=True)

    def taken(self) -> list[ReadableSpan]:
        """The spans that have ended since the last look."""
        spans = list(self.exporter.get_finished_spans())
        self.exporter.clear()
        return spans

    def tree(self) -> str:
        """These as a tree of names, in the order in which they began."""
        return drawn(self.taken())


def drawn(spans: list[ReadableSpan]) -> str:
    """Spans as a tree of names, in the order in which they began."""
    known = {span.context.span_id for span in spans}
    below: dict[int, list[ReadableSpan]] = {}
    for span in sorted(spans, key=lambda one: one.start_time or 0):
        parent = span.parent.span_id if span.parent is not None and span.parent.span_id in known else 0
        below.setdefault(parent, []).append(span)

    def lines(parent: int, depth: int) -> Iterator[str]:
        for span in below.get(parent, ()):
            yield f"{'  ' * depth}{span.name}"
            yield from lines(span.context.span_id, depth + 1)

    return "\n".join(lines(0, 0))


@pytest.fixture
def traces() -> Traces:
    return Traces()
