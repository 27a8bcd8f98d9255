"""Asks questions as clients do, also those that leave early; and planners that do what a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from contract.analytics_events import AnalyticsPlanner
from gateway.runtime import Runtime
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.questions.plans import Declined, Plan, Question
from resolvers.shared.context import Context
from tests.support.event_streams import hung_up
from tests.support.gateway import Gateway, application_of
from tests.support.world import Headers

STREAMED = {"Accept": "text/event-stream"}


@dataclass(frozen=True)
class Event:
    """One event of a stream."""

    id: int
    event: str
    data: dict[str, Any]


def events_of(text: str) -> list[Event]:
    """The whole events of a stream's text, each of which has to have the three lines that the contract says."""
    found = []
    for block in text.split("\n\n")[:-1]:
        lines = [line for line in block.split("\n") if not line.startswith((":", "retry: "))]
        if any(lines):
            number, name, data = lines
            assert number.startswith("id: ")
            assert name.startswith("event: ")
            assert data.startswith("data: ")
            found.append(Event(int(number[4:]), name[7:], json.loads(data[6:])))
    return found


@dataclass
class Reader:
    """Answers in place of the embedded parser: with a plan, once `going` is set; `questions` are those it was asked."""

    plan: Plan | Declined = field(
        default_factory=lambda: Plan(AnalyticsQuery.model_validate({"entity": "deals", "measures": ["count"]}))
    )
    going: asyncio.Event = field(default_factory=asyncio.Event)
    questions: list[Question] = field(default_factory=list)

    async def read(self, _ctx: Context, question: Question) -> Plan | Declined:
        self.questions.append(question)
        await self.going.wait()
        return self.plan


def use(monkeypatch: pytest.MonkeyPatch, reader: Reader, *, going: bool = True) -> Reader:
    """Have the reader plan what is asked from now on, at once unless it is not `going` yet."""
    if going:
        reader.going.set()
    monkeypatch.setattr("resolvers.analytics_planners.PLANNERS", [(AnalyticsPlanner.PARSER, reader.read)])
    return reader


async def cut(app: ASGIApp, request: httpx.Request, events: int) -> list[Event]:
    """The first events of a stream, after which the client hangs up."""
    return events_of(await hung_up(app, request, events))[:events]


@dataclass
class Asker:
    """A caller of one process."""

    http: httpx.AsyncClient
    app: ASGIApp
    headers: Headers

    async def ask(self, question: str = "how many deals", *, key: str | None = None, **more: Any) -> httpx.Response:
        """The answer to a question as a whole."""
        headers = self.headers | ({} if key is None else {"Idempotency-Key": key})
        async with asyncio.timeout(60):
            return await self.http.post("/analytics/ask", json={"question": question, **more}, headers=headers)

    async def stream(self, question: str = "how many deals", *, key: str | None = None, **more: Any) -> list[Event]:
        """Its events."""
        headers = self.headers | STREAMED | ({} if key is None else {"Idempotency-Key": key})
        async with asyncio.timeout(60):
            answer = await self.http.post("/analytics/ask", json={"question": question, **more}, headers=headers)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.text.startswith("retry: 1000\n\n")
        return events_of(answer.text)

    async def begin(self, question: str = "how many deals", *, events: int = 1, **more: Any) -> list[Event]:
        """Its first events, after which the client leaves."""
        body = {"question": question, **more}
        request = self.http.build_request("POST", "/analytics/ask", json=body, headers=self.headers | STREAMED)
        return await cut(self.app, request, events)

    async def follow(self, run_id: str, after: int | None = None) -> list[Event]:
        """The events of a run behind a number, to its end."""
        headers = self.headers | ({} if after is None else {"Last-Event-ID": str(after)})
        async with asyncio.timeout(60):
            answer = await self.http.get(f"/analytics/runs/{run_id}/events", headers=headers)
        assert answer.status_code == 200, answer.text
        return events_of(answer.text)

    async def follow_some(self, run_id: str, after: int, events: int) -> list[Event]:
        """So many of them, after which the client leaves."""
        headers = self.headers | {"Last-Event-ID": str(after)}
        path = f"/analytics/runs/{run_id}/events"
        return await cut(self.app, self.http.build_request("GET", path, headers=headers), events)

    async def run(self, run_id: str) -> dict[str, Any]:
        answer = await self.http.get(f"/analytics/runs/{run_id}", headers=self.headers)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def call(self, method: str, path: str) -> httpx.Response:
        return await self.http.request(method, path, headers=self.headers)


@asynccontextmanager
async def another_process(gateway: Gateway) -> AsyncIterator[Gateway]:
    """Another application over the same database, which shares the schema alone with the first besides."""
    runtime = Runtime(gateway.runtime.settings)
    app = application_of(runtime)
    transport = httpx.ASGITransport(app=app)
    async with runtime.running(), httpx.AsyncClient(transport=transport, base_url="http://another") as http:
        yield Gateway(runtime, gateway.world, http, app)
