"""Stored JSON becomes a content, or a list of problems that names each field."""

from __future__ import annotations

from typing import Any

import pytest

from contract.errors import Problems
from reports.colors import Palette, contrast, darkened, hex_color, readable_on
from reports.content import Severity
from reports.logo import MOST_BYTES
from reports.reading import content_of
from reports.text import breakable, clean, cut, heading, is_right_to_left, one_line, paragraphs
from tests.support.reports import NASTY, SVG, content, data_uri, png, stored


def wrong(**changed: Any) -> dict[tuple[str | int, ...], str]:
    with pytest.raises(Problems) as refused:
        content_of(**stored(**changed))
    return {problem.path: problem.message for problem in refused.value.problems}


def test_a_whole_content() -> None:
    found = content()
    assert (found.company, found.domain, found.score, found.revision) == (
        "Meridian Outfitters",
        "meridian.example",
        62,
        3,
    )
    assert [(f.name, f.score, f.weight) for f in found.factors] == [
        ("Contact channels", 82, 3.0),
        ("Hours of service", 31, 1.0),
        ("Consent", None, 1.0),
    ]
    assert [s.name for s in found.sections] == [
        "headline",
        "executive_summary",
        "strengths",
        "gaps",
        "recommendations",
        "next_steps",
        "risks",
    ]
    recommended = found.section("recommendations")
    assert recommended is not None
    assert recommended.paragraphs == (
        (False, "Cover the weekend."),
        (True, "A team of four"),
        (True, "A pilot first"),
    )
    assert [(f.title, f.severity) for f in found.findings] == [
        ("Chat is closed", Severity.HIGH),
        ("A second one", None),
    ]
    assert found.extras == (("pages.partly", "yes"), ("pages.read", "14"))
    assert found.brand.colors == Palette("#0b3b46", "#0b7285", "#12b886")
    assert found.brand.logo is not None
    assert found.brand.logo.data == SVG.encode()


def test_nothing_is_a_content_too() -> None:
    found = content(factors=None, copy_blobs=None, analysis=None, brand=None, bpo_prefix=None, domain=None, score=None)
    assert (found.factors, found.sections, found.findings, found.brand.colors) == ((), (), (), Palette())
    assert found.brand.company == "Meridian Outfitters"


def test_every_problem_is_told_at_its_field() -> None:
    assert wrong(
        factors=[{"name": 4, "score": 101, "weight": -1, "evidence_url": "javascript:alert(1)"}, 7],
        copy_blobs={
            "gaps": {"a": ["fine", "x" * 20_001]},
            "strengths": ["fine", ["x" * 20_001]],
            "headline": "x" * 20_001,
        },
        analysis={"findings": [{"severity": "dire"}], "benchmarks": {}},
        brand={"company": [], "colors": {"primary": "red", "accent": 5}, "logo": "https://example.com/logo.png"},
        bpo_prefix=4,
    ) == {
        ("factors", 0, "name"): "must be a text",
        ("factors", 0, "score"): "must be from 0 to 100",
        ("factors", 0, "weight"): "must be from 0 to 1e+06",
        ("factors", 0, "evidence_url"): "must be an http:// or https:// address",
        ("factors", 1): "must be an object",
        ("copy_blobs", "gaps"): "must have at most 20000 characters",
        ("copy_blobs", "strengths", 1): "must have at most 20000 characters",
        ("copy_blobs", "headline"): "must have at most 20000 characters",
        ("analysis", "findings", 0, "severity"): "must be high, medium or low",
        ("analysis", "benchmarks"): "must be a list",
        ("brand", "company"): "must be a text",
        ("brand", "colors", "primary"): "must be a color like #1f3a5f",
        ("brand", "colors", "accent"): "must be a color like #1f3a5f",
        ("brand", "logo"): "must be a data: URI of a PNG, JPEG or SVG image",
        ("bpo_prefix",): "must be a text",
    }


@pytest.mark.parametrize("field", ["copy_blobs", "analysis", "brand"])
@pytest.mark.parametrize("value", [[], "text", 4, True])
def test_what_is_no_object(field: str, value: Any) -> None:
    assert wrong(**{field: value}) == {(field,): "must be an object"}


@pytest.mark.parametrize("score", [float("nan"), float("inf"), True, "80", []])
def test_what_is_no_score(score: Any) -> None:
    assert list(wrong(factors=[{"name": "x", "score": score}])) == [("factors", 0, "score")]


def test_slots_that_no_template_knows_are_told_as_text() -> None:
    """Decision 219: each leaf behind its place, and nothing of it is lost."""
    found = content(
        copy_blobs={
            "headline": 5,
            "gaps": {},
            "strengths": ["fine", 7.5, True, None, {"quote": "Fast", "by": ["Ada", "Bo"]}, [["deep"]]],
            "pricing": {"tiers": [{"name": "Basic", "price": 10}, "=free()"], "note": "As of\nMay", "left_out": None},
        }
    )
    assert {section.name: section.paragraphs for section in found.sections} == {
        "headline": ((False, "5"),),
        "strengths": (
            *((True, text) for text in ("fine", "7.5", "yes", "by 1: Ada", "by 2: Bo", "quote: Fast", "1 1: deep")),
        ),
        "pricing": (
            *(
                (True, text)
                for text in ("note: As of May", "tiers 1.name: Basic", "tiers 1.price: 10", "tiers 2: =free()")
            ),
        ),
    }
    deep: object = "end"
    for _ in range(31):
        deep = {"a": deep}
    [section] = content(copy_blobs={"deep": deep}).sections
    assert section.paragraphs == ((True, ".".join("a" * 31) + ": end"),)
    many = {"a": list(range(2_001))}
    assert wrong(copy_blobs={"many": many}) == {("copy_blobs", "many"): "must have at most 2000 values"}


def test_too_many() -> None:
    assert wrong(
        factors=[{}] * 1_001, copy_blobs={str(i): "x" for i in range(61)}, analysis={"x": list(range(2_001))}
    ) == {
        ("factors",): "must have at most 1000 items",
        ("copy_blobs",): "must have at most 60 slots",
        ("analysis",): "must have at most 2000 values of its own",
    }


def test_depth_has_an_end() -> None:
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"x": deep}
    assert len(content(analysis=deep).extras) == 1


@pytest.mark.parametrize(
    ("logo", "message"),
    [
        (data_uri("<svg/>".encode("utf-16"), "image/png"), "is no readable PNG image"),
        (data_uri(png()[:50], "image/png"), "is no readable PNG image"),
        (data_uri(png(), "image/jpeg"), "is no readable JPEG image"),
        (data_uri(png(2_100, 2_100), "image/png"), "must have at most 4000000 pixels"),
        (data_uri(b"x" * (MOST_BYTES + 1), "image/png"), "must be at most 256 KiB"),
        ("data:image/png;base64,%%%", "is no valid base64"),
        (data_uri("GIF89a", "image/gif"), "must be a data: URI of a PNG, JPEG or SVG image"),
        ("file:///etc/passwd", "must be a data: URI of a PNG, JPEG or SVG image"),
        (data_uri("<svg"), "is no readable SVG image"),
        (data_uri("<html/>"), "is no readable SVG image"),
        (
            data_uri('<!DOCTYPE x [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg"/>'),
            "must be an SVG image without a document type",
        ),
        *(
            (
                data_uri(f'<svg xmlns="http://www.w3.org/2000/svg"><{name}/></svg>'),
                f"must be an SVG image of shapes and text: <{name}> is not accepted",
            )
            for name in ("image", "use", "script", "foreignObject", "filter", "animate")
        ),
        *(
            (
                data_uri(f'<svg xmlns="http://www.w3.org/2000/svg">{inside}</svg>'),
                "must not refer to anything outside of the image",
            )
            for inside in (
                '<rect fill="url(http://x.example)"/>',
                '<style>@import "http://x.example"</style>',
                '<g xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="file:///etc/passwd"/>',
            )
        ),
    ],
)
def test_logos_that_are_refused(logo: str, message: str) -> None:
    assert wrong(brand={"logo": logo}) == {("brand", "logo"): message}


def test_logos_that_are_taken() -> None:
    for uri, kind in (
        (data_uri(png(), "image/png"), "image/png"),
        (data_uri(SVG), "image/svg+xml"),
        ("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E", "image/svg+xml"),
    ):
        logo = content(brand={"logo": uri}).brand.logo
        assert logo is not None
        assert logo.media_type == kind


def test_text() -> None:
    assert clean(NASTY) == "abevil\n =1+1 #set page(width: 1pt) $x$ @ref \\ <b>&amp; _x0041_ *"
    assert one_line(" a\r\n\tb\u200b ") == "a b"
    assert paragraphs("One\ntwo\n\nThree\n- a\n  b\n* c\n2) d\n- ") == [
        (False, "One two"),
        (False, "Three"),
        (True, "a b"),
        (True, "c"),
        (True, "d -"),
    ]
    assert [heading(name) for name in ("next_steps", "nextSteps", "CX score", "العنوان", "!")] == [
        "Next steps",
        "Next steps",
        "CX score",
        "العنوان",
        "!",
    ]
    piled = breakable("က္" * 500).split("\u200b")
    assert max(map(len, piled)) <= 6  # a pile is shaped in the square of its letters
    assert breakable("ဒုက္ခ သတ္တဝါ ខ្ញុំ ស្ត្រី") == "ဒုက္ခ သတ္တဝါ ខ្ញុំ ស្ត្រី"
    assert breakable("a" * 50) == "a" * 24 + "\u200b" + "a" * 24 + "\u200b" + "aa"
    assert (cut("one two three", 9), cut("one", 3), cut("x" * 9, 4)) == ("one two…", "one", "xxx…")
    assert [is_right_to_left(text) for text in ("abc", "12 שלום", "سلام abc", "", "日本")] == [
        False,
        True,
        True,
        False,
        False,
    ]


def test_colors_stay_readable() -> None:
    assert [hex_color(text) for text in ("#FFF", "0b3b46", "#12345", "red", "#12345g")] == [
        "#ffffff",
        "#0b3b46",
        None,
        None,
        None,
    ]
    assert (contrast("#000000", "#ffffff"), contrast("#777777", "#777777")) == (21.0, 1.0)
    for color in ("#ffffff", "#ffff00", "#00ff00", "#777777", "#000000", "#ff00ff"):
        assert contrast(darkened(color), "#ffffff") >= 4.5
        assert contrast(readable_on(color), color) >= 3.9
    assert Palette(accent="#ffffff").mark == Palette().strong
