"""The documented paths over real services, every answer of which is held against the documentation."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
import pytest
from jsonschema import Draft202012Validator
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rest_compat.openapi import openapi_document
from rest_compat.routes import OPERATIONS, rest_routes
from storage.database import Database
from tests.support.documented import check_keys
from tests.support.world import World, open_world
from transport.errors import error_response
from transport.readiness import Check

REQUEST_ID = "request-of-the-test"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")


@pytest.fixture
async def world(database: Database) -> AsyncIterator[World]:
    async with open_world(database) as world:
        yield world


@pytest.fixture
def checks() -> list[Check]:
    """What the service is found to depend on; a test may change it."""
    return [Check("database", True, "answers"), Check("worker", True, "seen 2 s ago", 0.01234)]


@pytest.fixture
async def client(world: World, checks: list[Check]) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the paths; each response is checked before the test sees it."""

    async def readiness() -> list[Check]:
        return checks

    async def refused(request: Request, error: Exception) -> Response:
        return error_response(error, REQUEST_ID)

    app = Starlette(routes=rest_routes(world.services, readiness), exception_handlers={404: refused})
    app.router.redirect_slashes = False
    transport = httpx.ASGITransport(app=_identified(app))
    hooks = {"response": [_check]}
    async with httpx.AsyncClient(transport=transport, base_url="http://test", event_hooks=hooks) as client:
        yield client


def _identified(app: ASGIApp) -> ASGIApp:
    async def identified(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["request_id"] = REQUEST_ID
        await app(scope, receive, send)

    return identified


async def _check(response: httpx.Response) -> None:
    """The answer is one that the description lists for its operation, to the last key and in the documented order."""
    await response.aread()
    template = next((o.path for o in OPERATIONS if _pattern(o.path).fullmatch(response.request.url.path)), None)
    if response.request.method == "HEAD":
        assert response.content == b""
        return
    if template is None or response.status_code == 405:
        assert list(response.json()) == ["detail", "code", "request_id"]
        return
    operation = openapi_document()["paths"][template][response.request.method.lower()]
    described = operation["responses"][str(response.status_code)]
    for name in set(described["headers"]) - {"X-Request-Id", "X-Ignored-Fields", "Idempotency-Replayed", "X-Position"}:
        assert name in response.headers, name
    if "content" not in described:
        assert response.content == b""
        assert "content-type" not in response.headers
        return
    if (kind := response.headers["content-type"]) != "application/json":
        assert kind in described["content"]
        return
    schema = described["content"]["application/json"]["schema"]
    value = orjson.loads(response.content)
    Draft202012Validator({**schema, "components": openapi_document()["components"]}).validate(value)
    _check_times(value)
    check_keys(template, response.request.method, response.status_code, response.json())


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{\w+\}", "[^/]+", template))


def _check_times(value: Any) -> None:
    if isinstance(value, list):
        for part in value:
            _check_times(part)
    if isinstance(value, dict):
        for name, part in value.items():
            if name.endswith("_at") and part is not None and name not in ("started_at", "ended_at"):
                assert _TIME.fullmatch(part), (name, part)
            if name != "metadata":
                _check_times(part)
