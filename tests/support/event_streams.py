"""Reads event streams as clients do that leave early."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from starlette.types import ASGIApp


async def hung_up(app: ASGIApp, request: httpx.Request, events: int) -> str:
    """The text of an event stream up to at least so many events, after which the client hangs up."""
    messages = [{"type": "http.request", "body": request.read()}]
    enough, sent = asyncio.Event(), []

    async def receive() -> Any:
        if messages:
            return messages.pop()
        await enough.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)
        if b"".join(m.get("body", b"") for m in sent).count(b"event: ") >= events:
            enough.set()
            await asyncio.sleep(0)

    path, _, query = request.url.raw_path.partition(b"?")
    scope = {
        "type": "http",
        "method": request.method,
        "path": path.decode(),
        "query_string": query,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
    }
    async with asyncio.timeout(60):
        await app(scope, receive, send)
    assert sent[0]["status"] == 200, sent
    return b"".join(m.get("body", b"") for m in sent).decode()
