"""Keys are changed while requests run: no request with a good one fails, and an old one ends."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from operator import lt
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from identity import jwks
from tests.support.gateway import Gateway, open_gateway
from tests.support.identity_provider import KEYS, Provider, listening
from tests.support.world import bearer

CLIENTS = 8
ROTATIONS = 6
VIEWER = "{ viewer { subject } }"


@dataclass
class Seen:
    """How often there was each status, and how many answers each client has had."""

    statuses: Counter[int] = field(default_factory=Counter)
    answers: list[int] = field(default_factory=lambda: [0] * CLIENTS)


@asynccontextmanager
async def load(gateway: Gateway, token: Callable[[], str]) -> AsyncIterator[Seen]:
    """Clients that ask at both surfaces all the time, each time with the token of the moment."""
    seen = Seen()
    stop = asyncio.Event()

    async def client(number: int) -> None:
        while not stop.is_set():
            headers = bearer(token())
            if number % 2:
                response = await gateway.rest("GET", "/deals", headers)
            else:
                response = await gateway.graphql(VIEWER, headers)
            seen.statuses[response.status_code] += 1
            seen.answers[number] += 1

    async with asyncio.TaskGroup() as group:
        for number in range(CLIENTS):
            group.create_task(client(number))
        try:
            yield seen
        finally:
            stop.set()


async def some_more(seen: Seen) -> None:
    """Wait until every client has been answered what it asks now, and twice what it asked after that."""
    enough = [number + 3 for number in seen.answers]
    async with asyncio.timeout(30):
        while any(map(lt, seen.answers, enough)):  # noqa: ASYNC110  # the clients have no event for every answer
            await asyncio.sleep(0.002)


def session(key: ECKey, provider: Provider) -> str:
    now = int(time.time())
    claims: dict[str, Any] = {"iss": provider.url, "sub": "someone", "org_id": "org_one", "scope": "deals:read"}
    header = {"alg": "ES256", "kid": key.thumbprint()}
    return jwt.encode(header, {**claims, "iat": now, "exp": now + 600}, key)


@pytest.mark.parametrize("published_before_use", [True, False])
async def test_the_identity_provider_s_keys(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, published_before_use: bool
) -> None:
    """With a new key published before it signs, as providers do, and with one that signs the moment it is published."""
    monkeypatch.setattr(jwks, "UNKNOWN_EVERY", 0.0)  # a rotation every few milliseconds is more than one in ten seconds
    provider = Provider()
    provider.gate.set()
    key = ECKey.generate_key("P-256")
    provider.serve(key)
    async with listening(provider):
        settings = {"oidc_issuer": provider.url, "oidc_jwks_url": provider.url + KEYS}
        async with open_gateway(database_url, tmp_path / "data", **settings) as gateway:
            keys = gateway.runtime.keys
            assert keys is not None
            current = session(key, provider)
            async with load(gateway, lambda: current) as seen:
                for _ in range(ROTATIONS):
                    old, old_token = key, current
                    key = ECKey.generate_key("P-256")
                    provider.serve(old, key)
                    if published_before_use:
                        await keys.refresh()
                    current = session(key, provider)
                    await some_more(seen)
                    assert (await gateway.rest("GET", "/deals", bearer(old_token))).status_code == 200
                    provider.serve(key)
                    await keys.refresh()
                    assert (await gateway.rest("GET", "/deals", bearer(old_token))).status_code == 401
                    await some_more(seen)
            assert set(seen.statuses) == {200}
            assert seen.statuses.total() >= ROTATIONS * 6 * CLIENTS


async def test_organization_keys(database_url: str, tmp_path: Path) -> None:
    """A new key is made, used, and the old one revoked: from the answer on it is refused."""
    async with open_gateway(database_url, tmp_path / "data") as gateway:
        administrator = gateway.world.session("admin@one", gateway.world.one)

        async def made(number: int) -> dict[str, Any]:
            response = await gateway.rest("POST", "/organization-pats", administrator, {"name": f"Key {number}"})
            assert response.status_code == 201
            answer: dict[str, Any] = response.json()
            return answer

        key = await made(0)
        async with load(gateway, lambda: key["pat_key"]) as seen:
            for number in range(ROTATIONS):
                old, key = key, await made(number + 1)
                # What was sent with the old key before the change is answered; then nobody uses it any more.
                await some_more(seen)
                assert (await gateway.graphql(VIEWER, bearer(old["pat_key"]))).status_code == 200
                gone = await gateway.rest("DELETE", f"/organization-pats/{old['id']}", administrator)
                assert gone.status_code == 204
                refused = await asyncio.gather(
                    gateway.rest("GET", "/deals", bearer(old["pat_key"])),
                    gateway.graphql(VIEWER, bearer(old["pat_key"])),
                    gateway.rest("POST", "/pat/exchange", bearer(old["pat_key"])),
                )
                assert [response.status_code for response in refused] == [401, 401, 401]
        assert set(seen.statuses) == {200}
        assert seen.statuses.total() >= ROTATIONS * 3 * CLIENTS
