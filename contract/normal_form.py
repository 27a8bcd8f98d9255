"""Unicode's normal forms, in time linear in the text.

Python and PostgreSQL put the marks on a letter in order by swapping neighbours. A hundred thousand marks out of order
take them minutes, in which nothing interrupts them. Marks that are in order already take them no time.
"""

import re
import unicodedata
from functools import cache
from typing import Literal

_FEW = 30
"""Marks on one letter. No language needs more, and so few are put in order at once (UAX 15, Stream-Safe Text)."""

_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and a symbol that stand for nothing: Hangul's fillers, and Braille's pattern without dots."""
_UNSEEN = frozenset({"Cc", "Cf", "Me", "Mn", "Zl", "Zp", "Zs"})
"""Controls, formats, blanks, and marks, which need a letter. What Python does not know yet may be a new symbol."""


def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """The text in the normal form."""
    return unicodedata.normalize(form, ordered(text))


def folded(text: str) -> str:
    """Fold letter case and width: two texts that differ in nothing else are one."""
    if text.isascii():
        return text.lower()  # the same, in a tenth of the time
    return normal_form("NFKC", normal_form("NFKC", text).casefold())


def is_invisible(text: str) -> bool:
    """Says whether a text shows nothing, whatever shows it."""
    return all(c in _FILLERS or unicodedata.category(c) in _UNSEEN for c in text)


def ordered(text: str) -> str:
    """The text, with long rows of marks in the canonical order: for Unicode it is the same text."""
    return text if text.isascii() else _rows().sub(_in_order, text)


@cache
def _rows() -> re.Pattern[str]:
    marks = (c for c in map(chr, range(0x300, 0x20000)) if unicodedata.combining(unicodedata.normalize("NFD", c)[0]))
    return re.compile(f"[{''.join(marks)}]{{{_FEW + 1},}}")


def _in_order(row: re.Match[str]) -> str:
    decomposed = "".join(unicodedata.normalize("NFD", mark) for mark in row[0])
    return "".join(sorted(decomposed, key=unicodedata.combining))
