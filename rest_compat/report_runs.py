"""Serves the paths of reports' runs."""

from __future__ import annotations

from asyncio import gather
from typing import Final

from contract.errors import NotFound
from resolvers.files import get_file
from resolvers.report_runs import Asked, ReportRunAsked, get_report_run, run_report
from rest_compat.files import FILE
from rest_compat.operations import RestOperation, RestRequest, RestResponse


async def run(call: RestRequest) -> RestResponse:
    """Queues a run; answers with it, its job and the path of the job's state."""
    return queued(call, await run_report(call.ctx, call.path["report_id"], call.body))


def queued(call: RestRequest, asked: Asked) -> RestResponse:
    """Returns the answer on a run that is queued."""
    return RestResponse(
        {"run_id": asked.run.id, "job_id": asked.job.id, "status_url": f"{call.root_path}/jobs/{asked.job.id}"},
        {"Location": f"{call.root_path}/report-runs/{asked.run.id}"},
    )


async def read(call: RestRequest) -> RestResponse:
    """Answers with what has become of a run."""
    found = await get_report_run(call.ctx, call.path["run_id"])
    if found is None:
        raise NotFound()
    files = await gather(*(get_file(call.ctx, file_id) for file_id in found.file_ids))
    return RestResponse(
        {
            "id": found.id,
            "report_id": found.report_id,
            "status": found.status,
            "files": [FILE.of(file) for file in files if file is not None],
            "error": found.error,
            "created_at": found.created_at,
            "finished_at": found.finished_at,
        }
    )


OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/reports/{report_id}/run",
        run,
        "Make files of a report",
        resolver=run_report,
        status=202,
        body=ReportRunAsked,
        body_required=False,
        answer="ReportRunQueued",
        graphql_field="Mutation.reportRun",
        description="By a job, all of one set of rows. `Location` is the path of the run. 409 for a report that is "
        "narrowed to what is not there any more.",
        response_headers=("Location", "X-Ignored-Fields"),
        errors=(404, 409),
    ),
    RestOperation(
        "GET",
        "/report-runs/{run_id}",
        read,
        "Get a run of a report",
        resolver=get_report_run,
        answer="ReportRun",
        graphql_field="Query.reportRun",
        description="Runs are remembered for 90 days. The content of a file is at `/files/{file_id}/content`.",
        errors=(404,),
    ),
)
