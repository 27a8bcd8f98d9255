"""The campaigns' paths (specification 4.7, 4.8)."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from sqlalchemy import select

from storage.tables import Campaign, Enrollment, Job
from tests.support.campaign_table import TABLE
from tests.support.world import World

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"
STATES = sorted({state for state, _, _ in TABLE})
PAUSE = {state: leads_to for state, action, leads_to in TABLE if action == "pause"}


def _member(world: World) -> dict[str, str]:
    return world.session("member@one", world.one)


async def _campaign(world: World, status: str, **values: Any) -> Campaign:
    made = Campaign(name="Spring", provider="local", status=status, status_reason="R", **values)
    person = Enrollment(campaign_id=made.id, email="a@example.com", email_key="a@example.com")
    await world.add(world.one, made, person)
    return made


@pytest.mark.parametrize("status", STATES)
async def test_pause_in_every_state(world: World, client: httpx.AsyncClient, status: str) -> None:
    made = await _campaign(world, status, provider_campaign_id="local-x")
    before = await world.dump()
    response = await client.post(f"/outreach/campaigns/{made.id}/pause", headers=_member(world))
    if PAUSE[status] is None:
        assert (response.status_code, response.json()["code"]) == (409, "invalid_state")
        assert await world.dump() == before
        return
    changed = status != "paused"
    record = response.json()
    assert response.status_code == 200
    assert record == {
        "id": made.id,
        "org_id": world.one.id,
        "name": "Spring",
        "status": "paused",
        "status_reason": None if changed else "R",
        "daily_limit": 50,
        "timezone": "UTC",
        "stop_on_reply": True,
        "provider": "local",
        "provider_campaign_id": "local-x",
        "provider_sync": "pending" if changed else "synced",
        "created_at": record["created_at"],
        "updated_at": record["updated_at"],
    }
    assert (await world.dump() == before) == (not changed)
    async with world.database.reading(world.one.id) as session:
        jobs = await session.rows(select(Job.kind, Job.arguments).where(Job.org_id == world.one.id))
    assert [tuple(job) for job in jobs] == ([("campaign_tell", {"campaign_id": made.id})] if changed else [])


@pytest.mark.parametrize("status", STATES)
async def test_delete_in_every_state(world: World, client: httpx.AsyncClient, status: str) -> None:
    made = await _campaign(world, status, provider_campaign_id="local-x")
    path = f"/outreach/campaigns/{made.id}"
    response = await client.delete(path, headers=_member(world))
    assert (response.status_code, response.content) == (204, b"")
    async with world.database.reading(world.one.id) as session:
        for model in (Campaign, Enrollment):
            assert await session.rows(select(model.id).where(model.org_id == world.one.id)) == []
    again = await client.delete(path, headers=_member(world))
    assert (again.status_code, again.json()["detail"]) == (404, "Not found")


@pytest.mark.parametrize("identifier", [UNKNOWN, "x", "%00", "foreign"])
async def test_a_campaign_that_is_not_there(world: World, client: httpx.AsyncClient, identifier: str) -> None:
    foreign = Campaign(name="F", provider="local", status="active")
    await world.add(world.two, foreign)
    path = f"/outreach/campaigns/{foreign.id if identifier == 'foreign' else identifier}"
    before = await world.dump()
    for response in (
        await client.post(f"{path}/pause", headers=_member(world)),
        await client.delete(path, headers=_member(world)),
    ):
        assert (response.status_code, response.json()["code"]) == (404, "not_found")
    assert await world.dump() == before


async def test_a_body_is_not_looked_at(world: World, client: httpx.AsyncClient) -> None:
    made = await _campaign(world, "active")
    response = await client.post(f"/outreach/campaigns/{made.id}/pause", content=b"{nonsense", headers=_member(world))
    assert response.status_code == 200


async def test_other_methods(world: World, client: httpx.AsyncClient) -> None:
    made = await _campaign(world, "active")
    of_one = "DELETE, GET, HEAD"
    refused = [("PUT", "", of_one), ("PATCH", "", of_one), ("GET", "/pause", "POST"), ("GET", "/resume", "POST")]
    for method, path, allow in refused:
        response = await client.request(method, f"/outreach/campaigns/{made.id}{path}", headers=_member(world))
        assert (response.status_code, response.headers["allow"]) == (405, allow)


async def test_reading_is_not_enough(world: World, client: httpx.AsyncClient) -> None:
    made = await _campaign(world, "active")
    before = await world.dump()
    viewer = world.session("viewer@one", world.one)
    for response in (
        await client.post(f"/outreach/campaigns/{made.id}/pause", headers=viewer),
        await client.delete(f"/outreach/campaigns/{UNKNOWN}", headers=viewer),
    ):
        assert response.status_code == 403
        assert response.json()["required_scopes"] == ["outreach:manage", "outreach:provision"]
    assert await world.dump() == before
