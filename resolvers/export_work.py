"""The job of an export: pieces of the file, each counted in the transaction that says how far it is, then the file of
them in the transaction that says that it is complete (decision 851).
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from contract.bulk_vocabulary import ExportFormat, ExportKind
from contract.criteria import Condition
from contract.criteria_json import from_json
from contract.errors import GatewayError
from contract.limits import (
    EXPORT_JOBS_OF_ONE,
    EXPORT_PIECE_BYTES,
    EXPORT_PIECE_SECONDS,
    EXPORT_ROWS_MAX,
    LEFTOVER_HOURS,
)
from contract.scopes import ScopeGroup
from contract.vocabulary import JobStatus
from jobs.work import NotYet, Retry, Run, WorkFailed, work
from providers.artifacts import ArtifactMissing
from resolvers.export_forms import FORMS
from resolvers.export_reading import ExportReading
from resolvers.export_rows import EXPORTED
from resolvers.made_files import MadeFile, add_made, put_made
from storage.base import FIRST_ID, new_id, now
from storage.queries import exports as statements
from storage.queries import files, members, paging, records
from storage.queries.records import append_event
from storage.tables import DataExport, Job
from storage.tenancy.sessions import TenantSession

KIND = "data_export"
_SECONDS = 3_600.0
_TURN = timedelta(seconds=2)
"""How long an export waits before it looks again whether one before it has ended."""
_UNFINISHED = (JobStatus.QUEUED.value, JobStatus.RUNNING.value)
_NO_PLACE = "The file would be more than what the organization's files may take up"
_GROUPS: Mapping[ExportKind, ScopeGroup] = {
    ExportKind.MEETING: ScopeGroup.MEETINGS_READ,
    ExportKind.ACTIVITY: ScopeGroup.MEETINGS_READ,
    ExportKind.CAMPAIGN: ScopeGroup.OUTREACH_READ,
}


def group_of(kind: ExportKind) -> ScopeGroup:
    """The group that reads the list of this kind."""
    return _GROUPS.get(kind, ScopeGroup.CRM_READ)


class _Ends(Exception):
    """The export goes no further; the words say why."""


@dataclass(frozen=True, slots=True)
class _Task:
    """An export as it stood when this attempt began."""

    made: DataExport
    total: int

    @property
    def kind(self) -> ExportKind:
        return ExportKind(self.made.kind)

    @property
    def columns(self) -> list[str]:
        return [str(name) for name in self.made.definition["columns"]]

    @property
    def condition(self) -> Condition:
        return from_json(self.made.definition["condition"])

    @property
    def format(self) -> ExportFormat:
        return ExportFormat(self.made.format)


async def _gave_up(session: TenantSession, job: Job, words: str) -> None:
    """Have the export fail with its job."""
    await _fail(session, job.arguments["export_id"], words)


async def _fail(session: TenantSession, export_id: str, words: str) -> None:
    made = await records.lock_for_update(session, DataExport, export_id)
    if made is not None and made.status in _UNFINISHED:
        await files.hasten_leftovers(session, [piece["name"] for piece in made.pieces])
        await session.update(made, status=JobStatus.FAILED.value, error=words, finished_at=now(), pieces=[])


@work(KIND, seconds=_SECONDS, gave_up=_gave_up)
async def run_export(run: Run, *, export_id: str) -> None:
    """Write the records behind those that are written, then make the file of all."""
    try:
        task = await _begin(run, export_id)
        while task.made.after_id != _END:
            task = await _go_on(run, task)
        await _publish(run, task, await _joined(run, task))
    except _Ends as error:
        async with run.writing() as session:
            await _fail(session, export_id, str(error))
        raise WorkFailed(str(error)) from None
    except ArtifactMissing:
        await _start_over(run, export_id)
        raise Retry("What was written lay unused for too long") from None
    except OSError:
        raise Retry("The store of files could not be reached") from None


_END = "ffffffff-ffff-ffff-ffff-ffffffffffff"
"""The position of an export that has nothing more to write."""


async def _begin(run: Run, export_id: str) -> _Task:
    """The export, once it is its turn. Raises _Ends, and NotYet."""
    async with run.writing() as session:
        made = await _going_on(session, export_id)
        if await statements.number_before(session, export_id) >= EXPORT_JOBS_OF_ONE:
            raise NotYet(_TURN)
        made = await session.update(made, status=JobStatus.RUNNING.value)
    total = made.total
    if total is None:
        task = _Task(made, 0)
        async with run.reading() as session:
            total = await paging.count(session, EXPORTED[task.kind].listable, task.condition)
        async with run.writing() as session:
            made = await session.update(await _going_on(session, export_id), total=total)
    return _Task(made, total)


async def _going_on(session: TenantSession, export_id: str) -> DataExport:
    """The export, locked. Raises _Ends where it has ended, or who asked for it may not read its list any more."""
    made = await records.lock_for_update(session, DataExport, export_id)
    if made is None or made.status not in _UNFINISHED:
        raise _Ends("The export has ended")
    await _check_may_read(session, made)
    return made


async def _check_may_read(session: TenantSession, made: DataExport) -> None:
    scopes = (await members.scopes_of(session, [made.requested_by])).get(made.requested_by, frozenset())
    if not (ScopeGroup.CRM_READ.passes(scopes) and group_of(ExportKind(made.kind)).passes(scopes)):
        raise _Ends("Who asked for it may not read the list any more")


async def _go_on(run: Run, task: _Task) -> _Task:
    """Write another piece, and have it count. Raises _Ends."""
    made = task.made
    reading = ExportReading(
        run.reading,
        partial(run.ports.make_way, run.org_id),
        EXPORTED[task.kind],
        task.condition,
        task.columns,
        task.format,
        after=made.after_id,
        last=made.last_id,
    )
    name, size = f"{run.org_id}/{new_id()}", 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal size
        until = asyncio.get_running_loop().time() + EXPORT_PIECE_SECONDS
        if made.after_id == FIRST_ID and not made.pieces:
            head = FORMS[task.format].head(task.columns)
            size += len(head)
            yield head
        while not reading.is_done:
            async with run.reading() as session:
                await _check_may_read(session, made)
            piece = await reading.piece()
            size += len(piece)
            yield piece
            if made.rows + reading.rows > EXPORT_ROWS_MAX:
                raise _Ends(f"There are more than {EXPORT_ROWS_MAX} records")
            if size >= EXPORT_PIECE_BYTES or asyncio.get_running_loop().time() > until:
                return

    async with run.writing() as session:
        await files.note_leftovers(session, [name], now() + timedelta(hours=LEFTOVER_HOURS))
    try:
        await run.ports.artifacts.put_stream(name, pieces())
    except GatewayError as error:
        raise Retry(error.message) from None
    async with run.writing() as session:
        now_made = await _going_on(session, made.id)
        now_made = await session.update(
            now_made,
            rows=now_made.rows + reading.rows,
            after_id=_END if reading.is_done else reading.after,
            pieces=[*now_made.pieces, {"name": name, "bytes": size}],
        )
        if sum(piece["bytes"] for piece in now_made.pieces) > run.ports.files_quota:
            raise _Ends(_NO_PLACE)
        await run.went_on(session, min(0.99, now_made.rows / max(1, task.total)))
    return _Task(now_made, task.total)


async def _joined(run: Run, task: _Task) -> MadeFile:
    """Store the pieces as one. Raises ArtifactMissing where one is there no more."""

    async def pieces() -> AsyncIterator[bytes]:
        for piece in task.made.pieces:
            if piece["bytes"]:
                async with aclosing(await run.ports.artifacts.open(piece["name"], 0, piece["bytes"])) as content:
                    async for chunk in content:
                        yield chunk

    noun = EXPORTED[task.kind].listable.name
    media_type = FORMS[task.format].media_type.partition(";")[0]
    return await put_made(run, f"{noun}-{now().date()}.{task.format.value}", media_type, pieces())


async def _publish(run: Run, task: _Task, stored: MadeFile) -> None:
    """Make the file, and say that it is complete, in the commit that ends the job. Raises _Ends."""
    async with run.finishing() as session:
        await files.lock_usage(session)
        made = await _going_on(session, task.made.id)
        file = await add_made(session, run.ports.files_quota, stored, made.requested_by, made.needs)
        if file is None:
            raise _Ends(_NO_PLACE)
        await files.hasten_leftovers(session, [piece["name"] for piece in made.pieces])
        await session.update(
            made,
            status=JobStatus.SUCCEEDED.value,
            complete=True,
            file_id=file.id,
            finished_at=now(),
            pieces=[],
        )
        await append_event(
            session,
            type="export_completed",
            area="crm",
            actor=made.requested_by,
            request_id=None,
            data={"export_id": made.id, "kind": made.kind, "file_id": file.id, "rows": made.rows},
        )


async def _start_over(run: Run, export_id: str) -> None:
    """Forget what was written: a part of it is there no more. Where it ends stays as it was."""
    async with run.writing() as session:
        made = await records.lock_for_update(session, DataExport, export_id)
        if made is not None and made.status in _UNFINISHED:
            await files.hasten_leftovers(session, [piece["name"] for piece in made.pieces])
            await session.update(made, rows=0, after_id=FIRST_ID, pieces=[])
