"""What a request made goes with it: nothing of it waits, with its body, for the collector (decision 966)."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest

from tests.support.gateway import Gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")

_NOBODY = "00000000-0000-4000-8000-000000000000"
REQUESTS: dict[str, tuple[str, str, object]] = {
    "list": ("POST", "/graphql", {"query": "{ meetings(first: 2) { nodes { subject } } }"}),
    "lists": ("POST", "/graphql", {"query": "{ meetings { nodes { id account { name } } } deals { nodes { id } } }"}),
    "creation": (
        "POST",
        "/graphql",
        {"query": 'mutation { dealCreate(input: { name: "x" }) { deal { id } userErrors { code } } }'},
    ),
    "document that cannot be run": ("POST", "/graphql", {"query": "{ nothing }"}),
    "REST list": ("GET", "/deals", None),
    "record": ("POST", "/graphql", {"query": f'{{ deal(id: "{_NOBODY}") {{ id account {{ name }} }} }}'}),
    "REST record": ("GET", f"/deals/{_NOBODY}", None),
    "REST creation": ("POST", "/deals", {"name": "x"}),
    "REST refusal": ("GET", "/deals/of-no-form", None),
}
_TIMES = 10


@pytest.mark.parametrize("kind", REQUESTS)
async def test_a_request_leaves_no_garbage(gateway: Gateway, kind: str) -> None:
    text = await gateway.world.credential("member@one", gateway.world.one)
    for _ in range(3):  # statements are compiled, the credential has proved itself
        await _ask(gateway, text, kind)
    await gateway.world.services.identity.close()  # the first use is noted beside the request
    with _collected() as left:
        for _ in range(_TIMES):
            await asyncio.create_task(_ask(gateway, text, kind))
    assert {name: number for name, number in left.items() if number >= _TIMES} == {}


async def _ask(gateway: Gateway, credential: str, kind: str) -> None:
    """Straight to the application: clients make garbage of their own."""
    method, path, said = REQUESTS[kind]
    body = b"" if said is None else orjson.dumps(said)
    headers = {
        b"host": b"127.0.0.1",
        b"authorization": f"Bearer {credential}".encode(),
        b"content-type": b"application/json",
        b"content-length": str(len(body)).encode(),
    }
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "client": ("127.0.0.1", 1),
        "scheme": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [*headers.items()],
        "state": {},
    }
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await gateway.app(scope, receive, send)
    assert sent == ["http.response.start", "http.response.body"]


@contextmanager
def _collected() -> Iterator[Counter[str]]:
    """Counts by type what the collector finds of what was made meanwhile."""
    found: Counter[str] = Counter()
    gc.disable()
    gc.freeze()  # what is there by now stays: to look through all that other tests keep takes seconds
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found.update(type(one).__qualname__ for one in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
