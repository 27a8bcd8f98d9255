"""Forty forged session tokens are forty times the same 401, at every surface and of either issuer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import ECKey

from gateway.made import AUDIENCE
from identity import jwks
from identity.keyfiles import signing_key
from identity.tokens import DEFAULT_ISSUER
from tests.support.forgeries import Genuine, forgeries
from tests.support.gateway import Gateway, open_gateway
from tests.support.identity_provider import KEYS, Provider, listening
from tests.support.streams import PROTOCOL

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


@pytest.fixture(autouse=True)
def _one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a test takes, it lies between two looks for unknown names, which are ten seconds apart otherwise."""
    monkeypatch.setattr(jwks, "UNKNOWN_EVERY", 3600.0)


VIEWER = '{"query": "{ viewer { subject } }"}'


def _genuine(key: ECKey, issuer: str) -> Genuine:
    now = int(time.time())
    claims = {"iss": issuer, "sub": "admin@one", "aud": AUDIENCE, "iat": now, "exp": now + 600, "org_id": "org_one"}
    header = {"alg": "ES256", "kid": key.thumbprint(), "typ": "at+jwt"}
    return Genuine(key, header, {**claims, "scope": "deals:read"})


@asynccontextmanager
async def _embedded(database_url: str, folder: Path, provider: Provider) -> AsyncIterator[tuple[Gateway, Genuine]]:
    async with open_gateway(database_url, folder) as gateway:
        yield gateway, _genuine(signing_key(folder), DEFAULT_ISSUER)


@asynccontextmanager
async def _external(database_url: str, folder: Path, provider: Provider) -> AsyncIterator[tuple[Gateway, Genuine]]:
    key = ECKey.generate_key("P-256")
    provider.serve(key)
    settings = {
        "oidc_issuer": provider.url,
        "oidc_audience": AUDIENCE,
        "oidc_jwks_url": provider.url + KEYS,
    }
    async with open_gateway(database_url, folder, **settings) as gateway:
        yield gateway, _genuine(key, provider.url)


ISSUERS = {"embedded": _embedded, "external": _external}


async def _at_the_surfaces(gateway: Gateway, token: str) -> list[tuple[int, list[tuple[bytes, bytes]], bytes]]:
    """Status, headers and body of both surfaces, of a query and of the exchange, without the request's id."""
    headers = [(b"Authorization", f"Bearer {token}".encode()), (b"Content-Type", b"application/json")]
    answers = []
    for method, path, body in (
        ("GET", "/deals", None),
        ("GET", "/deals?limit=nonsense", None),
        ("POST", "/graphql", VIEWER),
        ("POST", "/graphql", '{"query": "{ nonsense"}'),
        ("POST", "/pat/exchange", None),
    ):
        response = await gateway.http.request(method, path, headers=headers, content=body)
        identifier = response.headers["x-request-id"].encode()
        kept = [(name, value) for name, value in response.headers.raw if name != b"x-request-id"]
        answers.append((response.status_code, kept, response.content.replace(identifier, b"")))
    return answers


async def _at_the_socket(gateway: Gateway, token: str) -> list[Any]:
    """What a WebSocket is sent that begins with this token."""
    begin = {"type": "connection_init", "payload": {"Authorization": f"Bearer {token}"}}
    messages = [
        {"type": "websocket.connect"},
        {"type": "websocket.receive", "text": json.dumps(begin)},
    ]
    sent: list[Any] = []
    ended = asyncio.Event()

    async def receive() -> Any:
        if messages:
            return messages.pop(0)
        await ended.wait()
        return {"type": "websocket.disconnect", "code": 1000}

    async def send(message: Any) -> None:
        sent.append(message)
        if message["type"] != "websocket.accept":
            ended.set()

    scope = {"type": "websocket", "path": "/graphql", "headers": [], "subprotocols": [PROTOCOL]}
    async with asyncio.timeout(60):
        await gateway.app(scope, receive, send)
    return sent[1:]


@pytest.mark.parametrize("issuer", ISSUERS)
async def test_forty_forged_tokens(issuer: str, database_url: str, tmp_path: Path) -> None:
    provider = Provider()
    provider.gate.set()
    async with listening(provider), ISSUERS[issuer](database_url, tmp_path / "data", provider) as (gateway, genuine):
        control = await _at_the_surfaces(gateway, genuine.token())
        assert [status for status, _, _ in control] == [200, 422, 200, 200, 401]
        assert [m["type"] for m in await _at_the_socket(gateway, genuine.token())] == ["websocket.send"]
        nonsense = await _at_the_surfaces(gateway, "nonsense")
        assert [status for status, _, _ in nonsense] == [401] * 5
        forged = forgeries(genuine, provider.url)
        assert len(forged) == 40
        refused = {"type": "websocket.close", "code": 4403, "reason": "Forbidden: Valid credential required"}
        for what, token in forged.items():
            assert await _at_the_surfaces(gateway, token) == nonsense, what
            assert await _at_the_socket(gateway, token) == [refused], what
        # Of all that a token says of where its key is to be had, nothing was asked for; unknown names cost one look.
        assert provider.asked == ([] if issuer == "embedded" else [KEYS, KEYS])


async def test_two_hundred_random_key_names_cost_one_look(database_url: str, tmp_path: Path) -> None:
    """And nobody else waits for it: the service goes on with the keys that it has."""
    provider = Provider()
    provider.gate.set()
    async with listening(provider), _external(database_url, tmp_path / "data", provider) as (gateway, genuine):
        assert (await gateway.rest("GET", "/deals", _bearer(genuine.token()))).status_code == 200
        assert provider.asked == [KEYS]
        names = [genuine.token({"kid": f"random-{number}"}) for number in range(200)]
        for start in range(0, 200, 20):
            some = (gateway.rest("GET", "/deals", _bearer(token)) for token in names[start : start + 20])
            assert [answer.status_code for answer in await asyncio.gather(*some)] == [401] * 20
        for token in names:
            assert (await gateway.rest("GET", "/deals", _bearer(token))).status_code == 401
        assert provider.asked == [KEYS, KEYS]
        # The provider does not answer any more: whoever brings an unknown name waits for nothing.
        provider.gate.clear()
        assert (await gateway.rest("GET", "/deals", _bearer(genuine.token()))).status_code == 200
        async with asyncio.timeout(30):
            assert (await gateway.rest("GET", "/deals", _bearer(names[0]))).status_code == 401
        assert provider.asked == [KEYS, KEYS]


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
