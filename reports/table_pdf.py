"""Sets the PDF of a report's table by Typst: the template is `table.typ`, the fonts are those of CX reports.

The same rows at the same moment give the same bytes.
"""

from collections.abc import Sequence
from decimal import Decimal
from functools import cache

import orjson
import typst

from contract.vocabulary import ReportColumnType
from reports.pdf import FAMILIES, FOLDER, fonts
from reports.printed import KINDS, LEADING, NOTHING, Printed, cell_words, currency_of, moment, row_words
from reports.table import Cell, Column, Table
from reports.text import breakable, cut, one_line

_WIDE = 6
"""Tables with more columns lie on their side."""
_BARS = 12
"""A chart with more bars tells nothing that the table does not."""
_CHARTS = 3
ROWS = 500
"""Rows that a PDF shows: a thousand more take 150 MB and three seconds, and nobody reads them (decision 551)."""


def render_pdf(printed: Printed) -> bytes:
    """The bytes of the PDF."""
    compiler = typst.Compiler(_template(), root=str(FOLDER), font_paths=fonts())
    made = compiler.compile(
        format="pdf",
        sys_inputs={"content": orjson.dumps(shown(printed)).decode()},
        timestamp=int(printed.prepared.timestamp()),
    )
    if not isinstance(made, bytes):  # only pictures come in several parts
        raise TypeError("a PDF is one file")
    return made


@cache
def _template() -> bytes:
    return (FOLDER / "table.typ").read_bytes()


def _text(words: str, most: int) -> str:
    return breakable(cut(one_line(words), most))


def shown(printed: Printed) -> dict[str, object]:
    """The report in the words that the template places."""
    table = printed.table

    def words(row: Sequence[Cell], empty: str = NOTHING) -> list[str]:
        found = zip(row, row_words(row, table.columns), strict=True)
        return [empty if cell is None else _text(said, 160) for cell, said in found]

    totals = [_labelled(words(row, ""), row, table.columns, apart=True) for row in table.sums]
    if table.totals is not None:
        totals.append(_labelled(words(table.totals, ""), table.totals, table.columns, apart=False))
    return {
        "fonts": FAMILIES,
        "name": _text(printed.name, 160),
        "short": _text(printed.name, 60),
        "kind": KINDS[printed.kind],
        "organization": _text(printed.organization, 80),
        "description": _text(printed.description or "", 600),
        "facts": [[label, _text(text, 300)] for label, text in printed.facts],
        "prepared": moment(printed.prepared),
        "wide": len(table.columns) > _WIDE,
        "columns": [_titled(column) for column in table.columns],
        "rows": [words(row) for row in table.rows[:ROWS]],
        "totals": totals,
        "cards": _cards(printed),
        "charts": _charts(printed),
        "left_out": _left_out(printed),
    }


def _left_out(printed: Printed) -> str:
    """Says what of the rows is not shown; nothing where all is."""
    number, truncated = len(printed.table.rows), printed.table.truncated
    if number <= ROWS and not truncated:
        return ""
    shown = f"The first {min(number, ROWS):,} of {'more than ' if truncated else ''}{number:,} rows."
    sums = f" Sums are those of the first {number:,}." if truncated else " Sums are those of all."
    return f"{shown}{sums if printed.table.totals else ''} The spreadsheet and CSV have {number:,}."


def _titled(column: Column) -> dict[str, object]:
    title = column.title if column.currency is None else f"{column.title} ({column.currency})"
    return {"title": title, "right": column.type not in (ReportColumnType.TEXT, ReportColumnType.DATE)}


def _labelled(words: list[str], row: Sequence[Cell], columns: Sequence[Column], *, apart: bool) -> dict[str, object]:
    """A line of sums, called by its currency where it is that of one of several."""
    return {"cells": [f"Sum in {currency_of(row, columns)}" if apart else "Total", *words[1:]], "apart": apart}


def _cards(printed: Printed) -> list[dict[str, object]]:
    """The figures at the top: the leading amount in the main currencies, and how many there are of the rest."""
    table = printed.table
    if table.totals is None or not table.rows:
        return []
    cards: list[dict[str, object]] = []
    place = _place(table.columns, LEADING[printed.kind])
    for line in _main_first(table)[:_CHARTS] or [table.totals]:
        column = table.columns[place]
        if line[place] is not None:
            currency = currency_of(line, table.columns)
            label = column.title if currency is None else f"{column.title}, {currency}"
            cards.append({"label": label, "value": row_words(line, table.columns)[place]})
    for number, column in enumerate(table.columns):
        cell = table.totals[number]
        if column.type is ReportColumnType.INTEGER and number != place and cell is not None and len(cards) < 4:
            cards.append({"label": column.title, "value": cell_words(cell, column, 0)})
    return cards


def _main_first(table: Table) -> list[Sequence[Cell]]:
    """The sums of each currency, that of the most records first (decision 1072)."""
    counts = [number for number, column in enumerate(table.columns) if column.type is ReportColumnType.INTEGER]

    def number_of(line: Sequence[Cell]) -> int:
        return sum(cell for cell in (line[number] for number in counts) if isinstance(cell, int))

    return sorted(table.sums, key=number_of, reverse=True)


def _charts(printed: Printed) -> list[dict[str, object]]:
    """A chart of the leading column for the main currencies: nothing where there are too many bars, or too few."""
    table = printed.table
    place = _place(table.columns, LEADING[printed.kind])
    column = table.columns[place]
    by_currency = column.type is ReportColumnType.DECIMAL
    ordered = [currency_of(line, table.columns) for line in _main_first(table)] if by_currency else []
    groups: dict[str | None, list[Sequence[Cell]]] = {currency: [] for currency in ordered}
    for row in table.rows:
        groups.setdefault(currency_of(row, table.columns) if by_currency else None, []).append(row)
    charts: list[dict[str, object]] = []
    for currency, rows in groups.items():
        values = [Decimal(cell) if isinstance(cell, int | Decimal) else Decimal(0) for cell in (r[place] for r in rows)]
        most = Decimal(1) if column.type is ReportColumnType.RATIO else max(values)
        if 2 <= len(rows) <= _BARS and most > 0:
            bars = [
                {
                    "label": _text(_label(row, table.columns), 60),
                    "share": float(min(max(value / most, Decimal(0)), Decimal(1))),
                    "shown": row_words(row, table.columns)[place],
                }
                for row, value in zip(rows, values, strict=True)
            ]
            charts.append({"title": column.title if currency is None else f"{column.title}, {currency}", "bars": bars})
    return charts[:_CHARTS]


def _label(row: Sequence[Cell], columns: Sequence[Column]) -> str:
    """Makes the label beside a row's bar: its first cell, and the metric, which tells targets of one owner apart."""
    words = cell_words(row[0], columns[0], 0)
    metric = next((row[n] for n, column in enumerate(columns) if column.key == "metric"), None)
    return words if metric is None else f"{words}, {metric}"


def _place(columns: Sequence[Column], key: str) -> int:
    return next(number for number, column in enumerate(columns) if column.key == key)
