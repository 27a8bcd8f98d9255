"""Looking at one company of a research run: its web site is read and scored, a report drafted (specification 4.3)."""

import asyncio

from contract.vocabulary import ResearchResultStatus, ResearchRunStatus
from jobs.cx.brand import brand_of
from jobs.cx.copywriting import draft
from jobs.cx.signals import Assessment, assess
from jobs.cx.site import Site, SiteReader, SiteUnreadable
from jobs.render import enqueue_render
from jobs.work import Retry, Run, WorkFailed, work
from storage.queries import records, research
from storage.tables import CXReport, CXReportRevision, ResearchResult, ResearchRun
from storage.tenancy.sessions import TenantSession

RESEARCH = "research_company"

_TRIES = 3
_SECONDS = 180.0
_NO_DOMAIN = "No web site was named, and none is guessed"
_GAVE_UP = "The company could not be looked at"


class _Stopped(Exception):
    """The run was cancelled, or its result is settled already: there is nothing left to do."""


@work(RESEARCH, attempts=_TRIES + 1, seconds=_SECONDS + 30)
async def research_company(run: Run, result_id: str) -> None:
    """Look at the company; one that cannot be looked at leaves a failed result and no broken run.

    The attempt after the last try only settles the result, so that nothing stays pending when tries were cut off.
    """
    try:
        company, domain = await _begin(run, result_id)
        if run.is_last:
            await _give_up(run, result_id, _GAVE_UP)
        if domain is None:
            await _give_up(run, result_id, _NO_DOMAIN)
        try:
            async with asyncio.timeout(_SECONDS):
                site, brand = await _look(run, result_id, company, str(domain))
            await _finish(run, result_id, site, brand)
        except TimeoutError:
            await _failed_try(run, result_id, f"{domain} took longer than {_SECONDS:g} seconds to read")
        except SiteUnreadable as error:
            if error.is_final:
                await _give_up(run, result_id, str(error))
            await _failed_try(run, result_id, str(error))
    except _Stopped:
        return


async def _look(run: Run, result_id: str, company: str, domain: str) -> tuple[Site, dict[str, object]]:
    """The site and the brand. Raises SiteUnreadable, or _Stopped between two requests."""

    async def checkpoint() -> None:
        async with run.reading() as session:
            if not await research.is_wanted(session, result_id):
                raise _Stopped

    reader = SiteReader(run.ports.outbound, run.ports.children, checkpoint)
    site = await reader.read(domain)
    await run.progress(0.7)
    return site, await brand_of(reader, run.ports.children, company, site.home)


async def _begin(run: Run, result_id: str) -> tuple[str, str | None]:
    """The company's name and domain, with its run marked as running."""
    async with run.writing() as session:
        parent, result = await _wanted(session, result_id)
        await session.update(parent, status=ResearchRunStatus.RUNNING.value)
        return result.company_name, result.domain


async def _finish(run: Run, result_id: str, site: Site, brand: dict[str, object]) -> None:
    """Write the result, its report, the job that renders it and what that means for the run, in one commit."""
    assessed = assess(site)
    async with run.finishing() as session:
        parent, result = await _wanted(session, result_id)
        factors = [factor.document() for factor in assessed.factors]
        status = ResearchResultStatus.SCORED.value
        result = await session.update(result, status=status, score=assessed.score, factors=factors)
        await write_report(session, result, site, assessed, brand)
        await _settle(session, parent, run)


async def write_report(
    session: TenantSession, result: ResearchResult, site: Site, assessed: Assessment, brand: dict[str, object]
) -> None:
    """Write the first revision of a result's report, and the job that renders it."""
    copy_blobs, analysis = draft(result.company_name, site, assessed)
    [report] = await session.insert(CXReport(result_id=result.id))
    await session.insert(
        CXReportRevision(report_id=report.id, revision=1, copy_blobs=copy_blobs, analysis=analysis, brand=brand)
    )
    await enqueue_render(session, report)


async def _failed_try(run: Run, result_id: str, words: str) -> None:
    """Raises Retry, or, after the last try, as `_give_up` does."""
    if run.attempt >= _TRIES:
        await _give_up(run, result_id, words)
    raise Retry(words)


async def _give_up(run: Run, result_id: str, words: str) -> None:
    """Mark the result as failed, for this reason; raises WorkFailed."""
    async with run.writing() as session:
        parent, result = await _wanted(session, result_id)
        await session.update(result, status=ResearchResultStatus.FAILED.value, error=words)
        await _settle(session, parent, run)
    raise WorkFailed(words)


async def _settle(session: TenantSession, parent: ResearchRun, run: Run) -> None:
    parent, has_ended = await research.settle(session, parent)
    if has_ended:
        await records.append_event(
            session,
            type="research_run_completed",
            area="crm",
            actor=parent.created_by or "",
            request_id=run.job_id,
            data={"run_id": parent.id, "name": parent.name, "status": parent.status},
        )


async def _wanted(session: TenantSession, result_id: str) -> tuple[ResearchRun, ResearchResult]:
    """The run and the result, locked. Raises _Stopped."""
    found = await research.unsettled(session, result_id)
    if found is None:
        raise _Stopped
    return found
