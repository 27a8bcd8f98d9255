"""Writes what a query of analytics comes to as REST's JSON, and says what that looks like."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from contract.analytics_results import ChartKind, Result
from contract.catalog import ColumnKind
from rest_compat.schemas import JsonObject, enumerated, or_null, record_schema, reference_to

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_WHOLE: Final = {"type": "integer"}
_VALUES: Final = {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}}
COLUMN_SCHEMA: Final = record_schema(
    {
        "name": {**_TEXT, "description": "Unique in the answer."},
        "label": {**_TEXT, "description": "For people."},
        "kind": enumerated(ColumnKind),
        "unit": or_null(_TEXT, "percent, days, minutes or money."),
        "currency_column": or_null(_TEXT, "The column with the currency of this one, for money."),
    },
    "A column of an answer.",
)
_STATEMENT: Final = record_schema(
    {
        "text": _TEXT,
        "parameters": {**_VALUES, "description": "In order."},
        "dialect": {"type": "string", "enum": ["sqlite", "postgresql"]},
        "tables": {**_TEXTS, "description": "The tables that it reads."},
        "filters": {**_TEXTS, "description": "The conditions in words."},
        "digest": {**_TEXT, "description": "SHA-256 of the text."},
    },
    "A statement as it was sent, without the wall that pins it to the organization.",
)
_CHART: Final = record_schema(
    {
        "kind": enumerated(ChartKind),
        "spec": {"type": ["object", "null"], "description": "Vega-Lite 6 over the named data `rows`."},
    },
    "How the answer can be drawn.",
)
RESULT_SCHEMA: Final = record_schema(
    {
        "columns": {"type": "array", "items": reference_to("AnalyticsColumn")},
        "rows": {"type": "array", "items": _VALUES, "description": "Values in the order of the columns."},
        "row_count": _WHOLE,
        "truncated": {"type": "boolean", "description": "Whether there were more rows, or more bytes, than are told."},
        "sql": _STATEMENT,
        "chart": _CHART,
        "duration_ms": {**_WHOLE, "description": "Milliseconds in the database."},
    },
    "The rows of a query, and how they came about.",
)


def result_body(result: Result) -> JsonObject:
    """Returns the result as the paths answer with it."""
    return {**asdict(result), "row_count": result.row_count}
