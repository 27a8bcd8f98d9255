"""Makes the parts that the slides of a deck are put together from: text that fits, bars, cards, native charts."""

import re
import zipfile
from collections.abc import Sequence
from datetime import datetime
from io import BytesIO

from lxml import etree
from pptx.chart.data import CategoryChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_LABEL_POSITION, XL_TICK_LABEL_POSITION, XL_TICK_MARK
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, MSO_AUTO_SIZE, PP_ALIGN
from pptx.util import Emu, Inches, Pt

from reports.adapters.pptx import Part, describe, element_of, paragraph_properties
from reports.colors import HAIR, INK, MUTED, rgb
from reports.fitting import Paragraphs
from reports.text import is_right_to_left

FONT = "Calibri"
WASH, TRACK = "#f5f7fa", "#e8ecf1"
_ALIGN = {"middle": PP_ALIGN.CENTER, "end": PP_ALIGN.RIGHT}
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_MOMENT = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")


def paint(color: str) -> RGBColor:
    """A color as the library takes it."""
    return RGBColor(*rgb(color))  # type: ignore[no-untyped-call]  # the library has no types here


def block(
    slide: Part, left: float, top: float, width: float, height: float, color: str, *, rounded: bool = False
) -> None:
    """A plain area of a color; measures are inches."""
    kind = MSO_SHAPE.ROUNDED_RECTANGLE if rounded else MSO_SHAPE.RECTANGLE
    shape = slide.shapes.add_shape(kind, Inches(left), Inches(top), Inches(width), Inches(height))
    shape.fill.solid()
    shape.fill.fore_color.rgb = paint(color)
    shape.line.fill.background()
    shape.shadow.inherit = False
    if rounded:
        shape.adjustments[0] = min(0.5, 0.08 / min(width, height))


def words(
    slide: Part,
    box: tuple[float, float, float, float],
    text: str,
    size: float,
    color: str = INK,
    *,
    bold: bool = False,
    anchor: MSO_ANCHOR = MSO_ANCHOR.TOP,
    align: str = "",
) -> None:
    """One paragraph in a box of (left, top, width, height) inches."""
    frame = _frame(slide.shapes.add_textbox(*(Inches(value) for value in box)), anchor)
    _fill(frame.paragraphs[0], text, size, color, bold=bold, align=align)


def narrative(
    slide: Part, box: tuple[float, float, float, float], paragraphs: Paragraphs, size: float, mark: str
) -> None:
    """Paragraphs below one another; bullets hang, with a mark of that color."""
    frame = _frame(slide.shapes.add_textbox(*(Inches(value) for value in box)), MSO_ANCHOR.TOP)
    for index, (bullet, text) in enumerate(paragraphs):
        paragraph = frame.paragraphs[0] if index == 0 else frame.add_paragraph()
        _fill(paragraph, text, size, INK)
        paragraph.space_after = Pt(size * 0.5)
        paragraph.line_spacing = 1.04
        if bullet:
            _hang(paragraph, size, mark)


def retitle(slide: Part, text: str, color: str, accent: str, size: float) -> None:
    """The slide's title in its place, below a short rule."""
    block(slide, 0.7, 0.55, 0.5, 0.06, accent)
    title = slide.shapes.title
    title.left, title.top, title.width, title.height = (Inches(value) for value in (0.7, 0.68, 11.9, 0.8))
    title_words(title, text, size, color)


def title_words(title: Part, text: str, size: float, color: str) -> None:
    """The words of a title that has its place already."""
    _fill(_frame(title, MSO_ANCHOR.MIDDLE).paragraphs[0], text, size, color, bold=True)


def bars(
    slide: Part, box: tuple[float, float, float, float], rows: Sequence[tuple[str, float, str]], *, size: float = 12
) -> None:
    """A native bar chart of (name, score, color), the first on top."""
    data = _data([(name, score) for name, score, _ in rows])
    chart = slide.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, *(Inches(value) for value in box), data).chart
    chart.has_legend = chart.has_title = False
    chart.font.name, chart.font.size = FONT, Pt(size)
    chart.font.color.rgb = paint(INK)
    plot = chart.plots[0]
    plot.gap_width = 45
    plot.has_data_labels = True
    plot.data_labels.font.bold = True
    plot.data_labels.font.size = Pt(size)
    plot.data_labels.position = XL_LABEL_POSITION.OUTSIDE_END
    for point, (_, _, color) in enumerate(rows):
        fill = plot.series[0].points[point].format.fill
        fill.solid()
        fill.fore_color.rgb = paint(color)
    names, scale = chart.category_axis, chart.value_axis
    names.reverse_order = True
    names.major_tick_mark = XL_TICK_MARK.NONE
    names.format.line.color.rgb = paint(HAIR)
    scale.minimum_scale, scale.maximum_scale, scale.major_unit = 0, 100, 20
    scale.major_tick_mark = XL_TICK_MARK.NONE
    scale.tick_label_position = XL_TICK_LABEL_POSITION.HIGH
    scale.tick_labels.font.color.rgb = paint(MUTED)
    scale.tick_labels.font.size = Pt(size - 2)
    scale.format.line.fill.background()
    scale.major_gridlines.format.line.color.rgb = paint(HAIR)


def ring(slide: Part, box: tuple[float, float, float, float], score: int | None, color: str) -> None:
    """A native doughnut with the score in its middle."""
    data = _data([("Score", score or 0), ("To 100", 100 - (score or 0))])
    chart = slide.shapes.add_chart(XL_CHART_TYPE.DOUGHNUT, *(Inches(value) for value in box), data).chart
    chart.has_legend = chart.has_title = False
    for index, fill_color in enumerate((color, TRACK)):
        point = chart.plots[0].series[0].points[index].format
        point.fill.solid()
        point.fill.fore_color.rgb = paint(fill_color)
        point.line.fill.background()
    for hole in element_of(chart.plots[0]).iter("{*}holeSize"):
        hole.set("val", "74")
    left, top, width, height = box
    middle = (left, top + height / 2 - 0.52, width, 0.75)
    words(slide, middle, "–" if score is None else str(score), 44, bold=True, anchor=MSO_ANCHOR.MIDDLE, align="middle")
    words(slide, (left, top + height / 2 + 0.22, width, 0.3), "out of 100", 12, MUTED, align="middle")


def _data(rows: Sequence[tuple[str, float]]) -> Part:
    data: Part = CategoryChartData(number_format="0")  # type: ignore[no-untyped-call]  # as above
    data.categories = [name for name, _ in rows]
    data.add_series("Score", [score for _, score in rows])
    return data


def picture(slide: Part, data: bytes, box: tuple[float, float, float, float], description: str) -> None:
    """A picture as large as it fits in the box, in its proportions, from the left."""
    shape = slide.shapes.add_picture(BytesIO(data), Inches(box[0]), Inches(box[1]))
    scale = min(Inches(box[2]) / shape.width, Inches(box[3]) / shape.height)
    shape.width, shape.height = Emu(int(shape.width * scale)), Emu(int(shape.height * scale))
    describe(shape, description)


def repacked(data: bytes, moment: datetime) -> bytes:
    """The same file without the time of its making: every time in it, the charts' workbooks included, is the moment."""
    stamp = moment.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    made = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            part = old.read(name)
            if name.endswith(".xlsx"):
                part = repacked(part, moment)
            elif name == "docProps/core.xml":
                part = _MOMENT.sub(rb"\g<1>" + stamp, part)
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, part)
    return made.getvalue()


def _frame(shape: Part, anchor: MSO_ANCHOR) -> Part:
    frame = shape.text_frame
    frame.word_wrap = True
    frame.auto_size = MSO_AUTO_SIZE.NONE
    frame.vertical_anchor = anchor
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
    return frame


def _fill(paragraph: Part, text: str, size: float, color: str, *, bold: bool = False, align: str = "") -> None:
    run = paragraph.add_run()
    run.text = text
    run.font.name, run.font.size, run.font.bold = FONT, Pt(size), bold
    run.font.color.rgb = paint(color)
    paragraph.alignment = _ALIGN.get(align, PP_ALIGN.LEFT)
    if is_right_to_left(text):
        paragraph_properties(paragraph).set("rtl", "1")
        if not align:
            paragraph.alignment = PP_ALIGN.RIGHT


def _hang(paragraph: Part, size: float, mark: str) -> None:
    properties = paragraph_properties(paragraph)
    properties.set("marR" if properties.get("rtl") else "marL", str(Pt(size * 1.1)))
    properties.set("indent", str(-Pt(size * 1.1)))
    color = etree.SubElement(properties, f"{_DRAWING}buClr")
    etree.SubElement(color, f"{_DRAWING}srgbClr", val=mark.removeprefix("#").upper())
    etree.SubElement(properties, f"{_DRAWING}buFont", typeface="Arial")
    etree.SubElement(properties, f"{_DRAWING}buChar", char="•")
