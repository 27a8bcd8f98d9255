"""Many readers of chats on bare sockets, and the model that they wait for, on one event loop of their own."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

from benchmarks.askers import BEHIND

PATIENCE = 60.0
STAMP = "at"
"""Stands before the microseconds at which the model said a word."""
_PAUSE = 0.08
"""Seconds between words of a model that talks: more than for how long the service collects them."""
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
T = TypeVar("T")


@dataclass(slots=True)
class Model:
    """An OpenAI-compatible server. What it does stands in the member's message: `talk 40`, `stay`, or `slowly 5`."""

    url: str = ""
    left: dict[str, float] = field(default_factory=dict)
    """When a connection was closed before its answer's end, by the member's message."""
    open: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        self.open += 1
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            asked = json.loads(await reader.readexactly(length))
            text = next(turn["content"] for turn in reversed(asked["messages"]) if turn["role"] == "user")
            writer.write(_HEAD)
            await self._say(text, reader, writer)
        self.open -= 1
        writer.close()

    async def _say(self, text: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        kind, _, number = text.partition(" ")
        if kind == "talk":
            for _ in range(int(number)):
                writer.write(_chunk(f"{STAMP}{time.monotonic_ns() // 1_000} "))
                await asyncio.sleep(_PAUSE)
            writer.write(_chunk("", "stop") + b"data: [DONE]\n\n")
            await writer.drain()
            return
        pause = float(number) if kind == "slowly" else None
        ended = asyncio.create_task(reader.read(1))
        while not ended.done():
            writer.write(_chunk("so "))
            await asyncio.wait({ended}, timeout=pause)
        ended.exception()  # asked for: one that was cut has ended as well
        self.left[text] = time.monotonic()


def _chunk(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text} if text else {}, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [choice]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


@dataclass(slots=True)
class Reader:
    """A member who sends a message and reads what comes."""

    port: int
    headers: Mapping[str, str]
    began: float = 0.0
    events: list[tuple[str, float, dict[str, Any]]] = field(default_factory=list)  # Any: JSON
    run_id: str = ""
    _reading: asyncio.StreamReader | None = None
    _writing: asyncio.StreamWriter | None = None

    async def thread(self) -> str:
        """Begin a thread."""
        await self._ask("POST", "/chat/threads", {}, "application/json")
        reader = self._reading
        assert reader is not None  # noqa: S101  # it was just opened
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        body = json.loads(await reader.readexactly(length))
        self.close()
        if "id" not in body:
            raise RuntimeError(f"no thread: {body}")
        return str(body["id"])

    async def send(self, thread: str, text: str) -> None:
        """Send a message; its events come from `until`."""
        self.events, self.run_id, self.began = [], "", time.monotonic()
        await self._ask("POST", f"/chat/threads/{thread}/messages", {"text": text}, "text/event-stream")
        reader = self._reading
        assert reader is not None  # noqa: S101  # it was just opened
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
        if int(head[9:12]) != HTTPStatus.OK:
            raise RuntimeError(f"refused: {head!r} {await reader.read(2_000)!r}")

    async def until(self, kind: str) -> float:
        """Read to the first event of this kind; the seconds since the message was sent."""
        reader, name = self._reading, ""
        assert reader is not None  # noqa: S101  # a message was sent
        while True:
            line = await asyncio.wait_for(reader.readline(), PATIENCE)
            if not line:
                raise RuntimeError(f"the stream ended before {kind}, behind {self.events[-3:]}")
            if line.startswith(b"event: "):
                name = line[7:-1].decode()
            elif line.startswith(b"data: "):
                moment = time.monotonic()
                self.events.append((name, moment, json.loads(line[6:])))
                self.run_id = self.run_id or self.events[-1][2].get("run_id", "")
                if name == kind:
                    return moment - self.began

    async def cancel(self) -> None:
        """Ask for the run's end, on a connection of its own."""
        other = Reader(self.port, self.headers)
        await other._ask("POST", f"/chat/runs/{self.run_id}/cancel", None, "application/json")
        assert other._reading is not None  # noqa: S101  # it was just opened
        status = await other._reading.readline()
        other.close()
        if int(status[9:12]) != HTTPStatus.ACCEPTED:
            raise RuntimeError(f"not cancelled: {status!r}")

    def close(self) -> None:
        """Leave."""
        if self._writing is not None:
            self._writing.close()

    async def _ask(self, method: str, path: str, body: object, accept: str) -> None:
        self._reading, self._writing = await asyncio.open_connection("127.0.0.1", self.port)
        content = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Accept: {accept}", f"Content-Length: {len(content)}"]
        lines += ["Content-Type: application/json"] if content else []
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        self._writing.write("\r\n".join([*lines, "", ""]).encode() + content)


class Loop:
    """The event loop of the readers and the model, in a thread beside the one that measures.

    It steps back for the caller whose answers are measured: where cores are few, both share one, and what 500 readers
    take of it is not the service's.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        os.setpriority(os.PRIO_PROCESS, self._thread.native_id or 0, BEHIND)  # the thread's alone, on Linux

    def run(self, work: Coroutine[Any, Any, T]) -> T:  # Any: what a coroutine is given is nobody's concern
        """Wait for the work."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """End it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


@contextmanager
def looping() -> Iterator[tuple[Loop, Model]]:
    """The loop, and the model that answers on it."""
    loop, model = Loop(), Model()

    async def open_() -> asyncio.Server:
        server = await asyncio.start_server(model.serve, "127.0.0.1", 0, backlog=1_000)
        model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        return server

    server = loop.run(open_())
    try:
        yield loop, model
    finally:
        server.get_loop().call_soon_threadsafe(server.close)
        loop.close()
