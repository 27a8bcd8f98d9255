"""Serves the exports that are jobs: a list with its own filters becomes a file that is complete (decision 853)."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field, create_model

from contract.criteria import EVERYTHING
from contract.criteria_json import to_json
from contract.errors import NotFound
from resolvers.export_jobs import NOUNS, DataExportInput, check_filters, create_export, get_export
from resolvers.files import get_file
from resolvers.shared.inputs import ExactInput
from rest_compat.exports import LISTS, ListFilters, filters_of
from rest_compat.files import FILE
from rest_compat.operations import RestOperation, RestRequest, RestResponse


class OneListFilters(ListFilters, ExactInput):
    """Has the filters of a list in a body, where one of another name is refused: it would let more records in."""


def _filters() -> dict[str, Any]:  # Any: pydantic's pairs
    found: dict[str, Any] = {}  # Any: pydantic's pairs
    for each in LISTS:
        name = f"{each.listed.__name__.removesuffix('Query')}ExportFilter"
        made = create_model(name, __base__=OneListFilters, **filters_of(each.listed))
        made.listed = each.listed
        found[each.noun] = (made | None, Field(default=None, description=f"Which {each.noun}; for {each.kind} only."))
    return found


DataExportBody = create_model("DataExportBody", __base__=DataExportInput, **_filters())
"""The body of POST /exports: the filters of each list are those of its path."""


async def create(call: RestRequest) -> RestResponse:
    """Starts an export as a job."""
    given = {noun: found for noun in NOUNS.values() if (found := getattr(call.body, noun)) is not None}
    check_filters(call.body.kind, given)
    filters: ListFilters | None = given.get(NOUNS[call.body.kind])
    where = to_json(EVERYTHING if filters is None else filters.condition())
    asked = DataExportInput.model_construct(
        call.body.model_fields_set & DataExportInput.model_fields.keys(),
        **{name: getattr(call.body, name) for name in DataExportInput.model_fields},
    )
    made = await create_export(call.ctx, asked, where)
    return RestResponse(
        {"export_id": made.id, "job_id": made.job_id, "status_url": f"{call.root_path}/exports/{made.id}"},
        {"Location": f"{call.root_path}/exports/{made.id}"},
    )


async def read(call: RestRequest) -> RestResponse:
    """Says how far an export is, and which file it has become."""
    found = await get_export(call.ctx, call.path["export_id"])
    if found is None:
        raise NotFound()
    file = None if found.file_id is None else await get_file(call.ctx, found.file_id)
    return RestResponse(
        {
            "id": found.id,
            "kind": found.kind,
            "format": found.format,
            "status": found.status,
            "rows": found.rows,
            "complete": found.complete,
            "file": None if file is None else FILE.of(file),
            "error": found.error,
            "created_at": found.created_at,
            "finished_at": found.finished_at,
        }
    )


OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/exports",
        create,
        "Start an export",
        resolver=create_export,
        status=202,
        body=DataExportBody,
        answer="ExportStarted",
        graphql_field="Mutation.dataExportCreate",
        description="A list becomes a file, by a job; the caller also needs the group that reads the list. Each record "
        "that is there when this is answered and stays is in the file once, or there is no file. Two of an "
        "organization run at once, 20 may wait.",
        response_headers=("Location",),
        errors=(409,),
        operation_id="exports_create",
    ),
    RestOperation(
        "GET",
        "/exports/{export_id}",
        read,
        "Get an export",
        resolver=get_export,
        answer="DataExport",
        graphql_field="Query.dataExport",
        description="For seven days, as its file is kept, whose content is at `/files/{file_id}/content`. The group "
        "that reads the list is needed here and for the file.",
        errors=(404,),
        operation_id="exports_read",
    ),
)
