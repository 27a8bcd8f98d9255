"""tus-js-client sends a file over a line that breaks ten times, and it arrives as it was."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.live import going
from tests.support.node import node_for

pytestmark = [pytest.mark.long, pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)]

HERE = Path(__file__).resolve().parent
MIB = 1024 * 1024
SIZE = 48 * MIB + 7
BREAKS = 10


@pytest.fixture(scope="module")
def node() -> str:
    return node_for(HERE, "tus-js-client was not tried")


@asynccontextmanager
async def line(address: str, breaks: int, least: int, most: int) -> AsyncIterator[tuple[str, list[int]]]:
    """A line to the service that breaks so many times, each behind a random number of the client's bytes."""
    there, chance, broken = urlsplit(address), random.Random(7), list[int]()

    async def carried(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        service_reader, service_writer = await asyncio.open_connection(there.hostname, there.port)

        async def answers() -> None:
            while data := await service_reader.read(65_536):
                writer.write(data)
                await writer.drain()

        from_service = asyncio.create_task(answers())
        left = chance.randint(least, most)
        try:
            while data := await reader.read(65_536):
                left -= len(data)
                service_writer.write(data)
                await service_writer.drain()
                if left < 0 and len(broken) < breaks:
                    broken.append(left)
                    break
        finally:
            from_service.cancel()
            for each in (service_writer, writer):
                each.transport.abort()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await carried(reader, writer)

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", broken
    finally:
        server.close()


async def _sent(node: str, *arguments: str) -> Any:
    process = await asyncio.create_subprocess_exec(
        node, "send.mjs", *arguments, cwd=HERE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(120):
        out, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()
    return json.loads(out)


@pytest.mark.parametrize("chunk", ["whole", str(5 * MIB)])
async def test_a_line_that_breaks_ten_times(node: str, database_url: str, tmp_path: Path, chunk: str) -> None:
    data = random.Random(11).randbytes(SIZE)
    path = tmp_path / "Aufnahme ☎.bin"
    path.write_bytes(data)
    sum_of_it = hashlib.sha256(data).hexdigest()
    async with going(tmp_path, database_url) as live:
        authorization = live.token()["authorization"]
        async with httpx.AsyncClient(base_url=live.service.address, headers=live.token(), timeout=60) as http:
            deal = (await http.post("/deals", json={"name": "D"})).json()["id"]
            told = json.dumps({"attach_to": deal, "sha256": sum_of_it, "filetype": "text/html"})
            async with line(live.service.address, BREAKS, MIB, 4 * MIB) as (address, broken):
                done = await _sent(node, f"{address}/files/uploads", authorization, str(path), chunk, told)
            assert len(broken) == BREAKS
            assert done["breaks"] >= BREAKS
            [file] = (await http.get("/files", params={"attached_to": deal})).json()
            assert (file["id"], file["bytes"], file["sha256"]) == (done["fileId"], SIZE, sum_of_it)
            assert (file["name"], file["content_type"]) == (path.name, "application/octet-stream")
            assert (await http.get(f"/files/{file['id']}/content")).content == data


async def test_an_empty_file(node: str, database_url: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_bytes(b"")
    async with going(tmp_path, database_url) as live:
        authorization = live.token()["authorization"]
        done = await _sent(node, f"{live.service.address}/files/uploads", authorization, str(path), "whole", "{}")
        async with httpx.AsyncClient(base_url=live.service.address, headers=live.token()) as http:
            file = (await http.get(f"/files/{done['fileId']}")).json()
        assert (file["bytes"], file["name"]) == (0, "empty.csv")
