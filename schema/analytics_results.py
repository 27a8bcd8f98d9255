"""Declares the types of results of analytics, on the GraphQL surface."""

import strawberry
from strawberry.scalars import JSON

from contract.analytics_results import ChartKind
from contract.catalog import ColumnKind
from schema.declare import enum, field

enum(
    ColumnKind,
    "What a column holds.",
    "AnalyticsColumnKind",
    TEXT="A text.",
    INTEGER="A whole number.",
    DECIMAL="An exact decimal, sent as a string.",
    FLOAT="A number that may be rounded.",
    DATE="A day, YYYY-MM-DD.",
    DATETIME="A moment in UTC.",
    BOOLEAN="True or false.",
    ID="The identifier of a record.",
)
enum(
    ChartKind,
    "What kind of picture.",
    "AnalyticsChartKind",
    NUMBER="One figure.",
    TABLE="Rows.",
    BAR="Bars.",
    LINE="A line over time.",
    STACKED_BAR="Bars in parts.",
)


@strawberry.type(description="A statement as it was sent, without the wall that pins it to the organization.")
class AnalyticsSql:
    text: str = field("The text.")
    parameters: list[JSON | None] = field("Its parameters, in order.")
    dialect: str = field("sqlite or postgresql.")
    tables: list[str] = field("The tables that it reads.")
    filters: list[str] = field("The conditions in words, for people who do not read SQL.")
    digest: str = field("SHA-256 of the text, as the change log names it.")


@strawberry.type(description="A column of an answer.")
class AnalyticsColumn:
    name: str = field("Unique in the answer.")
    label: str = field("For people.")
    kind: ColumnKind = field("What it holds.")
    unit: str | None = field("percent, days, minutes or money; null for none.")
    currency_column: str | None = field("The column with the currency of this one, for money.")


@strawberry.type(description="How an answer can be drawn.")
class AnalyticsChart:
    kind: ChartKind = field("What kind of picture.")
    spec: JSON | None = field(
        "Vega-Lite 6 over the named data `rows`, whose objects have the columns' names; null for NUMBER and TABLE."
    )


@strawberry.type(description="The rows of a query, and how they came about.")
class AnalyticsResult:
    columns: list[AnalyticsColumn] = field("The columns, in order.")
    rows: list[list[JSON | None]] = field("Each row is a list of values in the order of the columns.")
    row_count: int = field("How many rows there are here.")
    truncated: bool = field("Whether the answer had more rows, or more bytes, than are told.")
    sql: AnalyticsSql = field("The statement.")
    chart: AnalyticsChart = field("How the rows can be drawn.")
    duration_ms: int = field("Milliseconds in the database.")
