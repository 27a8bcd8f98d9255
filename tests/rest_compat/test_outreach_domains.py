"""The outreach domains' path (specification 4.9)."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx

from storage.tables import Mailbox, OutreachDomain
from tests.support.world import World


async def test_the_domains_by_name(world: World, client: httpx.AsyncClient) -> None:
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    second = OutreachDomain(name="b.example", status="active", spf=True, dkim=False, created_at=noon)
    first = OutreachDomain(name="a.example", created_at=noon)
    boxes = [Mailbox(domain_id=second.id, email=f"{name}@b.example") for name in "xy"]
    await world.add(world.one, second, first, *boxes)
    await world.add(world.two, OutreachDomain(name="foreign.example"))
    response = await client.get("/outreach/domains", headers=world.session("viewer@one", world.one))
    assert response.status_code == 200
    common = {"org_id": world.one.id, "created_at": "2026-05-01T12:00:00Z"}
    assert response.json() == [
        {
            "id": first.id,
            "name": "a.example",
            "status": "pending",
            "spf": None,
            "dkim": None,
            "dmarc": None,
            "mailbox_count": 0,
            **common,
        },
        {
            "id": second.id,
            "name": "b.example",
            "status": "active",
            "spf": True,
            "dkim": False,
            "dmarc": None,
            "mailbox_count": 2,
            **common,
        },
    ]


async def test_no_domains_are_an_empty_array(world: World, client: httpx.AsyncClient) -> None:
    response = await client.get("/outreach/domains", headers=world.session("viewer@one", world.one))
    assert (response.status_code, response.json()) == (200, [])


async def test_crm_scopes_do_not_reach_outreach(world: World, client: httpx.AsyncClient) -> None:
    await world.join("crm@one", world.one, scopes=["api:manage", "organizations:manage"])
    response = await client.get("/outreach/domains", headers=world.session("crm@one", world.one))
    assert response.status_code == 403
    assert response.json()["required_scopes"] == ["outreach:manage", "outreach:provision", "outreach:read"]
