"""Cells of CSV (RFC 4180) that no spreadsheet takes for formulas (decisions 57 and 270)."""

import re
from collections.abc import Sequence
from typing import Final

_FORMULA: Final = re.compile(r"[\s\x00]*[=+\-@＝＋－＠|%]|[\t\r\n\x00]")
"""How a text begins that a program could take for one, after blanks and in full width too."""
_GUARDED: Final = re.compile(rf"'*(?:{_FORMULA.pattern})")
"""How a text begins that gets an apostrophe: one that begins like this with an apostrophe of its own gets another, so
that each text comes back as it was.
"""
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?", re.ASCII)
BETWEEN: Final = ";"
"""The sign between the names of a list within a cell."""
_TO_ESCAPE: Final = re.compile(rf"\\(?=[\\{BETWEEN}]|\Z)|{BETWEEN}")
"""What means itself only behind a backslash: the sign, and a backslash before either or at the end (decision 951)."""


def text_cell(text: str, *, is_number: bool = False) -> str:
    """Returns a text as a cell: what could be a formula begins with an apostrophe, unless it is a number."""
    if not is_number and not is_harmless(text) and _GUARDED.match(text):
        text = f"'{text}"
    if text == "" or "," in text or '"' in text or "\n" in text or "\r" in text:
        return '"' + text.replace('"', '""') + '"'
    return f'"{text}"' if text[0].isspace() or text[-1].isspace() else text


def is_harmless(text: str) -> bool:
    """Says at a glance that a text is no formula, as most are not: it begins with a letter or a digit."""
    return text[:1].isalnum()


def looks_like_number(text: str) -> bool:
    """Says whether the text is nothing but a number."""
    return _NUMBER.fullmatch(text) is not None


def plain_text(cell: str) -> str:
    """Returns the text that a cell was made of: without the apostrophe before what could be a formula."""
    return cell[1:] if cell.startswith("'") and _GUARDED.match(cell[1:]) else cell


def joined(names: Sequence[str]) -> str:
    """Returns the text of a list of names, none of which is cut in two by the sign between them."""
    return BETWEEN.join(_TO_ESCAPE.sub(r"\\\g<0>", name) for name in names)


def parted(text: str, between: str) -> list[str]:
    """Returns the names of a list, without the blanks around them. A sign between names is none behind a backslash."""
    if "\\" not in text or between.startswith("\\"):  # the latter is a sign itself
        parts = text.split(between)
    else:
        parts = [""]
        for escaped, is_end, plain in re.findall(
            rf"\\(\\|{re.escape(between)})|({re.escape(between)})|(.)", text, re.S
        ):
            if is_end:
                parts.append("")
            else:
                parts[-1] += escaped or plain
    return [name for part in parts if (name := part.strip())]
