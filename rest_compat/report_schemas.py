"""Describes the bodies and answers of reports and their runs, with an example of each."""

from __future__ import annotations

from typing import Final

from contract.vocabulary import JobStatus, MailStatus, ReportColumnType, ReportFormat, ReportFrequency, Weekday
from rest_compat.schemas import JsonObject, Schema, enumerated, or_null, record_schema, reference_to
from storage.columns import MADE_AT

_UUID: Final = {"type": "string", "format": "uuid"}
_TEXT: Final = {"type": "string"}
_DAY: Final = {"type": "string", "format": "date"}
_TIME: Final = {"type": "string", "format": "date-time", "description": "ISO 8601 in UTC."}
_WHOLE: Final = {"type": "integer"}
_JOB: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0a"
_RUN: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0b"
_MAIL: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0d"
_REPORT: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0c"
REPORTS: Final[dict[str, Schema]] = {
    "ReportParameters": record_schema(
        {
            "from": or_null(_DAY, "The first day."),
            "to": or_null(_DAY, "The last day, included."),
            "last_days": or_null(_WHOLE, "Days back from the day of the run, which is the last one."),
            **{
                name: or_null({"type": "array", "items": _TEXT}, text)
                for name, text in (
                    ("owner_ids", "Only records of these members."),
                    ("account_ids", "Only records on these accounts."),
                    ("stage_ids", "Only deals in these stages."),
                    ("tags", "Names of tags, any of which will do."),
                )
            },
            "currency": or_null(_TEXT, "Only amounts in this currency."),
            "time_zone": {**_TEXT, "description": "An IANA time zone."},
        },
        "What the question of a report is narrowed to.",
    ),
    "ReportSchedule": record_schema(
        {
            "frequency": enumerated(ReportFrequency),
            "at": {**_TEXT, "description": "The local time, HH:MM."},
            "weekday": or_null(enumerated(Weekday), "On which day, for weekly."),
            "day_of_month": or_null(_WHOLE, "1 to 31; a shorter month uses its last day."),
            "time_zone": {**_TEXT, "description": "An IANA time zone."},
            "to": {"type": "array", "items": _TEXT, "description": "The addresses."},
            "formats": {"type": "array", "items": enumerated(ReportFormat), "description": "Which files, each once."},
            "next_at": or_null(_TIME, "The next moment; null while it is off."),
            "paused_reason": or_null(_TEXT, "Why it is off."),
        },
        "When a report is mailed by itself.",
    ),
    "ReportTable": record_schema(
        {
            "columns": {
                "type": "array",
                "items": record_schema(
                    {
                        "key": {**_TEXT, "description": "A name that does not change."},
                        "title": _TEXT,
                        "type": enumerated(ReportColumnType),
                        "currency": or_null(_TEXT, "That of the amounts; null where the row says it."),
                    },
                    "A column.",
                ),
            },
            "rows": {"type": "array", "items": {"type": "array", "description": "A cell for each column."}},
            "totals": or_null({"type": "array"}, "Sums, cell for cell; null where a sum means nothing."),
            "generated_at": _TIME,
            "truncated": {"type": "boolean", "description": "Whether there were more than 5,000 rows."},
        },
        "The rows of a report.",
    ),
    "ReportRunQueued": record_schema(
        {
            "run_id": _UUID,
            "job_id": _UUID,
            "status_url": {**_TEXT, "description": "The path of the job that does it."},
        },
        "A run of a report that is queued.",
    ),
    "ReportRun": record_schema(
        {
            "id": _UUID,
            "report_id": or_null(_UUID, "The report; null where it is gone."),
            "status": enumerated(JobStatus),
            "files": {"type": "array", "items": reference_to("File"), "description": "Once it has succeeded."},
            "mail": or_null(reference_to("Mail"), "The message that carries them."),
            "error": or_null(_TEXT, "Why it failed, in words."),
            "created_at": _TIME,
            "finished_at": or_null(_TIME, "When it ended."),
        },
        "One rendering of a report.",
    ),
    "Mail": record_schema(
        {
            "id": _UUID,
            "subject": {**_TEXT, "description": "The title, one line."},
            "to": {"type": "array", "items": _TEXT, "description": "The addresses."},
            "status": enumerated(MailStatus),
            "attempts": {**_WHOLE, "description": "How often it was tried."},
            "error": or_null(_TEXT, "The mail server's refusal, without its internals."),
            "created_at": _TIME,
            "sent_at": or_null(_TIME, "When it was sent."),
        },
        "A message that the service sends.",
    ),
}
SCHEDULE_EXAMPLE: Final[JsonObject] = {
    "frequency": "monthly",
    "at": "07:00",
    "weekday": None,
    "day_of_month": 1,
    "time_zone": "Europe/Berlin",
    "to": ["ada@example.com"],
    "formats": ["pdf"],
    "next_at": "2026-12-01T06:00:00Z",
    "paused_reason": None,
}
REPORT_EXAMPLES: Final[JsonObject] = {
    "ReportTable": {
        "columns": [
            {"key": "stage", "title": "Stage", "type": "text", "currency": None},
            {"key": "currency", "title": "Currency", "type": "text", "currency": None},
            {"key": "deals", "title": "Deals", "type": "integer", "currency": None},
            {"key": "value", "title": "Value", "type": "decimal", "currency": None},
            {"key": "weighted", "title": "Weighted value", "type": "decimal", "currency": None},
        ],
        "rows": [["Qualified", "EUR", 3, 62500.5, 12500.1]],
        "totals": [None, "EUR", 3, 62500.5, 12500.1],
        "generated_at": MADE_AT,
        "truncated": False,
    },
    "ReportRunQueued": {"run_id": _RUN, "job_id": _JOB, "status_url": f"/jobs/{_JOB}"},
    "ReportRun": {
        "id": _RUN,
        "report_id": _REPORT,
        "status": "succeeded",
        "files": [],
        "mail": {
            "id": _MAIL,
            "subject": "Pipeline by stage",
            "to": ["ada@example.com"],
            "status": "sent",
            "attempts": 1,
            "error": None,
            "created_at": MADE_AT,
            "sent_at": "2026-11-20T09:30:02.310000Z",
        },
        "error": None,
        "created_at": MADE_AT,
        "finished_at": "2026-11-20T09:30:02.310000Z",
    },
}
