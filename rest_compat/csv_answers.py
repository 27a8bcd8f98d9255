"""Writes rows as CSV (RFC 4180) that no spreadsheet takes for formulas (decision 270)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from contract.analytics_results import ResultColumn, Value
from contract.catalog import ColumnKind

_TEXTS: Final = frozenset({ColumnKind.TEXT, ColumnKind.ID})
_FORMULA: Final = re.compile(r"[\s\x00]*[=+\-@＝＋－＠|%]|[\t\r\n\x00]")
"""How a text begins that a program could take for one, after blanks and in full width too."""
_QUOTED: Final = re.compile(r'[",\r\n]|^\s|\s$')


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
    text = str(value)
    if is_text and _FORMULA.match(text):
        text = f"'{text}"
    if text == "" or _QUOTED.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text
