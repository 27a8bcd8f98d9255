"""The detector of competitors, held against docs/competitors.md."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolvers.competitor_detection import Detected, Evidence, Known, Source, detect, folded_name

CATALOGUE = [
    Known("Acme", ["Acme Cloud", "ACME Corp."], ["acme.example"]),
    Known("Alpha"),
    Known("Alpha Beta"),
    Known("Beta Gamma Delta"),
    Known("Booking.com"),
    Known("H&M"),
    Known("See Plus Plus", ["C++", "Ünïted"], ["plus.co.example"]),
    Known("Straße AG"),
]


def found(text: str) -> dict[str, float]:
    return {d.name: d.confidence for d in detect(CATALOGUE, [Source("notes", "deal", None, text)])}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("Nothing of the kind", {}),
        # Whole words, letter case aside.
        ("Acme's offer", {"Acme": 0.8}),
        ("(aCmE)", {"Acme": 0.8}),
        ("Acmeon, iAcme, Acme2, 2Acme, Acmé", {}),
        ("_acme_", {"Acme": 0.8}),
        ("日本Acme", {}),
        ("STRASSE AG", {"Straße AG": 0.8}),
        ("ÜNÏTED", {"See Plus Plus": 0.7}),
        ("U\u0308ni\u0308ted", {"See Plus Plus": 0.7}),
        ("United", {}),
        # Signs in names, and what may stand between words.
        ("ACME-cloud", {"Acme": 0.7}),
        ("acme \u00a0\n cloud", {"Acme": 0.7}),
        ("acme, cloud", {"Acme": 0.8}),
        ("Acme Corp.", {"Acme": 0.7}),
        ("h&m", {"H&M": 0.8}),
        ("H and M", {}),
        ("we use c++ today", {"See Plus Plus": 0.7}),
        ("we use C today", {}),
        ("see booking.com.", {"Booking.com": 0.8}),
        ("booking, com", {}),
        # The longer one counts where they overlap.
        ("Alpha Beta", {"Alpha Beta": 0.8}),
        ("Alpha Beta Gamma Delta", {"Alpha": 0.8, "Beta Gamma Delta": 0.8}),
        # Domains.
        ("https://eu.ACME.example/x?y", {"Acme": 0.8}),
        ("Write to joe@plus.co.example.", {"See Plus Plus": 0.8}),
        ("notplus.co.example plus.co.example.org plus.co.examples co.example plus-co.example", {}),
        # Negations.
        ("Acme is not in the race", {"Acme": 0.2}),
        ("We won't take Acme", {"Acme": 0.2}),
        ("We won\u2019t take the Acme Cloud", {"Acme": 0.17}),
        ("We will not take Acme, but Alpha", {"Acme": 0.2, "Alpha": 0.8}),
        ("Not Acme but Alpha", {"Acme": 0.2, "Alpha": 0.8}),
        ("Alpha rather than Acme", {"Acme": 0.2, "Alpha": 0.2}),
        ("Rather Acme", {"Acme": 0.8}),
        ("Why not? Acme.", {"Acme": 0.8}),
        ("Acme. No more.", {"Acme": 0.8}),
        ("Nicht Acme, sondern Alpha", {"Acme": 0.2, "Alpha": 0.8}),
        ("Knot of Acme", {"Acme": 0.8}),
        # The formula.
        ("Acme and Acme", {"Acme": 0.96}),
        ("Acme, Acme, Acme Cloud", {"Acme": 0.99}),
        ("Acme. Not Acme.", {"Acme": 0.6}),
        ("Acme. Not Acme. Not Acme.", {"Acme": 0.53}),
        ("Not Acme. Never the Acme Cloud.", {"Acme": 0.2}),
    ],
)
def test_by_hand(text: str, expected: dict[str, float]) -> None:
    assert found(text) == expected


def test_the_evidence() -> None:
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    long = f"{'before ' * 40}Acme{' after' * 40}"
    sources = [
        Source("notes", "deal", None, "Acme\n  and   Alpha"),
        Source("meeting.body", "meeting", noon, long),
        Source("meeting.subject", "meeting", noon, "Nothing"),
    ]
    acme, alpha = detect(CATALOGUE, sources)
    assert alpha == Detected("Alpha", 0.8, [Evidence("notes", "deal", "Acme and Alpha", None)])
    assert acme.evidence[0] == Evidence("notes", "deal", "Acme and Alpha", None)
    quote = f"…{'before ' * 13}before Acme{' after' * 16}…"
    assert acme.evidence[1:] == [Evidence("meeting.body", "meeting", quote, noon)]
    [many] = detect(CATALOGUE, [Source("notes", "deal", None, "Acme " * 50)])
    assert (many.confidence, len(many.evidence)) == (0.99, 20)


def test_a_shared_alias_counts_for_the_first_by_name() -> None:
    known = [Known("Zeta", ["Shared"]), Known("Eta", ["shared"])]
    assert [d.name for d in detect(known, [Source("notes", "d", None, "SHARED")])] == ["Eta"]
    known = [Known("Zeta", [], ["one.example"]), Known("Eta", [], ["one.example"])]
    assert [d.name for d in detect(known, [Source("notes", "d", None, "one.example")])] == ["Eta"]


def test_the_surest_first_then_by_name() -> None:
    text = "Not Alpha. Booking.com. Acme. Acme."
    assert list(found(text).items()) == [("Acme", 0.96), ("Booking.com", 0.8), ("Alpha", 0.2)]


def test_long_texts_take_time_in_proportion() -> None:
    """Each of them took minutes with an expression or a search that goes back."""
    for text in ("a" * 500_000, "a." * 250_000, "a-" * 250_000, "acme " * 100_000, "Acme" + " " * 500_000 + "x"):
        detect(CATALOGUE, [Source("notes", "d", None, text)])


PIECES = ["Acme", "acme cloud", "Alpha", "Beta", "Gamma Delta", "not", "but", ", ", ". ", " ", "-", "x", "ß", "é", "@"]
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=12).map("".join)


@given(TEXTS, st.randoms())
def test_the_same_texts_and_catalogue_give_the_same_answer(text: str, random: Random) -> None:
    sources = [Source("notes", "d", None, text), Source("meeting.body", "m", None, text.upper())]
    shuffled = random.sample(CATALOGUE, len(CATALOGUE))
    assert detect(shuffled, sources) == detect(CATALOGUE, sources)
    for competitor in detect(CATALOGUE, sources):
        assert 0 < competitor.confidence <= 0.99
        assert competitor.evidence


@given(st.text(max_size=3), st.text(max_size=3))
def test_only_whole_words_are_found(before: str, after: str) -> None:
    text = f"{before}Alpha{after}"
    whole = not (before[-1:].isalnum() or after[:1].isalnum())
    # An accent that comes after a letter may make another letter of it, which is then no Alpha either.
    if folded_name(text) == text.casefold():
        assert (found(text) != {}) == whole


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=30))
def test_any_text_can_be_a_name_and_be_found(name: str) -> None:
    text = name.strip()
    if any(map(str.isalnum, text)):
        detected = detect([Known(name)], [Source("notes", "d", None, f"« {text} »")])
        assert [d.name for d in detected] == [name]
