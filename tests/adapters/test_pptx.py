"""What is relied on of python-pptx below its documented surface (reports/adapters/pptx.py)."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from lxml import etree
from PIL import Image
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from reports.adapters import pptx as adapter

BOX = (Inches(1), Inches(1), Inches(2), Inches(2))


def test_shapes_lead_to_their_elements() -> None:
    slide = _slide()
    title, box = slide.shapes.title, slide.shapes.add_textbox(*BOX)
    assert [shape.shape_id for shape in slide.shapes][-1] == box.shape_id
    adapter.to_front(title)
    assert [shape.shape_id for shape in slide.shapes][-1] == title.shape_id

    image = BytesIO()
    Image.new("RGB", (4, 4)).save(image, "PNG")
    picture = slide.shapes.add_picture(image, *BOX[:2])
    adapter.describe(picture, "A square")
    assert b'descr="A square"' in _xml(slide)

    properties = adapter.paragraph_properties(box.text_frame.paragraphs[0])
    properties.set("rtl", "1")
    assert b'<a:pPr rtl="1"/>' in _xml(slide)
    assert adapter.paragraph_properties(box.text_frame.paragraphs[0]) is properties


def test_a_plot_leads_to_its_element() -> None:
    data = CategoryChartData()
    data.categories = ["a"]
    data.add_series("s", [1])
    chart = _slide().shapes.add_chart(XL_CHART_TYPE.DOUGHNUT, *BOX, data).chart
    assert len(list(adapter.element_of(chart.plots[0]).iter("{*}holeSize"))) == 1


def _slide() -> Any:
    file = Presentation()
    return file.slides.add_slide(file.slide_layouts[5])


def _xml(slide: Any) -> bytes:
    return etree.tostring(slide.element)
