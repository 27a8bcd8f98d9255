"""A collector on loopback that takes spans as OTLP over HTTP, and a tracker of errors that takes Sentry's envelopes."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Told:
    """A span as it came, its identifiers in hexadecimal digits; `parent` is empty for a root."""

    name: str
    kind: int
    trace: str
    id: str
    parent: str
    facts: dict[str, Any]
    links: list[str]
    status: int
    seconds: float
    service: str


@dataclass
class Receiver:
    """What came, and how it is answered."""

    address: str = ""
    bodies: list[bytes] = field(default_factory=list)
    status: int = 200
    came: threading.Event = field(default_factory=threading.Event)

    @property
    def spans(self) -> list[Told]:
        """Every span that came."""
        found = []
        for body in list(self.bodies):
            asked = ExportTraceServiceRequest()
            asked.ParseFromString(body)
            for resource in asked.resource_spans:
                service = {a.key: a.value.string_value for a in resource.resource.attributes}["service.name"]
                for scope in resource.scope_spans:
                    found += [_told(span, service) for span in scope.spans]
        return found

    @property
    def events(self) -> list[dict[str, Any]]:
        """Every event of the envelopes that came."""
        found = []
        for body in list(self.bodies):
            lines = body.split(b"\n")
            for head, item in pairwise(lines[1:]):
                if head.startswith(b"{") and json.loads(head).get("type") == "event":
                    found.append(json.loads(item))
        return found

    def wait(self, until: Callable[[], bool], seconds: float = 30.0) -> None:
        """Wait until it is so."""
        waiting = threading.Event()
        for _ in range(int(seconds / 0.02)):
            if until():
                return
            waiting.wait(0.02)
        raise AssertionError("it did not come")


def _told(span: Any, service: str) -> Told:
    facts = {a.key: getattr(a.value, str(a.value.WhichOneof("value"))) for a in span.attributes}
    seconds = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9
    ids = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
    links = [link.span_id.hex() for link in span.links]
    return Told(span.name, span.kind, *ids, facts, links, span.status.code, seconds, service)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver of whatever is sent by POST, unpacked."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            coding = self.headers.get("Content-Encoding", "")
            if coding:
                body = gzip.decompress(body) if coding == "gzip" else zlib.decompress(body)
            receiver.bodies.append(body)
            receiver.came.set()
            self.send_response(receiver.status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def tree_of(spans: list[Told]) -> str:
    """The spans as a tree of names."""
    known = {span.id for span in spans}
    below: dict[str, list[Told]] = {}
    for span in spans:
        below.setdefault(span.parent if span.parent in known else "", []).append(span)

    def lines(parent: str, depth: int) -> Iterator[str]:
        for span in below.get(parent, ()):
            yield f"{'  ' * depth}{span.name}"
            yield from lines(span.id, depth + 1)

    return "\n".join(lines("", 0))
