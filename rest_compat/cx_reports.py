"""PATCH …/cx-report: the hand-edit of a report, whose rendering is queued (specification 4.3)."""

from __future__ import annotations

from typing import Final

from pydantic import ConfigDict, JsonValue

from resolvers.cx_reports import CXReportEdit, edit_report
from rest_compat.operations import Answer, Call, Operation


def _having(name: str) -> JsonValue:
    return {"required": [name]}


class CXReportPatch(CXReportEdit):
    """Changes to a CX report; at least one field."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [_having(name) for name in CXReportEdit.model_fields]})


async def change(call: Call) -> Answer:
    """The queued render, and where its state can be asked for."""
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
    return Answer(document, {"Location": status_url})


OPERATIONS: Final = (
    Operation(
        "PATCH",
        "/customer-intelligence/runs/{run_id}/results/{result_id}/cx-report",
        change,
        "Edit a CX report by hand and render it again",
        resolver=edit_report,
        status=202,
        body=CXReportPatch,
        answer="CXReportEdited",
        twin="Mutation.cxReportEdit",
        description="Writes a new revision and queues the rendering of PDF, review spreadsheet and deck, and nothing "
        "else. A render that still waits is superseded; until all three new files are there, the last ones stay.",
        response_headers=("Location", "X-Ignored-Fields"),
        errors=(404,),
    ),
)
