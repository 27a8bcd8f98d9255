"""What a provider asked to wait holds though its connection was stopped in that moment (decisions 1014 and 1173)."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.sync import run as run_module
from storage.queries import integrations as statements
from tests.integrations.test_refresh import sync
from tests.support.consents import connected
from tests.support.feeds import at, by_address, connection, hurry, meetings, work
from tests.support.google import Fault, Google, meeting
from tests.support.tenants import Tenant
from tests.support.web import Asked, Reply, open_web

pytestmark = pytest.mark.asyncio(loop_scope="session")

EVENTS = "/events"


def _limit(google: Google) -> None:
    google.faults.append(Fault(EVENTS, 429, headers={"Retry-After": "3600"}))


@pytest.mark.parametrize("way", ["paused", "disconnected", "left"])
async def test_an_answer_that_comes_as_its_connection_is_stopped_holds(
    one: Tenant, google: Google, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    account, rest, usual = google.account(), one.gateway.rest, run_module.failed
    mine = await connected(one, google, account)

    async def stopped(*given: Any) -> Any:
        if way == "left":
            async with one.gateway.world.database.writing(one.id) as session:
                await statements.end_of_owner(session, one.subject("member"))
        else:
            path = f"/integrations/{mine}/pause" if way == "paused" else f"/integrations/{mine}"
            answer = await rest("POST" if way == "paused" else "DELETE", path, one.headers())
            assert answer.is_success
        return await usual(*given)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(run_module, "failed", stopped)
        _limit(google)
        await sync(one, mine)
    await work(one)
    asked, role = google.count(EVENTS), "admin" if way == "left" else "member"
    if way == "paused":
        assert (await connection(one, mine))["next_sync_at"] is None
        assert (await rest("POST", f"/integrations/{mine}/resume", one.headers())).is_success
        await work(one)
    else:
        mine = await connected(one, google, account, role)
    problem = (await connection(one, mine, role))["problem"]
    assert (problem["code"], google.count(EVENTS)) == ("rate_limited", asked)
    google.put(account, meeting("a", at(3), subject="Title"))
    await hurry(one)
    await work(one)
    assert (google.count(EVENTS) > asked, (await connection(one, mine, role))["problem"]) == (True, None)
    assert set(await meetings(one)) == {"Title"}


@pytest.mark.parametrize("then", ["stays", "is removed", "leaves again"])
async def test_the_wait_of_who_leaves_holds_for_another_member_with_the_account(
    one: Tenant, google: Google, then: str
) -> None:
    """What `then` becomes of the connection."""
    account = google.account()
    mine = await connected(one, google, account)
    _limit(google)
    await sync(one, mine)
    asked = google.count(EVENTS)
    for _ in range(2 if then == "leaves again" else 1):
        async with one.gateway.world.database.writing(one.id) as session:
            await statements.end_of_owner(session, one.subject("member"))
    if then == "is removed":
        assert (await one.gateway.rest("DELETE", f"/integrations/{mine}", one.headers("admin"))).is_success
        await work(one)
    theirs = await connected(one, google, account, "admin")
    await work(one)
    problem = (await connection(one, theirs, "admin"))["problem"]
    assert (problem["code"], google.count(EVENTS)) == ("rate_limited", asked)


async def test_a_feed_that_asks_to_wait_no_time_is_asked_again_by_whoever_wishes(one: Tenant) -> None:
    """Decision 1169."""
    asked: list[str] = []

    def failing(_: Asked) -> Reply:
        asked.append("")
        return Reply(b"", 503, {"Retry-After": "0"})

    async with open_web({"/calendar.ics": failing}) as web:
        mine = await by_address(one, web.url + "/calendar.ics")
        await work(one)
        for _ in range(2):
            before = len(asked)
            await sync(one, mine)
            assert len(asked) > before
    assert (await connection(one, mine))["problem"]["code"] == "provider_unavailable"
