"""Runs of reports on the GraphQL surface."""

from asyncio import gather
from typing import Annotated, Any

import strawberry

from contract.vocabulary import ReportFormat
from resolvers import files, jobs, mails, report_runs, reports
from schema.connections import Node
from schema.declare import Info, argument, enum, field, guarded_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected
from schema.files import File
from schema.inputs import change
from schema.jobs import Job
from schema.links import MailLink, ReportLink
from schema.records import record
from storage import tables as t
from storage.rows import ReportRunRow

enum(
    ReportFormat,
    "The files that a report is made into.",
    PDF="A page layout for people.",
    SPREADSHEET="An .xlsx workbook with typed cells.",
    CSV="Comma-separated values in UTF-8, cells that a spreadsheet would run neutralised.",
)


@record(
    t.ReportRun,
    "One rendering of a report.",
    hidden=("report_id", "formats", "job_id", "file_ids", "mail_id", "occurrence"),
)
class ReportRun(Node):
    @guarded_field(reports.get_report, "The report; null where it is gone, or where nothing was done.", "report_id")
    async def report(root: strawberry.Parent[ReportRunRow], info: Info) -> ReportLink | None:
        return None if root.report_id is None else await reports.get_report(info.context, root.report_id)

    @guarded_field(jobs.get_job, "The job that does it; null once it is forgotten.", "job_id")
    async def job(root: strawberry.Parent[ReportRunRow], info: Info) -> Job | None:
        return await jobs.get_job(info.context, root.job_id)

    @guarded_field(files.get_file, "The files, once it has succeeded.", "file_ids")
    async def files(root: strawberry.Parent[ReportRunRow], info: Info) -> list[File]:
        found = await gather(*(files.get_file(info.context, i) for i in root.file_ids))
        return [one for one in found if one is not None]  # type: ignore[misc]  # a row stands for its type

    @guarded_field(mails.get_mail, "The message that carries them.", "mail_id")
    async def mail(root: strawberry.Parent[ReportRunRow], info: Info) -> MailLink | None:
        return await mails.get_mail(info.context, root.mail_id)


@strawberry.type(description="A run that is queued.")
class ReportRunPayload:
    run: ReportRun | None = field("The run; null where nothing was done.")
    job: Job | None = field("The job that does it.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


@strawberry.type
class ReportRunQueries:
    @operation_field(report_runs.get_report_run, "A run by its id.")
    async def report_run(
        self, info: Info, id: Annotated[strawberry.ID, argument("The run's identifier.")]
    ) -> ReportRun | None:
        return await report_runs.get_report_run(info.context, id, selected(info))


@strawberry.type
class ReportRunMutations:
    @operation_field(report_runs.run_report, "Renders files of one set of rows together.")
    async def report_run(
        self,
        info: Info,
        id: Annotated[strawberry.ID, argument("The report's identifier.")],
        formats: Annotated[list[ReportFormat], argument("Which files, each once.")] = [ReportFormat.PDF],  # noqa: B006  # never changed
    ) -> ReportRunPayload:
        asked, problems = await change(
            info, report_runs.run_report, id, model=report_runs.ReportRunAsked, input={"formats": formats}, at=()
        )
        return payload((asked, problems))


def payload(outcome: tuple[Any, list[UserError]]) -> ReportRunPayload:  # Any: rows stand for their types
    """The outcome of having a report run, or sent."""
    asked, problems = outcome
    return ReportRunPayload(
        run=None if asked is None else asked.run, job=None if asked is None else asked.job, user_errors=problems
    )


QUERIES, MUTATIONS = ReportRunQueries, ReportRunMutations
