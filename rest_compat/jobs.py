"""GET /jobs/{job_id}: where a `status_url` leads."""

from __future__ import annotations

from typing import Final

from contract.errors import NotFound
from resolvers.jobs import get_job
from rest_compat.documents import Document
from rest_compat.operations import Answer, Call, Operation
from storage import tables as t


async def detail(call: Call) -> Answer:
    """The job. Raises NotFound."""
    job = await get_job(call.ctx, call.path["job_id"])
    if job is None:
        raise NotFound()
    return Answer(JOB.of(job))


JOB: Final = Document(
    "Job",
    t.Job,
    "A piece of work that runs later.",
    (
        *("id", "org_id", "kind", "status", "attempts", "error", "progress", "created_at", "started_at"),
        "finished_at",
    ),
    texts={"status": "The last three are final."},
)


OPERATIONS: Final = (
    Operation(
        "GET",
        "/jobs/{job_id}",
        detail,
        "Get a job",
        resolver=get_job,
        answer=JOB,
        twin="Query.job",
        description="What has become of work that runs later; a status_url leads here.",
        errors=(404,),
    ),
)
