"""GET /health and GET /ready: whether the process lives, and whether it can serve (decision 29)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from contract.errors import Unavailable
from contract.limits import VERSION
from rest_compat.operations import Answer, Call, Operation
from transport.readiness import Check

_FRESH = {"Cache-Control": "no-store"}


async def alive(_call: Call) -> Answer:
    """Says that the process answers; no dependency is touched."""
    return Answer({"status": "ok", "version": VERSION}, _FRESH)


async def ready(call: Call) -> Answer:
    """Every dependency on a line of its own; 503, in the shape of an error, as long as one of them is missing."""
    checks = await call.readiness()
    if all(check.ok for check in checks):
        return Answer(_lines({"status": "ok"}, checks), _FRESH)
    refusal = {
        "status": "unavailable",
        "detail": ", ".join(check.name for check in checks if not check.ok) + " not ready",
        "code": Unavailable.code.lower(),
        "request_id": call.ctx.request_id,
    }
    headers = {**_FRESH, "Retry-After": str(Unavailable.retry_after)}
    return Answer(_lines(refusal, checks), headers, Unavailable.status)


def _line(check: Check) -> dict[str, Any]:
    return {"name": check.name, "ok": check.ok, "message": check.message, "ms": round(check.seconds * 1000, 1)}


def _lines(head: Mapping[str, str], checks: Sequence[Check]) -> bytes:
    lines = [orjson.dumps(_line(check)) for check in checks]
    start = orjson.dumps(head)[:-1]
    return start + b',"checks":[\n' + b",\n".join(lines) + b"\n]}\n"


OPERATIONS: Final = (
    Operation(
        "GET",
        "/health",
        alive,
        "Whether the process lives",
        answer="Liveness",
        description="Touches no dependency.",
        response_headers=("Cache-Control",),
    ),
    Operation(
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
