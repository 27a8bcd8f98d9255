"""Describes the answers of exports that are jobs, with an example of each."""

from __future__ import annotations

from typing import Final

from contract.bulk_vocabulary import ExportFormat, ExportKind
from contract.vocabulary import JobStatus
from rest_compat.schemas import JsonObject, Schema, enumerated, or_null, record_schema, reference_to
from storage.columns import MADE_AT

_UUID: Final = {"type": "string", "format": "uuid"}
_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
EXPORTS: Final[dict[str, Schema]] = {
    "ExportStarted": record_schema(
        {
            "export_id": _UUID,
            "job_id": _UUID,
            "status_url": {**_TEXT, "description": "The path of the export, which says how far it is."},
        },
        "An export that waits for its turn.",
    ),
    "DataExport": record_schema(
        {
            "id": _UUID,
            "kind": enumerated(ExportKind),
            "format": enumerated(ExportFormat),
            "status": enumerated(JobStatus),
            "rows": {"type": "integer", "minimum": 0, "description": "Rows written so far."},
            "complete": {
                "type": "boolean",
                "description": "Whether every record that there was at the start, and is still there, is in the file.",
            },
            "file": or_null(reference_to("File"), "The file, once it is complete; kept for seven days."),
            "error": or_null(_TEXT, "Why it failed, in words."),
            "created_at": _TIME,
            "finished_at": or_null(_TIME, "When it ended."),
        },
        "A list as a file. A file that is not complete is never told as one.",
    ),
}
"""The schemas by their names."""

_EXPORT: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b19"
_JOB: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0a"
EXPORT_EXAMPLES: Final[JsonObject] = {
    "ExportStarted": {"export_id": _EXPORT, "job_id": _JOB, "status_url": f"/exports/{_EXPORT}"},
    "DataExport": {
        "id": _EXPORT,
        "kind": "deal",
        "format": "jsonl",
        "status": "running",
        "rows": 64_000,
        "complete": False,
        "file": None,
        "error": None,
        "created_at": MADE_AT,
        "finished_at": None,
    },
}
EXPORT_BODY: Final[JsonObject] = {
    "kind": "deal",
    "format": "jsonl",
    "columns": ["id", "name", "value", "currency"],
    "deals": {"status": "open"},
}
