"""Writes rows as CSV (RFC 4180) that no spreadsheet takes for formulas (decision 270)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from contract.analytics_results import ResultColumn, Value
from contract.catalog import ColumnKind
from reports.csv_cells import text_cell

_TEXTS: Final = frozenset({ColumnKind.TEXT, ColumnKind.ID})


def csv_of(columns: Sequence[ResultColumn], rows: Iterable[Sequence[Value]]) -> bytes:
    """Returns the rows below a line with the names of their columns."""
    are_texts = [column.kind in _TEXTS for column in columns]
    lines = [",".join(_cell(column.name, is_text=True) for column in columns)]
    lines += [
        ",".join(_cell(value, is_text=is_text) for value, is_text in zip(row, are_texts, strict=True)) for row in rows
    ]
    return "".join(f"{line}\r\n" for line in lines).encode()


def _cell(value: Value, *, is_text: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return text_cell(str(value), is_number=not is_text)
