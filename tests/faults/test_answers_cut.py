"""Answers read through two real processes, with the connection cut at any byte: no step is lost or told twice."""

from __future__ import annotations

from pathlib import Path
from random import Random

import httpx
import pytest

from tests.analytics.asking import STREAMED, Event, events_of
from tests.support.live import going
from tests.support.service import Service

pytestmark = pytest.mark.long

CUTS = 200
QUESTIONS = ("Deals", "Deals by status", "weather in Paris")
"""A long answer, a short one, and one that is declined."""


async def _some(request: httpx.Request, client: httpx.AsyncClient, most: int) -> list[Event]:
    """The whole steps among the first so many characters; then the connection is gone."""
    answer, text = await client.send(request, stream=True), ""
    try:
        assert answer.status_code == 200, (await answer.aread()).decode()
        async for piece in answer.aiter_text(chunk_size=64):
            text += piece
            if len(text) >= most:
                break
    finally:
        await answer.aclose()
    return events_of(text[: text.rfind("\n\n") + 2])


async def test_no_step_is_lost_whichever_process_goes_on(database_url: str, tmp_path: Path) -> None:
    random, cuts = Random(23), 0
    async with going(tmp_path, database_url) as live:
        for n in range(250):
            await live.create(f"Deal number {n}")
        settings = {"CRM_DATABASE_URL": database_url, "CRM_RATE_LIMIT": "off"}
        with Service(tmp_path, "--no-worker", **settings) as other:
            clients = [
                httpx.AsyncClient(base_url=address, headers=live.token() | STREAMED, timeout=60)
                for address in (live.service.address, other.address)
            ]
            while cuts < CUTS:
                client = random.choice(clients)
                asking = client.build_request("POST", "/analytics/ask", json={"question": random.choice(QUESTIONS)})
                read = await _some(asking, client, random.randrange(600, 1_500))
                run = f"/analytics/runs/{read[0].data['run_id']}/events"
                while read[-1].event != "run_finished":
                    client, last = random.choice(clients), {"Last-Event-ID": str(read[-1].id)}
                    following = client.build_request("GET", run, headers=last)
                    read += await _some(following, client, random.randrange(200, 9_000))
                    cuts += 1
                stored = events_of((await random.choice(clients).get(run)).text)
                assert read == stored
                assert [event.id for event in read] == list(range(1, len(read) + 1))
                assert [event.event for event in read].count("run_finished") == 1
            for client in clients:
                await client.aclose()
            assert other.end() == 0
        assert live.service.end() == 0
