"""What a body may be: its type, its size, and its JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.types import Message

from tests.rest_compat.conftest import REQUEST_ID
from tests.support.world import World

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

LIMIT = 1024 * 1024


async def _post(world: World, client: httpx.AsyncClient, content: Any, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await client.post("/deals", content=content, headers=world.session("member@one", world.one) | named)


async def test_json_that_is_none(world: World, client: httpx.AsyncClient) -> None:
    before = await world.dump()
    cases = {
        b"": ("is required", "missing"),
        b" \n": ("is required", "missing"),
        b'{"name": "D"': ("must be valid JSON", "json_invalid"),
        b'{"name": "D"} {}': ("must be valid JSON", "json_invalid"),
        b"{'name': 'D'}": ("must be valid JSON", "json_invalid"),
        b'{"name": "D", "value": NaN}': ("must be valid JSON", "json_invalid"),
        b'{"name": "D", "value": -Infinity}': ("must be valid JSON", "json_invalid"),
        b'{"name": "\xff"}': ("must be valid JSON", "json_invalid"),
        b'{"name": "\xed\xa0\x80"}': ("must be valid JSON", "json_invalid"),
        '{"name": "D"}'.encode("utf-16"): ("must be valid JSON", "json_invalid"),
        b"[" * 500_000: ("must be valid JSON", "json_invalid"),
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000: ("must be valid JSON", "json_invalid"),
        b"\x00": ("must be valid JSON", "json_invalid"),
        b"null": ("must be a JSON object", "object_type"),
        b"1": ("must be a JSON object", "object_type"),
        b'"name"': ("must be a JSON object", "object_type"),
        b'[{"name": "D"}]': ("must be a JSON object", "object_type"),
    }
    for content, (message, kind) in cases.items():
        response = await _post(world, client, content)
        assert response.status_code == 422, content[:40]
        assert response.json() == {"detail": [{"loc": ["body"], "msg": message, "type": kind}]}
    assert await world.dump() == before


async def test_json_that_is_one(world: World, client: httpx.AsyncClient) -> None:
    for content in (
        b'\xef\xbb\xbf{"name": "D"}',
        b' {"name": "D", "name": "E"} ',
        b'{"name": "\\ud83d\\ude00"}',
        b'{"name": "D", "unknown": ' + b"1" * 5000 + b"}",
        b'{"name": "D", "unknown": 1e99999999999999999999}',
    ):
        assert (await _post(world, client, content)).status_code == 201


async def test_of_a_name_given_twice_the_last_counts(world: World, client: httpx.AsyncClient) -> None:
    created = await _post(world, client, b'{"name": 5, "name": "last", "unknown": 1, "unknown": 2}')
    assert created.headers["x-ignored-fields"] == "unknown"
    deal = await client.get(created.headers["location"], headers=world.session("member@one", world.one))
    assert deal.json()["name"] == "last"


async def test_media_types(world: World, client: httpx.AsyncClient) -> None:
    body = b'{"name": "D"}'
    for media_type in ("application/json", "Application/JSON; charset=utf-8", "application/merge-patch+json", ""):
        assert (await _post(world, client, body, Content_Type=media_type)).status_code == 201
    assert (await _post(world, client, body, Content_Encoding="identity")).status_code == 201
    before = await world.dump()
    for headers in (
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
        {"Content_Type": "multipart/form-data; boundary=x"},
        {"Content_Type": "text/json"},
        {"Content_Type": "application/jsonp"},
        {"Content_Encoding": "gzip"},
    ):
        for content in (body, b""):
            response = await _post(world, client, content, **headers)
            assert response.status_code == 415, headers
            assert response.json() == {
                "detail": "The body must be JSON, and not compressed",
                "code": "unsupported_media_type",
                "request_id": REQUEST_ID,
            }
    assert await world.dump() == before


async def test_the_limit(world: World, client: httpx.AsyncClient) -> None:
    start = b'{"name": "D", "unknown": "'
    fitting = start + b"x" * (LIMIT - len(start) - 2) + b'"}'
    assert len(fitting) == LIMIT
    assert (await _post(world, client, fitting)).status_code == 201

    async def chunks(content: bytes) -> AsyncIterator[bytes]:
        for position in range(0, len(content), 50_000):
            yield content[position : position + 50_000]

    assert (await _post(world, client, chunks(fitting))).status_code == 201
    for content in (fitting + b" ", chunks(fitting + b" ")):
        response = await _post(world, client, content)
        assert response.status_code == 413
        assert response.json() == {
            "detail": "The body is larger than 1 MiB",
            "code": "payload_too_large",
            "request_id": REQUEST_ID,
        }


async def test_what_is_too_large_is_not_read_to_its_end(world: World, client: httpx.AsyncClient) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b" " * 100_000

    assert (await _post(world, client, endless())).status_code == 413
    assert read <= 12
    for declared in ("1048577", "9" * 40):
        response = await _post(world, client, b"{}", Content_Length=declared)
        assert response.status_code == 413


async def test_nobody_is_answered_who_is_gone(world: World, client: httpx.AsyncClient) -> None:
    app = client._transport.app  # type: ignore[attr-defined]
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    token = world.session("member@one", world.one)["Authorization"]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/deals",
        "query_string": b"",
        "headers": [(b"authorization", token.encode())],
    }
    await app(scope, receive, send)
    assert sent == []
