"""docs/chat.md is true: its curl is answered by events, and its example is a whole client."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from contract.chat import ChatErrorCode, ChatEventType
from tests.support.live import Live, going

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "chat.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "python" / "chat.py"


def test_it_names_every_event_and_every_error() -> None:
    told = set(re.findall(r"`([a-z_]+)`", TEXT))
    assert {kind.value for kind in ChatEventType if not kind.value.startswith("approval_")} <= told
    assert {code.value for code in ChatErrorCode if not code.value.startswith("approval_")} <= told
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 60


async def _ran(live: Live, *command: str) -> str:
    token = live.token()["authorization"].removeprefix("Bearer ")
    environment = {"TOKEN": token, "PATH": "/usr/bin:/bin", "CRM_URL": live.service.address}
    ran = await asyncio.create_subprocess_exec(*command, env=environment, stdout=asyncio.subprocess.PIPE)
    out, _ = await ran.communicate()
    return out.decode()


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_its_curl_and_its_example_are_answered(database_url: str, tmp_path: Path) -> None:
    [commands] = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    async with going(tmp_path, database_url) as live:
        sent = commands.replace("http://127.0.0.1:8000", live.service.address)
        out = await _ran(live, "bash", "-c", sent)
        assert "event: run_started\n" in out
        assert '"status":"succeeded"' in out
        assert "[succeeded]" in await _ran(live, sys.executable, str(EXAMPLE), "what", "can", "you", "do")
