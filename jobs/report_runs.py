"""Runs of reports: the rows are read once, at one moment, and all files that were asked for are made of them.

A run does what its asker may do when it runs. Its files are published together, in the commit that ends it.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from contract.file_errors import QuotaExceeded
from contract.limits import LEFTOVER_HOURS, REPORT_RUN_DAYS
from contract.scopes import ScopeGroup
from contract.vocabulary import JobStatus, ReportKind
from jobs import mails
from jobs.queue import enqueue_for
from jobs.work import Retry, Run, WorkFailed, work
from providers.children.errors import ChildError
from reports.narrowing import READ_BY
from reports.printed import Printed, PrintedFile
from reports.report_facts import facts_of
from reports.report_rows import lead_nowhere, table_of
from reports.table_files import PRINTING, print_table
from storage.base import new_id, now
from storage.database import Database
from storage.new_rows import new_row
from storage.queries import files, members, report_runs
from storage.queries.organizations import name_of
from storage.queries.records import append_events
from storage.rows import ReportRow
from storage.tables import Event, File, Job, Mail, Report, ReportRun
from storage.tenancy.sessions import TenantSession

KIND = "report_run"
KEPT = timedelta(days=REPORT_RUN_DAYS)


async def enqueue_run(
    session: TenantSession,
    report: Report | ReportRow,
    formats: Sequence[str],
    requested_by: str,
    mail_id: str | None = None,
    occurrence: datetime | None = None,
) -> tuple[ReportRun, Job]:
    """Have files in these formats made of the report, and sent with the message if there is one; the run, its job."""
    return await enqueue_for(
        session,
        KIND,
        "run_id",
        lambda run_id, job_id: new_row(
            ReportRun,
            id=run_id,
            report_id=report.id,
            formats=list(formats),
            requested_by=requested_by,
            job_id=job_id,
            mail_id=mail_id,
            occurrence=occurrence,
        ),
    )


async def _gave_up(session: TenantSession, job: Job, words: str) -> None:
    """Say that what was to be sent with the files of the run never will be."""
    run = await session.find(ReportRun, id=job.arguments["run_id"])
    if run is not None and run.mail_id is not None:
        await mails.end(session, run.mail_id, f"There is no report to send: {words}")


@work(KIND, gave_up=_gave_up)
async def run_report(run: Run, run_id: str) -> None:
    """Make the files of a run, and publish them all or none. What stands in the way is written to the run."""
    try:
        asked, printed = await _read(run, run_id)
        made = await _printed(run, printed, asked.formats)
        drafts = [_draft(run, asked, printed.kind, file) for file in made]
        async with run.writing() as session:
            names = [draft.storage_name for draft in drafts if draft.storage_name]
            await files.note_leftovers(session, names, now() + timedelta(hours=LEFTOVER_HOURS))
        for draft, file in zip(drafts, made, strict=True):
            if draft.storage_name:
                await run.ports.artifacts.put(draft.storage_name, file.data)
        await _publish(run, run_id, drafts)
    except WorkFailed as error:
        async with run.writing() as session:
            found = await session.find(ReportRun, id=run_id, lock=True)
            if found is not None:
                await session.update(found, status=JobStatus.FAILED.value, error=str(error), finished_at=now())
        raise


async def _read(run: Run, run_id: str) -> tuple[ReportRun, Printed]:
    """The run, and the report with its rows of this moment. Raises WorkFailed where there can be none."""
    async with run.directory() as session:
        organization = await name_of(session, run.org_id)
    async with run.reading() as session:
        asked = await session.find(ReportRun, id=run_id)
        if asked is None:
            raise WorkFailed("The run does not exist any more")
        report = None if asked.report_id is None else await session.find(Report, id=asked.report_id)
        if report is None:
            raise WorkFailed("The report does not exist any more")
        kind = ReportKind(report.kind)
        await _check_may_run(session, asked, report)
        [words] = await lead_nowhere(session, [report.parameters])
        if words is not None:
            raise WorkFailed(words)
        moment = now()
        return asked, Printed(
            name=report.name,
            description=report.description,
            kind=kind,
            organization=organization,
            facts=await facts_of(session, kind, report.parameters, moment),
            prepared=moment.astimezone(ZoneInfo(str(report.parameters["time_zone"]))),
            table=await table_of(session, kind, report.parameters, moment),
        )


async def _check_may_run(session: TenantSession, asked: ReportRun, report: Report) -> None:
    """Raise WorkFailed where the member may not have reports run any more, which lets every kind be read.

    A schedule acts as the report's owner, who has to read what the report tells.
    """
    subject = asked.requested_by if asked.occurrence is None else report.owner_id or ""
    scopes = (await members.scopes_of(session, [subject])).get(subject, frozenset())
    groups = [ScopeGroup.CRM_MANAGE]
    if asked.occurrence is not None:
        groups = [ScopeGroup.CRM_READ, READ_BY[ReportKind(report.kind)]]
    if not all(group.passes(scopes) for group in groups):
        raise WorkFailed("Who asked for it may not read any more what the report tells")


async def _printed(run: Run, printed: Printed, formats: Sequence[str]) -> tuple[PrintedFile, ...]:
    try:
        return await run.ports.children.run(PRINTING, print_table, printed, list(formats))
    except ChildError as error:
        if run.is_last:
            raise WorkFailed(f"The rendering {error}") from None
        raise Retry(f"The rendering {error}") from None


def _draft(run: Run, asked: ReportRun, kind: ReportKind, made: PrintedFile) -> File:
    """A file of the run, which is shown to those alone who may read such rows (decision 850)."""
    return new_row(
        File,
        org_id=run.org_id,
        name=made.name,
        content_type=made.content_type,
        bytes=len(made.data),
        sha256=made.sha256,
        uploaded_by=asked.requested_by,
        storage_name=f"{run.org_id}/{new_id()}" if made.data else "",
        needs=READ_BY[kind].needed,
    )


async def _publish(run: Run, run_id: str, drafts: Sequence[File]) -> None:
    """Make the files those of the run, in the commit that ends it. Raises WorkFailed where there is no place."""
    async with run.finishing() as session:
        usage = await files.lock_usage(session)
        try:
            kept = await files.keep(session, usage, drafts, run.ports.files_quota)
        except QuotaExceeded as error:
            raise WorkFailed(error.message) from None
        if kept is None:
            raise Retry("The files lay unused for too long")
        asked = await session.find(ReportRun, id=run_id, lock=True)
        if asked is None:
            raise WorkFailed("The run does not exist any more")
        ids = [file.id for file in kept]
        await session.update(asked, status=JobStatus.SUCCEEDED.value, file_ids=ids, finished_at=now())
        await append_events(session, [_uploaded(file_id, asked.requested_by) for file_id in ids])
        mail = None if asked.mail_id is None else await session.find(Mail, id=asked.mail_id, lock=True)
        if mail is not None:
            await mails.enqueue_mail(session, mail, ids)


def _uploaded(file_id: str, actor: str) -> Event:
    data = {"file_id": file_id, "attached_to": []}
    return new_row(Event, sequence=0, type="file_uploaded", area="crm", actor=actor, data=data)


async def prune(database: Database, org_id: str) -> bool:
    """Forget a batch of the runs that are too old; whether there were any. A read alone where there are none."""
    before = now() - KEPT
    async with database.reading(org_id) as session:
        found = await report_runs.are_old(session, before)
    if found:
        async with database.writing(org_id) as session:
            await report_runs.forget(session, before)
    return found
