"""CX reports: the content that consultants edit by hand, and the files made of it (specification 4.3).

An edit leads to the render step and nowhere else: this module knows neither the reading of sites nor the copywriting.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Annotated

import orjson
from pydantic import AfterValidator, Field, StrictStr

from contract.errors import NotFound, Path, Problem, Problems, Unavailable
from contract.limits import REPORT_MAX_BYTES
from contract.merge_patch import merged
from contract.scopes import ScopeGroup
from jobs.queue import supersede
from jobs.render import enqueue_render
from providers.children.errors import ChildError, OutOfMemory, OutOfTime
from reports.content import ArtifactKind
from reports.reading import content_of
from reports.rendering import CHECKING, logo_problem
from resolvers.documents import JsonObject
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, Input, storable
from storage.base import as_uuid, now
from storage.joined_rows import CXContentRow, FileRow
from storage.new_rows import new_row
from storage.queries import records, research
from storage.tables import CXReport, CXReportRevision, Job, ResearchResult
from storage.tenancy.sessions import TenantSession

MEDIA = "/media/"
_RACES = 5
_ORDER = tuple(ArtifactKind)
_PATCHES = {"copy_blobs": "copy_blobs", "analysis": "analysis_patch", "brand": "brand_patch"}
"""The documents of a report, by what the input calls their patches."""


class CXReportEdit(Input):
    """Changes to a report: JSON merge patches; a null document is no patch, a null prefix is removed (decision 65)."""

    copy_blobs: JsonObject | None = Field(default=None, description="Narrative slots, as a JSON merge patch.")
    analysis_patch: JsonObject | None = Field(default=None, description="JSON merge patch of the analysis.")
    brand_patch: JsonObject | None = Field(
        default=None, description="JSON merge patch of company, colors (`#rrggbb`) and logo (a `data:` URI)."
    )
    bpo_prefix: Annotated[StrictStr, Field(max_length=80), AfterValidator(storable)] | None = Field(
        default=None, description="What stands before the title; null removes it."
    )


@dataclass(frozen=True, slots=True)
class Edited:
    """The report after an edit, and the job that renders it."""

    report: CXContentRow
    job: Job
    run_id: str
    result_id: str


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file of a report, and where it is served."""

    kind: ArtifactKind
    revision: int
    url: str
    bytes: int
    sha256: str
    content_type: str
    rendered_at: datetime


@requires(ScopeGroup.CRM_READ)
async def report_of_result(ctx: Context, result_id: str) -> CXContentRow | None:
    """The report with its newest content; None where the company has not been scored."""

    async def load(ids: list[str]) -> list[CXContentRow | None]:
        async with ctx.reading() as session:
            found = await research.reports(session, ids)
        return [found.get(i) for i in ids]

    return await ctx.loader("cx_reports", load).load(result_id)


@requires(ScopeGroup.CRM_READ)
async def artifacts_of(ctx: Context, report_id: str) -> Sequence[Artifact]:
    """The files of the newest revision that was rendered whole."""

    async def load(ids: list[str]) -> list[list[Artifact]]:
        async with ctx.reading() as session:
            found = await research.files(session, ids)
        base = f"{ctx.services.public_url}{MEDIA}"
        return [sorted((_artifact(f, base) for f in found[i]), key=lambda file: _ORDER.index(file.kind)) for i in ids]

    return await ctx.loader("cx_report_files", load).load(report_id)


def _artifact(file: FileRow, base: str) -> Artifact:
    return Artifact(
        kind=ArtifactKind(file.kind),
        revision=file.revision,
        url=f"{base}{file.key}",
        bytes=file.bytes,
        sha256=file.sha256,
        content_type=file.content_type,
        rendered_at=file.rendered_at,
    )


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def edit_report(ctx: Context, run_id: str, result_id: str, input: CXReportEdit) -> Edited:
    """Write a new revision and queue its one render, which takes the place of one that waits.

    Raises NotFound where the run has no such result or the result no report yet, or Problems at the patch to blame.
    """
    fields = input.given()
    patches = {name: fields.get(field) for name, field in _PATCHES.items() if fields.get(field) is not None}
    if not patches and "bpo_prefix" not in fields:
        raise Problems([Problem(("input",), "at least one of", "missing", tuple(CXReportEdit.model_fields))])
    problem = await _logo_problem(ctx, patches.get("brand"))  # before the transaction, which holds others up
    for _ in range(_RACES):
        async with ctx.writing() as session:
            job = await _edit(ctx, session, run_id, result_id, patches, fields, problem)
        if job is not None:
            ctx.forget()
            report = await report_of_result(ctx, str(as_uuid(result_id)))
            if report is None:
                raise NotFound(field=("result_id",))
            return Edited(report, job, str(as_uuid(run_id)), str(as_uuid(result_id)))
    raise Unavailable("The report is being edited by others at this very moment")


async def _edit(
    ctx: Context,
    session: TenantSession,
    run_id: str,
    result_id: str,
    patches: Given,
    fields: Given,
    logo_problem: str,
) -> Job | None:
    """One try; None where another edit came in between."""
    seen = await research.report_key(session, run_id, result_id)
    if seen is None:
        raise NotFound(field=("result_id",))
    # Workers lock their job before the report, so this does too.
    if seen.render_job_id is not None:
        await supersede(session, seen.render_job_id)
    report = await research.report_to_change(session, seen.id)
    if report is None or report.render_job_id != seen.render_job_id:
        return None
    before = await research.revision_of(session, report.id, report.revision)
    result = await records.lock_for_update(session, ResearchResult, report.result_id)
    if before is None or result is None:
        raise NotFound(field=("result_id",))
    revision = new_row(
        CXReportRevision,
        report_id=report.id,
        revision=report.revision + 1,
        copy_blobs=merged(before.copy_blobs, patches.get("copy_blobs", {})),
        analysis=merged(before.analysis, patches.get("analysis", {})),
        brand=merged(before.brand, patches.get("brand", {})),
        bpo_prefix=fields.get("bpo_prefix", before.bpo_prefix),
        created_by=ctx.caller.subject,
    )
    await _check(result, revision, logo_problem)
    await session.insert(revision)
    report = await session.update(report, revision=revision.revision, updated_at=revision.created_at)
    job = await enqueue_render(session, report)
    await _note(ctx, session, result, report)
    return job


async def _logo_problem(ctx: Context, patch: object) -> str:
    """Says what is wrong with the logo that an edit brings; nothing where it brings none. Raises Unavailable."""
    logo = patch.get("logo") if isinstance(patch, Mapping) else None
    if not isinstance(logo, str) or not logo:
        return ""
    try:
        return await ctx.services.children.run(CHECKING, logo_problem, logo)
    except (OutOfMemory, OutOfTime) as error:
        return f"cannot be used: reading it {error}"
    except ChildError:
        raise Unavailable("The logo cannot be read at the moment") from None


async def _check(result: ResearchResult, revision: CXReportRevision, logo_problem: str) -> None:
    """Raise Problems where the content, with what was there before, cannot be rendered.

    A logo that is new has been read, and so had the one that was there before.
    """
    documents = {name: getattr(revision, name) for name in _PATCHES}
    size = len(orjson.dumps(documents))
    if size > REPORT_MAX_BYTES:
        most = f"the report would have {size} bytes as JSON text, more than {REPORT_MAX_BYTES}"
        raise Problems([Problem(("input",), most, "too_long")])
    read = partial(
        content_of,
        company=result.company_name,
        domain=result.domain,
        score=result.score,
        factors=result.factors,
        bpo_prefix=revision.bpo_prefix,
        revision=revision.revision,
        generated_at=now(),
        **documents | {"brand": _without_text_of_logo(revision.brand)},
    )
    problems = [Problem(("brand", "logo"), logo_problem)] if logo_problem else []
    try:
        await asyncio.to_thread(read)
    except Problems as error:
        problems += error.problems
    if problems:
        raise Problems([replace(p, path=_at(p.path)) for p in problems])


def _without_text_of_logo(brand: object) -> object:
    """The brand without a logo that is a text: what it holds is for child processes."""
    if isinstance(brand, Mapping) and isinstance(brand.get("logo"), str):
        return {name: value for name, value in brand.items() if name != "logo"}
    return brand


def _at(path: Path) -> Path:
    """Says where the input states what the content is not good at."""
    first, *rest = path
    return ("input", _PATCHES.get(str(first), first), *rest)


async def _note(ctx: Context, session: TenantSession, result: ResearchResult, report: CXReport) -> None:
    await records.append_event(
        session,
        type="cx_report_edited",
        area="crm",
        actor=ctx.caller.subject,
        request_id=ctx.request_id,
        data={"run_id": result.run_id, "result_id": result.id, "revision": report.revision},
    )
