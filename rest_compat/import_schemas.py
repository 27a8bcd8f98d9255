"""Describes the bodies and answers of imports, with an example of each."""

from __future__ import annotations

from typing import Final

from contract.bulk_vocabulary import BulkOutcome
from contract.limits import IMPORT_PREVIEW_ROWS
from rest_compat.schemas import ROW_PROBLEM_SCHEMA, JsonObject, Schema, enumerated, or_null, record_schema

_UUID: Final = {"type": "string", "format": "uuid"}
_TEXT: Final = {"type": "string"}
_LINE: Final = {"type": "integer", "minimum": 1, "description": "The line in the file, from 1."}
_VALUES: Final = {
    "type": "object",
    "additionalProperties": _TEXT,
    "description": "The cells by column, as they were sent.",
}
_ERRORS: Final = {"type": "array", "items": ROW_PROBLEM_SCHEMA, "description": "Which field, and why."}
IMPORTS: Final[dict[str, Schema]] = {
    "ImportStarted": record_schema(
        {
            "import_id": _UUID,
            "job_id": _UUID,
            "status_url": {**_TEXT, "description": "The path of the import, which says how far it is."},
        },
        "An import that waits for its turn.",
    ),
    "ImportPreview": record_schema(
        {
            "encoding": {**_TEXT, "description": "The encoding that was told or found."},
            "delimiter": {**_TEXT, "description": "The delimiter that was told or found."},
            "columns": {"type": "array", "items": _TEXT, "description": "The headings, or the numbers of the columns."},
            "mapping": {
                "type": "array",
                "items": record_schema(
                    {"column": _TEXT, "field": or_null(_TEXT)}, "A column and the field that it becomes."
                ),
            },
            "rows": {
                "type": "array",
                "maxItems": IMPORT_PREVIEW_ROWS,
                "items": record_schema(
                    {"line": _LINE, "values": _VALUES, "outcome": enumerated(BulkOutcome), "errors": _ERRORS},
                    "A row as it would be written or refused.",
                ),
            },
        },
        "What an import would read.",
    ),
    "ImportRefusal": record_schema({"line": _LINE, "values": _VALUES, "errors": _ERRORS}, "A row that was refused."),
}
"""The schemas by their names."""

_IMPORT: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b17"
_JOB: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0a"
_CELLS: Final = {"E-mail": "ada@example", "Last name": "Park"}
_PROBLEM: Final = {"field": ["email"], "msg": "must look like an e-mail address", "type": "value_error"}
IMPORT_EXAMPLES: Final[JsonObject] = {
    "ImportStarted": {"import_id": _IMPORT, "job_id": _JOB, "status_url": f"/imports/{_IMPORT}"},
    "ImportPreview": {
        "encoding": "utf-8",
        "delimiter": ";",
        "columns": ["E-mail", "Last name"],
        "mapping": [{"column": "E-mail", "field": "email"}, {"column": "Last name", "field": "last_name"}],
        "rows": [{"line": 2, "values": _CELLS, "outcome": "failed", "errors": [_PROBLEM]}],
    },
    "ImportRefusal": {"line": 2, "values": _CELLS, "errors": [_PROBLEM]},
}
IMPORT_BODY: Final[JsonObject] = {
    "file_id": "01993f5e-8c00-7a11-9d52-6f0f3f1c2b18",
    "kind": "contact",
    "mapping": [{"column": "Mail", "field": "email"}],
    "match_on": "email",
    "has_header": True,
    "delimiter": ";",
    "encoding": "windows-1252",
    "date_format": "DD.MM.YYYY",
    "decimal_sign": ",",
    "list_separator": ";",
    "tags": ["fair"],
    "dry_run": False,
}
