"""Makes the files of a report from one table: a PDF, a workbook and CSV, in a child process."""

from collections.abc import Sequence
from hashlib import sha256

from contract.vocabulary import ReportFormat
from providers.children.limits import Limits
from reports.printed import Printed, PrintedFile
from reports.rendering import RENDERING
from reports.text import cut, one_line

PRINTING: Limits = RENDERING
"""The limits are those of CX reports, whose pool it shares: at most one of either is rendered at a time."""
_FORBIDDEN = str.maketrans(dict.fromkeys('/\\:*?"<>|', " "))
_TYPES = {
    ReportFormat.PDF: ("pdf", "application/pdf"),
    ReportFormat.SPREADSHEET: ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ReportFormat.CSV: ("csv", "text/csv"),
}


def print_table(printed: Printed, formats: Sequence[str]) -> tuple[PrintedFile, ...]:
    """The files in these formats, all of the same rows. CPU-bound, up to a few seconds."""
    return tuple(_file(printed, ReportFormat(name)) for name in formats)


def file_name(printed: Printed, format: ReportFormat) -> str:
    """The name that a reader finds in the downloads: the report's, and the day of its rows."""
    words = one_line(cut(one_line(printed.name), 120).translate(_FORBIDDEN)).strip(". -") or "Report"
    return f"{words} - {printed.prepared:%Y-%m-%d}.{_TYPES[format][0]}"


def _file(printed: Printed, format: ReportFormat) -> PrintedFile:
    data = _rendered(printed, format)
    return PrintedFile(format, file_name(printed, format), _TYPES[format][1], data, sha256(data).hexdigest())


def _rendered(printed: Printed, format: ReportFormat) -> bytes:
    match format:  # what is slow to load is loaded where it is needed
        case ReportFormat.PDF:
            from reports.table_pdf import render_pdf

            return render_pdf(printed)
        case ReportFormat.SPREADSHEET:
            from reports.table_spreadsheet import render_spreadsheet

            return render_spreadsheet(printed)
        case ReportFormat.CSV:
            from reports.table_csv import csv_of_table

            return csv_of_table(printed.table)
