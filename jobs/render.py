"""Rendering one revision of a CX report: three files, published together or not at all (specification 4.3).

This is all that an edit sets off. Nothing here, nor below what is imported here, reads a site, scores or writes copy:
an import contract says so.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from jobs.queue import enqueue
from jobs.work import SECONDS_MAX, LeaseLost, Retry, Run, WorkFailed, work
from providers.artifacts import Artifacts
from providers.children.errors import ChildError, OutOfMemory, OutOfTime
from reports.reading import Stored
from reports.rendering import DRAWING, RENDERING, RenderedFile, is_drawable, render_stored
from storage.base import new_id
from storage.queries import artifacts, research
from storage.queries.organizations import name_of
from storage.tables import Artifact, CXReport, Job
from storage.tenancy.sessions import TenantSession

RENDER = "cx_report_render"


async def enqueue_render(session: TenantSession, report: CXReport) -> Job:
    """Have the newest revision of the report rendered; the report notes the job."""
    job = await enqueue(session, RENDER, {"report_id": report.id, "revision": report.revision})
    await session.update(report, render_job_id=job.id)
    return job


@work(RENDER, seconds=SECONDS_MAX)
async def render_report(run: Run, report_id: str, revision: int) -> None:
    """Render the revision and put its files in the place of the last ones, unless newer ones are there by now."""
    stored = await _stored(run, report_id, revision)
    if stored is None:
        return
    rendered = await _rendered(run, stored)
    await run.progress(0.7)
    files = [_file(run, report_id, revision, file) for file in rendered]
    names = [file.storage_name for file in files]
    try:
        for name, made in zip(names, rendered, strict=True):
            await run.ports.artifacts.put(name, made.data)
    except BaseException:
        await asyncio.shield(_delete(run.ports.artifacts, names))
        raise
    try:
        obsolete = await _publish(run, report_id, revision, files)
    except LeaseLost:
        await asyncio.shield(_delete(run.ports.artifacts, names))
        raise
    # Whatever else ends it may come after the commit, when the files are public: then they stay (decision 66).
    await _delete(run.ports.artifacts, obsolete)


async def _stored(run: Run, report_id: str, revision: int) -> Stored | None:
    """Reads what is to be rendered; None where newer files are there, or the report is not."""
    async with run.reading() as session:
        written = await research.to_render(session, report_id, revision)
    if written is None or written.published_revision >= revision:
        return None
    async with run.directory() as session:
        organization = await name_of(session, run.org_id)
    return {
        "company": written.company_name,
        "domain": written.domain,
        "score": written.score,
        "factors": written.factors,
        "copy_blobs": written.copy_blobs,
        "analysis": written.analysis,
        "brand": await _drawable(run, written.brand),
        "bpo_prefix": written.bpo_prefix,
        "revision": revision,
        "generated_at": written.created_at,
        "prepared_by": organization,
    }


async def _drawable(run: Run, brand: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """The brand, without a logo that cannot be drawn: tried alone, so that it costs only itself (decision 131)."""
    logo = (brand or {}).get("logo")
    if brand is None or not isinstance(logo, str) or not logo:
        return brand
    try:
        if await run.ports.children.run(DRAWING, is_drawable, logo):
            return brand
    except ChildError as error:
        if not (run.is_last or isinstance(error, OutOfMemory | OutOfTime)):  # it may not be the logo's fault
            raise Retry(f"Drawing the logo {error}") from None
    return {name: value for name, value in brand.items() if name != "logo"}


async def _rendered(run: Run, stored: Stored) -> tuple[RenderedFile, ...]:
    """The files. Raises WorkFailed, or Retry where its process failed (decision 132)."""
    try:
        made = await run.ports.children.run(RENDERING, render_stored, stored)
    except ChildError as error:
        raise Retry(f"The rendering {error}") from None
    if isinstance(made, str):
        raise WorkFailed(f"The report cannot be rendered: {made}")
    return made


def _file(run: Run, report_id: str, revision: int, made: RenderedFile) -> Artifact:
    identifier = new_id()
    return Artifact(
        id=identifier,
        subject_id=report_id,
        kind=made.kind.value,
        revision=revision,
        storage_name=f"{run.org_id}/{identifier}.{made.suffix}",
        file_name=made.name,
        content_type=made.content_type,
        bytes=len(made.data),
        sha256=made.sha256,
    )


async def _publish(run: Run, report_id: str, revision: int, files: list[Artifact]) -> list[str]:
    """Make the files those of the report, in one commit; the names in the store that nobody needs any more."""
    async with run.finishing() as session:
        report = await research.report_to_change(session, report_id)
        if report is None or report.published_revision >= revision:
            return [file.storage_name for file in files]
        await artifacts.publish(session, *files)
        await session.update(report, published_revision=revision)
        return await artifacts.remove_before(session, report_id, revision)


async def _delete(store: Artifacts, names: Sequence[str]) -> None:
    """Remove what nothing refers to; what cannot be removed now only takes up room."""
    for name in names:
        with suppress(OSError):
            await store.delete(name)
