"""Imports: an uploaded CSV file becomes records, by a job; a preview shows how (decisions 530 to 537)."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from contract.bulk_vocabulary import BulkOutcome, ImportStatus
from contract.criteria import ListQuery, Selection
from contract.errors import InvalidState, NotFound, Problem, Problems, Unavailable
from contract.limits import IMPORT_FILE_MAX_BYTES, IMPORT_LEDGER_PAGE, IMPORT_PREVIEW_ROWS, IMPORTS_WAITING_MAX
from contract.scopes import ScopeGroup
from jobs.queue import enqueue_for, supersede
from providers.artifacts import ArtifactMissing
from resolvers.import_csv import Broken, FileRow, Form, found_delimiter, found_encoding, read_head
from resolvers.import_forms import (
    KINDS,
    DataImportInput,
    Definition,
    Mapped,
    columns_of_head,
    definition_of,
    kept,
    mapping_of,
    match_of,
)
from resolvers.import_rows import Lines, ledger_head, ledger_lines, problems_told
from resolvers.import_source import head_of
from resolvers.import_work import KIND
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.lists import PageResult, by_id, children, page_of, readable
from resolvers.shared.sentences import ABSENT
from resolvers.upserts import attempted
from storage.base import now
from storage.new_rows import new_row
from storage.queries import imports as statements
from storage.queries import listables, records
from storage.rows import DataImportRow, ImportRefusalRow
from storage.tables import DataImport
from storage.tenancy.sessions import TenantSession

_FILE = ("input", "file_id")
_DELIMITED_BY = 64 * 1024
"""Bytes by which the delimiter is found."""


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A row of the file and its outcome; the problems have paths within the row."""

    line: int
    values: Mapping[str, str]
    outcome: BulkOutcome
    errors: Sequence[Problem]


@dataclass(frozen=True, slots=True)
class Preview:
    """Says how a file would be read, and the outcomes of its first rows."""

    encoding: str
    delimiter: str
    columns: Sequence[str]
    mapping: Sequence[Mapped]
    rows: Sequence[PreviewRow]


@requires(ScopeGroup.CRM_READ, finds=(listables.IMPORTS,))
async def get_import(ctx: Context, import_id: str | None, selection: Selection | None = None) -> DataImportRow | None:
    """The import, or None."""
    return await by_id(ctx, listables.IMPORTS, import_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_imports(
    ctx: Context, listing: ListQuery, selection: Selection | None = None
) -> PageResult[DataImportRow]:
    """A page of the imports, newest first."""
    return await page_of(ctx, listables.IMPORTS, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def refusals_of_import(
    ctx: Context, import_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[ImportRefusalRow]:
    """A page of the refused rows, in the order of the file."""
    return await children(ctx, listables.IMPORT_REFUSALS, statements.OF_IMPORT, import_id, listing, selection)


def problems_of(refusal: ImportRefusalRow) -> list[Problem]:
    """Says what is wrong with a refused row, with paths within the row."""
    return problems_told(refusal)


class RefusalPieces:
    """The refused rows of an import that the caller has read, as CSV that can be imported again, in pieces of bytes.

    A page of the ledger is in memory.
    """

    def __init__(self, ctx: Context, found: DataImportRow) -> None:
        self._ctx = ctx
        self._id = found.id
        self._definition = definition_of(found.definition)
        self._widest = found.widest

    async def open(self) -> "RefusalPieces":
        """There is nothing to open."""
        return self

    async def aclose(self) -> None:
        """There is nothing to close."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces, in order."""
        yield ledger_head(self._definition, self._widest)
        after = 0
        while True:  # a page in each turn
            async with self._ctx.reading() as session:
                refused = await statements.refusals(session, self._id, after, IMPORT_LEDGER_PAGE)
            if refused:
                yield ledger_lines(self._definition, self._widest, refused)
                after = refused[-1].line
            if len(refused) < IMPORT_LEDGER_PAGE:
                return


@requires(ScopeGroup.CRM_MANAGE)
async def preview_import(ctx: Context, input: DataImportInput) -> Preview:
    """Says how the file would be read and what would come of its first rows; nothing is written. Raises Problems."""
    definition, rows = await _defined(ctx, input)
    lines = Lines(definition, len(rows))
    repeated = lines.see(rows)
    async with ctx.writing() as session:
        done = await attempted(
            ctx, session, lines.kind, lambda: lines.read(rows, repeated), definition.match, dry_run=True
        )
    shown = [
        PreviewRow(number, definition.cells(cells), _outcome(line.problems, line.outcome), tuple(line.problems))
        for line, (number, cells) in zip(done, rows, strict=True)
    ]
    return Preview(definition.encoding, definition.delimiter, definition.columns, definition.mapping, shown)


def _outcome(problems: Sequence[Problem], outcome: BulkOutcome) -> BulkOutcome:
    return BulkOutcome.FAILED if problems else outcome


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_import(ctx: Context, input: DataImportInput) -> DataImport:
    """Start an import as a job. Raises Problems, and InvalidState where too many wait."""
    definition, _ = await _defined(ctx, input)
    async with ctx.writing() as session:
        if await statements.number_unfinished(session) > IMPORTS_WAITING_MAX:
            raise InvalidState(f"{IMPORTS_WAITING_MAX} imports wait already")
        made, _ = await enqueue_for(
            session,
            KIND,
            "import_id",
            lambda import_id, job_id: new_row(
                DataImport,
                id=import_id,
                org_id=ctx.org_id,
                kind=input.kind.value,
                dry_run=input.dry_run,
                file_id=input.file_id,
                job_id=job_id,
                requested_by=ctx.caller.subject,
                definition=kept(definition),
            ),
        )
        await _log(ctx, session, "import_started", made)
    ctx.forget()
    return made


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def cancel_import(ctx: Context, import_id: str) -> DataImport:
    """Stop an import behind the rows that are written. Raises NotFound, and InvalidState for one that has ended."""
    async with ctx.writing() as session:
        found = await records.one(session, listables.IMPORTS, import_id)
        if found is None:
            raise NotFound(field=("id",))
        if found.rows == 0:
            await supersede(session, found.job_id)  # what runs is told at its next rows, and writes the ledger
        made = await records.lock_for_update(session, DataImport, found.id)
        if made is None:
            raise NotFound(field=("id",))
        if made.status not in (ImportStatus.QUEUED, ImportStatus.RUNNING):
            raise InvalidState("The import has ended", field=("id",))
        made = await session.update(made, status=ImportStatus.CANCELLED.value, finished_at=now())
        await _log(ctx, session, "import_cancelled", made)
    ctx.forget()
    return made


async def _log(ctx: Context, session: TenantSession, type: str, made: DataImport) -> None:
    data = {"import_id": made.id, "kind": made.kind, "file_id": made.file_id, "dry_run": made.dry_run}
    await changes.append_event(ctx, session, type, data)


async def _defined(ctx: Context, input: DataImportInput) -> tuple[Definition, list[FileRow]]:
    """Says how the file is read, and its first rows below the headings. Raises Problems, and Unavailable."""
    async with ctx.reading() as session:
        file = await records.one(session, readable(ctx, listables.FILES), input.file_id)
    if file is None or file.trashed_at is not None:
        raise Problems([Problem(_FILE, ABSENT, "reference")])
    if file.bytes > IMPORT_FILE_MAX_BYTES:
        raise Problems([Problem(_FILE, f"has more than {IMPORT_FILE_MAX_BYTES} bytes", "too_long")])
    try:
        head, is_whole = await head_of(ctx.services.artifacts, file)
    except ArtifactMissing:
        raise Problems([Problem(_FILE, ABSENT, "reference")]) from None
    except OSError as error:
        raise Unavailable() from error
    encoding = input.encoding or found_encoding(head, is_whole=is_whole)
    sample = head[:_DELIMITED_BY]
    delimiter = input.delimiter or found_delimiter(sample, encoding, is_whole=is_whole and len(sample) == len(head))
    try:
        rows = _first_rows(head, Form(encoding, delimiter), is_whole=is_whole)
    except Broken as error:
        raise Problems([Problem(_FILE, str(error), "csv")]) from None
    return _definition(input, encoding, delimiter, rows)


def _first_rows(head: bytes, form: Form, *, is_whole: bool) -> list[FileRow]:
    """The first rows of the file, all of whose beginning is looked at. Raises Broken."""
    rows: list[FileRow] = []
    for row in read_head(head, form, is_whole=is_whole):
        if len(rows) <= IMPORT_PREVIEW_ROWS:
            rows.append(row)
    return rows


def _definition(
    input: DataImportInput, encoding: str, delimiter: str, rows: Sequence[FileRow]
) -> tuple[Definition, list[FileRow]]:
    if not rows:
        raise Problems([Problem(_FILE, "is empty: it has neither headings nor rows", "missing")])
    match = match_of(KINDS[input.kind], input.match_on)
    columns = columns_of_head(rows[0][1], has_header=input.has_header, at=_FILE)
    mapping = mapping_of(input, columns)
    below = rows[1:] if input.has_header else rows
    return Definition(input, encoding, delimiter, columns, mapping, match), list(below[:IMPORT_PREVIEW_ROWS])
