"""The AI SDK itself reads what a page would: a started service's runs, and a log with every kind of event."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from rest_compat.ai_sdk import DONE, Rendering
from tests.chat.logs import every_kind_of_event
from tests.support.live import going
from tests.support.node import node_for

pytestmark = pytest.mark.long
HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def node() -> str:
    return node_for(HERE, "the AI SDK was not tried")


async def _read(node: str, *arguments: str) -> Any:
    process = await asyncio.create_subprocess_exec(
        node, "read.mjs", *arguments, cwd=HERE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(120):
        out, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()
    return json.loads(out)


def _text(message: Any) -> str:
    parts = [part for part in message["parts"] if part["type"] == "text" and not part.get("providerMetadata")]
    return "".join(part["text"] for part in parts)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_it_sends_reads_and_reconnects(node: str, database_url: str, tmp_path: Path) -> None:
    async with going(tmp_path, database_url) as live, httpx.AsyncClient(headers=live.token()) as client:
        await live.create("Rollout")
        threads = f"{live.service.address}/chat/threads"
        thread = (await client.post(threads)).json()["id"]
        found = await _read(node, "run", live.service.address, live.token()["authorization"], thread, "all deals")
        [_, answered] = (await client.get(f"{threads}/{thread}/messages")).json()
    message = found["message"]
    assert (found["errors"], found["again"]) == ([], {"message": message, "errors": []})
    assert _text(message) == answered["text"]
    assert "Rollout" in answered["text"]
    tools = [part for part in message["parts"] if part["type"] == "dynamic-tool"]
    assert {(part["toolName"], part["state"]) for part in tools} == {("list_records", "output-available")}
    assert tools[0]["output"]["rows"] == 1
    cited = [part["data"]["label"] for part in message["parts"] if part["type"] == "data-citation"]
    assert cited == ["Rollout"]
    assert message["metadata"]["status"] == "succeeded"
    assert message["metadata"]["message_id"] == answered["id"]
    assert message["id"] == answered["run_id"]


async def test_it_reads_every_kind_of_event(node: str, tmp_path: Path) -> None:
    rendering, log = Rendering(), tmp_path / "log"
    log.write_bytes(b"".join(map(rendering.render, every_kind_of_event())) + DONE)
    found = await _read(node, "file", str(log))
    assert found["errors"] == ["The model did not answer in time"]
    message = found["message"]
    assert _text(message) == "Let me look.Once more."
    tools = [part for part in message["parts"] if part["type"] == "dynamic-tool"]
    assert [(part["toolCallId"], part["state"]) for part in tools] == [
        ("call_1", "output-available"),
        ("call_2", "output-error"),
        ("call_3", "output-denied"),
        ("call_4", "output-available"),
    ]
    void = [part["data"].get("void", False) for part in message["parts"] if part["type"] == "data-citation"]
    assert void == [True, False]
    decided = [part["data"]["status"] for part in message["parts"] if part["type"] == "data-approval"]
    assert decided == ["rejected", "approved"]
    assert message["metadata"]["usage"]["points"] == 3
    assert message["metadata"]["status"] == "failed"
