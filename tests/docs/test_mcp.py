"""docs/mcp.md is true: its curl is sent, its configurations are JSON, its table has the tools that there are."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from contract.tools import TOOLS
from tests.support.live import going

TEXT = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")


def test_its_configurations_can_be_read_and_its_table_is_the_catalogue() -> None:
    for block in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL):
        assert "/mcp" in json.dumps(json.loads(block))
    rows = re.findall(r"^\| `([a-z_]+)` \|.*\| (.*) \|$", TEXT, re.MULTILINE)
    assert [name for name, _ in rows] == [tool.name for tool in TOOLS]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_its_curl_is_answered(database_url: str, tmp_path: Path) -> None:
    [command] = re.findall(r"```sh\n(curl .*?)```", TEXT, re.DOTALL)
    async with going(tmp_path, database_url) as live:
        await live.create("Rollout")
        sent = command.replace("http://127.0.0.1:8000", live.service.address)
        token = live.token()["authorization"].removeprefix("Bearer ")
        ran = await asyncio.create_subprocess_exec(
            "bash", "-c", sent, env={"TOKEN": token, "PATH": "/usr/bin:/bin"}, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await ran.communicate()
    found = json.loads(out)["result"]["structuredContent"]
    assert [node["name"] for node in found["data"]["nodes"]] == ["Rollout"]
