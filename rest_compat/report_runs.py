"""Serves the paths of reports' runs."""

from __future__ import annotations

from asyncio import gather
from typing import Final

from contract.errors import NotFound
from resolvers.files import get_file
from resolvers.mails import ReportEmail, email_report, get_mail
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


MAIL: Final = {
    "id": "id",
    "subject": "subject",
    "to": "recipients",
    "status": "status",
    "attempts": "attempts",
    "error": "error",
    "created_at": "created_at",
    "sent_at": "sent_at",
}
"""The names of a message's columns over REST."""


async def send(call: RestRequest) -> RestResponse:
    """Queues a run whose files are sent; answers as on any run."""
    return queued(call, await email_report(call.ctx, call.path["report_id"], call.body))


async def read(call: RestRequest) -> RestResponse:
    """Answers with what has become of a run."""
    found = await get_report_run(call.ctx, call.path["run_id"])
    if found is None:
        raise NotFound()
    files = await gather(*(get_file(call.ctx, file_id) for file_id in found.file_ids))
    mail = await get_mail(call.ctx, found.mail_id)
    return RestResponse(
        {
            "id": found.id,
            "report_id": found.report_id,
            "status": found.status,
            "files": [FILE.of(file) for file in files if file is not None],
            "mail": None if mail is None else {name: getattr(mail, key) for name, key in MAIL.items()},
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
        response_headers=("Location",),
        errors=(404, 409),
    ),
    RestOperation(
        "POST",
        "/reports/{report_id}/email",
        send,
        "Send a report by e-mail",
        resolver=email_report,
        status=202,
        body=ReportEmail,
        answer="ReportRunQueued",
        graphql_field="Mutation.reportEmail",
        description="Files are made by a job, all of one set of rows, and sent to addresses of the organization's "
        "members; an administrator may write to others. `mail` of the run says what became of the message. Send an "
        "Idempotency-Key: a repeated request mails nothing twice then. 409 for a report that is narrowed to what is "
        "not there any more, 429 once the organization has had its messages of the day.",
        response_headers=("Location",),
        errors=(404, 409, 429),
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
