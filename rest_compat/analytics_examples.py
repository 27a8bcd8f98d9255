"""Has an example for each answer of analytics."""

from __future__ import annotations

from typing import Final

from rest_compat.example_identifiers import (
    RESULT,
    RUN,
)
from rest_compat.schemas import JsonObject
from storage.columns import MADE_AT

_RESULT_OF_QUESTION: Final = {
    "columns": [
        {"name": "count", "label": "Count", "kind": "integer", "unit": None, "currency_column": None},
    ],
    "rows": [[12]],
    "row_count": 1,
    "truncated": False,
    "sql": {
        "text": "SELECT COUNT(*) AS count FROM deals",
        "parameters": [],
        "dialect": "postgresql",
        "tables": ["deals"],
        "filters": [],
        "digest": "9f2d5b0c8e3a4f10b6a1d7c2e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90a1b",
    },
    "chart": {"kind": "number", "spec": None},
    "duration_ms": 3,
}

EVENT: Final = {
    "id": "8",
    "event": "run_finished",
    "data": '{"status":"succeeded","row_count":1,"truncated":false,"duration_ms":41,"unread":[],"suggestions":[]}',
}
"""The last event of a stream."""

_DIMENSION: Final = {
    "name": "status",
    "description": "Open, won or lost.",
    "kind": "text",
    "values": ["open", "won", "lost"],
    "is_date": False,
}

_TABLE: Final[JsonObject] = {
    "name": "competitors",
    "columns": [{"name": "name", "label": "Name", "kind": "text", "unit": None, "currency_column": None}],
}

_ENTITY: Final = {
    "name": "deals",
    "description": "Deals, with their amounts and the way they went.",
    "dimensions": [_DIMENSION],
    "measures": [
        {
            "name": "count",
            "description": "The number of deals.",
            "kind": "integer",
            "values": None,
            "is_date": False,
        }
    ],
    "links": ["account"],
}

ANSWERS: Final[JsonObject] = {
    "AnalyticsCatalog": {
        "entities": [_ENTITY],
        "tables": [_TABLE],
        "sql_available": True,
        "dialect": "postgresql",
        "functions": ["avg", "count"],
        "examples": ["Pipeline value by stage"],
    },
    "AnalyticsTable": _TABLE,
    "AnalyticsColumn": _TABLE["columns"][0],
    "AnalyticsEntity": _ENTITY,
    "AnalyticsResult": _RESULT_OF_QUESTION,
    "AnalyticsRun": {
        "id": RUN,
        "conversation_id": RESULT,
        "question": "How many deals are open?",
        "status": "succeeded",
        "planner": "parser",
        "plan": {
            "query": {"entity": "deals", "measures": ["count"], "where": [{"field": "status", "value": "open"}]},
            "assumptions": [],
            "follows_run_id": None,
        },
        "result": _RESULT_OF_QUESTION,
        "explanation": "There are 12 deals.",
        "unread": [],
        "suggestions": [],
        "error": None,
        "created_at": MADE_AT,
        "finished_at": MADE_AT,
    },
    "AnalyticsField": _DIMENSION,
}
