"""Feedback on the platform (decision 42)."""

from __future__ import annotations

from typing import Any

import httpx
from sqlalchemy import select

from contract.vocabulary import CredentialKind
from storage.tables import Event, Feedback
from tests.support.world import World


async def _kept(world: World) -> list[tuple[Any, ...]]:
    columns: list[Any] = [Feedback.org_id, Feedback.subject, Feedback.kind, Feedback.message]
    async with world.database.directory() as session:
        return [tuple(row) for row in await session.rows(select(*columns, Feedback.page, Feedback.request_id))]  # type: ignore[call-overload]


async def test_with_an_organization_the_log_says_so_to_administrators(world: World, client: httpx.AsyncClient) -> None:
    body = {"kind": "praise", "message": " Well done ", "page": "/deals", "request_id": "r-1", "mood": "good"}
    headers = await world.headers("viewer@one", world.one, CredentialKind.ORGANIZATION_KEY)
    response = await client.post("/feedback", json=body, headers=headers)
    assert (response.status_code, list(response.json())) == (201, ["id"])
    assert response.headers["x-ignored-fields"] == "mood"
    assert await _kept(world) == [(world.one.id, "viewer@one", "praise", "Well done", "/deals", "r-1")]
    async with world.database.reading(world.one.id) as session:
        columns: list[Any] = [Event.type, Event.area, Event.actor, Event.data]
        [event] = await session.rows(select(*columns).where(Event.org_id == world.one.id))  # type: ignore[arg-type]
    data = {"feedback_id": response.json()["id"], "kind": "praise"}
    assert tuple(event) == ("feedback_submitted", "admin", "viewer@one", data)


async def test_without_an_organization_and_without_scopes(world: World, client: httpx.AsyncClient) -> None:
    await world.join("nobody", world.one, scopes=[])
    for headers in (
        await world.headers("nobody", None, CredentialKind.USER_TOKEN),
        await world.headers("nobody", None),
    ):
        body = {"kind": "bug", "message": "m" * 10_000, "page": None}
        assert (await client.post("/feedback", json=body, headers=headers)).status_code == 201
    assert await _kept(world) == [(None, "nobody", "bug", "m" * 10_000, None, None)] * 2


async def test_refusals_keep_nothing(world: World, client: httpx.AsyncClient) -> None:
    headers = world.session("member@one", world.one)
    for body, place in [
        ({}, "kind"),
        ({"kind": "bug"}, "message"),
        ({"kind": "BUG", "message": "m"}, "kind"),
        ({"kind": "bug", "message": ""}, "message"),
        ({"kind": "bug", "message": " \n"}, "message"),
        ({"kind": "bug", "message": "m" * 10_001}, "message"),
        ({"kind": "bug", "message": "m\x00"}, "message"),
        ({"kind": "bug", "message": "m", "page": "p" * 2_001}, "page"),
        ({"kind": "bug", "message": "m", "request_id": "r" * 129}, "request_id"),
    ]:
        response = await client.post("/feedback", json=body, headers=headers)
        assert response.status_code == 422
        assert response.json()["detail"][0]["loc"] == ["body", place]
    assert (await client.post("/feedback", json={"kind": "bug", "message": "m"})).status_code == 401
    elsewhere = headers | {"X-Service-Org": "org_two"}
    assert (await client.post("/feedback", json={"kind": "bug", "message": "m"}, headers=elsewhere)).status_code == 403
    assert await _kept(world) == []
