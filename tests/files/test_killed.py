"""An upload goes on behind whatever became of the process: nothing that was told is lost, and the file is right."""

from __future__ import annotations

import asyncio
import hashlib
import random
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.records.test_uploads import BYTES, PATH, TUS, metadata
from tests.support.live import going
from tests.support.service import Service

pytestmark = [pytest.mark.long, pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)]

MIB = 1024 * 1024
SIZE = 40 * MIB
KILLS = 3


async def _sent(data: bytes, start: int, upto: int) -> AsyncIterator[bytes]:
    """The bytes from there on; behind the last of them the line goes dead."""
    for place in range(start, upto, MIB // 4):
        yield data[place : min(place + MIB // 4, upto)]
    await asyncio.sleep(120)


async def _offset(http: httpx.AsyncClient, path: str, more_than: int = -1) -> int:
    """What HEAD tells, once it is more than this."""
    async with asyncio.timeout(60):
        while True:
            told = int((await http.head(path)).headers["upload-offset"])
            if told > more_than:
                return told
            await asyncio.sleep(0.05)


async def _free(http: httpx.AsyncClient, path: str, told: int) -> None:
    """Wait until the request that the process died with holds the upload no more, as clients do that try again."""
    part = BYTES | {"Upload-Offset": str(told)}
    async with asyncio.timeout(60):
        while (await http.patch(path, content=b"", headers=part)).status_code == 423:  # noqa: ASYNC110  # as clients do
            await asyncio.sleep(0.5)


async def test_an_upload_outlives_its_process(database_url: str, tmp_path: Path) -> None:
    chance = random.Random(7)
    data = chance.randbytes(SIZE)
    async with going(tmp_path, database_url) as live:
        headers = live.token() | TUS

        def client(service: Service) -> httpx.AsyncClient:
            return httpx.AsyncClient(base_url=service.address, headers=headers, timeout=60)

        async with client(live.service) as http:
            begun = await http.post(PATH, headers={"Upload-Length": str(SIZE)} | metadata(filename="a.bin"))
        path, service, told = begun.headers["location"], live.service, 0
        for _ in range(KILLS):
            upto = told + chance.randint(9 * MIB, 12 * MIB)
            async with client(service) as http:
                await _free(http, path, told)
                part = BYTES | {"Upload-Offset": str(told)}
                sending = asyncio.create_task(http.patch(path, content=_sent(data, told, upto), headers=part))
                seen = await _offset(http, path, more_than=told)
                service.end(signal.SIGKILL)
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
            service = Service(tmp_path, "--no-worker", CRM_DATABASE_URL=database_url, CRM_RATE_LIMIT="off")
            async with client(service) as http:
                told = await _offset(http, path)
            assert seen <= told <= upto
        with service:
            async with client(service) as http:
                await _free(http, path, told)
                part = BYTES | {"Upload-Offset": str(told)}
                done = await http.patch(path, content=data[told:], headers=part)
                file = (await http.get(f"/files/{done.headers['x-file-id']}")).json()
                assert (file["bytes"], file["sha256"]) == (SIZE, hashlib.sha256(data).hexdigest())
                assert (await http.get(f"/files/{file['id']}/content")).content == data
