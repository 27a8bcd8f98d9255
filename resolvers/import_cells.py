"""Turns the cells of a file into the values of an upsert's row: days, numbers, lists and words as they are told."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any

from contract.errors import Problem
from reports.csv_cells import parted, plain_text
from resolvers.upsert_rows import Kind as RecordKind
from storage.columns import DATE, FLAG, MONEY, NAMES, WHOLE, Kind, columns_of

_DAY = re.compile(r"YYYY|MM|DD|M|D")
_DIGITS = {"YYYY": r"(?P<year>\d{4})", "MM": r"(?P<month>\d\d)", "DD": r"(?P<day>\d\d)"} | {
    "M": r"(?P<month>\d\d?)",
    "D": r"(?P<day>\d\d?)",
}
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_TAGS = "tags"

Convert = Callable[[str], Any]  # Any: a value of the field's kind
"""Makes a value of a cell. Raises ValueError, whose words are for the client."""


@dataclass(frozen=True, slots=True)
class Told:
    """Says how days, decimals and lists are written."""

    date_format: str
    decimal_sign: str
    list_separator: str


def day_pattern(date_format: str) -> re.Pattern[str]:
    """The pattern of days that are written so. Raises ValueError for a form without exactly one day, month and year."""
    parts = _DAY.findall(date_format)
    if sorted(part[0] for part in parts) != ["D", "M", "Y"]:
        raise ValueError("must have YYYY, MM or M, and DD or D, each once, such as DD.MM.YYYY")
    text, last = "", 0
    for found in _DAY.finditer(date_format):
        text += re.escape(date_format[last : found.start()]) + _DIGITS[found[0]]
        last = found.end()
    return re.compile(text + re.escape(date_format[last:]), re.ASCII)


def _day(told: Told) -> Convert:
    pattern = day_pattern(told.date_format)

    def convert(cell: str) -> date:
        found = pattern.fullmatch(cell.strip())
        try:
            if found is not None:
                return date(int(found["year"]), int(found["month"]), int(found["day"]))
        except ValueError:
            pass
        raise ValueError(f"must be a date of the form {told.date_format}")

    return convert


def _decimal(told: Told) -> Convert:
    sign, group = re.escape(told.decimal_sign), re.escape("," if told.decimal_sign == "." else ".")
    pattern = re.compile(rf"[+-]?(?:\d{{1,3}}(?:{group}\d{{3}})+|\d+)(?:{sign}\d+)?", re.ASCII)
    grouped = re.compile(group)

    def convert(cell: str) -> Decimal:
        text = cell.strip()
        if pattern.fullmatch(text) is None:
            raise ValueError(f"must be a number with {told.decimal_sign} before its decimals")
        return Decimal(grouped.sub("", text).replace(told.decimal_sign, "."))

    return convert


def _whole(cell: str) -> int:
    if re.fullmatch(r"[+-]?\d{1,18}", cell.strip(), re.ASCII) is None:
        raise ValueError("must be a whole number")
    return int(cell)


def _flag(cell: str) -> bool:
    known = _FLAGS.get(cell.strip().lower())
    if known is None:
        raise ValueError("must be true or false")
    return known


def _names(told: Told) -> Convert:
    def convert(cell: str) -> list[str]:
        return parted(plain_text(cell), told.list_separator)

    return convert


def _word(cell: str) -> str:
    """A value of a vocabulary, as this surface or the other writes it."""
    return plain_text(cell).strip().lower()


def converters(kind: RecordKind, told: Told) -> Mapping[str, Convert]:
    """Find the functions that make values of cells, by the fields of a row of the kind."""
    kinds: dict[str, Kind | type[StrEnum]] = {column.name: column.kind for column in columns_of(kind.model)}
    made: dict[Kind | type[StrEnum], Convert] = {
        DATE: _day(told),
        MONEY: _decimal(told),
        WHOLE: _whole,
        FLAG: _flag,
        NAMES: _names(told),
    }

    def of(name: str) -> Convert:
        if name == _TAGS:
            return made[NAMES]
        found = kinds.get(name)
        return plain_text if found is None else made.get(found, plain_text if isinstance(found, Kind) else _word)

    return {name: of(name) for name in kind.row.model_fields}


def row_of(cells: Mapping[str, str], convert: Mapping[str, Convert]) -> tuple[dict[str, object], list[Problem]]:
    """The row of an upsert, and what is wrong with its cells. An empty cell says nothing (decision 533).

    Any: of each field its own.
    """
    row: dict[str, object] = {}
    problems: list[Problem] = []
    for name, cell in cells.items():
        if not cell.strip():
            continue
        try:
            row[name] = convert[name](cell)
        except ValueError as error:
            problems.append(Problem((name,), str(error)))
    return row, problems
