"""Serves the paths of reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from enum import StrEnum
from typing import Final

from pydantic import Field

from contract.criteria import Condition
from contract.vocabulary import ReportKind
from reports.table import Table
from reports.table_csv import csv_of_table
from resolvers.report_inputs import ReportParameters
from resolvers.reports import (
    create_report,
    delete_report,
    get_report,
    list_reports,
    of_kind,
    table_of_report,
    update_report,
)
from resolvers.shared.inputs import Input
from rest_compat.documents import Document
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import ListParameters
from rest_compat.report_schemas import SCHEDULE_EXAMPLE
from rest_compat.resources import Resource
from rest_compat.schemas import or_null, reference_to
from storage import tables as t

REPORT: Final = Document(
    "Report",
    t.Report,
    "A saved question with a fixed shape.",
    ("id", "name", "description", "kind", "parameters", "schedule", "owner_id", "created_at", "updated_at", "version"),
    schemas={
        "parameters": reference_to("ReportParameters"),
        "schedule": or_null(reference_to("ReportSchedule"), "When it is mailed by itself; null for never."),
    },
    examples={
        "parameters": ReportParameters().model_dump(mode="json", by_alias=True),
        "schedule": SCHEDULE_EXAMPLE,
    },
)
_PATH: Final = "/reports/{report_id}"
_REPORTS: Final = Resource(_PATH, REPORT)
_CSV: Final = "text/csv"


class RowsFormat(StrEnum):
    """The form in which rows come."""

    JSON = "json"
    CSV = "csv"


class ReportQuery(ListParameters):
    """Has the query parameters of GET /reports."""

    kind: ReportKind | None = Field(default=None, description="Only reports of this kind.")

    def conditions(self) -> Iterator[Condition]:
        """Yields the condition that the parameter sets."""
        condition = of_kind(self.kind)
        if condition is not None:
            yield condition


class RowsQuery(Input):
    """Has the query parameter of GET /reports/{report_id}/rows."""

    format: RowsFormat = Field(default=RowsFormat.JSON, description="`csv` for the rows as a file.")


async def rows(call: RestRequest) -> RestResponse:
    """Answers with the rows of the report now."""
    table = await table_of_report(call.ctx, call.path["report_id"])
    if call.query.format is RowsFormat.JSON:
        return RestResponse(_shown(table))
    headers = {
        "Content-Type": f"{_CSV}; charset=utf-8; header=present",
        "Content-Disposition": 'attachment; filename="report.csv"',
        "X-Content-Type-Options": "nosniff",
    }
    if table.truncated:
        headers["X-Truncated"] = "true"
    return RestResponse(csv_of_table(table), headers)


def _shown(table: Table) -> dict[str, object]:
    columns = [{k: v for k, v in asdict(column).items() if k != "is_month"} for column in table.columns]
    return {
        "columns": columns,
        "rows": table.rows,
        "totals": table.totals,
        "generated_at": table.generated_at,
        "truncated": table.truncated,
    }


OPERATIONS: Final = (
    replace(
        _REPORTS.listing(list_reports, ReportQuery, description="By name, then by id."),
        operation_id="reports_listing",
    ),
    _REPORTS.detail(get_report),
    _REPORTS.create(
        create_report,
        description="The caller owns it. What it is narrowed to has to exist.",
    ),
    _REPORTS.change(
        update_report, description="A field that is left out stays, a null clears it; parameters are given as a whole."
    ),
    _REPORTS.delete(delete_report),
    RestOperation(
        "GET",
        f"{_PATH}/rows",
        rows,
        "Get the rows of a report",
        resolver=table_of_report,
        is_heavy=True,
        query=RowsQuery,
        answer="ReportTable",
        files=(_CSV,),
        graphql_field="Report.table",
        description="What it says now: 5,000 rows at most. 409 for a report that is narrowed to what is not there any "
        "more.",
        response_headers=("X-Truncated", "Content-Disposition"),
        errors=(404, 409),
        operation_id="reports_rows",
    ),
)
