"""Serves POST /analytics/sql: one SELECT of the caller's own, as JSON or CSV."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, StrictInt, StrictStr

from contract.limits import ANALYTICS_ROWS_MAX
from resolvers.shared.inputs import Input
from resolvers.sql_queries import SqlQuery, run_sql
from rest_compat.analytics_results import result_body
from rest_compat.csv_answers import csv_of
from rest_compat.operations import RestOperation, RestRequest, RestResponse

CSV: Final = "text/csv"


class AnswerFormat(StrEnum):
    """The form of an answer."""

    JSON = "json"
    CSV = "csv"


class FormatQuery(Input):
    """Has the parameter that says the form of the answer."""

    format: AnswerFormat | None = Field(default=None, description="Goes before `Accept`.")


class SqlBody(Input):
    """A statement of the caller's own."""

    sql: StrictStr = Field(
        description="At most 8,192 bytes, no comments, names of the catalogue without a schema.", max_length=None
    )
    limit: Annotated[StrictInt, Field(ge=0, le=ANALYTICS_ROWS_MAX)] | None = Field(
        default=ANALYTICS_ROWS_MAX, description="How many rows."
    )


async def sql(call: RestRequest) -> RestResponse:
    """Answers with the rows of the statement."""
    body: SqlBody = call.body
    result = await run_sql(call.ctx, SqlQuery(sql=body.sql, first=body.limit))
    asked = call.query.format
    if asked is AnswerFormat.JSON or (asked is None and not _wants_csv(call.headers.get("accept", ""))):
        return RestResponse(result_body(result))
    headers = {
        "Content-Type": f"{CSV}; charset=utf-8; header=present",
        "Content-Disposition": 'attachment; filename="rows.csv"',
        "X-Result-Digest": result.sql.digest,
        "X-Content-Type-Options": "nosniff",
    }
    if result.truncated:
        headers["X-Truncated"] = "true"
    return RestResponse(csv_of(result.columns, result.rows), headers)


def _wants_csv(accept: str) -> bool:
    """Tells whether CSV is asked for, and no less than JSON is."""
    weights = {"application/json": 0.0, CSV: 0.0}
    for part in accept.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weight = next((piece[2:] for piece in parameters if piece.startswith("q=")), "1")
        if name in weights:
            weights[name] = float(weight) if weight.replace(".", "", 1).isdigit() else 0.0
    return weights[CSV] > 0 and weights[CSV] >= weights["application/json"]


OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/analytics/sql",
        sql,
        "Run a statement of your own",
        resolver=run_sql,
        query=FormatQuery,
        body=SqlBody,
        answer="AnalyticsResult",
        files=(CSV,),
        graphql_field="Query.sqlQuery",
        description="One SELECT over the organization's data, in the SQL of the database: see GET /analytics/catalog "
        "for its tables and functions. What the guard does not let through is 422 `analytics_refused`, and names "
        "layer, reason and place. With `Accept: text/csv`, or `format=csv`, the rows come as CSV.",
        example={"sql": "SELECT status, COUNT(*) AS deals FROM deals GROUP BY status ORDER BY status"},
        request_headers=("Accept",),
        response_headers=("X-Truncated", "X-Result-Digest", "Content-Disposition"),
        errors=(429, 501, 504),
        operation_id="sql_query",
    ),
)
