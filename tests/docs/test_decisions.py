"""docs/decisions.md and the code agree: each decision is cited where it is kept, and each citation leads to one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DECISIONS = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^- \*\*(\d+)\. ", re.MULTILINE)
OTHER_FORM = re.compile(r"^\d+\. ", re.MULTILINE)
CITATION = re.compile(r"\bdecisions?\s+(\d+(?:(?:,\s*(?:and\s+)?|\s+and\s+|\s+to\s+)\d+)*)", re.IGNORECASE)
NUMBERS = re.compile(r"(\d+)(?:\s+to\s+(\d+))?")
LINE_START = re.compile(r"\n\s*(?:#|//|\*)?\s*")
SHIPPED = [path.parent for path in ROOT.glob("*/__init__.py")]
CODE = [*SHIPPED, ROOT / "tests", ROOT / ".ci", ROOT / "ui" / "graphiql" / "src"]


def cited(text: str) -> Iterator[int]:
    """The numbers that a text cites; "43 to 45" are three."""
    for found in CITATION.finditer(LINE_START.sub(" ", text)):
        for first, last in NUMBERS.findall(found[1]):
            yield from range(int(first), int(last or first) + 1)


def _cited_in(paths: list[Path]) -> dict[int, list[str]]:
    places: dict[int, list[str]] = {}
    for path in paths:
        for number in cited(path.read_text(encoding="utf-8")):
            places.setdefault(number, []).append(path.relative_to(ROOT).as_posix())
    return places


def _code() -> list[Path]:
    itself = Path(__file__)
    found = [path for folder in CODE for kind in ("*.py", "*.js") for path in folder.rglob(kind)]
    return [path for path in found if path != itself and not {"static", "node_modules"} & set(path.parts)]


def test_each_decision_is_cited_by_code_or_a_test() -> None:
    decided = {int(number) for number in ENTRY.findall(DECISIONS)}
    assert len(decided) > 150
    assert decided - _cited_in(_code()).keys() == set()


def test_each_citation_leads_to_a_decision() -> None:
    decided = {int(number) for number in ENTRY.findall(DECISIONS)}
    documents = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md"), *(ROOT / "ui" / "graphiql").glob("*.md")]
    places = _cited_in([*_code(), *documents])
    assert {number: where for number, where in places.items() if number not in decided} == {}


def test_decisions_have_one_number_each_and_stand_in_an_area() -> None:
    numbers = Counter(ENTRY.findall(DECISIONS))
    assert [number for number, times in numbers.items() if times > 1] == []
    assert OTHER_FORM.findall(DECISIONS) == []  # an entry begins with "- **", or it would be numbered anew when shown
    head, *areas = DECISIONS.split("\n## ")
    assert ENTRY.findall(head) == []
    assert [area.partition("\n")[0] for area in areas if not ENTRY.search(area)] == []


def test_citations_are_read() -> None:
    assert list(cited("(decision 5)")) == [5]
    assert list(cited("Decisions 43 to 45, and decisions 7 and\n    # 9, 11")) == [43, 44, 45, 7, 9, 11]
