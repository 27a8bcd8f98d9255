"""What a model says is shown as plain text and citations of what was seen, however it is cut (decisions 350, 351)."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.link_filter import HELD_MAX
from providers.shown_text import Citation, ShownText, ShownWarning, label_of

SEEN = {
    ("deal", "d1"): "Acme renewal",
    ("contact", "c1"): "Jo [CEO] <Ito>",
    ("account", "a1"): "See https://evil.test/?q=1 now",
    ("lead", "l1"): " ",
}
REMOVED = "[link removed]"


def shown(*pieces: str) -> tuple[str, list[Citation], list[ShownWarning]]:
    filter = ShownText(SEEN)
    found = [filter.feed(piece) for piece in pieces]
    found.append(filter.end())
    return (
        "".join(one.text for one in found),
        [citation for one in found for citation in one.citations],
        sorted(warning for one in found for warning in one.warnings),
    )


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Two deals: **Acme**, 5 < 7, a/b, 10:30, acme.com, jo@acme.com.", None),
        ("Note: nothing. and/or // either", None),
        ("[x] done, [y](", f"[x] done, {REMOVED}"),
        ("See [this](http://evil.test/a_(b)c) now", f"See {REMOVED} now"),
        ("![pixel](//evil.test/?d=1)", REMOVED),
        ("[![a](b)](c)", f"[{REMOVED} {REMOVED}"),
        ("[a](/deals)", REMOVED),
        ("[a]: https://evil.test", f"[a] : {REMOVED}"),
        ("[a]\n(https://evil.test)", f"[a]\n({REMOVED})"),
        ("https://evil.test/x?y=1, and so on", f"{REMOVED}, and so on"),
        ("(HTTPS://evil.test)(x)", f"({REMOVED})"),
        ("<https://evil.test>(x)", f"{REMOVED} (x)"),
        ("https://evil.test ://x", f"{REMOVED} :{REMOVED}"),
        ("www.evil.test and mailto:jo@acme.com", f"{REMOVED} and {REMOVED}"),
        ("javascript:alert(1) //evil.test", f"{REMOVED}) {REMOVED}"),
        ("odd+scheme://x", REMOVED),
        ("<img src=x onerror=alert(1)>text</img>", f"{REMOVED}text{REMOVED}"),
        ("<!-- hidden -->a <b", f"{REMOVED}a < b"),
        ("a <b and " + "c" * HELD_MAX + ">", "a < b and " + "c" * HELD_MAX + ">"),
        ("https://" + "x" * 2_000 + " end", f"{REMOVED} end"),
        ("[" + "a" * 600 + "](b)", "[" + "a" * 600 + REMOVED),
        ("[a](" + "b" * 600 + ")", REMOVED + "b" * 600 + ")"),
        ("a\x00b\x1b[31mc\u202ed\r\n", "ab[31mcd\n"),
    ],
)
def test_nothing_leads_away(said: str, left: str | None) -> None:
    assert shown(said)[0] == (said if left is None else left)
    assert shown(*said)[0] == (said if left is None else left)
    assert (ShownWarning.LINK_REMOVED in shown(said)[2]) == (REMOVED in (left or ""))


def test_what_was_seen_is_cited_where_it_is_named() -> None:
    text, citations, warnings = shown("😀 [[deal:d1]] of [[CONTACT:c1]], [[deal:other]]and [[x:y]][[lead:l1]]")
    assert text == "😀 Acme renewal of Jo [CEO] [link removed], and lead"
    assert [(text[one.start : one.end], one.kind, one.id) for one in citations] == [
        ("Acme renewal", "deal", "d1"),
        ("Jo [CEO] [link removed]", "contact", "c1"),
        ("lead", "lead", "l1"),
    ]
    assert all(text[one.start : one.end] == one.label for one in citations)
    assert warnings == [ShownWarning.UNCITED]


def test_a_name_that_is_an_address_leads_nowhere() -> None:
    text, [citation], _ = shown("[[account:a1]]")
    assert text == "See [link removed] now" == citation.label
    assert label_of("a\nb") == "a b"


@pytest.mark.parametrize(
    "said", ["[a [[deal:d1]]](http://x)", "<a [[deal:d1]]>", "http://x/[[deal:d1]]", "<[[deal:none]]img src=x>"]
)
def test_a_mark_opens_no_way_out(said: str) -> None:
    text, citations, _ = shown(said)
    assert REMOVED in text
    assert "Acme" not in text
    assert citations == []


def test_a_second_message_part_makes_no_link_of_the_first() -> None:
    filter = ShownText(SEEN)
    parts = [filter.feed("see [it]"), filter.end(), filter.feed("(/x) <"), filter.end(), filter.feed("img src=x>")]
    text = "".join(one.text for one in [*parts, filter.end()])
    assert text == "see [it] (/x) < img src=x>"


def test_offsets_go_on_from_what_was_shown_before() -> None:
    filter = ShownText(SEEN, start=10, warned={ShownWarning.UNCITED})
    told = [filter.feed("a [[deal:d1]][[deal:x]]"), filter.end()]
    assert [(one.start, one.end) for part in told for one in part.citations] == [(12, 24)]
    assert [part.warnings for part in told] == [(), ()]


PARTS = st.sampled_from(
    [
        *(
            "[",
            "]",
            "(",
            ")",
            "<",
            ">",
            "!",
            ":",
            "/",
            "//",
            "http",
            "https://",
            "www.",
            "mailto:",
            "a",
            "B",
            " ",
            "\n",
        ),
        *(
            "[[deal:d1]]",
            "[[contact:c1]]",
            "[[account:a1]]",
            "[[deal:none]]",
            "[[",
            "]]",
            "deal:d1",
            "😀",
            '"',
            ".",
            "-",
        ),
        *(
            "x" * 33,
            "y" * 300,
            "z" * 520,
            "|",
            "'",
            "\\",
            "+",
            "1",
            "\x00",
            "img src=x",
            "[a](b)",
            "<b>",
            "é",
            "İ",
            "ſ",
        ),
    ]
)
SAID = st.lists(PARTS, max_size=30).map("".join)
LEADS = re.compile(r"\]\(|\]:|<[a-z/!?]|//\S|(?<![\w+.-])(www\.|mailto:)\S|\x00", re.IGNORECASE)


@settings(max_examples=400, deadline=None)
@given(SAID, st.lists(st.integers(0, 600), max_size=12))
def test_any_cut_gives_the_same(said: str, sizes: list[int]) -> None:
    whole = shown(said)
    at, pieces = 0, []
    for size in sizes:
        pieces.append(said[at : at + size])
        at += size
    assert shown(*pieces, said[at:]) == whole
    assert shown(*said) == whole
    text, citations, _ = whole
    assert not LEADS.search(text)
    assert [text[one.start : one.end] for one in citations] == [one.label for one in citations]
    assert shown(text)[0] == text or "[[" in text


@pytest.mark.parametrize("said", ["httpsİmailto://here", "ſdata://here", "\u212abc://here"])
def test_a_letter_that_folds_to_an_ascii_one_is_cut_alike(said: str) -> None:
    assert shown(*said) == shown(said)


@settings(max_examples=100, deadline=None)
@given(SAID)
def test_no_more_is_held_back_than_may_be_open(said: str) -> None:
    filter = ShownText({})
    size = 0
    for character in said:
        filter.feed(character)
        size = max(size, filter.held)
    assert size <= HELD_MAX + 130


@pytest.mark.parametrize("part", ["[", "](", "<a", "http://", "[[deal:", "[a](", "//", "w", "a:"])
def test_the_time_is_that_of_the_length(part: str) -> None:
    long = part * (64_000 // len(part))
    began = time.monotonic()
    filter = ShownText({})
    for at in range(0, len(long), 40):
        filter.feed(long[at : at + 40])
    filter.end()
    assert time.monotonic() - began < 20  # quadratic: minutes
