"""Text that every renderer can hold: no control characters, no lone surrogates, one kind of line end."""

import re
from unicodedata import bidirectional

_LINE_ENDS = re.compile("\r\n?|[\u0085\u2028\u2029\v\f]")
# What XML 1.0 forbids or discourages (controls, surrogates, U+FFFE and U+FFFF of every plane): a workbook with one of
# them does not open.
# Embeddings and overrides of direction (U+202A to U+202E) too: with them a text reads as another one than it is.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(1, 17))
    + "]"
)
_BLANKS = re.compile(r"[\s\u200b\ufeff]+")
_BULLET = re.compile(r"(?:[-*•–]|\d{1,3}[.)])\s+")
_UNBROKEN = re.compile(r"(\S{24})(?=[\w/.?=&%-])")
# Letters that stand below one another, as in Burmese and Khmer, which have two of them or three: what shapes text takes
# the square of a longer pile, and hostile text would have minutes of it.
_PILED = re.compile("((?:\\w[\u1039\u17d2]){3})(?=\\w)")
_WORDS = re.compile(r"[A-Z]?[^\WA-Z_]+|[A-Z]+(?![a-z])|\d+|[^\W_]+")


def clean(text: str) -> str:
    """The text without what no file format can hold; newlines and tabs stay."""
    return _FORBIDDEN.sub("", _LINE_ENDS.sub("\n", text))


def one_line(text: str) -> str:
    """The cleaned text on one line, without blanks around it."""
    return _BLANKS.sub(" ", clean(text)).strip()


def paragraphs(text: str) -> list[tuple[bool, str]]:
    """The paragraphs of a text, each with whether it is a bullet: lines that begin with `-`, `*`, `•` or `1.` are."""
    found: list[tuple[bool, list[str]]] = []
    fresh = True
    for line in clean(text).split("\n"):
        line = line.strip()
        if not line:
            fresh = True
        elif mark := _BULLET.match(line):
            found.append((True, [line[mark.end() :].strip()]))
            fresh = False
        elif fresh or not found:
            found.append((False, [line]))
            fresh = False
        else:
            found[-1][1].append(line)
    return [(bullet, " ".join(lines)) for bullet, lines in found if any(lines)]


def heading(name: str) -> str:
    """The words of a slot's name as a heading: `next_steps` and `nextSteps` are «Next steps»."""
    words = [word if word.isupper() and len(word) > 1 else word.lower() for word in _WORDS.findall(one_line(name))]
    joined = " ".join(words) or one_line(name)
    return joined[:1].upper() + joined[1:]


def breakable(text: str) -> str:
    """The text with places to break in words longer than a column: addresses, what has no blanks at all, and piles."""
    return _UNBROKEN.sub("\\1\u200b", _PILED.sub("\\1\u200b", text))


def cut(text: str, most: int) -> str:
    """The text in at most so many characters, ended at a word where there is one."""
    if len(text) <= most:
        return text
    kept = text[: most - 1]
    at_word = kept.rsplit(" ", 1)[0]
    return (at_word if len(at_word) > most // 2 else kept).rstrip(" ,;:.") + "…"


def is_right_to_left(text: str) -> bool:
    """Says whether the first letter of the text is of a script that runs from right to left."""
    return next((kind != "L" for kind in map(bidirectional, text) if kind in ("L", "R", "AL")), False)
