"""A credential that proved itself takes less work, and is refused as soon as any other (decision 184)."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import col

from contract.errors import Unauthenticated
from identity import proven, secrets
from storage.base import now
from storage.tables import Credential, Member, Membership, Organization
from tests.support.statements import statements
from tests.support.world import PEPPER, World


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The secrets that were compared."""
    seen: list[str] = []
    matches = secrets.matches

    def counted(secret: str, stored_hash: str | None, pepper: bytes) -> bool:
        seen.append(secret)
        return matches(secret, stored_hash, pepper)

    monkeypatch.setattr(secrets, "matches", counted)
    return seen


async def _works(world: World, text: str) -> bool:
    try:
        await world.services.identity.authenticate(f"Bearer {text}", None)
    except Unauthenticated:
        return False
    return True


async def _store(world: World, text: str, **values: object) -> None:
    parsed = secrets.parse(text)
    assert parsed is not None
    async with world.database.directory(writing=True) as session:
        changed = update(Credential).where(col(Credential.key_id) == parsed.key_id).values(**values)
        await session.execute(changed)


async def test_it_is_compared_once_and_read_every_time(world: World, compared: list[str]) -> None:
    text = await world.credential("member@one", world.one)
    assert await _works(world, text)
    with statements(world.database) as sent:
        assert await _works(world, text)
        assert await _works(world, text)
    assert len(compared) == 1
    assert len([one for one in sent if "FROM credentials" in one]) == 2
    wrong = text[:-43] + secrets.mint("ak").secret
    assert not await _works(world, wrong)
    assert not await _works(world, wrong.replace("ak_", "pat_"))
    assert not await _works(world, text.replace("ak_", "pat_"))
    assert len(compared) == 4


@pytest.mark.parametrize("column", ["revoked_at", "expires_at"])
async def test_its_end_counts_at_once(world: World, column: str) -> None:
    text = await world.credential("member@one", world.one)
    assert await _works(world, text)
    assert await _works(world, text)
    await _store(world, text, **{column: now()})
    assert not await _works(world, text)


async def test_another_secret_in_its_place_counts_at_once(world: World) -> None:
    old = await world.credential("member@one", world.one)
    assert await _works(world, old)
    new = secrets.mint("ak")
    await _store(world, old, secret_hash=secrets.stored(new.secret, PEPPER))
    assert not await _works(world, old)
    text = old[:-43] + new.secret
    assert await _works(world, text)
    assert await _works(world, text)


async def test_what_is_evicted_is_compared_again(
    world: World, compared: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proven, "PROVEN_CREDENTIALS_MAX", 2)
    monkeypatch.setattr(world.services.identity, "_proven", proven.Proven())
    texts = [await world.credential("member@one", world.one) for _ in range(6)]
    for _ in range(2):
        assert [await _works(world, text) for text in texts] == [True] * 6
    assert len(compared) > 6
    await _store(world, texts[-1], revoked_at=now())
    assert [await _works(world, text) for text in texts] == [True] * 5 + [False]


async def test_the_caller_is_made_anew_as_soon_as_a_row_says_something_else(world: World) -> None:
    text = await world.credential("member@one", world.one)
    identity = world.services.identity
    before = await identity.authenticate(f"Bearer {text}", None)
    await identity.close()  # the first use is noted by then, which is in the row
    first = await identity.authenticate(f"Bearer {text}", None)
    assert (await identity.authenticate(f"Bearer {text}", None)) is first == before
    kept = min(first.scopes)
    changes: list[tuple[Any, dict[str, object]]] = [
        (update(Membership).where(col(Membership.subject) == before.subject), {"scopes": [kept]}),
        (update(Member).where(col(Member.subject) == before.subject), {"name": "Another"}),
        (update(Organization).where(col(Organization.id) == world.one.id), {"name": "Another Ltd"}),
    ]
    seen = [first]
    for statement, values in changes:
        async with world.database.directory(writing=True) as session:
            await session.execute(statement.values(**values))
        seen.append(await identity.authenticate(f"Bearer {text}", None))
    assert seen[0].scopes != {kept} == seen[1].scopes
    assert [one.name == "Another" for one in seen] == [False, False, True, True]
    assert [one.organization and one.organization.name == "Another Ltd" for one in seen] == [False, False, False, True]
    async with world.database.directory(writing=True) as session:
        await session.execute(changes[2][0].values(suspended_at=now()))
    assert not await _works(world, text)
