"""Serves GET /health and GET /ready: whether the process is alive, and whether it can serve (decision 29)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from contract.errors import Unavailable
from contract.limits import VERSION
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.schemas import JsonObject
from transport.readiness import Check

_FRESH = {"Cache-Control": "no-store"}


async def alive(_call: RestRequest) -> RestResponse:
    """Says that the process answers; no dependency is touched."""
    return RestResponse({"status": "ok", "version": VERSION}, _FRESH)


async def ready(call: RestRequest) -> RestResponse:
    """Answers with the state of every dependency, one per line; 503 as an error while one is missing."""
    checks = await call.readiness()
    if all(check.ok for check in checks):
        return RestResponse(_lines({"status": "ok"}, checks), _FRESH)
    refusal = {
        "status": "unavailable",
        "detail": ", ".join(check.name for check in checks if not check.ok) + " not ready",
        "code": Unavailable.code.lower(),
        "request_id": call.ctx.request_id,
    }
    headers = {**_FRESH, "Retry-After": str(Unavailable.retry_after)}
    return RestResponse(_lines(refusal, checks), headers, Unavailable.status)


def _line(check: Check) -> JsonObject:
    return {"name": check.name, "ok": check.ok, "message": check.message, "ms": round(check.seconds * 1000, 1)}


def _lines(head: Mapping[str, str], checks: Sequence[Check]) -> bytes:
    lines = [orjson.dumps(_line(check)) for check in checks]
    start = orjson.dumps(head)[:-1]
    return start + b',"checks":[\n' + b",\n".join(lines) + b"\n]}\n"


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/health",
        alive,
        "Whether the process lives",
        answer="Liveness",
        description="Touches no dependency.",
        response_headers=("Cache-Control",),
    ),
    RestOperation(
        "GET",
        "/ready",
        ready,
        "Whether the service can serve",
        answer="Readiness",
        description="Database, migrations, worker and whatever else is set, each with its own line; within 3 seconds.",
        response_headers=("Cache-Control",),
        errors=(503,),
    ),
)
