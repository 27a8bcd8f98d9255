"""The review spreadsheet of a CX report: what was measured and written, row by row, with room for a reviewer's word.

CPU-bound, 0.02 to 0.5 seconds of pure Python: call it in a worker thread, or in a process where many are made. The same
content gives the same bytes.
"""

import math
from collections.abc import Sequence
from io import BytesIO
from typing import Any
from unicodedata import east_asian_width

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from reports import facts
from reports.colors import mix
from reports.content import Content
from reports.logo_images import on_plate, size_of
from reports.scores import BANDS, SEVERITY_COLORS, UNMEASURED, band
from reports.text import cut

_FONT = "Calibri"
_INK, _MUTED, _HAIR = "#1b2430", "#5b6675", "#dfe4ea"
_CHARTED = 20
_STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
_MOST_CELL = 32_767
_NUMBERS = frozenset(("Score", "Weight", "Share"))
_LINE, _PADDING, _HIGHEST = 13.5, 5.0, 400.0


def render_spreadsheet(content: Content) -> bytes:
    """The bytes of the workbook."""
    made = BytesIO()
    book = xlsxwriter.Workbook(made, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    book.set_properties(
        {
            "title": cut(f"{content.company} – {content.title}", 250),
            "author": cut(content.brand.company, 250),
            "created": content.generated_at.replace(tzinfo=None),
        }
    )
    book.set_size(2400, 1500)
    _Book(book, content).write()
    book.close()
    return made.getvalue()


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


class _Book:
    """One workbook while it is written."""

    def __init__(self, book: Workbook, content: Content) -> None:
        self.book = book
        self.content = content
        self.colors = content.brand.colors
        self._formats: dict[tuple[tuple[str, Any], ...], Format] = {}

    def write(self) -> None:
        overview = self.sheet("Overview")
        if self.content.factors:
            self.scorecard()
        if self.content.findings:
            self.findings()
        self.narrative()
        if self.content.extras:
            self.analysis()
        self.overview(overview)
        overview.activate()

    def style(self, **properties: Any) -> Format:
        """A format; the same one for the same properties."""
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            usual = {"font_name": _FONT, "font_size": 10, "font_color": _INK, "valign": "top"}
            self._formats[key] = self.book.add_format({**usual, **properties})
        return self._formats[key]

    def cell(self, **properties: Any) -> Format:
        """A format of a table's body."""
        return self.style(text_wrap=True, bottom=1, bottom_color=_HAIR, **properties)

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
        sheet.write_string(1, 0, note, self.style(font_color=_MUTED))
        head = self.style(bold=True, font_color="#ffffff", bg_color=self.colors.strong, valign="vcenter")
        right = self.style(
            bold=True, font_color="#ffffff", bg_color=self.colors.strong, valign="vcenter", align="right"
        )
        sheet.set_row(3, 22)
        for index, (title, width) in enumerate(columns):
            sheet.set_column(index, index, width)
            sheet.write_string(3, index, title, right if title in _NUMBERS else head)
        sheet.freeze_panes(4, 1)
        sheet.repeat_rows(3)
        return sheet

    def scorecard(self) -> None:
        columns = [
            ("Signal", 30), ("Score", 12), ("Band", 15), ("Weight", 10), ("Share", 9), ("What we found", 62),
            ("Evidence", 40), ("Status", 12), ("Reviewed score", 15), ("Reviewer's note", 40),
        ]  # fmt: skip
        sheet = self.table("Scorecard", columns, facts.SCALE)
        factors = self.content.factors
        for row, factor in enumerate(factors, 4):
            sheet.set_row(row, height((factor.name, 30), (factor.finding, 62), (factor.evidence_url, 40)))
            found = band(factor.score)
            share = facts.share(factor, factors)
            sheet.write_string(row, 0, inert(factor.name), self.cell(bold=True))
            if factor.score is None:
                sheet.write_string(row, 1, "–", self.cell(align="right", font_color=_MUTED))
            else:
                sheet.write_number(row, 1, factor.score, self.cell(bold=True, align="right"))
            sheet.write_string(row, 2, found.label, self.cell(bold=True, font_color=found.color, indent=1))
            sheet.write_number(row, 3, factor.weight, self.cell(align="right", num_format="0.##"))
            if share is not None:
                sheet.write_number(row, 4, share, self.cell(align="right", num_format="0%"))
            else:
                sheet.write_blank(row, 4, None, self.cell())
            sheet.write_string(row, 5, inert(factor.finding), self.cell())
            self.address(sheet, row, 6, factor.evidence_url)
            review = self.cell(bg_color="#fffbea")
            sheet.write_string(row, 7, "Open", review)
            sheet.write_blank(row, 8, None, review)
            sheet.write_blank(row, 9, None, review)
        last = 3 + len(factors)
        sheet.autofilter(3, 0, last, len(columns) - 1)
        sheet.conditional_format(
            4, 1, last, 1,
            {
                "type": "data_bar", "bar_solid": True, "bar_color": mix(self.colors.mark, "#ffffff", 0.55),
                "min_type": "num", "min_value": 0, "max_type": "num", "max_value": 100,
            },
        )  # fmt: skip
        sheet.data_validation(4, 7, last, 7, {"validate": "list", "source": ["Open", "Agreed", "To change"]})
        sheet.data_validation(
            4, 8, last, 8,
            {
                "validate": "integer", "criteria": "between", "minimum": 0, "maximum": 100,
                "error_title": "Score", "error_message": "A whole number from 0 to 100.",
            },
        )  # fmt: skip

    def address(self, sheet: Worksheet, row: int, column: int, address: str) -> None:
        style = self.cell(font_color=self.colors.strong, underline=1 if address else 0)
        if address and sheet.write_url(row, column, address, style, cut(facts.domain_of(address), 200)) == 0:
            return
        sheet.write_string(row, column, inert(address), style)

    def findings(self) -> None:
        columns = [("Finding", 46), ("Severity", 13), ("Detail", 80), ("Status", 12), ("Reviewer's note", 44)]
        sheet = self.table("Findings", columns, "What the analysis found, in the order of the report.")
        for row, finding in enumerate(self.content.findings, 4):
            sheet.set_row(row, height((finding.title, 46), (finding.detail, 80)))
            severity = finding.severity
            color = UNMEASURED.color if severity is None else SEVERITY_COLORS[severity]
            sheet.write_string(row, 0, inert(finding.title), self.cell(bold=True))
            sheet.write_string(
                row, 1, "" if severity is None else severity.value.capitalize(), self.cell(bold=True, font_color=color)
            )
            sheet.write_string(row, 2, inert(finding.detail), self.cell())
            sheet.write_string(row, 3, "Open", self.cell(bg_color="#fffbea"))
            sheet.write_blank(row, 4, None, self.cell(bg_color="#fffbea"))
        last = 3 + len(self.content.findings)
        sheet.autofilter(3, 0, last, len(columns) - 1)
        sheet.data_validation(4, 3, last, 3, {"validate": "list", "source": ["Open", "Agreed", "To change"]})

    def narrative(self) -> None:
        columns = [("Section", 30), ("Slot", 24), ("Text", 100), ("Reviewer's note", 50)]
        sheet = self.table("Narrative", columns, "Every text of the report, one paragraph a row.")
        row = 4
        for section in self.content.sections:
            for number, (bullet, text) in enumerate(section.paragraphs):
                first = number == 0
                sheet.set_row(row, height((section.title if first else "", 30), (text, 100)))
                sheet.write_string(row, 0, inert(section.title) if first else "", self.cell(bold=True))
                sheet.write_string(row, 1, inert(section.name) if first else "", self.cell(font_color=_MUTED))
                sheet.write_string(row, 2, f"•  {text}" if bullet else inert(text), self.cell())
                sheet.write_blank(row, 3, None, self.cell(bg_color="#fffbea"))
                row += 1
        if row == 4:
            sheet.write_string(row, 0, "No text has been written yet.", self.style(font_color=_MUTED))

    def analysis(self) -> None:
        sheet = self.table("Analysis", [("Value", 44), ("", 100)], "What else the analysis recorded.")
        for row, (path, value) in enumerate(self.content.extras, 4):
            sheet.set_row(row, height((path, 44), (value, 100)))
            sheet.write_string(row, 0, inert(path), self.cell(bold=True))
            sheet.write_string(row, 1, inert(value), self.cell())

    def overview(self, sheet: Worksheet) -> None:
        content, colors = self.content, self.colors
        sheet.set_tab_color(colors.strong)
        for column, width in enumerate((3, 34, 14, 16, 4, 30, 30, 30, 3)):
            sheet.set_column(column, column, width)
        ground = self.style(bg_color=colors.primary)
        for row, height in enumerate((14, 20, 38, 22, 14)):
            sheet.set_row(row, height, ground)
        on = {"bg_color": colors.primary, "font_color": colors.on_primary, "valign": "vcenter"}
        sheet.write_string(1, 1, inert(cut(facts.kicker(content), 110)), self.style(**on, bold=True))
        sheet.write_string(2, 1, inert(cut(content.company, 70)), self.style(**on, bold=True, font_size=24))
        sheet.write_string(3, 1, inert(cut(content.domain, 80)), self.style(**on, font_size=11))
        self.logo(sheet)
        found = band(content.score)
        value = self.style(bold=True, font_size=28, font_color=found.color, valign="vcenter", align="left")
        sheet.set_row(6, 40)
        sheet.write_string(6, 1, "Overall customer experience", self.style(font_color=_MUTED, valign="vcenter"))
        if content.score is None:
            sheet.write_string(6, 2, "–", value)
        else:
            sheet.write_number(6, 2, content.score, value)
        sheet.write_string(
            6, 3, found.label, self.style(bold=True, font_size=14, font_color=found.color, valign="vcenter")
        )
        row = self.facts(sheet, 8)
        row = self.benchmarks(sheet, row + 1)
        self.bands(sheet, row + 1)
        self.chart(sheet)

    def facts(self, sheet: Worksheet, row: int) -> int:
        content = self.content
        ranked = facts.measured(content)
        lines: list[tuple[str, str | int]] = [
            ("Date", facts.day(content.generated_at)),
            ("Revision", content.revision),
            ("Signals", len(content.factors)),
            ("Signals measured", len(ranked)),
        ]
        if ranked:
            lines += [
                ("Strongest signal", f"{ranked[0].score}  {cut(ranked[0].name, 40)}"),
                ("Weakest signal", f"{ranked[-1].score}  {cut(ranked[-1].name, 40)}"),
            ]
        under = {"bottom": 1, "bottom_color": _HAIR, "valign": "vcenter"}
        for label, value in lines:
            sheet.set_row(row, 20)
            sheet.write_string(row, 1, label, self.style(font_color=_MUTED, **under))
            sheet.write_blank(row, 3, None, self.style(**under))
            if isinstance(value, int):
                sheet.write_number(row, 2, value, self.style(bold=True, align="left", **under))
            else:
                sheet.write_string(row, 2, value, self.style(bold=True, **under))
            row += 1
        return row

    def benchmarks(self, sheet: Worksheet, row: int) -> int:
        if not self.content.benchmarks:
            return row
        under = {"bottom": 1, "bottom_color": _HAIR, "valign": "vcenter"}
        sheet.set_row(row, 24)
        sheet.write_string(row, 1, "Compared with", self.style(bold=True, font_size=12, font_color=self.colors.strong))
        for one in self.content.benchmarks:
            row += 1
            sheet.set_row(row, 20)
            sheet.write_string(row, 1, inert(cut(one.name, 60)), self.style(**under))
            sheet.write_number(row, 2, one.score, self.style(bold=True, align="left", num_format="0", **under))
            if self.content.score is None:
                sheet.write_blank(row, 3, None, self.style(**under))
            else:
                ahead = self.content.score - one.score
                sheet.write_number(
                    row, 3, ahead, self.style(num_format='+0" points";-0" points";"level"', font_color=_MUTED, **under)
                )
        return row + 1

    def bands(self, sheet: Worksheet, row: int) -> None:
        sheet.set_row(row, 24)
        sheet.write_string(row, 1, "Scale", self.style(bold=True, font_size=12, font_color=self.colors.strong))
        above = 100
        for one in BANDS:
            row += 1
            sheet.set_row(row, 18)
            sheet.write_string(row, 1, one.label, self.style(bold=True, font_color=one.color))
            sheet.write_string(row, 2, f"{one.start} to {above}", self.style(font_color=_MUTED))
            above = one.start - 1

    def chart(self, sheet: Worksheet) -> None:
        count = min(len(self.content.factors), _CHARTED)
        if not count:
            return
        chart: Any = self.book.add_chart({"type": "bar"})
        chart.add_series(
            {
                "name": "Score",
                "categories": ["Scorecard", 4, 0, 3 + count, 0],
                "values": ["Scorecard", 4, 1, 3 + count, 1],
                "points": [{"fill": {"color": band(one.score).color}} for one in self.content.factors[:count]],
                "gap": 45,
                "data_labels": {"value": True, "font": {"name": _FONT, "size": 9, "bold": True, "color": _INK}},
            }
        )
        more = len(self.content.factors) - count
        title = "Score by signal" + (f" (the first {count} of {count + more})" if more else "")
        chart.set_title({"name": title, "overlay": False, "name_font": {"name": _FONT, "size": 13, "color": _INK}})
        chart.set_legend({"none": True})
        chart.set_y_axis(
            {"reverse": True, "num_font": {"name": _FONT, "size": 9, "color": _INK}, "line": {"color": _HAIR}}
        )
        chart.set_x_axis(
            {
                "min": 0, "max": 100, "major_unit": 20, "label_position": "high", "line": {"none": True},
                "major_gridlines": {"visible": True, "line": {"color": _HAIR, "width": 0.75}},
                "num_font": {"name": _FONT, "size": 9, "color": _MUTED},
            }
        )  # fmt: skip
        chart.set_chartarea({"border": {"color": _HAIR}})
        chart.set_size({"width": 640, "height": max(240, 90 + 30 * count)})
        sheet.insert_chart(6, 5, chart, {"description": title})

    def logo(self, sheet: Worksheet) -> None:
        logo = self.content.brand.logo
        picture = None if logo is None else on_plate(logo)
        if picture is None:
            return
        wide, high = size_of(picture)
        scale = min(174 / wide, 68 / high)
        sheet.insert_image(
            1, 7, "logo.png",
            {
                "image_data": BytesIO(picture), "x_scale": scale, "y_scale": scale, "x_offset": 30, "y_offset": 4,
                "object_position": 3, "description": cut(self.content.brand.company, 200),
            },
        )  # fmt: skip
