"""Imports on the GraphQL surface: a CSV file becomes records, by a job."""

from typing import Annotated

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from contract.bulk_vocabulary import BulkOutcome, ImportKind, ImportStatus
from resolvers import files, imports, jobs
from resolvers.import_forms import DataImportInput as Input
from resolvers.import_forms import Mapped
from resolvers.shared.inputs import parse
from schema.adapters.strawberry import to_camel_case
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.declare import Info, argument, computed_field, enum, field, guarded_field, operation_field
from schema.errors import UserError, outcome
from schema.execution.selections import selected, selected_nodes
from schema.files import File
from schema.inputs import change, given
from schema.jobs import Job
from schema.records import record
from schema.upserts import user_error
from storage import tables as t
from storage.rows import DataImportRow, ImportRefusalRow

enum(
    ImportKind,
    "The kinds of records that files become.",
    ACCOUNT="Accounts.",
    CONTACT="Contacts.",
    DEAL="Deals.",
    LEAD="Leads.",
)
enum(
    ImportStatus,
    "Where an import stands.",
    QUEUED="It waits.",
    RUNNING="It is being read.",
    COMPLETED="Every row is written or in the ledger of refusals.",
    FAILED="It was given up.",
    CANCELLED="It was stopped; what was written stays.",
)


@strawberry.input(description="Which column of the file becomes which field.")
class ColumnMappingInput:
    column: str = strawberry.field(description="The column's heading, or its number from 1 where the file has none.")
    field: str | None = strawberry.field(
        description="A field of the upsert input, such as email; null leaves the column out.", default=UNSET
    )


@strawberry.input(description="How a file is read and written.")
class DataImportInput:
    file_id: strawberry.ID = field("An uploaded CSV file, at most 100 MiB and 500,000 rows.")
    kind: ImportKind = field("What it is.")
    mapping: list[ColumnMappingInput] | None = field(
        "Columns that are not named here become the fields of their own names.", default=UNSET
    )
    match_on: str = field(
        "externalKey, id, or the kind's other match: domain of accounts, email of contacts and leads.",
        default="externalKey",
    )
    has_header: bool = field("Whether the first line holds the headings.", default=True)
    delimiter: str | None = field("One character; found in the file unless told.", default=UNSET)
    encoding: str | None = field("Found in the file unless told.", default=UNSET)
    date_format: str = field("How days are written, such as DD.MM.YYYY.", default="YYYY-MM-DD")
    decimal_sign: str = field(
        "The sign before decimals: a point or a comma; the other one may group thousands.", default="."
    )
    list_separator: str = field("The column values that are lists, such as tags, are parted by this.", default=";")
    tags: list[str] | None = field("Tags for every row.", default=UNSET)
    dry_run: bool = field("Whether nothing is written.", default=False)


@strawberry.type(description="A column and the field that it becomes.")
class ColumnMapping:
    column: str = strawberry.field(description="The heading, or the number of the column.")
    field: str | None = strawberry.field(description="The name of the field.")


@strawberry.type(description="A row of a preview.")
class ImportPreviewRow:
    line: int = field("The line in the file, from 1.")
    values: JSON = field("The cells by column, as they were sent.")
    outcome: BulkOutcome = field("What came of it.")
    errors: list[UserError] = field("Which field, and why.")


@strawberry.type(description="What an import would read.")
class ImportPreview:
    encoding: str | None = field("The encoding that was found, such as utf-8.")
    delimiter: str | None = field("The delimiter that was found.")
    columns: list[str] = field("The headings, or the numbers of the columns.")
    mapping: list[ColumnMapping] = field("Which column becomes which field.")
    rows: list[ImportPreviewRow] = field("The first rows, as they would be written or refused; at most 20.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


@strawberry.type(description="A row that was refused.")
class ImportRefusal:
    line: int = field("The line in the file, from 1.")

    @computed_field("The cells by column, as they were sent.", "cells")
    def values(root: strawberry.Parent[ImportRefusalRow]) -> JSON:
        return JSON(root.cells)

    @computed_field("Which field, and why.", "errors")
    def errors(root: strawberry.Parent[ImportRefusalRow]) -> list[UserError]:
        return [user_error(problem) for problem in imports.problems_of(root)]


@record(
    t.DataImport,
    "A file that becomes records. Nothing of it is lost: a row is written, or it is in the ledger of refusals.",
    hidden=("file_id", "job_id", "refused_file_id", "total", "widest", "definition"),
)
class DataImport(Node):
    @guarded_field(files.get_file, "The file that is read.", "file_id")
    async def file(root: strawberry.Parent[DataImportRow], info: Info) -> File | None:
        return await files.get_file(info.context, root.file_id, selected(info))

    @guarded_field(jobs.get_job, "The job that does it; null a while after its end.", "job_id")
    async def job(root: strawberry.Parent[DataImportRow], info: Info) -> Job | None:
        return await jobs.get_job(info.context, root.job_id)

    @guarded_field(imports.refusals_of_import, "Every refused row, in the order of the file.")
    async def refusals(
        root: strawberry.Parent[DataImportRow], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[ImportRefusal]:
        question = listing(first=first, after=after)
        return await imports.refusals_of_import(info.context, root.id, question, selected_nodes(info))

    @guarded_field(
        files.get_file,
        "The refused rows as a CSV file: the columns as sent, with line and error added; once it has ended.",
        "refused_file_id",
    )
    async def refused_file(root: strawberry.Parent[DataImportRow], info: Info) -> File | None:
        if root.refused_file_id is None:
            return None
        return await files.get_file(info.context, root.refused_file_id, selected(info))


@strawberry.type(description="What came of an import's start or end.")
class DataImportPayload:
    data_import: DataImport | None = field("The import; null where nothing was done.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


def _mapping(one: Mapped) -> ColumnMapping:
    return ColumnMapping(column=one.column, field=None if one.field is None else to_camel_case(one.field))


def _preview(done: imports.Preview) -> ImportPreview:
    rows = [
        ImportPreviewRow(
            line=row.line,
            values=JSON(dict(row.values)),
            outcome=row.outcome,
            errors=[user_error(problem) for problem in row.errors],
        )
        for row in done.rows
    ]
    return ImportPreview(
        encoding=done.encoding,
        delimiter=done.delimiter,
        columns=list(done.columns),
        mapping=[_mapping(one) for one in done.mapping],
        rows=rows,
        user_errors=[],
    )


InputArgument = Annotated[DataImportInput, argument("The file, and how it is read and written.")]
ImportId = Annotated[strawberry.ID, argument("The import's identifier.")]


@strawberry.type
class ImportQueries:
    @operation_field(imports.get_import, "An import by its id.")
    async def data_import(self, info: Info, id: ImportId) -> DataImport | None:
        return await imports.get_import(info.context, id, selected(info))

    @operation_field(imports.list_imports, "Imports, newest first.")
    async def data_imports(
        self,
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[DataImport]:
        question = listing(first=first, after=after, last=last, before=before, offset=offset)
        return await imports.list_imports(info.context, question, selected_nodes(info))

    @operation_field(imports.preview_import, "Reads the head of the file and writes nothing.")
    async def data_import_preview(self, info: Info, input: InputArgument) -> ImportPreview:
        async def work() -> imports.Preview:
            return await imports.preview_import(info.context, parse(Input, given(input), at=("input",)))

        done, problems = await outcome(work())
        if done is None:
            return ImportPreview(encoding=None, delimiter=None, columns=[], mapping=[], rows=[], user_errors=problems)
        return _preview(done)


@strawberry.type
class ImportMutations:
    @operation_field(
        imports.create_import,
        "Starts an import as a job; one of an organization runs at a time, the others wait. Repeating a file is safe "
        "with a key to match on.",
    )
    async def data_import_create(self, info: Info, input: InputArgument) -> DataImportPayload:
        made, problems = await change(info, imports.create_import, model=Input, input=input)
        return DataImportPayload(data_import=made, user_errors=problems)

    @operation_field(imports.cancel_import, "Stops behind the rows that are written; they stay.")
    async def data_import_cancel(self, info: Info, id: ImportId) -> DataImportPayload:
        made, problems = await change(info, imports.cancel_import, id)
        return DataImportPayload(data_import=made, user_errors=problems)


QUERIES, MUTATIONS = ImportQueries, ImportMutations
