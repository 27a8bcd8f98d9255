"""Defines a report that is printed: its table with a title and what it is narrowed to; and how cells read to people."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from contract.vocabulary import ReportColumnType, ReportFormat, ReportKind
from reports.table import Cell, Column, Table

NOTHING = "–"
KINDS = {
    ReportKind.PIPELINE_BY_STAGE: "Pipeline by stage",
    ReportKind.ACTIVITY_BY_OWNER: "Activities by owner",
    ReportKind.WON_LOST_BY_MONTH: "Won and lost by month",
    ReportKind.TARGET_ATTAINMENT: "Target attainment",
}
"""The names of the kinds, as people read them."""
LEADING = {
    ReportKind.PIPELINE_BY_STAGE: "value",
    ReportKind.ACTIVITY_BY_OWNER: "activities",
    ReportKind.WON_LOST_BY_MONTH: "won_value",
    ReportKind.TARGET_ATTAINMENT: "ratio",
}
"""The column of each kind that a reader looks at first."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A report to be printed: `facts` say what it is narrowed to, `prepared` is its moment in its own time zone."""

    name: str
    description: str | None
    kind: ReportKind
    organization: str
    facts: Sequence[tuple[str, str]]
    prepared: datetime
    table: Table


@dataclass(frozen=True, slots=True)
class PrintedFile:
    """A file that was made of a report."""

    format: ReportFormat
    name: str
    content_type: str
    data: bytes
    sha256: str


def day(value: date) -> str:
    """A day in words, the same in every language of a system: 24 November 2026."""
    return f"{value.day} {_MONTHS[value.month - 1]} {value.year}"


def moment(value: datetime) -> str:
    """A moment in words, with the name that its zone has then."""
    return f"{day(value)}, {value:%H:%M} {value.tzname() or ''}".strip()


def cell_words(cell: Cell, column: Column, decimals: int) -> str:
    """A cell as a reader sees it, numbers with so many decimals and their thousands apart."""
    if cell is None:
        return NOTHING
    if isinstance(cell, date):
        return f"{_MONTHS[cell.month - 1]} {cell.year}" if column.is_month else f"{cell.day} {_short(cell)} {cell.year}"
    if isinstance(cell, Decimal):
        return f"{cell * 100:,.1f} %" if column.type is ReportColumnType.RATIO else f"{cell:,.{decimals}f}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def row_words(row: Sequence[Cell], columns: Sequence[Column], decimals: Sequence[int]) -> list[str]:
    """The cells of a row as a reader sees them; what is counted among amounts has no decimals."""
    counts = any(column.key == "currency" and cell is None for cell, column in zip(row, columns, strict=True))
    return [
        cell_words(cell, column, _decimals(cell) if counts and isinstance(cell, Decimal) else places)
        for cell, column, places in zip(row, columns, decimals, strict=True)
    ]


def decimals_of(number: int, table: Table) -> int:
    """Says how many decimals the amounts of a column need: none where all are whole, else two or more."""
    cells = [row[number] for row in (*table.rows, *table.sums, table.totals or ()) if row]
    needed = [_decimals(cell) for cell in cells if isinstance(cell, Decimal)]
    most = max(needed, default=0)
    return max(2, most) if most else 0


def _decimals(value: Decimal) -> int:
    exponent = value.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November"),
    "December",
)


def _short(value: date) -> str:
    return _MONTHS[value.month - 1][:3]
