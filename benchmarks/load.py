"""The load generator: keep-alive connections over bare sockets, one request at a time on each, in its own process.

It reads one command per line from standard input and writes one result per line. It does as little as it can for a
response: count its bytes, compare status and length with what is expected, note the time.
"""

from __future__ import annotations

import asyncio
import gc
import json
import math
import re
import sys
from array import array
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import uvloop

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_PATIENCE = 60.0
"""Seconds that a response may take."""
LEAST = 10
"""Responses that are waited for, however long they take: of fewer, a median says nothing."""


@dataclass(slots=True)
class Run:
    """One measurement: the requests in turn, what is expected of their responses, and what came."""

    requests: Sequence[bytes]
    lengths: Sequence[int]
    status: bytes
    latencies: array[float]
    enough: asyncio.Event
    """Set with the response that makes the latencies enough, and by a failure."""
    slack: int = 0
    """By how much a length may differ."""
    responses: int = 0
    turn: int = 0
    recording: bool = False
    stopping: bool = False
    failure: str = ""


class Connection(asyncio.Protocol):
    """One connection, which sends its next request when the response is whole."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.transport: asyncio.Transport
        self.closed = asyncio.get_running_loop().create_future()
        self.request = 0
        self.missing = -1
        self.head = b""
        self.began = 0.0

    def connection_made(self, transport: Any) -> None:
        """Send the first request."""
        self.transport = transport
        self.send()

    def send(self) -> None:
        """Send the run's next request, or close."""
        run = self.run
        if run.stopping:
            self.transport.close()
            return
        self.request = run.turn
        run.turn = (run.turn + 1) % len(run.requests)
        self.missing = -1
        self.began = perf_counter()
        self.transport.write(run.requests[self.request])

    def data_received(self, data: bytes) -> None:
        """Count; at the end of a response, note it."""
        if self.missing < 0:
            if self.head:
                data = self.head + data
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self.head = data
                return
            self.head = b""
            length = _LENGTH.search(data, 0, end + 2)
            expected = self.run.lengths[self.request]
            if data[9:12] != self.run.status or length is None or abs(int(length[1]) - expected) > self.run.slack:
                self.fail(f"request {self.request}: expected {expected} bytes, got {data[:600]!r}")
                return
            self.missing = int(length[1]) + end + 4 - len(data)
        else:
            self.missing -= len(data)
        if self.missing == 0:
            self.run.responses += 1
            if self.run.recording:
                self.run.latencies.append(perf_counter() - self.began)
                if len(self.run.latencies) == LEAST:
                    self.run.enough.set()
            self.send()
        elif self.missing < 0:
            self.fail("more bytes than were announced")

    def connection_lost(self, error: Exception | None) -> None:
        """Only we may close."""
        if not self.run.stopping:
            self.fail(f"the connection was closed: {error}")
        if not self.closed.done():
            self.closed.set_result(None)

    def fail(self, reason: str) -> None:
        """Give the run up."""
        self.run.failure = self.run.failure or reason
        self.run.stopping = True
        self.run.enough.set()
        self.transport.abort()


async def measure(command: dict[str, Any]) -> dict[str, Any]:
    """Keep the connections busy for the warm-up and then for the time that counts."""
    run = Run(
        [b64decode(request) for request in command["requests"]],
        command["lengths"],
        str(command["status"]).encode(),
        array("d"),
        asyncio.Event(),
        command["slack"],
    )
    loop = asyncio.get_running_loop()
    connections = [
        (await loop.create_connection(lambda: Connection(run), "127.0.0.1", command["port"]))[1]
        for _ in range(command["connections"])
    ]
    await asyncio.sleep(command["warm_up"])
    run.recording, began = True, perf_counter()
    await asyncio.sleep(command["seconds"])
    async with asyncio.timeout(_PATIENCE):
        await run.enough.wait()
    run.recording, seconds = False, perf_counter() - began
    run.stopping = True
    async with asyncio.timeout(_PATIENCE):
        await asyncio.gather(*(connection.closed for connection in connections))
    latencies = sorted(run.latencies)
    if run.failure or not latencies:
        return {"failure": run.failure or "no response in the time that counts"}
    return {
        "requests_per_second": len(latencies) / seconds,
        "p50_ms": _percentile(latencies, 0.50) * 1000,
        "p99_ms": _percentile(latencies, 0.99) * 1000,
        "responses": run.responses,  # with those of the warm-up
    }


def _percentile(ordered: Sequence[float], share: float) -> float:
    """The nearest rank."""
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def main() -> None:
    """Serve commands until standard input ends."""
    gc.disable()  # nothing here is cyclic, and a collection in the midst would look like the contestant's
    for line in sys.stdin:
        result = uvloop.run(measure(json.loads(line)))
        print(json.dumps(result), flush=True)
        gc.collect()


if __name__ == "__main__":
    main()
