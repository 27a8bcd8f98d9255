"""Research runs: companies that are looked at in the background, and what was found (specification 4.3)."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, StrictStr

from contract.criteria import ListQuery, Selection
from contract.errors import InvalidState, NotFound
from contract.limits import RESEARCH_NAME_MAX, RESEARCH_TARGETS_MAX
from contract.scopes import ScopeGroup
from contract.vocabulary import ResearchRunStatus
from jobs.queue import enqueue_each, supersede_each
from jobs.research import RESEARCH
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, storable
from resolvers.shared.lists import PageResult, by_id, children, page_of
from storage.base import new_id, now
from storage.new_rows import new_row
from storage.queries import listables, records
from storage.queries import research as statements
from storage.rows import ResearchResultRow, ResearchRunRow
from storage.tables import ResearchResult, ResearchRun
from storage.tenancy.sessions import TenantSession

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


@requires(ScopeGroup.CRM_READ, finds=(listables.RESEARCH_RUNS,))
async def get_run(ctx: Context, run_id: str | None, selection: Selection | None = None) -> ResearchRunRow | None:
    """The run, or None."""
    return await by_id(ctx, listables.RESEARCH_RUNS, run_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_runs(ctx: Context, listing: ListQuery, selection: Selection | None = None) -> PageResult[ResearchRunRow]:
    """A page of the runs, newest first."""
    return await page_of(ctx, listables.RESEARCH_RUNS, listing, selection)


@requires(ScopeGroup.CRM_READ, finds=(listables.RESEARCH_RESULTS,))
async def get_result(
    ctx: Context, result_id: str | None, selection: Selection | None = None
) -> ResearchResultRow | None:
    """Reads what was found of one company, or None."""
    return await by_id(ctx, listables.RESEARCH_RESULTS, result_id, selection)


@requires(ScopeGroup.CRM_READ)
async def results_of_run(
    ctx: Context, run_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[ResearchResultRow]:
    """A page of the run's results, in the order of its targets."""
    return await children(ctx, listables.RESEARCH_RESULTS, ResearchResult.run_id, run_id, listing, selection)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_run(ctx: Context, input: ResearchRunCreate) -> ResearchRun:
    """Begin a run: a result and a job for each company, in one transaction."""
    run = new_row(
        ResearchRun, org_id=ctx.org_id, name=input.name, result_count=len(input.targets), created_by=ctx.caller.subject
    )
    async with ctx.writing() as session:
        await session.insert(run)
        ids = [new_id() for _ in input.targets]
        jobs = await enqueue_each(session, RESEARCH, [{"result_id": result_id} for result_id in ids])
        results = [
            new_row(
                ResearchResult,
                id=ids[position],
                run_id=run.id,
                position=position,
                company_name=target.company_name,
                domain=target.domain,
                job_id=jobs[position].id,
            )
            for position, target in enumerate(input.targets)
        ]
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
        run = await records.lock_for_update(session, ResearchRun, run_id)
        if run is None:
            raise NotFound(field=("id",))
        if run.status == ResearchRunStatus.CANCELLED:
            return run
        if run.status not in (ResearchRunStatus.QUEUED, ResearchRunStatus.RUNNING):
            raise InvalidState("The run has ended", field=("id",))
        await statements.fail_pending(session, run.id, _CANCELLED)
        run = await session.update(run, status=ResearchRunStatus.CANCELLED.value, completed_at=now())
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
