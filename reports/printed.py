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


def row_words(row: Sequence[Cell], columns: Sequence[Column]) -> list[str]:
    """The cells of a row as a reader sees them."""
    places = decimals_of(row, columns)
    return [cell_words(*each) for each in zip(row, columns, places, strict=True)]


def decimals_of(row: Sequence[Cell], columns: Sequence[Column]) -> list[int]:
    """Says how many decimals each cell of a row shows: amounts those of their currency (decision 1072), counts none."""
    currency = currency_of(row, columns)
    return [_decimals(column.currency or currency, cell) for cell, column in zip(row, columns, strict=True)]


def currency_of(row: Sequence[Cell], columns: Sequence[Column]) -> str | None:
    """The currency that a row has in a column of its own."""
    found = next((cell for cell, column in zip(row, columns, strict=True) if column.key == "currency"), None)
    return found if isinstance(found, str) else None


def _decimals(currency: str | None, cell: Cell) -> int:
    if currency is not None:
        return _MINOR.get(currency, 2)
    exponent = cell.normalize().as_tuple().exponent if isinstance(cell, Decimal) else 0
    return max(0, -exponent) if isinstance(exponent, int) else 0


_MINOR = {
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND"), 0),
    **dict.fromkeys(("VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
    **dict.fromkeys(("CLF", "UYW"), 4),
}
"""The decimals of currencies that have not two, by ISO 4217."""
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November"),
    "December",
)


def _short(value: date) -> str:
    return _MONTHS[value.month - 1][:3]
