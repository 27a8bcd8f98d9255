"""The three files: whatever the content says they are made, they open, and nothing in them runs."""

from __future__ import annotations

import json
import re
import zipfile
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import pytest
import typst
from pptx import Presentation
from pptx.util import Emu

from reports import facts, pdf
from reports.content import ArtifactKind
from reports.deck import render_deck
from reports.files import file_name, render_all
from reports.fitting import Frame, height, parted
from reports.pdf import FAMILIES, fonts, render_pdf
from reports.spreadsheet import render_spreadsheet
from reports.spreadsheet_parts import inert
from tests.support.reports import CASES, content

_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RENDERERS = [render_pdf, render_spreadsheet, render_deck]


def cells(data: bytes) -> list[tuple[str, str]]:
    """The type and the text of every cell of a workbook."""
    found = []
    with zipfile.ZipFile(BytesIO(data)) as book:
        shared = [
            "".join(part.text or "" for part in item.iter(f"{_SHEET}t"))
            for item in ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
        ]
        for name in book.namelist():
            if name.startswith("xl/worksheets/sheet"):
                for cell in ElementTree.fromstring(book.read(name)).iter(f"{_SHEET}c"):
                    assert cell.find(f"{_SHEET}f") is None
                    value = cell.findtext(f"{_SHEET}v")
                    if value is not None:
                        kind = cell.get("t", "n")
                        found.append((kind, shared[int(value)] if kind == "s" else value))
    return found


def slides(data: bytes) -> Any:
    return Presentation(BytesIO(data)).slides


@pytest.mark.parametrize("name", CASES)
def test_everything_renders(name: str) -> None:
    found = content(**CASES[name])
    pdf, book, deck = (render(found) for render in _RENDERERS)
    assert pdf.startswith(b"%PDF-1.7")
    assert pdf.rstrip().endswith(b"%%EOF")
    assert cells(book)
    assert len(slides(deck)) >= 2
    for package in (book, deck):
        with zipfile.ZipFile(BytesIO(package)) as parts:
            assert parts.testzip() is None
            for part in parts.namelist():
                if part.endswith((".xml", ".rels")):
                    ElementTree.fromstring(parts.read(part))


@pytest.mark.parametrize("render", _RENDERERS)
def test_the_same_content_gives_the_same_bytes(render: Any) -> None:
    assert render(content()) == render(content())
    assert render(content()) != render(content(revision=4))


def test_the_pdf_takes_no_font_of_the_system_and_says_what_it_is() -> None:
    pdf = render_pdf(content())
    fonts = set(re.findall(rb"/FontName ?/[A-Z]{6}\+([\w-]+)", pdf))
    assert fonts == {b"Inter-Regular", b"Inter-SemiBold", b"Inter-Bold"}
    assert '<rdf:li xml:lang="x-default">Meridian Outfitters – Customer experience report'.encode() in pdf
    assert b"(D:20261121093000Z)" in pdf


def test_every_script_has_a_font() -> None:
    """Each text alone on a page: none of them comes out as the empty box of a font without it."""
    page = b"#set text(font: json(bytes(sys.inputs.fonts)), fallback: false)\n#sys.inputs.text"
    for text in (
        "中",
        "あ",
        "한",
        "ع",
        "ש",
        "ह",
        "ব",
        "த",
        "ไ",
        "አ",
        "ქ",
        "Հ",
        "😀",
        "ខ",
        "မ",
        "Ж",
        "Ω",
        "ệ",
        "∑",
        "☃",
    ):
        _, warnings = typst.compile_with_warnings(
            page, font_paths=fonts(), format="svg", sys_inputs={"fonts": json.dumps(FAMILIES), "text": text}
        )
        assert warnings == [], text
        drawn = typst.compile(
            page, font_paths=fonts(), format="svg", sys_inputs={"fonts": json.dumps(FAMILIES), "text": text}
        )
        assert re.search(rb'<path[^>]* d="[^"]{40,}"', drawn), text


def test_no_cell_is_a_formula() -> None:
    found = cells(render_spreadsheet(content(**CASES["nasty"])))
    texts = [text for kind, text in found if kind == "s"]
    assert '\'=HYPERLINK("http://x") · Customer experience report' in texts
    assert {kind for kind, _ in found} <= {"s", "n"}
    assert [text for text in texts if text.startswith(("=", "+", "-", "@", "\t"))] == []
    starts = ["=1", "+1", "-1", "@x", "|x", "%x", "fine", ""]
    assert [inert(text) for text in starts] == ["'=1", "'+1", "'-1", "'@x", "'|x", "'%x", "fine", ""]


def test_the_sheets() -> None:
    data = render_spreadsheet(content())
    with zipfile.ZipFile(BytesIO(data)) as book:
        workbook = ElementTree.fromstring(book.read("xl/workbook.xml"))
        names = [sheet.get("name") for sheet in workbook.iter(f"{_SHEET}sheet")]
        assert names == ["Overview", "Scorecard", "Findings", "Narrative", "Analysis"]
        assert "xl/charts/chart1.xml" in book.namelist()
        assert any(name.startswith("xl/media/") for name in book.namelist())
        assert b'state="frozen"' in book.read("xl/worksheets/sheet2.xml")
        assert b"dataValidation" in book.read("xl/worksheets/sheet2.xml")
    numbers = [text for kind, text in cells(data) if kind == "n"]
    assert {"62", "82", "31", "0.6"} <= set(numbers)


def test_what_the_analysis_lists_is_a_table() -> None:
    """Decision 1073."""
    pages = [{"kind": "home", "url": "https://a.example/"}, {"kind": "help", "title": "=Help", "url": "u"}]
    texts = [text for _, text in cells(render_spreadsheet(content(analysis={"formula_version": 1, "pages": pages})))]
    table = ["Pages", "Kind", "Address", "Title", "home", "https://a.example/", "", "help", "u", "'=Help"]
    assert texts[texts.index("Formula version") :] == ["Formula version", "1", *table]


def test_what_to_look_at_first_is_what_the_findings_say() -> None:
    """Decision 1073: no strength, and no sentence that only says what is well."""
    findings = [{"title": "Hours of service", "detail": "Nobody answers at the weekend.\nCover it."}]
    deck = slides(render_deck(content(analysis={"findings": findings})))
    [slide] = [slide for slide in deck if slide.shapes.title.text == "What to look at first"]
    told = {shape.text_frame.text for shape in slide.shapes if shape.has_text_frame}
    assert {"Hours of service", "Nobody answers at the weekend. Cover it."} <= told
    assert not {"Contact channels", "Telephone and chat on every page."} & told


def test_a_long_word_gets_no_blank_where_a_text_is_parted() -> None:
    """Not even one that is longer than what is measured at a time: a header's name stays whole."""
    name = "Strict-Transport-Security-Policy-Report-Only"
    text = f"{name} is missing. {'Some words. ' * 12}".strip()
    pages = list(parted([(False, text)], 14, Frame(300, 60)))
    assert len(pages) > 1
    assert "".join(piece.replace(" ", "") for page in pages for _, piece in page) == text.replace(" ", "")
    assert any(name in piece for page in pages for _, piece in page)


def test_the_slides() -> None:
    found = slides(render_deck(content()))
    assert [slide.shapes.title.text for slide in found] == [
        "Meridian Outfitters",
        "Executive summary",
        "Where Meridian Outfitters stands",
        "Score by signal",
        "What to look at first",
        "Strengths and gaps",
        "Findings",
        "Recommendations",
        "Next steps",
        "Risks",
    ]
    assert [len([s for s in slide.shapes if s.has_chart]) for slide in found] == [0, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert found[1].notes_slide.notes_text_frame.text == "It answers well.\n\nIt answers on weekdays only."
    assert all(slide.has_notes_slide for slide in found)


@pytest.mark.parametrize("name", CASES)
def test_nothing_lies_outside_of_its_slide_and_texts_fit(name: str) -> None:
    deck = Presentation(BytesIO(render_deck(content(**CASES[name]))))
    for slide in deck.slides:
        for shape in slide.shapes:
            assert shape.left >= 0
            assert shape.top >= 0
            assert shape.left + shape.width <= deck.slide_width
            assert shape.top + shape.height <= deck.slide_height
            if not shape.has_text_frame or len(shape.text_frame.paragraphs) < 2:
                continue
            sizes = {run.font.size for p in shape.text_frame.paragraphs for run in p.runs}
            [size] = sizes
            frame = Frame(Emu(shape.width).pt, Emu(shape.height).pt)
            texts = [(False, p.text) for p in shape.text_frame.paragraphs]
            assert height(texts, size.pt, frame) <= frame.height


def test_long_texts_are_parted_without_a_loss() -> None:
    frame = Frame(300, 120)
    text = "One sentence of some words. " * 60 + "x" * 500
    pages = list(parted([(True, text), (False, "The end.")], 14, frame))
    assert len(pages) > 3
    assert all(height(page, 14, frame) <= frame.height for page in pages)
    joined = "".join(piece for page in pages for _, piece in page)
    assert joined.replace(" ", "") == (text + "The end.").replace(" ", "")


def test_the_files_of_a_revision() -> None:
    found = render_all(content())
    assert [(file.kind, file.name) for file in found] == [
        (ArtifactKind.PDF, "Northgate Services - Meridian Outfitters - Customer experience report - r3.pdf"),
        (ArtifactKind.SPREADSHEET, "Northgate Services - Meridian Outfitters - Customer experience report - r3.xlsx"),
        (ArtifactKind.DECK, "Northgate Services - Meridian Outfitters - Customer experience report - r3.pptx"),
    ]
    assert file_name(content(company='../a\\b:"c"\n', bpo_prefix=None), "pdf") == (
        "a b c - Customer experience report - r3.pdf"
    )


def _read_of(number: int) -> dict[str, Any]:
    """A report as research makes one, with so many findings."""
    words = "Customers can help themselves with a help center. Not found: a search. Publish answers to questions."
    names = [f"Signal {letter}" for letter in "ABCDEFGHIJKL"]
    return {
        "factors": [
            {"name": name, "score": 60, "weight": 1, "finding": words, "evidence_url": "https://a.example"}
            for name in names
        ],
        "copy_blobs": {
            "executive_summary": words,
            "gaps": [words] * 4,
            "recommendations": [words] * 4,
            "next_steps": ["Agree on an owner."] * 3,
            "methodology": words,
        },
        "analysis": {"findings": [{"title": name, "detail": words, "severity": "high"} for name in names[:number]]},
    }


def test_no_page_is_left_half_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(number: int) -> float:
        [end] = json.loads(pdf._set(content(**_read_of(number))).query("<end>", field="value"))
        return float(end["part"])

    closer = [ends(number) for number in (1, 3, 5, 7)]
    monkeypatch.setattr(pdf, "_DENSITIES", (1.0,))
    plain = [ends(number) for number in (1, 3, 5, 7)]
    assert min(plain) < pdf._FILLED, "one of these would end a page early"
    assert min(closer) >= pdf._FILLED


def test_the_cover_says_who_prepared_it() -> None:
    assert facts.prepared(content()) == "Prepared by Northgate Services for Meridian"
    unnamed = content(bpo_prefix=None, prepared_by="Acme Sales")
    assert facts.prepared(unnamed) == "Prepared by Acme Sales for Meridian"
    sheet = [text for _, text in cells(render_spreadsheet(unnamed))]
    assert sheet[sheet.index("Prepared by") + 1] == "Acme Sales"
    nobody = [text for _, text in cells(render_spreadsheet(content(bpo_prefix=None, prepared_by="")))]
    assert "Prepared by" not in nobody


def test_no_sheet_shows_a_key_of_json() -> None:
    analysis = {"formula_version": 2, "pages": [{"page_kind": "home", "url": "https://a.example"}]}
    found = [text for _, text in cells(render_spreadsheet(content(analysis=analysis)))]
    assert [text for text in found if re.search(r"\w_\w|^pages \d", text)] == []
    assert {"Formula version", "Pages", "Page kind", "Address"} <= set(found)


@pytest.mark.parametrize(("number", "shares"), [(1, [1]), (4, [4]), (5, [2, 3]), (9, [3, 3, 3])])
def test_findings_are_spread_over_their_slides(number: int, shares: list[int]) -> None:
    findings = [{"title": f"Finding no. {index}", "severity": "low"} for index in range(number)]
    texts = [
        [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]
        for slide in Presentation(BytesIO(render_deck(content(analysis={"findings": findings})))).slides
    ]
    told = [
        [text for text in slide if text.startswith("Finding no. ")]
        for slide in texts
        if slide[0].startswith("Findings")
    ]
    assert [len(one) for one in told] == shares
    assert [title for slide in told for title in slide] == [one["title"] for one in findings]
