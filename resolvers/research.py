"""Research runs: companies that are looked at in the background, and what was found (specification 4.3)."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StrictStr

from contract.criteria import Listing, Selection
from contract.errors import InvalidState, NotFound
from contract.limits import RESEARCH_NAME_MAX, RESEARCH_TARGETS_MAX
from contract.scopes import ScopeGroup
from contract.vocabulary import ResearchRunStatus
from jobs.queue import enqueue_each, supersede_each
from jobs.research import RESEARCH
from resolvers.access import requires
from resolvers.context import Context
from resolvers.inputs import Input, storable
from resolvers.lists import PageOf, by_id, children, page_of
from storage.base import now
from storage.queries import nouns, records
from storage.queries import research as statements
from storage.sessions import TenantSession
from storage.tables import ResearchResult, ResearchRun

_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_DOMAIN = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}\.?(?::[0-9]{{1,5}})?")
_CANCELLED = "The run was cancelled before the company was looked at"


def _named(text: str) -> str:
    text = storable(text).strip()
    if not text:
        raise ValueError("must not be blank")
    return text


def _domain(text: str) -> str:
    text = storable(text).strip().lower()
    if len(text) > 253 or _DOMAIN.fullmatch(text) is None:
        raise ValueError("must be a domain such as example.com, without a scheme or a path")
    return text


Name = Annotated[StrictStr, Field(min_length=1, max_length=RESEARCH_NAME_MAX), AfterValidator(_named)]


class ResearchTarget(Input):
    """A company to look at; without a domain it fails, since none is guessed (decision 62)."""

    company_name: Name
    domain: Annotated[StrictStr, AfterValidator(_domain)] | None = None


class ResearchRunCreate(Input):
    """A new run."""

    name: Name
    targets: Annotated[list[ResearchTarget], Field(min_length=1, max_length=RESEARCH_TARGETS_MAX)]


@requires(ScopeGroup.CRM_READ, finds=(nouns.RESEARCH_RUNS,))
async def get_run(ctx: Context, run_id: str | None, selection: Selection | None = None) -> Any:
    """The run, or None."""
    return await by_id(ctx, nouns.RESEARCH_RUNS, run_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_runs(ctx: Context, listing: Listing, selection: Selection | None = None) -> PageOf:
    """A page of the runs, newest first."""
    return await page_of(ctx, nouns.RESEARCH_RUNS, listing, selection)


@requires(ScopeGroup.CRM_READ, finds=(nouns.RESEARCH_RESULTS,))
async def get_result(ctx: Context, result_id: str | None, selection: Selection | None = None) -> Any:
    """Reads what was found of one company, or None."""
    return await by_id(ctx, nouns.RESEARCH_RESULTS, result_id, selection)


@requires(ScopeGroup.CRM_READ)
async def results_of_run(ctx: Context, run_id: str, listing: Listing, selection: Selection | None = None) -> PageOf:
    """A page of the run's results, in the order of its targets."""
    return await children(ctx, nouns.RESEARCH_RESULTS, ResearchResult.run_id, run_id, listing, selection)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_run(ctx: Context, input: ResearchRunCreate) -> ResearchRun:
    """Begin a run: a result and a job for each company, in one transaction."""
    run = ResearchRun(name=input.name, result_count=len(input.targets), created_by=ctx.caller.subject)
    async with ctx.appending() as session:
        await session.insert(run)
        results = [
            ResearchResult(run_id=run.id, position=position, company_name=target.company_name, domain=target.domain)
            for position, target in enumerate(input.targets)
        ]
        jobs = await enqueue_each(session, RESEARCH, [{"result_id": result.id} for result in results])
        for result, job in zip(results, jobs, strict=True):
            result.job_id = job.id
        await session.insert(*results)
        await _note(ctx, session, "research_run_created", run)
    ctx.forget()
    return run


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def cancel_run(ctx: Context, run_id: str) -> ResearchRun:
    """Stop a run: what waits is taken back, what works stops at its next step, what is scored stays (decision 63).

    A cancelled run stays as it is. Raises NotFound, or InvalidState for one that has ended.
    """
    async with ctx.writing() as session:
        # Workers lock their job before the run, so this does too.
        await supersede_each(session, await statements.pending_jobs(session, run_id))
        run = await records.to_change(session, ResearchRun, run_id)
        if run is None:
            raise NotFound(field=("id",))
        if run.status == ResearchRunStatus.CANCELLED:
            return run
        if run.status not in (ResearchRunStatus.QUEUED, ResearchRunStatus.RUNNING):
            raise InvalidState("The run has ended", field=("id",))
        await statements.fail_pending(session, run.id, _CANCELLED)
        run.status, run.completed_at = ResearchRunStatus.CANCELLED.value, now()
        await session.flush()
        await _note(ctx, session, "research_run_cancelled", run)
    ctx.forget()
    return run


async def _note(ctx: Context, session: TenantSession, type: str, run: ResearchRun) -> None:
    await records.append_event(
        session,
        type=type,
        area="crm",
        actor=ctx.caller.subject,
        request_id=ctx.request_id,
        data={"run_id": run.id, "name": run.name, "result_count": run.result_count},
    )
