"""The signals and their score: held against docs/customer-intelligence.md, and measured on pages written for it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from jobs.cx import signals
from jobs.cx.copywriting import ADVICE, STRONG, draft
from jobs.cx.pages import Page, read_page
from jobs.cx.signals import SIGNALS, assess
from jobs.cx.site import Site

DOC = (Path(__file__).resolve().parents[2] / "docs" / "customer-intelligence.md").read_text(encoding="utf-8")
URL = "https://acme.example/"
CURVES = {
    "contact_channels": signals.CHANNELS_CURVE,
    "self_service": signals.SELF_SERVICE_CURVE,
    "response_time": signals.RESPONSE_CURVE,
    "page_weight": signals.WEIGHT_CURVE,
    "languages": signals.LANGUAGES_CURVE,
    "structured_data": signals.STRUCTURE_CURVE,
}


def table(heading: str, columns: int) -> list[list[str]]:
    """The rows of the first table below the heading."""
    lines = DOC.split(f"## {heading}\n")[1].split("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    assert all(len(row) == columns for row in rows)
    return rows[1:]


def page(body: str, kind: str = "home", **known: Any) -> Page:
    values = {"url": URL, "content_type": "text/html", "headers": {}} | known
    return read_page(body.encode(), kind=kind, **values)


def factors(*pages: Page, tried: int = 0) -> dict[str, tuple[float | None, int | None, str]]:
    found = assess(Site(pages, tried)).factors
    return {f.key: (f.value, f.score, f.finding) for f in found}


def test_the_page_has_every_signal_as_it_is() -> None:
    documented = table("The twelve signals", 6)
    assert [row[0] for row in documented] == [s.key for s in SIGNALS]
    for row, signal in zip(documented, SIGNALS, strict=True):
        curve = CURVES.get(signal.key)
        score = "the percentage" if curve is None else ", ".join(f"{x} → {y}" for x, y in curve)
        assert [row[1], row[3], row[4], float(row[5])] == [signal.name, signal.unit, score, signal.percent / 100]
    assert sum(signal.percent for signal in SIGNALS) == 100
    assert sum(Fraction(row[5]) for row in documented) == 1


def test_the_worked_example() -> None:
    """What it says of each factor follows from its value, and the score from the factors."""
    rows = table("Worked example", 4)
    assert [row[0] for row in rows] == [s.key for s in SIGNALS]
    points = Fraction(0)
    for (key, value, score, weighted), signal in zip(rows, SIGNALS, strict=True):
        curve = CURVES.get(key)
        expected = Fraction(value) if curve is None else signals.along(curve, Fraction(value))
        assert signals.half_up(expected) == int(score), key
        assert Fraction(weighted) == Fraction(signal.percent, 100) * int(score), key
        points += Fraction(weighted)
    assert f"Score: {signals.half_up(points)}." in DOC


FULL = """<!doctype html><html lang="en-GB"><head><title>Acme</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="description" content="We make things.">
<meta property="og:title" content="Acme"><link rel="alternate" hreflang="de" href="/de">
<link rel="alternate" hreflang="x-default" href="/">
<script type="application/ld+json">{"@type": "Organization"}</script>
<script src="https://widget.intercom.io/widget/abc"></script></head><body><h1>Acme</h1>
<form role="search"><input type="search" aria-label="Search"></form>
<form action="/send"><label>Your message <textarea></textarea></label><input type="submit"></form>
<img src="/logo.png" alt="Acme"><img src="/line.png" alt="">
<a href="mailto:hello@acme.example">Write</a> <a href="tel:+1555">Call</a>
<a href="https://www.linkedin.com/company/acme">LinkedIn</a> <a href="/contact">Contact</a> <a href="/faq">FAQ</a>
<a href="/help">Help</a> <a href="/docs">Guides</a> <a href="/login">Log in</a> <a href="/about">About</a>
<a href="/privacy">Privacy</a> <a href="/terms">Terms</a></body></html>"""
PROTECTED = dict.fromkeys((name.lower() for name in signals._PROTECTION), "x")


def test_a_site_that_has_everything() -> None:
    home = page(FULL, headers=PROTECTED, seconds=0.1)
    contact = page(
        "<html lang=en><title>Contact</title><meta name=viewport content='width=device-width'><h1>C</h1>", "contact"
    )
    assessed = assess(Site((home, contact), 1))

    assert assessed.score == 99
    assert {f.key: f.score for f in assessed.factors if f.score != 100} == {"languages": 80}
    found = {f.key: (f.value, f.finding) for f in assessed.factors}
    assert found["contact_channels"] == (
        5,
        "Customers can reach the company by e-mail, phone, a message form, live chat and social media.",
    )
    assert found["self_service"] == (
        5,
        "Customers can help themselves with a help center, answers to frequent questions, a search, a customer login "
        "and documentation or guides.",
    )
    assert found["languages"] == (2, "The site is offered in 2 languages: de, en.")
    assert found["response_time"] == (50, "The first byte of a page arrived after 50 ms, the median of 2 pages.")
    assert found["reliability"] == (100, "Of 1 linked page, 1 could be opened.")


def test_an_empty_page() -> None:
    """Nothing is there, and what cannot be measured does not count."""
    assessed = assess(Site((page("", url="http://acme.example/", seconds=7.0),), 0))
    scores = {f.key: f.score for f in assessed.factors}

    assert scores == {s.key: 0 for s in SIGNALS} | {"page_weight": 100, "reliability": None}
    assert assessed.score == 4  # 4 of the 92 that were measured
    assert [f.value for f in assessed.factors if f.key == "reliability"] == [None]


@pytest.mark.parametrize(
    ("body", "key", "value", "score"),
    [
        ("<a href='mailto:a@b.c'>a</a><a href='MAILTO:b@b.c'>b</a>", "contact_channels", 1, 35),
        ("<a href='mailto:a@b.c'>a</a><a href='tel:1'>b</a>", "contact_channels", 2, 60),
        ("<a href='https://x.com/acme'>X</a>", "contact_channels", 1, 35),
        ("<a href='https://notx.com/acme'>X</a>", "contact_channels", 0, 0),
        ("<textarea></textarea>", "contact_channels", 0, 0),
        ("<a href='/kontakt'>Schreiben Sie uns</a>", "contact_page", 50, 50),
        ("<a href='/x'>Contacto</a>", "contact_page", 50, 50),
        ("<a href='/nocontacts-here'>y</a>", "contact_page", 0, 0),
        ("<a href='/hilfe'>Hilfe</a>", "self_service", 1, 40),
        ("<input type=search>", "self_service", 1, 40),
        ("<meta name=viewport content='width=device-width, user-scalable=no'>", "mobile", 0, 0),
        ("<meta name=viewport content='width=device-width, maximum-scale=1.0'>", "mobile", 0, 0),
        ("<meta name=viewport content='width=device-width, maximum-scale=10'>", "mobile", 100, 100),
        ("<html lang=en><title>A</title><h1>A</h1>", "accessibility", 100, 100),
        ("<html lang=en><title>A</title><h1>A</h1><h1>B</h1>", "accessibility", 66.7, 67),
        ("<html lang=en><title>A</title><h1>A</h1><img src=a><img src=b alt=''>", "accessibility", 87.5, 88),
        ("<html lang=en><title>A</title><h1>A</h1><input><input type=hidden>", "accessibility", 75, 75),
        ("<html lang=en><title>A</title><h1>A</h1><label for=a>A</label><input id=a>", "accessibility", 100, 100),
        ("<html lang=en>", "languages", 1, 60),
        (
            "<html lang=en><link rel=alternate hreflang=en-US href=/><link rel=alternate hreflang=fr href=/>",
            "languages",
            2,
            80,
        ),
        ("<div itemscope itemtype='https://schema.org/Organization'>", "structured_data", 1, 40),
        ("<a href=/impressum>Impressum</a><a href=/datenschutz>D</a>", "transparency", 66.7, 67),
    ],
)
def test_one_thing_at_a_time(body: str, key: str, value: float, score: int) -> None:
    assert factors(page(body))[key][:2] == (value, score)


def test_the_response_time_is_the_median() -> None:
    pages = [replace(page(""), seconds=seconds) for seconds in (0.2, 1.5, 9.0)]
    assert factors(*pages)["response_time"][:2] == (1500, 50)


def test_security_of_a_site_without_tls() -> None:
    home = page("", url="http://acme.example/", headers={"content-security-policy": "default-src 'self'"})
    assert factors(home)["security"] == (
        20,
        20,
        "In place: Content-Security-Policy.",
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00\xff\xfe",
        b"<",
        b"<!--" * 50_000,
        b"<a>" * 20_000,
        b"<div>" * 50_000,
        b"<is_labelled><labels><base><read>",
        b"<a href='http://['>x</a><a href='javascript:1'>x</a><base href='http://['>",
        b"<meta charset='no-such-thing'><p>x",
        "<html lang='😀'><title>\ud7ff</title>".encode(),
    ],
)
def test_no_page_is_too_broken(body: bytes) -> None:
    read = read_page(body, url=URL, kind="home", headers={})
    assert assess(Site((read,), 0)).score in range(101)


def test_a_draft_does_not_argue_against_itself() -> None:
    """Decision 905: gaps say what is missing, findings what to do about it, and what is strong is none of them."""
    home = page(
        """<title>Acme</title><a href="mailto:a@acme.example">Write</a><a href="/privacy">Privacy</a>
        <img src="a.png"><h1>Acme</h1>""",
        seconds=1.2,
        headers={"content-security-policy": "default-src"},
    )
    site = Site((home,), 3)
    assessed = assess(site)
    copy, analysis = draft("Acme", site, assessed)
    assert str(copy["methodology"]).startswith("1 page of the public web site was read, as any visitor sees it,")
    by_name = {factor.name: factor for factor in assessed.factors}
    gaps, findings = copy["gaps"], analysis["findings"]
    assert isinstance(gaps, list)
    assert isinstance(findings, list)
    weak = [factor for factor in assessed.factors if factor.score is not None and factor.score < STRONG]
    assert {finding["title"] for finding in findings} == {factor.name for factor in weak}
    assert len(weak) >= 8
    for finding in findings:
        factor = by_name[finding["title"]]
        assert finding["severity"] in ("low", "medium", "high")
        assert finding["detail"].startswith(factor.finding)
        assert factor.tells_all or factor.missing in finding["detail"]
        sentences = finding["detail"].removesuffix(".").split(". ")
        assert len(sentences) == len(set(sentences)) <= 3
        assert finding["detail"].endswith(ADVICE[factor.key])
    found = {factor.key: (factor.finding, factor.missing) for factor in weak}
    assert found["contact_channels"] == (
        "Customers can reach the company by e-mail.",
        "Not found: phone, a message form, live chat, social media.",
    )
    assert found["transparency"][1] == "No page was found about the company or terms or the legal notice."
    assert found["reliability"][1] == "3 linked pages could not be opened."
    assert found["accessibility"][1] == "Pages that declare their language: none of 1; images with a text: none of 1."
    details = {finding["title"]: finding["detail"] for finding in findings}
    assert details["Accessibility basics"] == (
        "Pages that declare their language: 0 of 1; pages with a title: 1 of 1; pages with one main heading: 1 of 1; "
        f"images with a text: 0 of 1. {ADVICE['accessibility']}"
    )
    assert details["Security basics"] == (
        "In place: TLS, Content-Security-Policy. "
        f"Missing: Strict-Transport-Security, X-Content-Type-Options, Referrer-Policy. {ADVICE['security']}"
    )
    assert found["mobile"][1] == "Of 1 page, 1 does not fit the width of a phone, or cannot be enlarged."
    assert found["response_time"][1] == "A page takes 1200 ms to begin; 300 ms are quick."
    assert all(gap.partition("): ")[2] in {missing for _, missing in found.values()} for gap in gaps)
    assert all("missing" not in factor.document() for factor in assessed.factors)
