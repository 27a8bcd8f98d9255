"""Text that fits: how many lines it takes at a size, and how it is parted over slides where it takes too many."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

_WORD = re.compile(r"\S{1,24}\s?")
"""A word with the blank behind it, or a part of a long one, which has none."""
_ENDS = (".", "!", "?", "。", "！", "？")
_WRAPPING = 1.04  # what lines lose at their ends, where a word goes to the next one
_LINE = 1.22
_BETWEEN = 0.5

Paragraphs = Sequence[tuple[bool, str]]


@dataclass(frozen=True, slots=True)
class Frame:
    """Room for text, in points."""

    width: float
    height: float


def width(text: str, size: float) -> float:
    """Points that a text takes on one line, in a font of usual width; rather too many than too few."""
    units = 0.0
    for letter in text:
        if combining(letter):
            continue
        if east_asian_width(letter) in "WF":
            units += 1.02
        elif letter.isupper() or letter in "mwMW@%–—…":
            units += 0.72
        elif letter in " .,;:!|ijlt'()[]":
            units += 0.32
        else:
            units += 0.54
    return units * size


def lines(text: str, size: float, frame: Frame) -> int:
    """Lines that a paragraph takes, words that wrap included."""
    return max(1, math.ceil(width(text, size) * _WRAPPING / frame.width))


def height(paragraphs: Paragraphs, size: float, frame: Frame) -> float:
    """Points that paragraphs take below one another."""
    return sum((lines(text, size, frame) * _LINE + _BETWEEN) * size for _, text in paragraphs)


def best_size(paragraphs: Paragraphs, frame: Frame, sizes: Sequence[float]) -> float | None:
    """The first of the sizes at which everything fits."""
    return next((size for size in sizes if height(paragraphs, size, frame) <= frame.height), None)


def parted(paragraphs: Paragraphs, size: float, frame: Frame) -> Iterator[list[tuple[bool, str]]]:
    """The paragraphs in pages that fit; one that is longer than a page is parted after a sentence, or else a word."""
    page: list[tuple[bool, str]] = []
    taken = 0.0
    for bullet, text in _pieces(paragraphs, size, frame):
        needed = height([(bullet, text)], size, frame)
        if page and taken + needed > frame.height:
            yield page
            page, taken = [], 0.0
        page.append((bullet, text))
        taken += needed
    if page:
        yield page


def _pieces(paragraphs: Paragraphs, size: float, frame: Frame) -> Iterator[tuple[bool, str]]:
    most = max(1, int((frame.height / size - _BETWEEN) / _LINE))
    for bullet, text in paragraphs:
        if lines(text, size, frame) <= most:
            yield bullet, text
        else:
            yield from ((bullet, piece) for piece in _split(text, (most * frame.width) / _WRAPPING, size))


def _split(text: str, room: float, size: float) -> Iterator[str]:
    """The text in pieces that take at most so many points of line."""
    kept: list[str] = []
    taken = 0.0
    sentence = 0  # how many of the kept words end with the last whole sentence
    for word in _WORD.findall(text):
        needed = _needed(word, size)
        if kept and taken + needed > room:
            end = sentence if sentence > len(kept) // 2 else len(kept)
            yield "".join(kept[:end]).rstrip()
            kept = kept[end:]
            taken = sum(_needed(one, size) for one in kept)
            sentence = 0
        kept.append(word)
        taken += needed
        if word.rstrip().endswith(_ENDS):
            sentence = len(kept)
    if kept:
        yield "".join(kept).rstrip()


def _needed(word: str, size: float) -> float:
    return width(word.rstrip(), size) + size * 0.32
