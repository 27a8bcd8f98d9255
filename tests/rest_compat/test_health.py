"""The account health paths (specification 2.3, 4.6)."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx

from contract.vocabulary import HealthFactorKey
from storage.tables import Account, HealthFactor, HealthSnapshot
from tests.support.world import World

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


async def test_never_scored_is_an_empty_object(world: World, client: httpx.AsyncClient) -> None:
    account, foreign = Account(name="A"), Account(name="F")
    await world.add(world.one, account)
    await world.add(world.two, foreign)
    await client.post(f"/accounts/{foreign.id}/health/refresh", headers=world.session("member@two", world.two))
    for identifier in (account.id, foreign.id, UNKNOWN, "x", "%00"):
        path = f"/accounts/{identifier}/health/latest"
        response = await client.get(path, headers=world.session("viewer@one", world.one))
        assert (response.status_code, response.text) == (200, "{}")


async def test_the_latest_with_its_factors(world: World, client: httpx.AsyncClient) -> None:
    account = Account(name="A")
    old, new = (
        HealthSnapshot(
            account_id=account.id,
            score=score,
            trend=trend,
            data_points=9,
            formula_version="1",
            snapshot_at=datetime(2026, 1, day, 8, 0, 0, day, tzinfo=UTC),
        )
        for score, trend, day in ((40, None, 1), (61, "improving", 2))
    )
    # Inserted in an order that is neither that of their identifiers nor that of their keys.
    factors = [
        HealthFactor(
            account_id=account.id,
            health_score_id=snapshot.id,
            snapshot_at=snapshot.snapshot_at,
            position=position,
            key=key.value,
            label=f"Label {position}",
            score=position * 10,
            weight=0.1875,
            value=None if position == 3 else position + 0.5,
            explanation=f"Explanation {position}",
            sample_size=position,
        )
        for snapshot in (old, new)
        for position, key in reversed(list(enumerate(HealthFactorKey)))
    ]
    await world.add(world.one, account, old, new, *factors)
    path = f"/accounts/{account.id.upper()}/health/latest"
    response = await client.get(path, headers=world.session("viewer@one", world.one))
    assert response.json() == {
        "id": new.id,
        "org_id": world.one.id,
        "account_id": account.id,
        "score": 61,
        "trend": "improving",
        "data_points": 9,
        "snapshot_at": "2026-01-02T08:00:00.000002Z",
        "factors": [
            {
                "id": next(f.id for f in factors if f.health_score_id == new.id and f.position == position),
                "org_id": world.one.id,
                "account_id": account.id,
                "health_score_id": new.id,
                "snapshot_at": "2026-01-02T08:00:00.000002Z",
                "key": key.value,
                "label": f"Label {position}",
                "score": position * 10,
                "weight": 0.1875,
                "value": None if position == 3 else position + 0.5,
                "explanation": f"Explanation {position}",
                "sample_size": position,
            }
            for position, key in enumerate(HealthFactorKey)
        ],
    }


async def test_refresh(world: World, client: httpx.AsyncClient) -> None:
    account = Account(name="A", domain="a.example")
    await world.add(world.one, account)
    member = world.session("member@one", world.one)
    refreshed = await client.post(f"/accounts/{account.id}/health/refresh", headers=member)
    assert refreshed.status_code == 200
    first = refreshed.json()
    assert (first["trend"], first["account_id"]) == (None, account.id)
    assert [factor["key"] for factor in first["factors"]] == [key.value for key in HealthFactorKey]
    latest = await client.get(f"/accounts/{account.id}/health/latest", headers=member)
    assert latest.content == refreshed.content
    second = (await client.post(f"/accounts/{account.id}/health/refresh", headers=member, content=b"not read")).json()
    assert (second["trend"], second["score"]) == ("stable", first["score"])
    assert second["id"] != first["id"]


async def test_refresh_of_a_missing_account(world: World, client: httpx.AsyncClient) -> None:
    foreign = Account(name="F")
    await world.add(world.two, foreign)
    before = await world.dump()
    for identifier in (foreign.id, UNKNOWN, "x", "%00"):
        path = f"/accounts/{identifier}/health/refresh"
        response = await client.post(path, headers=world.session("admin@one", world.one))
        assert response.status_code == 404
    assert await world.dump() == before
