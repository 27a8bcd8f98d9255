"""GET /health and GET /ready."""

from __future__ import annotations

import httpx
import pytest

from tests.rest_compat.conftest import REQUEST_ID
from transport.readiness import Check

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


async def test_health(client: httpx.AsyncClient) -> None:
    response = await client.get("/health", headers={"Authorization": "Bearer nonsense"})
    assert (response.status_code, response.text) == (200, '{"status":"ok","version":"0.0.1"}')
    assert response.headers["cache-control"] == "no-store"


async def test_ready(client: httpx.AsyncClient) -> None:
    response = await client.get("/ready")
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    assert response.text.splitlines() == [
        '{"status":"ok","checks":[',
        '{"name":"database","ok":true,"message":"answers","ms":0.0},',
        '{"name":"worker","ok":true,"message":"seen 2 s ago","ms":12.3}',
        "]}",
    ]


async def test_not_ready(client: httpx.AsyncClient, checks: list[Check]) -> None:
    checks[:] = [Check("database", False, 'says "no"'), Check("migrations", False, "2 pending"), checks[1]]
    response = await client.get("/ready")
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert response.json() == {
        "status": "unavailable",
        "detail": "database, migrations not ready",
        "code": "unavailable",
        "request_id": REQUEST_ID,
        "checks": [
            {"name": "database", "ok": False, "message": 'says "no"', "ms": 0.0},
            {"name": "migrations", "ok": False, "message": "2 pending", "ms": 0.0},
            {"name": "worker", "ok": True, "message": "seen 2 s ago", "ms": 12.3},
        ],
    }
