"""GET /jobs/{job_id}: where a `status_url` leads."""

from __future__ import annotations

from typing import Any

from contract.errors import NotFound
from resolvers.jobs import get_job
from rest_compat.operations import Answer, Call


async def detail(call: Call) -> Answer:
    """The job. Raises NotFound."""
    job = await get_job(call.ctx, call.path["job_id"])
    if job is None:
        raise NotFound()
    return Answer(_document(job))


def _document(job: Any) -> dict[str, Any]:
    return {
        "id": job.id,
        "org_id": job.org_id,
        "kind": job.kind,
        "status": job.status,
        "attempts": job.attempts,
        "error": job.error,
        "progress": job.progress,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
    }
