"""A message to a new member goes the way that notifications go (decision 225)."""

from __future__ import annotations

from collections.abc import Callable

from resolvers.members import MemberAdd, add_member
from storage.database import Database
from tests.support.world import open_world


async def test_only_who_is_to_be_told_is_told(open_database: Callable[[], Database]) -> None:
    async with open_world(open_database()) as world:
        context = await world.context("admin@one", world.one)
        await add_member(context, MemberAdd(id="quiet", name="Q", email="q@example.com"))
        await add_member(context, MemberAdd(id="told", name="T", email="t@example.com", notify=True))
        [notification] = world.notifications.handed
        assert (notification.organization, notification.type) == (world.one.external_id, "member_added")
        assert notification.data == {"member_id": "told", "name": "T", "email": "t@example.com"}
