"""An identity provider of which there is no more than its key set and discovery document, over a real HTTP server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from joserfc.jwk import ECKey

DISCOVERY = "/.well-known/openid-configuration"
KEYS = "/keys"


@dataclass
class Provider:
    """What an identity provider answers, path by path, and what it was asked."""

    url: str = ""
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    headers: str = ""
    asked: list[str] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    def serve(self, *keys: ECKey, path: str = KEYS) -> None:
        self.answers[path] = (200, json.dumps({"keys": [public(key) for key in keys]}).encode())

    def discoverable(self, **changed: Any) -> None:
        document = {"issuer": self.url, "jwks_uri": self.url + KEYS, **changed}
        self.answers[DISCOVERY] = (200, json.dumps(document).encode())

    async def was_asked(self, times: int) -> None:
        async with asyncio.timeout(30), self.news:
            await self.news.wait_for(lambda: len(self.asked) >= times)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        path = request.split(b" ", 2)[1].decode()
        self.asked.append(path)
        self.requests.append(request)
        async with self.news:
            self.news.notify_all()
        await self.gate.wait()
        status, body = self.answers.get(path, (404, b""))
        head = f"HTTP/1.1 {status} x\r\ncontent-length: {len(body)}\r\nconnection: close\r\n{self.headers}\r\n"
        writer.write(head.encode() + body)
        writer.close()


def public(key: ECKey) -> dict[str, Any]:
    return {**key.as_dict(private=False), "kid": key.thumbprint(), "use": "sig", "alg": "ES256"}


@asynccontextmanager
async def listening(provider: Provider, port: int = 0) -> AsyncIterator[None]:
    server = await asyncio.start_server(provider.handle, "127.0.0.1", port)
    provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield
    finally:
        provider.gate.set()
        server.close()
