"""Serves …/cx-report: a report as it is, and its editing by hand, which queues its rendering (specification 4.3)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from pydantic import ConfigDict, JsonValue

from contract.errors import NotFound
from resolvers.cx_reports import CXReportEdit, artifacts_of, edit_report, report_of_result
from resolvers.jobs import get_job
from resolvers.research import get_result
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from storage.base import as_uuid


def _having(name: str) -> JsonValue:
    return {"required": [name]}


class CXReportPatch(CXReportEdit):
    """Changes to a CX report; at least one field."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [_having(name) for name in CXReportEdit.model_fields]})


async def change(call: RestRequest) -> RestResponse:
    """Edits the report; answers with the queued job and the path of its state."""
    edited = await edit_report(call.ctx, call.path["run_id"], call.path["result_id"], call.body)
    status_url = f"{call.root_path}/jobs/{edited.job.id}"
    document = {
        "job_id": edited.job.id,
        "run_id": edited.run_id,
        "result_id": edited.result_id,
        "revision": edited.report.revision,
        "status": "queued",
        "status_url": status_url,
    }
    return RestResponse(document, {"Location": status_url})


async def read(call: RestRequest) -> RestResponse:
    """Answers with the report's newest content, its files and what has become of their rendering."""
    ctx = call.ctx
    result = await get_result(ctx, call.path["result_id"])
    if result is None or result.run_id != as_uuid(call.path["run_id"]):
        raise NotFound()
    report = await report_of_result(ctx, result.id)
    if report is None:
        raise NotFound()
    job = None if report.render_job_id is None else await get_job(ctx, report.render_job_id)
    shown = {name: getattr(report, name) for name in ("revision", *_CONTENT, "updated_at")}
    files = [asdict(file) | {"kind": file.kind.value.lower()} for file in await artifacts_of(ctx, report.id)]
    status = None if job is None else job.status
    return RestResponse(
        {"run_id": result.run_id, "result_id": result.id, **shown, "artifacts": files, "render_status": status}
    )


_CONTENT: Final = ("copy_blobs", "analysis", "brand", "bpo_prefix")
_PATH: Final = "/customer-intelligence/runs/{run_id}/results/{result_id}/cx-report"
OPERATIONS: Final = (
    RestOperation(
        "GET",
        _PATH,
        read,
        "Read a CX report",
        resolver=report_of_result,
        answer="CXReport",
        graphql_field="ResearchResult.cxReport",
        description="The newest revision. Its files are those of the newest revision that was rendered whole.",
        errors=(404,),
    ),
    RestOperation(
        "PATCH",
        _PATH,
        change,
        "Edit a CX report by hand and render it again",
        resolver=edit_report,
        status=202,
        body=CXReportPatch,
        answer="CXReportEdited",
        graphql_field="Mutation.cxReportEdit",
        description="Writes a new revision and queues the rendering of PDF, review spreadsheet and deck, and nothing "
        "else. A render that still waits is superseded; until all three new files are there, the last ones stay.",
        response_headers=("Location", "X-Ignored-Fields"),
        errors=(404,),
    ),
)
