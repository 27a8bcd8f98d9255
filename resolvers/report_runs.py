"""Runs of reports: files of one set of rows, made by a job (decisions 550 to 552)."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from contract.criteria import ListQuery, Selection
from contract.errors import InvalidState, NotFound
from contract.scopes import ScopeGroup
from contract.vocabulary import ReportFormat
from jobs.report_runs import enqueue_run
from reports.report_rows import lead_nowhere
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import ExactInput
from resolvers.shared.lists import PageResult, by_id, children
from storage.queries import listables
from storage.rows import ReportRow, ReportRunRow
from storage.tables import Job, ReportRun
from storage.tenancy.sessions import TenantSession


def _each_once(formats: list[ReportFormat]) -> list[ReportFormat]:
    if len(set(formats)) < len(formats):
        raise ValueError("names a format twice")
    return formats


Formats = Annotated[
    list[ReportFormat],
    Field(min_length=1, max_length=len(ReportFormat), description="Which files, each once."),
    AfterValidator(_each_once),
]


class ReportRunAsked(ExactInput):
    """The files that are wanted of a report."""

    formats: Formats = [ReportFormat.PDF]


@dataclass(frozen=True, slots=True)
class Asked:
    """A run that is queued, and the job that does it."""

    run: ReportRun
    job: Job


@requires(ScopeGroup.CRM_READ, finds=(listables.REPORT_RUNS,))
async def get_report_run(ctx: Context, run_id: str, selection: Selection | None = None) -> ReportRunRow | None:
    """The run, or None."""
    return await by_id(ctx, listables.REPORT_RUNS, run_id, selection)


@requires(ScopeGroup.CRM_READ)
async def runs_of_report(
    ctx: Context, report_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[ReportRunRow]:
    """A page of the report's runs, newest first."""
    return await children(ctx, listables.REPORT_RUNS, ReportRun.report_id, report_id, listing, selection)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def run_report(ctx: Context, report_id: str, input: ReportRunAsked) -> Asked:
    """Have files made of what the report says when its job runs.

    Raises NotFound, and InvalidState for one that leads nowhere any more. Who may have reports run may read all kinds.
    """
    report = await by_id(ctx, listables.REPORTS, report_id)
    if report is None:
        raise NotFound(field=("id",))
    async with ctx.writing() as session:
        await check_leads(session, report)
        run, job = await enqueue_run(session, report, input.formats, ctx.caller.subject)
        await changes.append_event(ctx, session, "report_run", {"report_id": report.id, "run_id": run.id})
    ctx.forget()
    return Asked(run, job)


async def check_leads(session: TenantSession, report: ReportRow) -> None:
    """Raise InvalidState where the report is narrowed to what is not there any more (decision 474)."""
    [words] = await lead_nowhere(session, [report.parameters])
    if words is not None:
        raise InvalidState(words, field=("id",))
