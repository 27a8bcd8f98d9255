"""The steps of an answer on the GraphQL surface: a type for each kind of step."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import strawberry
from strawberry.scalars import JSON

from contract.analytics_events import AnalyticsPlanner, AnalyticsRunStatus, EventType
from contract.analytics_results import ChartKind
from contract.catalog import ColumnKind
from contract.guard_layers import GuardLayer
from resolvers.analytics_inputs import AnalyticsCondition, AnalyticsOrder, AnalyticsQuery
from resolvers.analytics_runs import Followed
from schema.adapters.strawberry import to_camel_case
from schema.analytics_results import AnalyticsChart, AnalyticsColumn, AnalyticsSql
from schema.connections import named_by_its_rows
from schema.declare import enum, field

enum(
    AnalyticsPlanner,
    "Who made the plan.",
    SAVED="A saved question that an administrator verified.",
    PARSER="The embedded parser.",
    MODEL="The model that the operator set.",
)
enum(
    AnalyticsRunStatus,
    "Where a question stands.",
    RUNNING="It is being worked on.",
    SUCCEEDED="It was answered.",
    DECLINED="It could not be read in full, so nothing was run.",
    FAILED="An error ended it.",
    CANCELLED="The caller ended it.",
    TIMED_OUT="It took too long.",
    INTERRUPTED="The process that worked on it ended; it can be asked again.",
)
enum(
    GuardLayer,
    "A layer of the guard that refuses statements.",
    "AnalyticsLayer",
    TEXT="Length and characters.",
    PARSE="One statement, a SELECT, of bounded size and depth.",
    SYNTAX="Forms, functions and types that are on the list.",
    NAMES="Tables and columns of the catalogue.",
    JOINS="Each join has an equality between two sources.",
    TENANT="Every table is pinned to the organization.",
    SESSION="The plan's estimate, or what the session forbids.",
)

_Json = Mapping[str, Any]  # Any: JSON


@strawberry.type(description="The bounds of an answer.")
class AnalyticsLimits:
    rows: int = field("Rows.")
    bytes: int = field("Bytes of rows.")
    statement_seconds: int = field("Seconds of the database.")
    run_seconds: int = field("Seconds of the whole answer.")


@strawberry.interface(
    description="One step of an answer. Steps are numbered from 1 without gaps; the last one is AnalyticsRunFinished."
)
@named_by_its_rows
class AnalyticsEvent:
    run_id: strawberry.ID = field("The run.")
    sequence: int = field("The number of the step.")


@strawberry.type(description="The question is accepted.")
class AnalyticsRunStarted(AnalyticsEvent):
    conversation_id: strawberry.ID = field("The conversation.")
    question: str = field("The question as it was understood to be asked: trimmed, in one line.")
    limits: AnalyticsLimits = field("The limits that hold.")


@strawberry.type(description="How the question is read.")
class AnalyticsPlanned(AnalyticsEvent):
    planner: AnalyticsPlanner = field("Who read it.")
    query: JSON | None = field(
        "The semantic query, to be edited and sent to `analyticsQuery`; null where the model wrote SQL."
    )
    assumptions: list[str] = field("What was taken for granted, in words: «this year» is 2026-01-01 to 2026-12-31.")
    follows_run_id: strawberry.ID | None = field("The run whose query this one changes, for a follow-up.")


@strawberry.type(description="The statement that is run. It is told before its rows, always.")
class AnalyticsSqlShown(AnalyticsEvent):
    sql: AnalyticsSql = field("The statement.")


@strawberry.type(description="The columns of the answer.")
class AnalyticsColumnsShown(AnalyticsEvent):
    columns: list[AnalyticsColumn] = field("The columns, in order.")


@strawberry.type(description="Up to 100 rows of the answer.")
class AnalyticsRowsShown(AnalyticsEvent):
    offset: int = field("The index of the first of these rows, from 0.")
    rows: list[list[JSON | None]] = field("Each row is a list of values in the order of the columns.")


@strawberry.type(description="How the answer can be drawn.")
class AnalyticsChartShown(AnalyticsEvent):
    chart: AnalyticsChart = field("The chart.")


@strawberry.type(description="A piece of the explanation; the pieces in order are the text.")
class AnalyticsExplained(AnalyticsEvent):
    text: str = field("The piece, plain text.")


@strawberry.type(
    description="Something the reader should know: rows were cut, SQL was written by a model, the model could not be "
    "reached."
)
class AnalyticsNotice(AnalyticsEvent):
    code: str = field("TRUNCATED, WRITTEN_BY_MODEL, MODEL_UNAVAILABLE or EXPLANATION_REPLACED.")
    message: str = field("The same in words.")


@strawberry.type(description="What went wrong; AnalyticsRunFinished follows.")
class AnalyticsFailed(AnalyticsEvent):
    code: str = field("As in `extensions.code`: ANALYTICS_REFUSED, TIMEOUT, NOT_CONFIGURED, PROVIDER_ERROR, INTERNAL …")
    message: str = field("In words.")
    retryable: bool = field("Whether asking again may help.")
    layer: GuardLayer | None = field("The layer of the guard, for ANALYTICS_REFUSED.")


@strawberry.type(description="The last step.")
class AnalyticsRunFinished(AnalyticsEvent):
    status: AnalyticsRunStatus = field("How it ended.")
    row_count: int = field("The rows of the answer.")
    truncated: bool = field("Whether there were more rows than were told.")
    duration_ms: int = field("From the question to this step.")
    unread: list[str] = field("The words that could not be read; with DECLINED.")
    suggestions: list[str] = field("Questions that can be answered and are nearest; with DECLINED, three at most.")


TYPES = (
    *(AnalyticsRunStarted, AnalyticsPlanned, AnalyticsSqlShown, AnalyticsColumnsShown, AnalyticsRowsShown),
    *(AnalyticsChartShown, AnalyticsExplained, AnalyticsNotice, AnalyticsFailed, AnalyticsRunFinished),
)
"""The kinds of steps, which no field names but by their interface."""


def _planned(data: _Json) -> _Json:
    query = None if data["query"] is None else as_input(data["query"])
    return {**data, "planner": AnalyticsPlanner(data["planner"]), "query": query}


_NAMES = frozenset({"op", "grain", "direction"})
_WRITTEN = {
    to_camel_case(name): name
    for model in (AnalyticsQuery, AnalyticsCondition, AnalyticsOrder)
    for name in model.model_fields
}


def as_input(plan: _Json) -> dict[str, Any]:  # Any: JSON
    """Writes a semantic query as `analyticsQuery` takes it: names in camel case, vocabularies in upper case.

    The value of a condition stays as it is.
    """

    def written(name: str, value: Any) -> Any:  # Any: JSON
        if name == "value":
            return value
        if name in _NAMES:
            return value.upper()
        if isinstance(value, list):
            return [as_input(each) if isinstance(each, dict) else each for each in value]
        return value

    return {to_camel_case(name): written(name, value) for name, value in plan.items()}


def as_plan(given: object) -> object:
    """Reads a semantic query that was written as `analyticsQuery` takes it: what `as_input` does, undone."""
    if not isinstance(given, dict):
        return given
    plan: dict[str, object] = {}
    for name, value in given.items():
        key = _WRITTEN.get(str(name), str(name))
        if key in _NAMES and isinstance(value, str):
            plan[key] = value.lower()
        elif key != "value" and isinstance(value, list):
            plan[key] = [as_plan(each) for each in value]
        else:
            plan[key] = value
    return plan


def _columns(data: _Json) -> _Json:
    columns = [SimpleNamespace(**column | {"kind": ColumnKind(column["kind"])}) for column in data["columns"]]
    return {"columns": columns}


def _failed(data: _Json) -> _Json:
    layer = None if data["layer"] is None else GuardLayer(data["layer"])
    return {**data, "code": data["code"].upper(), "layer": layer}


_KINDS: Mapping[EventType, tuple[str, Callable[[_Json], _Json]]] = {
    EventType.RUN_STARTED: ("AnalyticsRunStarted", lambda data: {**data, "limits": SimpleNamespace(**data["limits"])}),
    EventType.PLAN: ("AnalyticsPlanned", _planned),
    EventType.SQL: ("AnalyticsSqlShown", lambda data: {"sql": SimpleNamespace(**data)}),
    EventType.COLUMNS: ("AnalyticsColumnsShown", _columns),
    EventType.ROWS: ("AnalyticsRowsShown", dict),
    EventType.CHART: (
        "AnalyticsChartShown",
        lambda data: {"chart": SimpleNamespace(kind=ChartKind(data["kind"]), spec=data["spec"])},
    ),
    EventType.EXPLANATION: ("AnalyticsExplained", dict),
    EventType.NOTICE: ("AnalyticsNotice", lambda data: {**data, "code": data["code"].upper()}),
    EventType.ERROR: ("AnalyticsFailed", _failed),
    EventType.RUN_FINISHED: (
        "AnalyticsRunFinished",
        lambda data: {**data, "status": AnalyticsRunStatus(data["status"])},
    ),
}


def shown(event: Followed) -> SimpleNamespace:
    """The step as its type reads it."""
    typename, read = _KINDS[EventType(event.type)]
    own = {**read(event.data), "run_id": event.run_id, "sequence": event.sequence}
    return SimpleNamespace(typename=typename, **own)
