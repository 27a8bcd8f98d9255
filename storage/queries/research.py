"""Statements on research runs, their results, and the CX reports (specification 4.3)."""

from collections.abc import Sequence

from sqlalchemy import Integer, and_, bindparam, func, select, update
from sqlmodel import col

from contract.vocabulary import ResearchResultStatus, ResearchRunStatus
from storage.base import Identifier, as_uuid, now
from storage.expressions import AnyColumn, AnySelect
from storage.joined_rows import CXContentRow, FileRow, RevisionRow
from storage.queries.filtering import in_list
from storage.queries.listables import CX_REPORTS
from storage.queries.records import lock_for_update
from storage.rows import CXReportRow
from storage.statements import ORG_PARAM
from storage.tables import Artifact, CXReport, CXReportRevision, Medium, ResearchResult, ResearchRun
from storage.tenancy.sessions import TenantSession


async def fail_pending(session: TenantSession, run_id: str, error: str) -> None:
    """The results of a locked run that nothing has become of yet have failed."""
    await session.execute(
        update(ResearchResult)
        .where(
            col(ResearchResult.org_id) == session.org_id,
            col(ResearchResult.run_id) == run_id,
            col(ResearchResult.status) == ResearchResultStatus.PENDING.value,
        )
        .values(status=ResearchResultStatus.FAILED.value, error=error)
    )


async def pending_jobs(session: TenantSession, run_id: object) -> list[str]:
    """The jobs of those results, in one order for everybody."""
    rows = await session.rows(
        select(col(ResearchResult.job_id))
        .where(
            col(ResearchResult.org_id) == session.org_id,
            col(ResearchResult.run_id) == as_uuid(run_id),
            col(ResearchResult.status) == ResearchResultStatus.PENDING.value,
            col(ResearchResult.job_id).is_not(None),
        )
        .order_by(col(ResearchResult.job_id))
    )
    return [row.job_id for row in rows]


async def settle(session: TenantSession, run: ResearchRun) -> tuple[ResearchRun, bool]:
    """Note how far a locked run has come, from what has become of its results; whether it has just ended."""
    rows = await session.rows(
        select(col(ResearchResult.status), func.count().label("number"))
        .where(col(ResearchResult.org_id) == session.org_id, col(ResearchResult.run_id) == run.id)
        .group_by(col(ResearchResult.status))
    )
    counted = {row.status: row.number for row in rows}
    if counted.get(ResearchResultStatus.PENDING.value):
        return await session.update(run, status=ResearchRunStatus.RUNNING.value), False
    scored, failed = (counted.get(s.value, 0) for s in (ResearchResultStatus.SCORED, ResearchResultStatus.FAILED))
    ended = ResearchRunStatus.COMPLETED if not failed else ResearchRunStatus.PARTIAL
    status = (ended if scored else ResearchRunStatus.FAILED).value
    return await session.update(run, status=status, completed_at=now()), True


async def unsettled(session: TenantSession, result_id: str) -> tuple[ResearchRun, ResearchResult] | None:
    """The run and the result, locked in this order by everybody; None where the work on it is not wanted any more."""
    run_id = await session.scalar(_of_result(session, result_id, col(ResearchResult.run_id)))
    run = None if run_id is None else await lock_for_update(session, ResearchRun, run_id)
    result = None if run is None else await lock_for_update(session, ResearchResult, result_id)
    if run is None or result is None or not _is_wanted(run.status, result.status):
        return None
    return run, result


async def is_wanted(session: TenantSession, result_id: str) -> bool:
    """Says whether somebody still waits for the result."""
    run = select(col(ResearchRun.status)).where(
        col(ResearchRun.org_id) == session.org_id, col(ResearchRun.id) == col(ResearchResult.run_id)
    )
    found = await session.row(
        _of_result(session, result_id, col(ResearchResult.status).label("result"), run.scalar_subquery().label("run"))
    )
    return found is not None and _is_wanted(found.run, found.result)


def _of_result(session: TenantSession, result_id: str, *columns: AnyColumn) -> AnySelect:
    return select(*columns).where(
        col(ResearchResult.org_id) == session.org_id, col(ResearchResult.id) == as_uuid(result_id)
    )


def _is_wanted(run_status: str, result_status: str) -> bool:
    return run_status != ResearchRunStatus.CANCELLED and result_status == ResearchResultStatus.PENDING


async def report_key(session: TenantSession, run_id: object, result_id: object) -> CXReportRow | None:
    """`id` and `render_job_id` of a result's report; None where the run has no such result, or the result no report."""
    found: CXReportRow | None = await session.row(
        select(col(CXReport.id), col(CXReport.render_job_id))
        .join(
            ResearchResult,
            and_(col(ResearchResult.org_id) == col(CXReport.org_id), col(ResearchResult.id) == col(CXReport.result_id)),
        )
        .where(
            col(CXReport.org_id) == session.org_id,
            col(CXReport.result_id) == as_uuid(result_id),
            col(ResearchResult.run_id) == as_uuid(run_id),
        )
    )
    return found


async def report_to_change(session: TenantSession, report_id: str) -> CXReport | None:
    """The report, locked against other writers."""
    return await session.find(CXReport, id=report_id, lock=True)


async def to_render(session: TenantSession, report_id: str, revision: int) -> RevisionRow | None:
    """All that a revision of a report is rendered from, and `published_revision`; None where there is none such."""

    def build() -> AnySelect:
        own = col(CXReportRevision.org_id)
        return (
            select(
                *(getattr(CXReportRevision, name) for name in _WRITTEN),
                col(CXReport.published_revision),
                *(getattr(ResearchResult, name) for name in _MEASURED),
            )
            .join(CXReport, and_(col(CXReport.org_id) == own, col(CXReport.id) == col(CXReportRevision.report_id)))
            .join(
                ResearchResult,
                and_(col(ResearchResult.org_id) == own, col(ResearchResult.id) == col(CXReport.result_id)),
            )
            .where(
                own == ORG_PARAM,
                col(CXReportRevision.report_id) == bindparam("report", type_=Identifier),
                col(CXReportRevision.revision) == bindparam("revision", type_=Integer),
            )
        )

    rows = await session.fetch("to_render", build, report=report_id, revision=revision)
    return rows[0] if rows else None


_WRITTEN = ("copy_blobs", "analysis", "brand", "bpo_prefix", "created_at")
_MEASURED = ("company_name", "domain", "score", "factors")


async def files(session: TenantSession, report_ids: Sequence[str]) -> dict[str, list[FileRow]]:
    """The public files of the reports' published revisions, each with its `key`."""

    def build() -> AnySelect:
        own = col(CXReport.org_id)
        return (
            select(
                col(CXReport.id).label("report_id"),
                *(getattr(Artifact, name) for name in _SHOWN),
                col(Medium.key),
            )
            .join(
                Artifact,
                and_(
                    col(Artifact.org_id) == own,
                    col(Artifact.subject_id) == col(CXReport.id),
                    col(Artifact.revision) == col(CXReport.published_revision),
                ),
            )
            .join(Medium, and_(col(Medium.org_id) == own, col(Medium.artifact_id) == col(Artifact.id)))
            .where(own == ORG_PARAM, in_list(col(CXReport.id), "ids"))
        )

    found: dict[str, list[FileRow]] = {i: [] for i in report_ids}
    for row in await session.fetch("cx_report_files", build, ids=list(report_ids)):
        found[row.report_id].append(row)
    return found


_SHOWN = ("kind", "revision", "bytes", "sha256", "content_type", "rendered_at")


async def revision_of(session: TenantSession, report_id: str, revision: int) -> CXReportRevision | None:
    """The content of a report at that revision."""
    return await session.find(CXReportRevision, report_id=report_id, revision=revision)


async def reports(session: TenantSession, result_ids: Sequence[str]) -> dict[str, CXContentRow]:
    """The reports of these results with their newest content, by result; those without one are left out."""

    def build() -> AnySelect:
        return CX_REPORTS.select(ORG_PARAM).where(in_list(col(CXReport.result_id), "ids"))

    return {row.result_id: row for row in await session.fetch("cx_reports", build, ids=list(result_ids))}
