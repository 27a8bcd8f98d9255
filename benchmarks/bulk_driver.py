"""Measures bulk work: calls the gateway, watches its memory, and has another organization read meanwhile."""

from __future__ import annotations

import http.client
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.asking import Request
from benchmarks.contestants import Contestant
from benchmarks.cores import family
from benchmarks.measure import Load

CHUNK = 1024 * 1024
_OTHERS = "/deals?limit=20"
_PATIENCE = 600


@dataclass(slots=True)
class Figures:
    """The figures of a run, each with its bound; some are only told."""

    lines: list[tuple[str, float, str, bool | None]] = field(default_factory=list)

    def told(self, label: str, value: float) -> None:
        """Add a figure without a bound."""
        self._add(label, value, "", None)

    def at_most(self, label: str, value: float, bound: float) -> None:
        """Add a figure that must not be larger."""
        self._add(label, value, f"at most {bound:g}", value <= bound)

    def at_least(self, label: str, value: float, bound: float) -> None:
        """Add a figure that must not be smaller."""
        self._add(label, value, f"at least {bound:g}", value >= bound)

    def _add(self, label: str, value: float, bound: str, is_met: bool | None) -> None:
        self.lines.append((label, value, bound, is_met))
        mark = {True: "ok", False: "MISSED", None: ""}[is_met]
        print(f"  {label:62} {value:12,.2f}  {bound:18} {mark}", flush=True)


@dataclass(slots=True)
class Caller:
    """One organization's caller, over a connection that stays open."""

    contestant: Contestant
    organization: str
    _connection: http.client.HTTPConnection | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """Make the headers of a request of the organization."""
        return self.contestant.headers.get(self.organization, {})

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any, bytes]:
        """Ask, and read the answer: its status, its headers, its body."""
        given = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.contestant.port, timeout=_PATIENCE)
        self._connection.request(method, path, body, given)
        response = self._connection.getresponse()
        return response.status, response.headers, response.read()

    def json(self, method: str, path: str, body: object = None) -> Any:
        """Ask in JSON, for an answer that is a success. Raises RuntimeError for another."""
        raw = None if body is None else json.dumps(body).encode()
        status, _, content = self.send(method, path, raw, Content_Type="application/json")
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {content[:500]!r}")
        return json.loads(content) if content else None

    def field(self, document: str, **variables: object) -> Any:
        """Ask in GraphQL, for what the only field gives."""
        answer = self.json("POST", "/graphql", {"query": document, "variables": variables})
        [value] = answer["data"].values()
        return value

    def drained(self, path: str) -> tuple[float, float, int, int]:
        """Read an answer to its end: seconds to its first byte and to its last, its bytes, and its lines."""
        connection = http.client.HTTPConnection("127.0.0.1", self.contestant.port, timeout=_PATIENCE)
        try:
            begun = time.perf_counter()
            connection.request("GET", path, headers=dict(self.headers))
            response = connection.getresponse()
            if response.status != 200:
                raise RuntimeError(f"{path}: {response.status} {response.read()[:500]!r}")
            size = lines = 0
            first = 0.0
            while piece := response.read1(CHUNK):
                first = first or time.perf_counter() - begun
                size += len(piece)
                lines += piece.count(b"\n")
            return first, time.perf_counter() - begun, size, lines
        finally:
            connection.close()

    def done(self, path: str, ended: Callable[[Any], bool]) -> Any:
        """Ask until it has ended."""
        while not ended(found := self.json("GET", path)):
            time.sleep(0.05)
        return found


def milliseconds(work: Callable[[], object], times: int = 1) -> float:
    """The median of so many runs."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        taken.append((time.perf_counter() - begun) * 1_000)
    return statistics.median(taken)


def _resident(contestant: Contestant, name: str) -> float:
    texts = (Path(f"/proc/{pid}/status").read_text() for pid in family(contestant.pid))
    return sum(int(text.split(f"{name}:")[1].split()[0]) for text in texts) / 1024


@dataclass(slots=True)
class Beside:
    """The other organization: how long its page takes, and what the gateway weighs, idle and at work."""

    contestant: Contestant
    generator: Load
    organization: str
    figures: Figures
    seconds: float = 3.0

    def _median(self, seconds: float) -> float:
        request = Request("GET", _OTHERS, organization=self.organization)
        status, body = self.contestant.ask(request)
        if status != 200:
            raise RuntimeError(f"{_OTHERS}: {status} {body[:500]!r}")
        wire = [self.contestant.encoded(request)]
        how = {"seconds": seconds, "warm_up": 0.2, "connections": 1}
        return self.generator.measure(self.contestant, wire, [len(body)], 200, **how)["p50_ms"]

    @contextmanager
    def measured(self, label: str) -> Iterator[None]:
        """Measure the memory above idle that the work within takes."""
        idle = _resident(self.contestant, "VmRSS")
        for pid in family(self.contestant.pid):
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak begins anew
        yield
        self.figures.at_most(f"{label}: MiB over idle", _resident(self.contestant, "VmHWM") - idle, 50)

    def meanwhile(self, label: str, work: Callable[[], object]) -> None:
        """How much longer another organization's page takes while the work goes on, again and again."""
        alone = self._median(self.seconds)
        is_over = threading.Event()
        troubles: list[BaseException] = []

        def go_on() -> None:
            try:
                while not is_over.is_set():
                    work()
            except BaseException as error:
                troubles.append(error)

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            time.sleep(0.3)
            beside = self._median(self.seconds)
        finally:
            is_over.set()
            thread.join()
        if troubles:
            raise troubles[0]
        self.figures.told(f"{label}: another's page alone, ms", alone)
        self.figures.at_most(f"{label}: another's page meanwhile, times as long", beside / alone, 1.5)
