"""The job of an import: 500 rows in a transaction that also says how far it is, so that a row is written or refused
once whatever happens to who works (decision 535).
"""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta

from contract.bulk_vocabulary import BulkOutcome, ImportStatus
from contract.errors import GatewayError
from contract.limits import IMPORT_BATCH, IMPORT_LEDGER_PAGE, IMPORT_ROWS_MAX
from contract.scopes import ScopeGroup
from jobs.work import NotYet, Retry, Run, WorkFailed, work
from providers.artifacts import ArtifactMissing
from resolvers.import_csv import Broken, FileRow
from resolvers.import_forms import Definition, definition_of
from resolvers.import_rows import Lines, ledger_head, ledger_lines, refusal_of
from resolvers.import_source import batches
from resolvers.made_files import MadeFile, add_made, put_made
from resolvers.shared.context import OnBehalf
from resolvers.upserts import attempted
from storage.base import now
from storage.queries import files, members, records
from storage.queries import imports as statements
from storage.queries.records import append_event
from storage.tables import DataImport, File, Job
from storage.tenancy.sessions import TenantSession

KIND = "data_import"
_SECONDS = 3_600.0
_TURN = timedelta(seconds=2)
"""How long an import waits before it looks again whether the one before it has ended."""
_UNFINISHED = (ImportStatus.QUEUED.value, ImportStatus.RUNNING.value)
_CHECKED_EVERY = 50_000
"""Rows between two looks at whether the import was cancelled, while the file is only looked through."""


class _Ends(Exception):
    """The import goes no further; the words say why, and are none where somebody cancelled it."""

    def __init__(self, words: str | None) -> None:
        super().__init__(words)
        self.words = words


@dataclass(frozen=True, slots=True)
class _Task:
    made: DataImport
    file: File
    definition: Definition


async def _gave_up(session: TenantSession, job: Job, words: str) -> None:
    """Have the import fail with its job."""
    made = await records.lock_for_update(session, DataImport, job.arguments["import_id"])
    if made is not None and made.status in _UNFINISHED:
        await session.update(made, status=ImportStatus.FAILED.value, error=words, finished_at=now())


@work(KIND, seconds=_SECONDS, gave_up=_gave_up)
async def run_import(run: Run, *, import_id: str) -> None:
    """Look through the whole file, then write its rows from where the last attempt stood."""
    words: str | None = None
    try:
        task = await _begin(run, import_id)
        total = await _looked_through(run, task)
        await _write(run, task, total)
    except _Ends as error:
        words = error.words
    except Broken as error:
        words = str(error)
    except ArtifactMissing:
        words = "The file is there no more"
    except OSError:
        raise Retry("The store of files could not be reached") from None
    await _end(run, import_id, words)


async def _begin(run: Run, import_id: str) -> _Task:
    async with run.writing() as session:
        made = await _going_on(session, import_id)
        if not await statements.is_first(session, import_id):
            raise NotYet(_TURN)
        file = await session.find(File, id=made.file_id)
        if file is None:
            raise _Ends("The file is there no more")
        made = await session.update(made, status=ImportStatus.RUNNING.value)
        return _Task(made, file, definition_of(made.definition))


async def _going_on(session: TenantSession, import_id: str) -> DataImport:
    """The import, locked. Raises _Ends where it was cancelled, or who asked for it may do so no more."""
    made = await records.lock_for_update(session, DataImport, import_id)
    if made is None or made.status not in _UNFINISHED:
        raise _Ends(None)
    scopes = (await members.scopes_of(session, [made.requested_by])).get(made.requested_by, frozenset())
    if not ScopeGroup.CRM_MANAGE.passes(scopes):
        raise _Ends("Who asked for it may not write records any more")
    return made


async def _looked_through(run: Run, task: _Task) -> int:
    """The number of rows, once the whole file has been found to be one of rows. Raises _Ends and Broken."""
    if task.made.total is not None:
        return task.made.total
    total = 0
    async with aclosing(batches(run.ports.artifacts, task.file, task.definition, IMPORT_BATCH)) as read:
        async for rows in read:
            total += len(rows)
            if total > IMPORT_ROWS_MAX:
                raise _Ends(f"The file has more than {IMPORT_ROWS_MAX} rows")
            if total % _CHECKED_EVERY < len(rows):
                async with run.reading() as session:
                    made = await session.find(DataImport, id=task.made.id)
                if made is None or made.status not in _UNFINISHED:
                    raise _Ends(None)
    async with run.writing() as session:
        made = await _going_on(session, task.made.id)
        await session.update(made, total=total)
    return total


async def _write(run: Run, task: _Task, total: int) -> None:
    """Write the rows behind those that are done; these are read too, for what came in them."""
    lines, done = Lines(task.definition, total), 0
    async with aclosing(batches(run.ports.artifacts, task.file, task.definition, IMPORT_BATCH)) as read:
        async for rows in read:
            repeated = lines.see(rows)
            done += len(rows)
            if done > task.made.rows:
                left = rows[-(done - task.made.rows) :]
                await _write_batch(run, task, lines, left, repeated, done / total)


async def _write_batch(
    run: Run, task: _Task, lines: Lines, rows: list[FileRow], repeated: dict[int, int], fraction: float
) -> None:
    """Write rows, the ledger of those that were refused, and where the import stands, in one transaction."""
    definition = task.definition
    async with run.writing() as session:
        made = await _going_on(session, task.made.id)
        actor = OnBehalf(run.org_id, made.requested_by, {"import_id": made.id})
        try:
            written = await attempted(
                actor,
                session,
                lines.kind,
                lambda: lines.read(rows, repeated),
                definition.match,
                dry_run=made.dry_run,
            )
        except GatewayError as error:
            if error.status >= 500 or error.code == "CONFLICT":
                raise  # another attempt may do better
            raise _Ends(error.message) from None
        counts = dict.fromkeys(BulkOutcome, 0)
        refused = []
        for line, row in zip(written, rows, strict=True):
            counts[BulkOutcome.FAILED if line.problems else line.outcome] += 1
            if line.problems:
                refused.append(refusal_of(made.id, definition, row, line.problems))
        if refused:
            await session.insert(*refused)
        await session.update(
            made,
            rows=made.rows + len(rows),
            created=made.created + counts[BulkOutcome.CREATED],
            updated=made.updated + counts[BulkOutcome.UPDATED],
            unchanged=made.unchanged + counts[BulkOutcome.UNCHANGED],
            refused=made.refused + len(refused),
            widest=max([made.widest, *(len(refusal.cells) for refusal in refused)]),
        )
        await run.went_on(session, fraction)


async def _end(run: Run, import_id: str, words: str | None) -> None:
    """Write the refused rows as a file and end the import. Raises WorkFailed where it failed."""
    stored = await _ledger(run, import_id)
    async with run.finishing() if words is None else run.writing() as session:
        await files.lock_usage(session)
        made = await records.lock_for_update(session, DataImport, import_id)
        if made is None:
            return
        if stored is not None:
            file = await add_made(session, run.ports.files_quota, stored, made.requested_by)
            made = await session.update(made, refused_file_id=file and file.id)
        if made.status in _UNFINISHED:
            status = ImportStatus.COMPLETED if words is None else ImportStatus.FAILED
            made = await session.update(made, status=status.value, error=words, finished_at=now())
            if words is None:
                await _tell(session, made)
    if words is not None:
        raise WorkFailed(words)


async def _tell(session: TenantSession, made: DataImport) -> None:
    counts = {name: getattr(made, name) for name in ("rows", "created", "updated", "unchanged", "refused")}
    await append_event(
        session,
        type="import_completed",
        area="crm",
        actor=made.requested_by,
        request_id=None,
        data={"import_id": made.id, "kind": made.kind, "dry_run": made.dry_run, **counts},
    )


async def _ledger(run: Run, import_id: str) -> MadeFile | None:
    """Store the refused rows as a file that no row names yet; None where there are none."""
    async with run.reading() as session:
        made = await session.find(DataImport, id=import_id)
    if made is None or not made.refused:
        return None
    definition, widest = definition_of(made.definition), made.widest

    async def pieces() -> AsyncIterator[bytes]:
        yield ledger_head(definition, widest)
        after = 0
        while True:  # a page of the ledger in each turn
            async with run.reading() as session:
                refused = await statements.refusals(session, import_id, after, IMPORT_LEDGER_PAGE)
            if not refused:
                return
            yield ledger_lines(definition, widest, refused)
            after = refused[-1].line

    name = f"refused-{made.created_at:%Y-%m-%d}.csv"
    return await put_made(run, name, "text/csv", pieces())
