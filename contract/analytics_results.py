"""Declares the result of a query of analytics, whoever made it: columns, rows, statement, chart (docs/analytics.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from contract.catalog import ColumnKind

Value = str | int | float | bool | None
"""A value as an answer carries it: exact decimals, days and moments are texts (see ColumnKind)."""


class ChartKind(StrEnum):
    """The kind of picture that shows an answer."""

    NUMBER = "number"
    TABLE = "table"
    BAR = "bar"
    LINE = "line"
    STACKED_BAR = "stacked_bar"


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of an answer: `unit` is percent, days, minutes or money; money names the column of its currency."""

    name: str
    label: str
    kind: ColumnKind
    unit: str | None = None
    currency_column: str | None = None


def label_of(name: str) -> str:
    """Returns the name of a column for people."""
    return name.replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as it was sent, without the wall that pins it to the organization.

    `filters` are its conditions in words; `digest` is the SHA-256 of the text.
    """

    text: str
    parameters: Sequence[Value]
    dialect: str
    tables: Sequence[str]
    filters: Sequence[str]
    digest: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Says how an answer can be drawn: a Vega-Lite 6 specification over the data named `rows`, or none of it."""

    kind: ChartKind
    spec: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of a query, and how they came about. `truncated`: it had more rows, or more bytes, than are told."""

    columns: Sequence[ResultColumn]
    rows: Sequence[Sequence[Value]]
    truncated: bool
    sql: Statement
    chart: Chart
    duration_ms: int

    @property
    def row_count(self) -> int:
        """Says how many rows are told."""
        return len(self.rows)
