"""The path of the competitor detection (specification 4.11; decision 44)."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx

from storage.tables import Activity, Competitor, Deal
from tests.support.world import World

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


async def test_what_is_found_and_noted(world: World, client: httpx.AsyncClient) -> None:
    known = Competitor(name="Acme", folded_name="acme", aliases=["Acme Cloud"], domains=["acme.example"])
    deal = Deal(name="D", notes="Acme has made an offer.", competitors=["Gone"])
    await world.add(world.one, known, deal)
    meeting = Activity(deal_id=deal.id, due_at=NOON, details={"transcript": "see eu.acme.example"})
    await world.add(world.one, meeting, Activity(subject="Acme", due_at=NOON))
    headers = world.session("member@one", world.one)
    evidence = [
        {"source": "notes", "source_id": deal.id, "quote": "Acme has made an offer.", "at": None},
        {
            "source": "meeting.transcript",
            "source_id": meeting.id,
            "quote": "see eu.acme.example",
            "at": "2026-05-01T12:00:00Z",
        },
    ]
    for _ in range(2):
        response = await client.post(f"/deals/{deal.id.upper()}/competitors/detect", headers=headers)
        assert (response.status_code, response.json()) == (
            200,
            {
                "deal_id": deal.id,
                "competitors": ["Acme"],
                "detected": [{"name": "Acme", "confidence": 0.96, "evidence": evidence}],
            },
        )
        record = (await client.get(f"/deals/{deal.id}", headers=headers)).json()
        assert (record["competitors"], record["version"]) == (["Acme"], 2)


async def test_nothing_to_find_takes_what_was_there(world: World, client: httpx.AsyncClient) -> None:
    deal = Deal(name="D", competitors=["Gone"])
    await world.add(world.one, deal)
    headers = world.session("member@one", world.one)
    response = await client.post(f"/deals/{deal.id}/competitors/detect", headers=headers, content=b"no JSON, not read")
    assert response.json() == {"deal_id": deal.id, "competitors": [], "detected": []}
