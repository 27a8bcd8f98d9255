"""The files of a report's table, as whoever gets them reads them."""

from __future__ import annotations

import re
import zipfile
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from xml.etree import ElementTree

from contract.vocabulary import ReportKind
from reports import table_pdf
from reports.printed import Printed
from reports.report_rows import COLUMNS
from reports.table import Cell, Table
from reports.table_spreadsheet import render_spreadsheet

_AT = datetime(2026, 11, 24, 9, 30, tzinfo=UTC)
_ROWS: list[list[Cell]] = [
    ["New", "BHD", 1, Decimal("2.5"), Decimal("0.25")],
    ["New", "CHF", 1, Decimal(5), Decimal("0.5")],
    ["New", "EUR", 2, Decimal("844340.96"), Decimal("84434.0964")],
    ["New", "JPY", 2, Decimal(549700), Decimal("54970.5")],
    ["New", "USD", 9, Decimal("1087059.5"), Decimal("108705.95")],
    ["Late", "USD", 1, Decimal(1), Decimal("0.5")],
]
_SUMS: list[list[Cell]] = [[None, *row[1:]] for row in _ROWS[:4]] + [
    [None, "USD", 10, Decimal("1087060.5"), Decimal("108706.45")]
]


def _printed(rows: list[list[Cell]], kind: ReportKind, sums: list[list[Cell]], totals: list[Cell] | None) -> Printed:
    table = Table(COLUMNS[kind], rows, totals, sums, _AT, False)
    return Printed("Pipeline", None, kind, "Acme", [("Days", "All days")], _AT, table)


_PIPELINE = _printed(_ROWS, ReportKind.PIPELINE_BY_STAGE, _SUMS, [None, None, 16, None, None])


def test_amounts_have_the_decimals_of_their_currency() -> None:
    """Decision 1072."""
    shown = table_pdf.shown(_PIPELINE)
    assert [row[3:] for row in shown["rows"]] == [
        ["2.500", "0.250"],
        ["5.00", "0.50"],
        ["844,340.96", "84,434.10"],
        ["549,700", "54,970"],
        ["1,087,059.50", "108,705.95"],
        ["1.00", "0.50"],
    ]
    assert shown["totals"][-2]["cells"] == ["Sum in USD", "USD", "10", "1,087,060.50", "108,706.45"]


def test_the_main_currency_comes_first() -> None:
    """Decision 1072: that of the most records, among the figures and the charts."""
    shown = table_pdf.shown(_PIPELINE)
    assert [(card["label"], card["value"]) for card in shown["cards"]] == [
        ("Value, USD", "1,087,060.50"),
        ("Value, EUR", "844,340.96"),
        ("Value, JPY", "549,700"),
        ("Deals", "16"),
    ]
    assert [chart["title"] for chart in shown["charts"]] == ["Value, USD"]


def test_a_spreadsheet_shows_the_same_and_keeps_every_digit() -> None:
    """Decisions 552 and 1072."""
    with zipfile.ZipFile(BytesIO(render_spreadsheet(_PIPELINE))) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        styles = ElementTree.fromstring(book.read("xl/styles.xml"))
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    usual = {"3": "#,##0", "4": "#,##0.00"}
    codes = usual | {each.attrib["numFmtId"]: each.attrib["formatCode"] for each in styles.iter(f"{space}numFmt")}
    cells = styles.find(f"{space}cellXfs")
    assert cells is not None
    forms = [codes.get(each.attrib["numFmtId"], "") for each in cells]
    found = {
        place: (forms[int(style)], f"{float(value):.15g}")
        for place, style, value in re.findall(r'<c r="([DE]\d+)" s="(\d+)"><v>([^<]*)</v>', sheet)
    }
    assert found["D5"] == ("#,##0.000", "2.5")
    assert found["E7"] == ("#,##0.00", "84434.0964")
    assert (found["D8"], found["E8"]) == (("#,##0", "549700"), ("#,##0", "54970.5"))


def test_targets_of_deals_are_whole_among_amounts() -> None:
    amounts: list[Cell] = [Decimal(60000), Decimal("2.5"), Decimal("0.5"), Decimal(1), Decimal(0)]
    counts: list[Cell] = [Decimal(12), Decimal(8), Decimal("0.6667"), Decimal(4), Decimal(18)]
    rows: list[list[Cell]] = [
        ["Ada", "Won value", _AT.date(), _AT.date(), "USD", *amounts],
        ["Ada", "Won deals", _AT.date(), _AT.date(), None, *counts],
    ]
    shown = table_pdf.shown(_printed(rows, ReportKind.TARGET_ATTAINMENT, [], None))
    assert [row[5:] for row in shown["rows"]] == [
        ["60,000.00", "2.50", "50.0 %", "1.00", "0.00"],
        ["12", "8", "66.7 %", "4", "18"],
    ]
