"""Failed authentications: what is limited, and whom that does not hurt (decision 103)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import update
from sqlmodel import col

from contract.errors import AuthenticationLimited, GatewayError, Unauthenticated
from identity import auth_failures as failures
from identity import secrets
from identity.auth_failures import Failures, origin
from identity.authenticate import Identity
from identity.token_buckets import MemoryBuckets
from storage.base import now
from storage.database import Database
from storage.queries import credentials as statements
from storage.tables import Credential
from storage.tenancy.sessions import TenantSession
from tests.support.clock import Clock
from tests.support.world import PEPPER, World, issuer, open_world

HERE, THERE = "192.0.2.1", "192.0.2.2"


@pytest.fixture
async def world(database: Database) -> AsyncIterator[World]:
    async with open_world(database) as world:
        yield world


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def identity(world: World, clock: Clock) -> AsyncIterator[Identity]:
    limits = Failures(
        MemoryBuckets(failures.KEY_SIZE, clock=clock),
        MemoryBuckets(failures.ADDRESS_SIZE, clock=clock),
        PEPPER,
        clock=clock,
    )
    identity = Identity(world.database, issuer(), PEPPER, failures=limits)
    yield identity
    await identity.close()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The key ids that were looked up."""
    looked_up: list[str] = []
    read = statements.nearest_with_memberships

    async def counted(session: TenantSession, key_id: str) -> object:
        looked_up.append(key_id)
        return await read(session, key_id)

    monkeypatch.setattr(statements, "nearest_with_memberships", counted)
    return looked_up


async def _attempt(identity: Identity, text: str, address: str | None) -> int:
    """The status of an attempt."""
    try:
        await identity.authenticate(f"Bearer {text}", None, address)
    except GatewayError as error:
        return error.status
    return 200


async def _flood(identity: Identity, texts: list[str], address: str) -> list[int]:
    return [await _attempt(identity, text, address) for text in texts]


def _wrong(text: str) -> str:
    return text[:-43] + secrets.mint("ak").secret


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_wrong_secrets_for_a_key_id(world: World, identity: Identity, clock: Clock, reads: list[str]) -> None:
    text = await world.credential("admin@one", world.one)
    answers = await _flood(identity, [_wrong(text) for _ in range(70)], HERE)
    assert answers == [401] * 50 + [429] * 20
    assert len(reads) == 50
    with pytest.raises(AuthenticationLimited) as refused:
        await identity.authenticate(f"Bearer {_wrong(text)}", None, HERE)
    assert (refused.value.retry_after, refused.value.status) == (1, 429)
    # The credential itself is good, from there as well, and so are others; elsewhere nothing happened at all.
    assert await _flood(identity, [text] * 60, HERE) == [200] * 60
    assert await _attempt(identity, await world.credential("admin@one", None), HERE) == 200
    assert await _attempt(identity, _wrong(text), THERE) == 401
    assert await _attempt(identity, text, THERE) == 200
    clock.forward(1)
    assert await _flood(identity, [_wrong(text)] * 2, HERE) == [401, 429]
    clock.forward(1)
    assert await _attempt(identity, text, HERE) == 200
    assert identity.failures is not None
    assert not identity.failures._until  # what is over costs nobody anything


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_flood_of_unknown_keys_from_one_address(
    world: World, identity: Identity, clock: Clock, reads: list[str]
) -> None:
    known, fresh = [await world.credential("admin@one", None) for _ in range(2)]
    assert await _attempt(identity, known, HERE) == 200
    answers = await _flood(identity, [secrets.mint("ak").text for _ in range(520)], HERE)
    assert answers == [401] * 500 + [429] * 20
    assert len(reads) == 501
    assert await _attempt(identity, known, HERE) == 200
    assert await _attempt(identity, "ak_nonsense", HERE) == 429
    # One that this process never saw is let in as soon as the next attempt from there is; elsewhere at once.
    assert await _attempt(identity, fresh, HERE) == 429
    clock.forward(0.2)
    assert await _attempt(identity, fresh, HERE) == 200
    assert await _attempt(identity, fresh, HERE) == 200
    assert await _attempt(identity, await world.credential("admin@one", None), THERE) == 200


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_flood_at_once_is_no_way_round(world: World, identity: Identity) -> None:
    text = await world.credential("admin@one", world.one)
    answers = await asyncio.gather(*(_attempt(identity, _wrong(text), HERE) for _ in range(50)))
    assert answers == [401] * 50
    assert await _flood(identity, [_wrong(text)] * 5, HERE) == [429] * 5
    assert await _attempt(identity, text, HERE) == 200


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_the_other_prefix_takes_nothing_from_the_valid_key(world: World, identity: Identity) -> None:
    text = await world.credential("admin@one", world.one)
    other = text.replace("ak_", "pat_")
    assert await _flood(identity, [other] * 51, HERE) == [401] * 51  # its secret fits, so it is judged each time
    assert await _attempt(identity, _wrong(other), HERE) == 429
    assert await _attempt(identity, text, HERE) == 200


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_revoked_key_is_let_through_once_and_no_more(world: World, identity: Identity, clock: Clock) -> None:
    text = await world.credential("admin@one", None)
    assert await _attempt(identity, text, HERE) == 200
    await _flood(identity, [_wrong(text)] * 50, HERE)
    async with world.database.directory(writing=True) as session:
        key_id = text[4:20]
        await session.execute(update(Credential).where(col(Credential.key_id) == key_id).values(revoked_at=now()))
    assert await _flood(identity, [text] * 3, HERE) == [401, 429, 429]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_forged_tokens_are_401_and_then_429_and_good_ones_always_get_in(world: World, identity: Identity) -> None:
    good = issuer().mint("admin@one", organization="org_one", scopes=(), ttl=60)
    forged = good[:-20] + "A" * 20
    assert await _flood(identity, [forged] * 40, HERE) == [401] * 40
    assert await _flood(identity, [forged] * 461, HERE) == [401] * 460 + [429]
    assert await _attempt(identity, good, HERE) == 200
    assert await _attempt(identity, forged, THERE) == 401


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_the_exchange_is_limited_alike(world: World, identity: Identity) -> None:
    text = await world.credential("admin@one", world.one)
    for _ in range(50):
        with pytest.raises(Unauthenticated):
            await identity.exchange(_wrong(text), None, HERE)
    with pytest.raises(AuthenticationLimited):
        await identity.exchange(_wrong(text), None, HERE)
    assert (await identity.exchange(text, None, HERE)).expires_in == 300


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_what_has_no_credential_or_no_address_is_not_counted(world: World, identity: Identity) -> None:
    for authorization in (None, "", "Basic abc", "Bearer"):
        for _ in range(501):
            with pytest.raises(Unauthenticated):
                await identity.authenticate(authorization, None, HERE)
    assert await _flood(identity, ["ak_nonsense"], HERE) == [401]
    assert [await _attempt(identity, "ak_nonsense", None) for _ in range(501)] == [401] * 501


async def test_what_is_kept_has_a_bound(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "_MOST", 20)
    stores = [MemoryBuckets(size, most=20, clock=clock) for size in (failures.KEY_SIZE, failures.ADDRESS_SIZE)]
    limits = Failures(*stores, PEPPER, clock=clock)
    for number in range(60):
        for _ in range(50):
            await limits.refused(f"ak_{number:016x}.{'x' * 43}", f"192.0.2.{number}")
        limits.remember(f"{number:016x}", "hash")
    assert [len(limits._until), len(limits._hashes), *map(len, stores)] == [20] * 4


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "20010db800010002::/64"),
        ("2001:db8:1:2:ffff::1", "20010db800010002::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_of_ipv6_the_network_counts(address: str, counted: str) -> None:
    assert origin(address) == counted


async def test_a_look_at_nothing_costs_next_to_nothing(clock: Clock) -> None:
    """While nobody is limited, a credential is not even taken apart."""
    limits = Failures(
        MemoryBuckets(failures.KEY_SIZE, clock=clock), MemoryBuckets(failures.ADDRESS_SIZE, clock=clock), PEPPER
    )
    parsed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "parse", parsed.append)
        limits.admit("ak_nonsense", HERE)
    assert parsed == []
