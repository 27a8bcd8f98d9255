"""Makes the parts of a workbook's sheets: formats, tables, and texts that no program takes for a formula."""

import math
from collections.abc import Sequence
from unicodedata import east_asian_width

from xlsxwriter.format import Format
from xlsxwriter.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from reports.colors import HAIR, INK, MUTED
from reports.content import Content
from reports.text import cut

FONT = "Calibri"
_STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
_MOST_CELL = 32_767
_NUMBERS = frozenset(("Score", "Weight", "Share"))
_LINE, _PADDING, _HIGHEST = 13.5, 8.0, 400.0


def inert(text: str) -> str:
    """The text as a cell may hold it: one that a program could take for a formula begins with an apostrophe.

    The cell is a text in any case; the apostrophe keeps it one when it is edited, or saved as CSV and opened again.
    """
    text = f"'{text}" if text.startswith(_STARTS_FORMULA) else text
    return text if len(text) <= _MOST_CELL else text[: _MOST_CELL - 1] + "…"


def height(*cells: tuple[str, float]) -> float:
    """Points that a row needs for its texts in columns of these widths: programs do not measure rows when they open.

    A character counts as one unit of width, one of East Asia as two.
    """
    most = 1
    for text, width in cells:
        lines = 0
        for line in text.split("\n"):
            units = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in line)
            lines += max(1, math.ceil(units * 0.98 / (width - 1)))
        most = max(most, lines)
    return min(_HIGHEST, most * _LINE + _PADDING)


class Book:
    """One workbook while it is written."""

    def __init__(self, book: Workbook, content: Content) -> None:
        self.book = book
        self.content = content
        self.colors = content.brand.colors
        self._formats: dict[tuple[tuple[str, object], ...], Format] = {}

    def style(self, **properties: object) -> Format:
        """A format; the same one for the same properties."""
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            usual = {"font_name": FONT, "font_size": 10, "font_color": INK, "valign": "top"}
            self._formats[key] = self.book.add_format({**usual, **properties})
        return self._formats[key]

    def cell(self, **properties: object) -> Format:
        return self.style(text_wrap=True, bottom=1, bottom_color=HAIR, **properties)

    def sheet(self, name: str) -> Worksheet:
        sheet = self.book.add_worksheet(name)
        sheet.hide_gridlines(2)
        sheet.set_landscape()
        sheet.set_paper(9)
        sheet.fit_to_pages(1, 0)
        sheet.set_margins(0.4, 0.4, 0.6, 0.6)
        sheet.set_footer("&L&8" + inert(cut(self.content.company, 80)).replace("&", "&&") + "&R&8&P / &N")
        return sheet

    def table(self, name: str, columns: Sequence[tuple[str, float]], note: str) -> Worksheet:
        """A sheet with a title, a note and a header that stays; its rows begin at the fifth."""
        sheet = self.sheet(name)
        sheet.set_tab_color(self.colors.mark)
        sheet.set_row(0, 30)
        sheet.write_string(
            0, 0, name, self.style(bold=True, font_size=18, font_color=self.colors.strong, valign="vcenter")
        )
        sheet.write_string(1, 0, note, self.style(font_color=MUTED))
        head = self.style(bold=True, font_color="#ffffff", bg_color=self.colors.strong, valign="vcenter")
        right = self.style(
            bold=True, font_color="#ffffff", bg_color=self.colors.strong, valign="vcenter", align="right", indent=1
        )
        sheet.set_row(3, 22)
        for index, (title, width) in enumerate(columns):
            sheet.set_column(index, index, width)
            sheet.write_string(3, index, title, right if title in _NUMBERS else head)
        sheet.freeze_panes(4, 1)
        sheet.repeat_rows(3)
        return sheet
