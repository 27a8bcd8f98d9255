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
    assert {kind.value for kind in ChatEventType} <= told
    assert {code.value for code in ChatErrorCode} <= told
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 60


async def _ran(live: Live, *command: str, typed: str = "") -> str:
    token = live.token()["authorization"].removeprefix("Bearer ")
    environment = {"TOKEN": token, "PATH": "/usr/bin:/bin", "CRM_URL": live.service.address}
    pipe = asyncio.subprocess.PIPE
    ran = await asyncio.create_subprocess_exec(*command, env=environment, stdin=pipe, stdout=pipe)
    out, _ = await ran.communicate(typed.encode())
    return out.decode()


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_its_curl_and_its_example_are_answered(database_url: str, tmp_path: Path) -> None:
    commands = "\n".join(re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)).replace(
        "pending.json", str(tmp_path / "pending.json")
    )
    async with going(tmp_path, database_url) as live:
        sent = commands.replace("http://127.0.0.1:8000", live.service.address)
        await live.ask('mutation { accountCreate(input: {name: "Acme Brick Company"}) { account { id } } }')
        out = await _ran(live, "bash", "-c", sent)
        assert "event: run_started\n" in out
        assert '"status":"succeeded"' in out
        assert '"status":"approved"' in out
        assert "[succeeded]" in await _ran(live, sys.executable, str(EXAMPLE), "what", "can", "you", "do")
        note = "log a note on Acme Brick Company: they will\u2028sign in May"  # which ends no line of the stream
        for typed, said in (
            ("n\n", "Nothing was written."),
            ("y\n", "The note is on Acme Brick Company now."),
        ):
            out = await _ran(live, sys.executable, str(EXAMPLE), note, typed=typed)
            assert "Approve? [y/N]" in out
            assert said in out
