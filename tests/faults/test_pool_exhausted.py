"""All connections of the pool taken: whoever comes is told after two seconds, and a statement ends after eight."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import httpx
import pytest
from sqlalchemy.engine import make_url

from contract.limits import CONNECTION_SECONDS, STATEMENT_SECONDS
from tests.support.live import Headers, Live, going
from tests.support.postgresql import Server

pytestmark = pytest.mark.long

POOL = 2
_SLACK = 2.0


async def _timed(
    live: Live, client: httpx.AsyncClient, method: str, path: str, headers: Headers | None = None
) -> tuple[int, float, httpx.Response]:
    began = time.monotonic()
    body = {"name": "Held up"} if method == "POST" else None
    answer = await client.request(method, f"{live.service.address}{path}", json=body, headers=headers)
    return answer.status_code, time.monotonic() - began, answer


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_nobody_waits_for_long(database_url: str, postgresql: Server, tmp_path: Path) -> None:
    settings = {"CRM_DATABASE_POOL_SIZE": str(POOL), "CRM_RATE_LIMIT": "off"}
    async with (
        going(tmp_path, database_url, **settings) as live,
        httpx.AsyncClient(headers=live.token(), timeout=30) as client,
    ):
        await live.create("Before")
        locking = await postgresql.connect(str(make_url(database_url).database), role="postgres")
        try:
            transaction = locking.transaction()
            await transaction.start()
            await locking.execute("LOCK TABLE event_counters IN ACCESS EXCLUSIVE MODE")
            # Each of two organizations has its half of the turns.
            callers = (live.token(), live.token("stranger", "org_two"))
            held = [asyncio.create_task(_timed(live, client, "POST", "/deals", caller)) for caller in callers]
            await asyncio.sleep(0.5)
            refused = await asyncio.gather(*(_timed(live, client, "GET", "/deals") for _ in range(20)))
            for status, seconds, answer in refused:
                assert (status, answer.headers["retry-after"]) == (503, "1")
                assert CONNECTION_SECONDS - 0.1 < seconds < CONNECTION_SECONDS + _SLACK
            began = time.monotonic()
            assert (await client.get(f"{live.service.address}/health")).status_code == 200
            assert time.monotonic() - began < 1
            ended = await asyncio.gather(*held)
            for status, seconds, _ in ended:
                assert status == 504
                assert STATEMENT_SECONDS - 0.1 < seconds < STATEMENT_SECONDS + _SLACK
            print(
                f"refused after {max(s for _, s, _ in refused):.2f} s, ended after {max(s for _, s, _ in ended):.2f} s"
            )
            await transaction.rollback()
        finally:
            await locking.close()
        answers = await asyncio.gather(*(_timed(live, client, "POST", "/deals") for _ in range(20)))
        assert {status for status, _, _ in answers} == {201}
        names = [deal["name"] for deal in (await client.get(f"{live.service.address}/deals")).json()]
        assert sorted(names) == ["Before"] + ["Held up"] * 20  # what was refused left nothing
