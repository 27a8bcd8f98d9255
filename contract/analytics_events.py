"""The steps of an answer to a question: their kinds, who planned it, and how it ended (docs/analytics.md)."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class AnalyticsPlanner(StrEnum):
    """Says who made the plan."""

    SAVED = "saved"
    PARSER = "parser"
    MODEL = "model"


class AnalyticsRunStatus(StrEnum):
    """The state of a question."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DECLINED = "declined"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"


class EventType(StrEnum):
    """A step of an answer, in the order in which they come; notices and an error come where they arise."""

    RUN_STARTED = "run_started"
    PLAN = "plan"
    SQL = "sql"
    COLUMNS = "columns"
    ROWS = "rows"
    CHART = "chart"
    EXPLANATION = "explanation"
    NOTICE = "notice"
    ERROR = "error"
    RUN_FINISHED = "run_finished"


_NOTHING: Mapping[str, object] = MappingProxyType({})


def last_step(
    status: AnalyticsRunStatus,
    duration_ms: int,
    values: Mapping[str, object] = _NOTHING,
) -> dict[str, object]:
    """Makes the data of the last step of an answer, whoever writes it; `values` are what is kept of the run."""
    return {
        "status": status.value,
        "row_count": values.get("row_count", 0),
        "truncated": values.get("truncated", False),
        "duration_ms": duration_ms,
        "unread": values.get("unread") or [],
        "suggestions": values.get("suggestions") or [],
    }
