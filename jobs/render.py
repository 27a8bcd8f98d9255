"""Rendering one revision of a CX report: three files, published together or not at all (specification 4.3).

This is all that an edit sets off. Nothing here, nor below what is imported here, reads a site, scores or writes copy:
an import contract says so.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from contract.errors import Problems
from jobs.queue import enqueue
from jobs.work import LeaseLost, Run, WorkFailed, work
from providers.artifacts import Artifacts
from reports.content import Content
from reports.reading import content_of
from storage.base import new_id
from storage.queries import artifacts, research
from storage.sessions import TenantSession
from storage.tables import Artifact, CXReport, Job

if TYPE_CHECKING:
    from reports.files import RenderedFile

RENDER = "cx_report_render"


async def enqueue_render(session: TenantSession, report: CXReport) -> Job:
    """Have the newest revision of the report rendered; the report notes the job."""
    job = await enqueue(session, RENDER, {"report_id": report.id, "revision": report.revision})
    report.render_job_id = job.id
    return job


@work(RENDER, seconds=300)
async def render_report(run: Run, report_id: str, revision: int) -> None:
    """Render the revision and put its files in the place of the last ones, unless newer ones are there by now."""
    content = await _content(run, report_id, revision)
    if content is None:
        return
    rendered = await asyncio.to_thread(_rendered, content)
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


async def _content(run: Run, report_id: str, revision: int) -> Content | None:
    """What is to be rendered; None where newer files are there, or the report is not. Raises WorkFailed."""
    async with run.reading() as session:
        written = await research.to_render(session, report_id, revision)
    if written is None or written.published_revision >= revision:
        return None
    try:
        return await asyncio.to_thread(
            content_of,
            company=written.company_name,
            domain=written.domain,
            score=written.score,
            factors=written.factors,
            copy_blobs=written.copy_blobs,
            analysis=written.analysis,
            brand=written.brand,
            bpo_prefix=written.bpo_prefix,
            revision=revision,
            generated_at=written.created_at,
        )
    except Problems as error:
        raise WorkFailed(f"The report cannot be rendered: {error.message}") from None


def _rendered(content: Content) -> "tuple[RenderedFile, ...]":
    from reports.files import render_all  # the libraries take their time to load, and most processes never render

    return render_all(content)


def _file(run: Run, report_id: str, revision: int, made: "RenderedFile") -> Artifact:
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
        report.published_revision = revision
        await session.flush()
        return await artifacts.remove_before(session, report_id, revision)


async def _delete(store: Artifacts, names: Sequence[str]) -> None:
    """Remove what nothing refers to; what cannot be removed now only takes up room."""
    for name in names:
        with suppress(OSError):
            await store.delete(name)
