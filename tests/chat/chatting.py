"""Chats as clients do, also those that leave early."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
from starlette.types import ASGIApp

from gateway.runtime import Runtime
from providers.chat_models import ChatModel
from tests.support.event_streams import hung_up
from tests.support.gateway import Gateway, application_of
from tests.support.world import Headers

JSON = {"Accept": "application/json"}


@dataclass(frozen=True)
class Event:
    """One event of a stream."""

    id: str
    event: str
    data: dict[str, Any]

    @property
    def sequence(self) -> int:
        return int(self.id.partition(".")[2])


def events_of(text: str) -> list[Event]:
    """The whole events of a stream's text, each of which has to have the three lines that the contract says."""
    assert "\r" not in text
    found = []
    for block in text.split("\n\n")[:-1]:
        lines = [line for line in block.split("\n") if not line.startswith((":", "retry: "))]
        if any(lines):
            name, number, data = lines
            assert name.startswith("event: ")
            assert number.startswith("id: ")
            assert data.startswith("data: ")
            found.append(Event(number[4:], name[7:], json.loads(data[6:])))
    return found


def text_of(events: list[Event]) -> str:
    """What the text deltas say together, without what was said in a step that was cut."""
    kept = list(events)
    for event in events:
        if event.event == "run_resumed":
            void = range(event.data["discard_after"] + 1, event.sequence)
            kept = [each for each in kept if each.sequence not in void]
    return "".join(event.data["text"] for event in kept if event.event == "text_delta")


async def cut(app: ASGIApp, request: httpx.Request, events: int) -> list[Event]:
    """The first events of a stream, after which the client hangs up."""
    return events_of(await hung_up(app, request, events))[:events]


@dataclass
class Chatter:
    """A caller of one process."""

    http: httpx.AsyncClient
    app: ASGIApp
    headers: Headers
    seconds: float = 60.0

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        content = {} if body is None else {"json": body}
        async with asyncio.timeout(self.seconds):
            return await self.http.request(method, path, headers=self.headers | headers, **content)

    async def thread(self, **fields: Any) -> str:
        answer = await self.call("POST", "/chat/threads", fields)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def send(self, thread: str, text: str = "hello", **more: Any) -> list[Event]:
        """The events of the run that a message begins, to its end."""
        answer = await self.call("POST", f"/chat/threads/{thread}/messages", {"text": text, **more})
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-accel-buffering"] == "no"
        assert answer.text.startswith("retry: 1000\n\n")
        events = events_of(answer.text)
        assert answer.headers["x-chat-run"] == events[0].data["run_id"]
        return events

    async def begin(self, thread: str, text: str = "hello", **headers: str) -> dict[str, Any]:
        """The run that a message begins, which is not waited for."""
        path = f"/chat/threads/{thread}/messages"
        answer = await self.call("POST", path, {"text": text}, **(JSON | headers))
        assert answer.status_code == 202, answer.text
        run: dict[str, Any] = answer.json()
        assert answer.headers["location"] == f"/chat/runs/{run['id']}"
        assert answer.headers["x-chat-run"] == run["id"]
        return run

    async def begin_some(self, thread: str, events: int, text: str = "hello") -> list[Event]:
        """The first events of the run that a message begins, after which the client leaves."""
        path = f"/chat/threads/{thread}/messages"
        return await cut(
            self.app, self.http.build_request("POST", path, json={"text": text}, headers=self.headers), events
        )

    async def follow(self, run_id: str, after: str | None = None) -> list[Event]:
        """The events of a run behind one of them, to its end."""
        headers = {} if after is None else {"Last-Event-ID": after}
        answer = await self.call("GET", f"/chat/runs/{run_id}/events", **headers)
        assert answer.status_code == 200, answer.text
        return events_of(answer.text)

    async def follow_some(self, run_id: str, after: str, events: int) -> list[Event]:
        """So many of them, after which the client leaves."""
        headers = self.headers | {"Last-Event-ID": after}
        return await cut(
            self.app, self.http.build_request("GET", f"/chat/runs/{run_id}/events", headers=headers), events
        )

    async def run(self, run_id: str) -> dict[str, Any]:
        answer = await self.call("GET", f"/chat/runs/{run_id}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def messages(self, thread: str) -> list[dict[str, Any]]:
        """The first messages of a thread, as many as one page takes."""
        answer = await self.call("GET", f"/chat/threads/{thread}/messages?limit=500")
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()
        return found


@asynccontextmanager
async def another_process(gateway: Gateway, model: ChatModel, **settings: Any) -> AsyncIterator[Gateway]:
    """Another application over the same database, which shares the schema alone with the first besides."""
    runtime = Runtime(gateway.runtime.settings.model_copy(update=settings))
    runtime.services = replace(runtime.services, chat_model=model)
    app = application_of(runtime)
    async with (
        runtime.running(),
        httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://gateway") as http,
    ):
        yield Gateway(runtime, gateway.world, http, app)
