"""Cells of CSV (RFC 4180) that no spreadsheet takes for formulas (decisions 57 and 270)."""

import re
from typing import Final

_FORMULA: Final = re.compile(r"[\s\x00]*[=+\-@＝＋－＠|%]|[\t\r\n\x00]")
"""How a text begins that a program could take for one, after blanks and in full width too."""
_GUARDED: Final = re.compile(rf"'*(?:{_FORMULA.pattern})")
"""How a text begins that gets an apostrophe: one that begins like this with an apostrophe of its own gets another, so
that each text comes back as it was.
"""
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?", re.ASCII)
_QUOTED: Final = re.compile(r'[",\r\n]|^\s|\s$')


def text_cell(text: str, *, is_number: bool = False) -> str:
    """Returns a text as a cell: what could be a formula begins with an apostrophe, unless it is a number."""
    if not is_number and _GUARDED.match(text):
        text = f"'{text}"
    if text == "" or _QUOTED.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def looks_like_number(text: str) -> bool:
    """Whether the text is nothing but a number."""
    return _NUMBER.fullmatch(text) is not None


def plain_text(cell: str) -> str:
    """Returns the text that a cell was made of: without the apostrophe before what could be a formula."""
    return cell[1:] if cell.startswith("'") and _GUARDED.match(cell[1:]) else cell
