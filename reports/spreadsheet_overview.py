"""The first sheet of the review spreadsheet."""

from io import BytesIO

from xlsxwriter.worksheet import Worksheet

from reports import facts
from reports.colors import HAIR, INK, MUTED
from reports.logo_images import on_plate, size_of
from reports.scores import BANDS, band
from reports.spreadsheet_parts import FONT, Book, inert
from reports.text import cut

_CHARTED = 20


def write_overview(book: Book, sheet: Worksheet) -> None:
    """The first sheet: the score, what it is compared with, and a chart of the signals."""
    content, colors = book.content, book.colors
    sheet.set_tab_color(colors.strong)
    for column, width in enumerate((3, 34, 14, 16, 4, 30, 30, 30, 3)):
        sheet.set_column(column, column, width)
    ground = book.style(bg_color=colors.primary)
    for row, height in enumerate((14, 20, 38, 22, 14)):
        sheet.set_row(row, height, ground)
    on = {"bg_color": colors.primary, "font_color": colors.on_primary, "valign": "vcenter"}
    sheet.write_string(1, 1, inert(cut(facts.kicker(content), 110)), book.style(**on, bold=True))
    sheet.write_string(2, 1, inert(cut(content.company, 70)), book.style(**on, bold=True, font_size=24))
    sheet.write_string(3, 1, inert(cut(content.domain, 80)), book.style(**on, font_size=11))
    _logo(book, sheet)
    found = band(content.score)
    value = book.style(bold=True, font_size=28, font_color=found.color, valign="vcenter", align="left")
    sheet.set_row(6, 40)
    sheet.write_string(6, 1, "Overall customer experience", book.style(font_color=MUTED, valign="vcenter"))
    if content.score is None:
        sheet.write_string(6, 2, "–", value)
    else:
        sheet.write_number(6, 2, content.score, value)
    sheet.write_string(6, 3, found.label, book.style(bold=True, font_size=14, font_color=found.color, valign="vcenter"))
    row = _facts(book, sheet, 8)
    row = _benchmarks(book, sheet, row + 1)
    _bands(book, sheet, row + 1)
    _chart(book, sheet)


def _facts(book: Book, sheet: Worksheet, row: int) -> int:
    content = book.content
    ranked = facts.measured(content)
    lines: list[tuple[str, str | int]] = [
        ("Prepared by", cut(facts.preparer(content), 40)),
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
    under = {"bottom": 1, "bottom_color": HAIR, "valign": "vcenter"}
    for label, value in (line for line in lines if line[1] != ""):
        sheet.set_row(row, 20)
        sheet.write_string(row, 1, label, book.style(font_color=MUTED, **under))
        sheet.write_blank(row, 3, None, book.style(**under))
        if isinstance(value, int):
            sheet.write_number(row, 2, value, book.style(bold=True, align="left", **under))
        else:
            sheet.write_string(row, 2, inert(value), book.style(bold=True, **under))
        row += 1
    return row


def _benchmarks(book: Book, sheet: Worksheet, row: int) -> int:
    if not book.content.benchmarks:
        return row
    under = {"bottom": 1, "bottom_color": HAIR, "valign": "vcenter"}
    sheet.set_row(row, 24)
    sheet.write_string(row, 1, "Compared with", book.style(bold=True, font_size=12, font_color=book.colors.strong))
    for one in book.content.benchmarks:
        row += 1
        sheet.set_row(row, 20)
        sheet.write_string(row, 1, inert(cut(one.name, 60)), book.style(**under))
        sheet.write_number(row, 2, one.score, book.style(bold=True, align="left", num_format="0", **under))
        if book.content.score is None:
            sheet.write_blank(row, 3, None, book.style(**under))
        else:
            ahead = book.content.score - one.score
            sheet.write_number(
                row, 3, ahead, book.style(num_format='+0" points";-0" points";"level"', font_color=MUTED, **under)
            )
    return row + 1


def _bands(book: Book, sheet: Worksheet, row: int) -> None:
    sheet.set_row(row, 24)
    sheet.write_string(row, 1, "Scale", book.style(bold=True, font_size=12, font_color=book.colors.strong))
    above = 100
    for one in BANDS:
        row += 1
        sheet.set_row(row, 18)
        sheet.write_string(row, 1, one.label, book.style(bold=True, font_color=one.color))
        sheet.write_string(row, 2, f"{one.start} to {above}", book.style(font_color=MUTED))
        above = one.start - 1


def _chart(book: Book, sheet: Worksheet) -> None:
    count = min(len(book.content.factors), _CHARTED)
    if not count:
        return
    chart = book.book.add_chart({"type": "bar"})
    chart.add_series(
        {
            "name": "Score",
            "categories": ["Scorecard", 4, 0, 3 + count, 0],
            "values": ["Scorecard", 4, 1, 3 + count, 1],
            "points": [{"fill": {"color": band(one.score).color}} for one in book.content.factors[:count]],
            "gap": 45,
            "data_labels": {"value": True, "font": {"name": FONT, "size": 9, "bold": True, "color": INK}},
        }
    )
    more = len(book.content.factors) - count
    title = "Score by signal" + (f" (the first {count} of {count + more})" if more else "")
    chart.set_title({"name": title, "overlay": False, "name_font": {"name": FONT, "size": 13, "color": INK}})
    chart.set_legend({"none": True})
    chart.set_y_axis({"reverse": True, "num_font": {"name": FONT, "size": 9, "color": INK}, "line": {"color": HAIR}})
    chart.set_x_axis(
        {
            "min": 0, "max": 100, "major_unit": 20, "label_position": "high", "line": {"none": True},
            "major_gridlines": {"visible": True, "line": {"color": HAIR, "width": 0.75}},
            "num_font": {"name": FONT, "size": 9, "color": MUTED},
        }
    )  # fmt: skip
    chart.set_chartarea({"border": {"color": HAIR}})
    chart.set_size({"width": 640, "height": max(240, 90 + 30 * count)})
    sheet.insert_chart(6, 5, chart, {"description": title})


def _logo(book: Book, sheet: Worksheet) -> None:
    logo = book.content.brand.logo
    picture = None if logo is None else on_plate(logo)
    if picture is None:
        return
    wide, high = size_of(picture)
    scale = min(174 / wide, 68 / high)
    sheet.insert_image(
        1, 7, "logo.png",
        {
            "image_data": BytesIO(picture), "x_scale": scale, "y_scale": scale, "x_offset": 30, "y_offset": 4,
            "object_position": 3, "description": cut(book.content.brand.company, 200),
        },
    )  # fmt: skip
