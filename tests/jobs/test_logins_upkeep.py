"""Logins that are over are forgotten a day later, with all that was given in them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from contract.login import TicketKind
from identity.login_grants import Asked, LoginGrants
from identity.logins import Logins, make_links
from jobs import logins_upkeep
from storage.base import now
from storage.tables import LoginGrant, LoginSession, LoginTicket
from tests.support.world import World, issuer


async def _left(world: World) -> list[int]:
    async with world.database.directory() as session:
        tables = LoginSession, LoginGrant, LoginTicket
        return [await session.scalar(select(func.count()).select_from(table)) for table in tables]


async def test_what_is_over_is_forgotten(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not await logins_upkeep.forget(world.database)
    logins, grants = Logins(world.database, None), LoginGrants(world.database, issuer(), None)
    soon, later = now() + timedelta(seconds=30), now() + timedelta(days=3)
    [first] = (await make_links(world.database, ["admin@one"], TicketKind.LOGIN_LINK, soon)).values()
    await make_links(world.database, ["viewer@one"], TicketKind.LOGIN_LINK, later)
    signed = await logins.follow(first)
    assert signed is not None
    await grants.code(signed.visitor, Asked("board", "https://board.example/", "x" * 43))
    assert await _left(world) == [1, 1, 3]
    assert not await logins_upkeep.forget(world.database)
    moment = now() + timedelta(hours=36, minutes=1)
    monkeypatch.setattr(logins_upkeep, "now", lambda: moment)
    assert await logins_upkeep.forget(world.database)
    assert not await logins_upkeep.forget(world.database)
    assert await _left(world) == [0, 0, 1]
