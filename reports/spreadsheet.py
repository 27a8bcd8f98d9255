"""The review spreadsheet of a CX report: what was measured and written, row by row, with room for a reviewer's word.

CPU-bound, 0.02 to 0.5 seconds, and done in a child process. The same content gives the same bytes.
"""

from collections.abc import Mapping, Sequence
from io import BytesIO

import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from reports import facts
from reports.colors import MUTED, mix
from reports.content import Content
from reports.scores import band, severity_band
from reports.spreadsheet_overview import write_overview
from reports.spreadsheet_parts import Book, height, inert
from reports.text import cut


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
    _Report(book, content).write()
    book.close()
    return made.getvalue()


class _Report(Book):
    """The sheets of a report."""

    def write(self) -> None:
        overview = self.sheet("Overview")
        if self.content.factors:
            self.scorecard()
        if self.content.findings:
            self.findings()
        self.narrative()
        if self.content.extras:
            self.analysis()
        write_overview(self, overview)
        overview.activate()

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
                sheet.write_string(row, 1, "–", self.cell(align="right", indent=1, font_color=MUTED))
            else:
                sheet.write_number(row, 1, factor.score, self.cell(bold=True, align="right", indent=1))
            sheet.write_string(row, 2, found.label, self.cell(bold=True, font_color=found.color, indent=1))
            sheet.write_number(row, 3, factor.weight, self.cell(align="right", indent=1, num_format="0.##"))
            if share is not None:
                sheet.write_number(row, 4, share, self.cell(align="right", indent=1, num_format="0%"))
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
            shown = severity_band(finding.severity)
            sheet.write_string(row, 0, inert(finding.title), self.cell(bold=True))
            sheet.write_string(row, 1, shown.label, self.cell(bold=True, font_color=shown.color))
            sheet.write_string(row, 2, inert(finding.detail), self.cell())
            sheet.write_string(row, 3, "Open", self.cell(bg_color="#fffbea"))
            sheet.write_blank(row, 4, None, self.cell(bg_color="#fffbea"))
        last = 3 + len(self.content.findings)
        sheet.autofilter(3, 0, last, len(columns) - 1)
        sheet.data_validation(4, 3, last, 3, {"validate": "list", "source": ["Open", "Agreed", "To change"]})

    def narrative(self) -> None:
        columns = [("Section", 30), ("Text", 100), ("Reviewer's note", 50)]
        sheet = self.table("Narrative", columns, "Every text of the report, one paragraph a row.")
        row = 4
        for section in self.content.sections:
            for number, (bullet, text) in enumerate(section.paragraphs):
                first = number == 0
                sheet.set_row(row, height((section.title if first else "", 30), (text, 100)))
                sheet.write_string(row, 0, inert(section.title) if first else "", self.cell(bold=True))
                sheet.write_string(row, 1, f"•  {text}" if bullet else inert(text), self.cell())
                sheet.write_blank(row, 2, None, self.cell(bg_color="#fffbea"))
                row += 1
        if row == 4:
            sheet.write_string(row, 0, "No text has been written yet.", self.style(font_color=MUTED))

    def analysis(self) -> None:
        sheet = self.table("Analysis", [("What", 44), ("Value", 100)], "What else the analysis recorded.")
        rest, tables = facts.tables(self.content.extras)
        row = 4
        for path, value in rest:
            name = facts.label(path)
            sheet.set_row(row, height((name, 44), (value, 100)))
            sheet.write_string(row, 0, inert(name), self.cell(bold=True))
            sheet.write_string(row, 1, inert(value), self.cell())
            row += 1
        for path, rows in tables.items():
            row = self.listed(sheet, row + 1, facts.label(path), rows)

    def listed(self, sheet: Worksheet, row: int, title: str, rows: Sequence[Mapping[str, str]]) -> int:
        """A table under its title, from this row on; returns the row behind it."""
        sheet.write_string(row, 0, inert(title), self.style(bold=True, font_size=12))
        keys = list(dict.fromkeys(key for one in rows for key in one))
        widths = (44, 100, *[60] * len(keys))
        sheet.set_column(2, max(2, len(keys) - 1), 60)
        for column, key in enumerate(keys):
            sheet.write_string(row + 1, column, inert(facts.label(key)), self.cell(bold=True))
        for place, one in enumerate(rows, row + 2):
            sheet.set_row(place, height(*((one.get(key, ""), width) for key, width in zip(keys, widths, strict=False))))
            for column, key in enumerate(keys):
                sheet.write_string(place, column, inert(one.get(key, "")), self.cell())
        return row + 2 + len(rows)
