"""Changing the pepper and the signing key while credentials and sessions live on (decision 125)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx
from sqlalchemy import select
from sqlmodel import col

from gateway.made import embedded_issuer
from gateway.runtime import Runtime
from gateway.settings import Settings
from identity import secrets
from identity.keyfiles import pepper
from storage.tables import Credential
from tests.support.gateway import Gateway, application_of, open_gateway
from tests.support.world import Headers, World

OLD, NEW, OLDER = bytes([1]) * 32, bytes([2]) * 32, bytes([3]) * 32


def test_what_is_stored_says_which_pepper_and_nothing_of_it() -> None:
    stored = secrets.stored("secret", OLD)
    assert stored == secrets.mark(OLD) + secrets.digest("secret", OLD)
    assert len(secrets.mark(OLD)) == 9
    assert secrets.mark(OLD) != secrets.mark(NEW)
    assert secrets.is_current(stored, OLD)
    assert not secrets.is_current(stored, NEW)
    assert not secrets.is_current(None, OLD)


def test_a_pepper_verifies_what_those_before_it_did() -> None:
    both = secrets.Pepper(NEW).before(OLD)
    for of in (OLD, NEW):
        assert secrets.matches("secret", secrets.stored("secret", of), both)
        assert not secrets.matches("other", secrets.stored("secret", of), both)
    assert not secrets.matches("secret", secrets.stored("secret", OLDER), both)
    assert not secrets.matches("secret", secrets.stored("secret", OLD), NEW)
    assert not secrets.matches("secret", None, both)
    assert secrets.stored("secret", both) == secrets.stored("secret", NEW)
    assert secrets.matches("secret", secrets.digest("secret", OLD), both)  # as it was stored before there were marks
    assert both == NEW


def test_the_file_of_the_previous_pepper_is_read(tmp_path: Path) -> None:
    first = pepper(tmp_path)
    assert first.previous == ()
    (tmp_path / "pepper").rename(tmp_path / "pepper.previous")
    second = pepper(tmp_path)
    assert second != first
    assert second.previous == (bytes(first),)
    assert pepper(tmp_path) == second


async def _me(gateway: Gateway, headers: Headers) -> int:
    return (await gateway.graphql("{ viewer { subject } }", headers)).status_code


async def test_keys_live_through_a_change_of_the_pepper(database_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with open_gateway(database_url, folder) as gateway:
        world = gateway.world
        session = world.session("admin@one", world.one)
        made: Any = (await gateway.rest("POST", "/organization-pats", session, {"name": "used"})).json()
        unused: Any = (await gateway.rest("POST", "/organization-pats", session, {"name": "unused"})).json()
    used_key = {"Authorization": f"Bearer {made['pat_key']}"}
    unused_key = {"Authorization": f"Bearer {unused['pat_key']}"}
    (folder / "pepper").rename(folder / "pepper.previous")
    async with _again(database_url, folder) as gateway:
        assert await _me(gateway, used_key) == 200
        await gateway.runtime.services.identity.close()  # its note is written beside the request
        stored = await _stored(gateway)
        now = pepper(folder)
        assert [secrets.is_current(stored[name], now) for name in ("used", "unused")] == [True, False]
        assert await _me(gateway, {"Authorization": used_key["Authorization"][:-1] + "!"}) == 401
    (folder / "pepper.previous").unlink()
    async with _again(database_url, folder) as gateway:
        assert (await _me(gateway, used_key), await _me(gateway, unused_key)) == (200, 401)


async def test_sessions_live_through_a_change_of_the_signing_key(database_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with open_gateway(database_url, folder) as gateway:
        world = gateway.world
        before = world.session("admin@one", world.one)
    (folder / "signing-key.pem").rename(folder / "signing-key.previous.pem")
    async with _again(database_url, folder) as gateway:
        assert await _me(gateway, before) == 200
        issuer = embedded_issuer(gateway.runtime.settings)
        token = issuer.mint("admin@one", organization=world.one.external_id, scopes=(), ttl=60)
        after = {"Authorization": f"Bearer {token}"}
        assert await _me(gateway, after) == 200
        keys = (await gateway.http.get("/.well-known/jwks.json")).json()["keys"]
        assert len({key["kid"] for key in keys}) == 2
        assert all("d" not in key for key in keys)
    (folder / "signing-key.previous.pem").unlink()
    async with _again(database_url, folder) as gateway:
        assert (await _me(gateway, before), await _me(gateway, after)) == (401, 200)


@asynccontextmanager
async def _again(database_url: str, folder: Path) -> AsyncIterator[Gateway]:
    """The service started once more over what is there."""
    runtime = Runtime(Settings(_env_file=None, database_url=database_url, data_dir=folder))
    app = application_of(runtime)
    transport = httpx.ASGITransport(app=app)
    async with runtime.running(), httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
        yield Gateway(runtime, cast(World, None), http, app)


async def _stored(gateway: Gateway) -> dict[str, str]:
    async with gateway.runtime.database.directory() as session:
        rows = await session.rows(select(col(Credential.name), col(Credential.secret_hash)))
        return {row.name: row.secret_hash for row in rows}
