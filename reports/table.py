"""The rows of a report as data: columns with their types, cells, sums. Every format is made of one such table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from contract.vocabulary import ReportColumnType

Cell = str | int | Decimal | date | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: a key that does not change, a title for people, and what its cells hold.

    `currency` is that of its amounts, None where the row says it. A day `is_month` where it stands for its month.
    """

    key: str
    title: str
    type: ReportColumnType
    currency: str | None = None
    is_month: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a report, and their sums cell for cell, None where a sum means nothing.

    `sums` are those of each currency apart, where there are several: amounts are never added across currencies.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    totals: Sequence[Cell] | None
    sums: Sequence[Sequence[Cell]]
    generated_at: datetime
    truncated: bool
