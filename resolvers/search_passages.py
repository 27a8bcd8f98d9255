"""Finds where a hit has the words: the field, and a short passage of its text (decision 48). Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import orjson

from contract.limits import SNIPPET_MAX
from contract.normal_form import normal_form
from storage.rows import RecordRow
from storage.search_index import INDEXED_CHARACTERS, fold
from storage.statements import parsed

_BEFORE = 40
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A field by its column's name, or `column.key`, and plain text of at most 160 characters around a word."""

    field: str
    text: str


def passage(
    record: RecordRow, fields: Sequence[str], words: Sequence[str], pace: Callable[[], None] = lambda: None
) -> Passage:
    """The field that has the most of the words, the first of those that have as many, and its text around one.

    A hundred thousand characters take five milliseconds, and twenty where all of them have accents.
    """
    best, most, text, folded, place = fields[0], -1, "", "", 0
    for field in fields:
        if most == len(words):
            break
        pace()
        candidate = _text_of(record, field)
        if candidate:
            lower = fold(candidate)
            found = [at for word in words if (at := _start(lower, word)) is not None]
            if len(found) > most:
                best, most, text, folded, place = field, len(found), candidate, lower, min(found, default=0)
    return Passage(best, _around(text, folded, place))


def _start(folded: str, word: str) -> int | None:
    """Finds where the word begins a word of the text. The pattern takes long where the word is not, so comes last."""
    at = folded.find(word)
    if at > 0 and folded[at - 1].isalnum():
        match = re.compile(rf"(?<![^\W_]){re.escape(word)}").search(folded, at + 1)
        return None if match is None else match.start()
    return None if at < 0 else at


def length(record: RecordRow, fields: Sequence[str]) -> int:
    """Counts what there is to look through, at most, in characters or bytes."""
    values = (getattr(record, field.partition(".")[0]) for field in fields)
    return sum(len(value if isinstance(value, str) else orjson.dumps(value)) for value in values)


def _text_of(record: RecordRow, field: str) -> str:
    """The field's text, composed so that it folds character by character, as far as it is indexed."""
    column, _, key = field.partition(".")
    value = getattr(record, column)
    if key:
        details = parsed(value)
        value = details.get(key) if isinstance(details, dict) else None
    if isinstance(value, list):
        value = " ".join(item for item in value if isinstance(item, str))
    return normal_form("NFC", value[:INDEXED_CHARACTERS]) if isinstance(value, str) else ""


def _around(text: str, folded: str, folded_at: int) -> str:
    """The part of the text around a place in its folded form, in one line, with an ellipsis where it is cut."""
    at = folded_at if len(folded) == len(text) else _unfolded(text, folded_at)
    start = 0 if at <= _BEFORE else next(_starts(text, at - _BEFORE), at)
    line = _SPACE.sub(" ", text[start : start + 2 * SNIPPET_MAX]).strip()
    head = "…" if start else ""
    if len(head + line) > SNIPPET_MAX or start + 2 * SNIPPET_MAX < len(text):
        line = line[: SNIPPET_MAX - len(head) - 1].rstrip() + "…"
    return head + line


def _starts(text: str, at: int) -> Iterator[int]:
    """Finds where words begin after the place, before the word in question."""
    return (match.end() for match in re.compile(r"\s").finditer(text, at, at + _BEFORE))


def _unfolded(text: str, folded_at: int) -> int:
    length = 0
    for index, character in enumerate(text):
        if length >= folded_at:
            return index
        length += len(fold(character))
    return 0
