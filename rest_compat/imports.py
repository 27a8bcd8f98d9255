"""Serves the paths of imports."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pydantic import Field

from contract.bulk_vocabulary import BulkOutcome
from contract.criteria import ListQuery, PageWindow
from contract.errors import NotFound
from resolvers.import_forms import DataImportInput
from resolvers.imports import (
    Preview,
    RefusalPieces,
    cancel_import,
    create_import,
    get_import,
    preview_import,
    problems_of,
    refusals_of_import,
)
from rest_compat.documents import Document
from rest_compat.example_identifiers import identifier_of
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import ListParameters
from rest_compat.resources import Resource
from rest_compat.upserts import problem_of
from storage import tables as t

IMPORT: Final = Document(
    "DataImport",
    t.DataImport,
    "A file that becomes records: each row is written, or it is in the ledger of refusals.",
    (
        *("id", "kind", "status", "dry_run", "file_id", "job_id", "rows", "created", "updated", "unchanged"),
        *("refused", "refused_file_id", "error", "requested_by", "created_at", "finished_at"),
    ),
    examples={name: identifier_of(table) for name, table in (("file_id", "files"), ("job_id", "jobs"))},
)
_PATH: Final = "/imports/{import_id}"
_IMPORTS: Final = Resource(_PATH, IMPORT)
_CSV: Final = "text/csv"


class RefusalFormat(StrEnum):
    """The form in which refused rows come."""

    JSON = "json"
    CSV = "csv"


class RefusalQuery(ListParameters):
    """Has the query parameters of GET /imports/{import_id}/refusals."""

    format: RefusalFormat = Field(
        default=RefusalFormat.JSON,
        description="`csv` for all of them as a file: the columns as sent, with line and error added.",
    )


async def create(call: RestRequest) -> RestResponse:
    """Starts an import as a job."""
    made = await create_import(call.ctx, call.body)
    url = f"{call.root_path}/imports/{made.id}"
    return RestResponse({"import_id": made.id, "job_id": made.job_id, "status_url": url})


async def preview(call: RestRequest) -> RestResponse:
    """Says how the file would be read, and what would come of its first rows."""
    return RestResponse(_shown(await preview_import(call.ctx, call.body)))


def _shown(done: Preview) -> dict[str, object]:
    return {
        "encoding": done.encoding,
        "delimiter": done.delimiter,
        "columns": done.columns,
        "mapping": [{"column": one.column, "field": one.field} for one in done.mapping],
        "rows": [
            {
                "line": row.line,
                "values": row.values,
                "outcome": BulkOutcome(row.outcome).value,
                "errors": [problem_of(problem) for problem in row.errors],
            }
            for row in done.rows
        ],
    }


async def refusals(call: RestRequest) -> RestResponse:
    """Lists the refused rows, or writes all of them as a file."""
    query: RefusalQuery = call.query
    found = await get_import(call.ctx, call.path["import_id"])
    if found is None:
        raise NotFound()
    if query.format is RefusalFormat.CSV:
        headers = {
            "Content-Type": f"{_CSV}; charset=utf-8; header=present",
            "Content-Disposition": 'attachment; filename="refused.csv"',
            "X-Content-Type-Options": "nosniff",
        }
        return RestResponse(headers=headers, stream=RefusalPieces(call.ctx, found).open)
    if query.limit == 0:
        return RestResponse([])
    listing = ListQuery(page=PageWindow(first=query.limit, offset=query.offset))
    page = await refusals_of_import(call.ctx, found.id, listing)
    rows = [
        {"line": row.line, "values": row.cells, "errors": [problem_of(problem) for problem in problems_of(row)]}
        for row in page.rows
    ]
    return RestResponse(rows)


OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/imports/preview",
        preview,
        "Preview an import",
        resolver=preview_import,
        body=DataImportInput,
        answer="ImportPreview",
        graphql_field="Query.dataImportPreview",
        description="Reads the head of the file and writes nothing: encoding, delimiter, columns, which field each "
        "becomes, and what would come of the first rows.",
        errors=(409,),
        operation_id="imports_preview",
    ),
    RestOperation(
        "POST",
        "/imports",
        create,
        "Start an import",
        resolver=create_import,
        status=202,
        body=DataImportInput,
        answer="ImportStarted",
        graphql_field="Mutation.dataImportCreate",
        description="An uploaded CSV file becomes records, by a job, 500 rows in a transaction; one of an organization "
        "runs at a time, 20 may wait. Repeating a file is safe with a key to match on.",
        errors=(409,),
        operation_id="imports_create",
    ),
    _IMPORTS.detail(get_import, description="How far it is, and what came of the rows."),
    _IMPORTS.action("cancel", cancel_import, description="Stops behind the rows that are written; they stay."),
    RestOperation(
        "GET",
        f"{_PATH}/refusals",
        refusals,
        "List the refused rows of an import",
        resolver=refusals_of_import,
        query=RefusalQuery,
        answer="ImportRefusal",
        many=True,
        files=(_CSV,),
        graphql_field="DataImport.refusals",
        description="In the order of the file, each with its line, its cells as they were sent, and each problem. As "
        "CSV it can be imported again once it is corrected.",
        response_headers=("Content-Disposition",),
        errors=(404,),
        operation_id="imports_refusals",
    ),
)
