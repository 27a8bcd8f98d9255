"""Many phrases at once: the same answers as one expression for each of them gave, in linear time."""

from __future__ import annotations

import unicodedata
from functools import partial
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from contract.normal_form import normal_form, ordered
from resolvers.competitor_detection import Detected, Known, Source, detect
from tests.support import slow_detection
from tests.support.steps import steps

# Few words with much in common, signs, gaps of every kind, letters that fold to more or to marks, negations, hosts.
WORDS = ["a", "aa", "ab", "b", "acme", "cloud", "ß", "ss", "é", "e\u0301", "İ", "\u0345", "x2", "ﬁ", "not", "but"]
SIGNS = [
    "",
    " ",
    " ",
    "-",
    "_",
    "  ",
    "\u2013",
    " - ",
    "\n",
    "\t",
    ".",
    "&",
    "+",
    "!",
    "@",
    "#",
    "n't",
    "’",
    ", ",
    ". ",
]
HOSTS = ["a.b", "b.a.b", "acme.example", "x-a.b", "_a.b", "www.acme.example"]
PIECES = st.one_of(st.sampled_from(WORDS), st.sampled_from(SIGNS), st.sampled_from(HOSTS))
TEXTS = st.lists(PIECES, max_size=30).map("".join)
NAMES = st.lists(st.one_of(st.sampled_from(WORDS), st.sampled_from(SIGNS)), min_size=1, max_size=6).map("".join)
TERMS = st.lists(NAMES.filter(lambda name: any(map(str.isalnum, name))), min_size=1, max_size=8)


def _both(known: list[Known], texts: list[str]) -> tuple[list[Detected], list[Detected]]:
    sources = [Source("notes", str(number), None, text) for number, text in enumerate(texts)]
    return detect(known, sources), slow_detection.detect(known, sources)


@settings(max_examples=300)
@given(
    st.lists(TERMS, min_size=1, max_size=4), st.lists(st.sampled_from(HOSTS), max_size=3), st.lists(TEXTS, max_size=2)
)
@example(terms=[["a", "a b", "a b a", "a b a b"], ["b a"]], hosts=[], texts=["a b a a b a b", "a b b a"])
@example(terms=[["-a", "--a", "!a", "a"]], hosts=["a.b"], texts=["x--a  !a -a.b", "_a.b---a"])
@example(terms=[["acme-", "acme cl-", "acme clo"]], hosts=[], texts=["acmeon acme cloud acme-clo"])
def test_the_same_as_one_expression_for_each_term(terms: list[list[str]], hosts: list[str], texts: list[str]) -> None:
    known = [Known(first, rest, hosts[n : n + 1]) for n, (first, *rest) in enumerate(terms)]
    fast, slow = _both(known, texts)
    assert fast == slow


@pytest.mark.parametrize("seed", range(8))
def test_the_same_in_long_texts_of_few_words(seed: int) -> None:
    random = Random(seed)
    words = random.sample(WORDS, 5)

    def text(length: int) -> str:
        return "".join(random.choice(words) + random.choice(SIGNS[1:9]) for _ in range(length))

    known = [Known(f"{words[0]} {n}", [text(random.randint(1, 9)) for _ in range(8)]) for n in range(5)]
    fast, slow = _both(known, [text(400)])
    assert fast == slow


def _shared_first_word(number: int) -> list[Known]:
    return [Known(f"Acme {n}", [f"Acme {n} {m}" for m in range(50)]) for n in range(number)]


def _nested(number: int) -> list[Known]:
    """The longest phrases begin with all the others."""
    aliases = [" ".join(["a"] * length) for length in range(1, 101)]
    return [Known(f"x {n}", [f"{alias} {n}"[:200] for alias in aliases[:50]]) for n in range(number - 1)] + [
        Known("y", aliases[:50]),
        Known("z", aliases[50:]),
    ]


def _shared_prefix(number: int) -> list[Known]:
    return [Known(f"b {n}", [f"{'long ' * 38}{n} {m}" for m in range(50)]) for n in range(number)]


def _signs(number: int) -> list[Known]:
    return [Known(f"c {n}", [f"{'!' * m}{'?' * n}a" for m in range(50)]) for n in range(number)]


def _runs_of_letters(number: int) -> list[Known]:
    return [Known(f"d {n}", [f"{'a' * m}b{n}" for m in range(1, 51)]) for n in range(number)]


CATALOGUES = [_shared_first_word, _nested, _shared_prefix, _signs, _runs_of_letters]
HOSTILE = [
    "Acme " * 80,
    "a " * 200,
    "a a a b " * 50,
    "a" * 400,
    ("long " * 38 + "x ") * 2,
    ("!" * 49 + "?" * 9 + "a") * 7,
    "a  -  " * 60,
    ("a a a " + "- " * 20) * 9,
    ("a " * 99 + "a! a ") * 2,
    "a.b." * 100,
    ("a." * 100 + " ") * 2,
    "n't not but, " * 30,
]


@pytest.mark.parametrize("catalogue", CATALOGUES)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_the_work_is_linear_in_the_text(catalogue: object, text: str) -> None:
    assert callable(catalogue)
    known = [*catalogue(5), Known("e", [], ["b.a.b", ".".join("a" * 50)])]
    few = steps(lambda: detect(known, []))
    sources = [Source("notes", "", None, text * times) for times in (1, 10)]
    once, ten = (steps(partial(detect, known, [source])) - few for source in sources)
    assert ten < 11 * once + 1_000
    assert once < 200 * len(text)


@pytest.mark.parametrize("catalogue", CATALOGUES)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_the_work_hardly_grows_with_the_catalogue(catalogue: object, text: str) -> None:
    assert callable(catalogue)

    def work(number: int) -> int:
        known = catalogue(number)
        return steps(lambda: detect(known, [Source("notes", "", None, text)])) - steps(lambda: detect(known, []))

    # Ten times the terms may hold at more places, but each place is looked at once.
    assert work(40) < 2 * work(4) + 40 * len(text)


@pytest.mark.parametrize("catalogue", CATALOGUES)
def test_the_catalogue_itself_is_linear_work(catalogue: object) -> None:
    assert callable(catalogue)
    few, many = (catalogue(number) for number in (3, 30))
    assert steps(lambda: detect(many, [])) < 20 * steps(lambda: detect(few, []))


@given(st.text(st.sampled_from("a\u0301\u0323\u0344\u0f73\u0f71\u3099é \u1e69"), max_size=200))
def test_a_text_with_ordered_marks_is_the_same_text(text: str) -> None:
    for form in ("NFC", "NFD", "NFKD"):
        assert normal_form(form, text) == unicodedata.normalize(form, text)
        assert unicodedata.normalize(form, ordered(text)) == unicodedata.normalize(form, text)


def test_few_marks_stay_as_they_are() -> None:
    for text in ("U\u0308nite\u0323\u0301d", "a" + "\u0301\u0323" * 15):
        assert ordered(text) == text
