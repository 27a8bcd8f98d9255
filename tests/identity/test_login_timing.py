"""Whether somebody has a name cannot be told from how long a wrong password takes to refuse, nor from what is said."""

from __future__ import annotations

import time
from typing import Any

import pytest

from contract.login import TicketKind
from identity import passwords
from identity.logins import Logins, make_links
from storage.base import now
from tests.support.statements import statements as recorded
from tests.support.world import World

PASSWORD = "correct horse battery staple"


async def test_the_work_is_the_same(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same statement, and one hash of the same parameters, whoever is named."""
    logins = Logins(world.database, None)
    [secret] = (
        await make_links(world.database, ["admin@one"], TicketKind.PASSWORD_LINK, now().replace(year=2999))
    ).values()
    assert await logins.set_password(secret, PASSWORD) is not None
    done: list[Any] = []
    matches = passwords._matches

    def matching(given: bytes, stored: str) -> bool:
        done.append(stored.split("$")[1:4])
        return matches(given, stored)

    monkeypatch.setattr(passwords, "_matches", matching)
    name = (await logins.visitor((await logins.sign_in("admin@one", PASSWORD, None)).secret)).email  # type: ignore[union-attr]  # both are there
    seen: dict[str, Any] = {}
    for who in (name, "nobody@crm.example", "admin@one", "viewer@two", "", "x" * 9999, "a\0b"):
        done.clear()
        with recorded(world.database) as sent:
            began = time.perf_counter()
            assert await logins.sign_in(who, "a wrong password", None) is None
            seconds = time.perf_counter() - began
        seen[who[:20]] = (list(sent), [list(each) for each in done])
        assert seconds > 0
    assert all(each == seen["nobody@crm.example"] for each in seen.values()), seen
    [parameters] = seen["nobody@crm.example"][1]
    assert parameters == ["argon2id", "v=19", "m=19456,t=2,p=1"]


def test_what_nobody_has_is_hashed_as_what_somebody_has() -> None:
    assert passwords.is_current(passwords.NOBODYS)


async def test_a_hash_of_before_is_renewed_at_the_next_login(world: World) -> None:
    from argon2 import PasswordHasher

    from storage.queries import logins as statements

    old = PasswordHasher(time_cost=1, memory_cost=8192, parallelism=1).hash(PASSWORD)
    async with world.database.directory(writing=True) as session:
        await statements.put_password(session, "admin@one", old, now())
    logins = Logins(world.database, None)
    assert await logins.sign_in("admin@one", PASSWORD, None) is not None
    async with world.database.directory() as session:
        [found] = await statements.accounts(session, "admin@one")
    assert passwords.is_current(found.hash)
    assert await logins.sign_in("admin@one", PASSWORD, None) is not None
