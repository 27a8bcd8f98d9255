"""A started service that traces: its spans come out, through every door, and who takes them may be away."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

import httpx
import pytest

from tests.support.collector import receiving, tree_of
from tests.support.live import going
from tests.support.streams import begun

MEETINGS = "query Mine { meetings { nodes { subject } } }"
ASKED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "100"}
LATE = {"OTEL_BSP_SCHEDULE_DELAY": "600000"}


async def test_spans_of_every_door_are_taken(database_url: str, tmp_path: Path) -> None:
    with receiving() as collector:
        settings = {"CRM_OTEL": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.address, "LOG_FORMAT": "json"}
        async with going(tmp_path, database_url, worker=True, **settings, **SOON) as live:
            headers = live.token()
            async with httpx.AsyncClient(base_url=live.service.address, headers=headers) as http:
                asked = {"query": MEETINGS}
                answer = await http.post("/graphql", json=asked, headers={"traceparent": ASKED})
                assert answer.status_code == 200
                assert (await http.get("/deals")).status_code == 200
                export = await http.post("/exports", json={"kind": "deal", "format": "csv"})
                assert export.status_code == 202
            async with begun(live.service.address, headers) as sock:
                await sock.subscribe("1", MEETINGS)
                assert (await sock.hear())["type"] == "next"
            done = lambda: {"job data_export", "WEBSOCKET /graphql"} <= {one.name for one in collector.spans}  # noqa: E731
            await asyncio.to_thread(collector.wait, done)
            await asyncio.to_thread(live.service.end)
            log = live.service.log.read_text()
    spans = collector.spans
    tree = tree_of([span for span in spans if span.trace == ASKED[3:35]])
    assert tree.splitlines()[0] == "POST /graphql"
    assert "  query meetings" in tree.splitlines()
    [export_span] = [span for span in spans if span.name == "POST /exports"]
    [job] = [span for span in spans if span.name == "job data_export"]
    assert job.trace == export_span.trace
    assert job.parent in {span.id for span in spans if span.trace == export_span.trace}
    [socket_span] = [span for span in spans if span.name == "WEBSOCKET /graphql"]
    below = [span.name for span in spans if span.parent == socket_span.id]
    assert "query meetings" in below
    assert {span.service for span in spans} == {"crm-gateway"}
    assert f'"trace_id": "{job.trace}"' in log
    assert f'"trace_id":"{ASKED[3:35]}"' in log


async def test_the_last_spans_are_taken_at_the_end(database_url: str, tmp_path: Path) -> None:
    with receiving() as collector:
        settings = {"CRM_OTEL": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.address}
        async with going(tmp_path, database_url, **settings, **LATE) as live:
            await live.ask(MEETINGS)
            assert collector.spans == []
            assert await asyncio.to_thread(live.service.end) == 0
    assert "query meetings" in {span.name for span in collector.spans}


@pytest.mark.parametrize("how", ["refuses", "is silent"])
async def test_a_collector_that_is_away_harms_nobody(database_url: str, tmp_path: Path, how: str) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        if how == "is silent":
            listening.listen(8)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        settings = {"CRM_OTEL": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
        async with going(tmp_path, database_url, **settings, **SOON) as live:
            for _ in range(20):
                await live.ask(MEETINGS)
            end = time.monotonic() + 30
            while "traces are not taken" not in live.service.log.read_text():
                assert time.monotonic() < end
                await asyncio.sleep(0.1)
            await live.ask(MEETINGS)
            began = time.monotonic()
            assert await asyncio.to_thread(live.service.end) == 0
            assert time.monotonic() - began < 10
            log = live.service.log.read_text()
    assert log.count("traces are not taken") == 1
    assert "opentelemetry" not in log
    assert "urllib3" not in log
