"""Writes the workbook of a report's table: a sheet of typed cells with its sums, and one that says what it is of."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from contract.vocabulary import ReportColumnType
from reports.colors import HAIR, INK, MUTED, Palette
from reports.printed import KINDS, Printed, currency_of, decimals_of, moment, row_words
from reports.spreadsheet_parts import FONT, inert
from reports.table import Cell, Column
from reports.text import clean, cut, one_line

_HEAD = 3
_EXACT_DIGITS = 15
"""Digits that a spreadsheet's number keeps."""
_WIDEST = 44
_STRONG = Palette().strong


def render_spreadsheet(printed: Printed) -> bytes:
    """The bytes of the workbook; the same report gives the same."""
    made = BytesIO()
    book = xlsxwriter.Workbook(made, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    book.set_properties(
        {
            "title": cut(one_line(printed.name), 250),
            "author": cut(one_line(printed.organization), 250),
            "created": printed.table.generated_at.replace(tzinfo=None),
        }
    )
    written = _Written(book, printed)
    written.rows(book.add_worksheet("Report"))
    written.about(book.add_worksheet("About"))
    book.close()
    return made.getvalue()


class _Written:
    """A workbook while it is written."""

    def __init__(self, book: xlsxwriter.Workbook, printed: Printed) -> None:
        self._book = book
        self._printed = printed
        self._formats: dict[tuple[tuple[str, object], ...], Format] = {}

    def style(self, **properties: object) -> Format:
        """A format, made once for the same properties."""
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            usual = {"font_name": FONT, "font_size": 10, "font_color": INK, "valign": "vcenter"}
            self._formats[key] = self._book.add_format({**usual, **properties})
        return self._formats[key]

    def rows(self, sheet: Worksheet) -> None:
        """The sheet with the table."""
        table = self._printed.table
        widths = self._widths()
        sheet.hide_gridlines(2)
        sheet.set_landscape()
        sheet.set_paper(9)
        sheet.fit_to_pages(1, 0)
        sheet.set_footer("&R&8&P / &N")
        sheet.set_row(0, 28)
        sheet.write_string(
            0, 0, inert(one_line(self._printed.name)), self.style(bold=True, font_size=16, font_color=_STRONG)
        )
        sheet.write_string(1, 0, self._subtitle(), self.style(font_color=MUTED))
        sheet.set_row(_HEAD, 20)
        for number, column in enumerate(table.columns):
            right = {} if _is_left(column) else {"align": "right"}
            head = self.style(bold=True, font_color="#ffffff", bg_color=_STRONG, **right)
            title = column.title if column.currency is None else f"{column.title} ({column.currency})"
            sheet.write_string(_HEAD, number, title, head)
            sheet.set_column(number, number, widths[number])
        line = _HEAD
        for line, row in enumerate(table.rows, _HEAD + 1):
            self._line(sheet, line, row, bottom=1, bottom_color=HAIR)
        if table.rows:
            sheet.autofilter(_HEAD, 0, line, len(table.columns) - 1)
        for sums in table.sums:
            line += 1
            self._sums(sheet, line, f"Sum in {currency_of(sums, table.columns)}", sums, top=1)
        if table.totals is not None:
            self._sums(sheet, line + 1, "Total", table.totals, top=2)
        sheet.freeze_panes(_HEAD + 1, 1)
        sheet.repeat_rows(_HEAD)

    def about(self, sheet: Worksheet) -> None:
        """The sheet that says what the rows are of."""
        printed = self._printed
        sheet.hide_gridlines(2)
        sheet.set_column(0, 0, 18)
        sheet.set_column(1, 1, 90)
        lines = [
            ("Report", one_line(printed.name)),
            *([("Description", clean(printed.description))] if printed.description else []),
            ("Kind", KINDS[printed.kind]),
            ("Organization", one_line(printed.organization)),
            ("Prepared", moment(printed.prepared)),
            *printed.facts,
        ]
        if printed.table.truncated:
            lines.append(("Rows", f"There are more than the {len(printed.table.rows):,} rows of this file"))
        for number, (label, text) in enumerate(lines):
            sheet.write_string(number, 0, label, self.style(font_color=MUTED, valign="top"))
            sheet.write_string(number, 1, inert(text), self.style(text_wrap=True, valign="top"))

    def _subtitle(self) -> str:
        facts = [f"{label}: {text}" for label, text in self._printed.facts]
        return inert(cut(" · ".join([KINDS[self._printed.kind], *facts, moment(self._printed.prepared)]), 500))

    def _sums(self, sheet: Worksheet, line: int, label: str, sums: Sequence[Cell], *, top: int) -> None:
        self._line(sheet, line, sums, bold=True, top=top, top_color=_STRONG)
        sheet.write_string(line, 0, label, self.style(bold=True, top=top, top_color=_STRONG))

    def _line(self, sheet: Worksheet, line: int, row: Sequence[Cell], **properties: object) -> None:
        columns = self._printed.table.columns
        places = decimals_of(row, columns)
        for number, (cell, column) in enumerate(zip(row, columns, strict=True)):
            form = _form(column, places[number])
            style = self.style(**properties, **({"num_format": form} if form else {}))
            if cell is None:
                sheet.write_blank(line, number, None, style)
            elif isinstance(cell, date):
                sheet.write_datetime(line, number, datetime(cell.year, cell.month, cell.day), style)
            elif isinstance(cell, int) or (isinstance(cell, Decimal) and _is_exact(cell)):
                sheet.write_number(line, number, float(cell), style)
            elif isinstance(cell, Decimal):
                sheet.write_string(line, number, format(cell, "f"), self.style(**properties, align="right"))
            else:
                sheet.write_string(line, number, inert(clean(cell)), style)

    def _widths(self) -> list[float]:
        """The widths that the cells of the columns need, in characters."""
        table = self._printed.table
        titles = [len(column.title) + (9 if column.currency else 4) for column in table.columns]
        needed = [max(16, titles[0]), *titles[1:]]
        for row in (*table.rows, *table.sums, *([] if table.totals is None else [table.totals])):
            words = row_words(row, table.columns)
            needed = [max(most, len(word) + 3) for most, word in zip(needed, words, strict=True)]
        return [float(min(_WIDEST, most)) for most in needed]


def _is_left(column: Column) -> bool:
    return column.type in (ReportColumnType.TEXT, ReportColumnType.DATE)


def _form(column: Column, decimals: int) -> str:
    """The format of a column's numbers, in the words of spreadsheets."""
    match column.type:
        case ReportColumnType.INTEGER:
            return "#,##0"
        case ReportColumnType.DECIMAL:
            return "#,##0" + (f".{'0' * decimals}" if decimals else "")
        case ReportColumnType.RATIO:
            return "0.0 %"
        case ReportColumnType.DATE:
            return "mmmm yyyy" if column.is_month else "yyyy-mm-dd"
        case _:
            return ""


def _is_exact(value: Decimal) -> bool:
    """Says whether a spreadsheet's number keeps all its digits (decision 552)."""
    return len(value.normalize().as_tuple().digits) <= _EXACT_DIGITS
