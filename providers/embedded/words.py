"""Words of a question: folded, one form for singular and plural, with numbers, days and quoted texts apart."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum, auto
from typing import Final


class WordKind(Enum):
    """The kind of a word."""

    WORD = auto()
    NUMBER = auto()
    DAY = auto()
    QUOTED = auto()


@dataclass(frozen=True, slots=True)
class Word:
    """A word: as it was written and where, and its form, by which it is looked up."""

    text: str
    form: str
    start: int
    end: int
    kind: WordKind = WordKind.WORD
    number: Decimal | None = None
    day: date | None = None

    @property
    def is_owning(self) -> bool:
        """Says whether it says whose: Acme's."""
        return self.text.endswith(("'s", "s'"))


_PARTS: Final = re.compile(
    r"[\"“”„«»](?P<quoted>[^\"“”„«»]{1,200})[\"“”„«»]"
    r"|(?P<day>\d{4}-\d\d-\d\d)\b"
    r"|(?P<below>(?<!\S)[-−–]\d[\w.,]{0,20})"
    r"|(?P<number>\d{1,3}(?:,\d{3}){1,4}(?:\.\d{1,4})?|\d{1,15}(?:\.\d{1,4})?) ?(?P<unit>k|m|mio|million|thousand)?"
    r"(?![\w-])"
    r"|(?P<word>[^\W_]+(?:'[^\W_]+|'(?=\s))?)"
    r"|(?P<sign>[^\s\w])",
    re.IGNORECASE,
)
_UNITS: Final = {"k": 1_000, "thousand": 1_000, "m": 1_000_000, "mio": 1_000_000, "million": 1_000_000}
_CURRENCIES: Final = {"€": "eur", "$": "usd", "£": "gbp"}
_IDLE_SIGNS: Final = frozenset(".,;:?!()-–—/&'\"")
_SHORT: Final = {
    **{"what's": "what is", "who's": "who is", "how's": "how is", "i've": "i have", "we've": "we have", "i'm": "i am"},
    **{"don't": "do not", "doesn't": "does not", "didn't": "did not", "isn't": "is not", "aren't": "are not"},
    **{"haven't": "have not", "hasn't": "has not", "wasn't": "was not", "weren't": "were not", "i'd": "i would"},
    **{"that's": "that is", "let's": "let us", "can't": "can not", "won't": "will not"},
}
_KEPT: Final = frozenset({"news", "does", "yes", "always", "perhaps", "sales"})
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:\.\d{3})+\Z")
WORDS_MAX: Final = 60
"""A question of more words is none that the grammar has."""


def words_of(text: str, most: int = WORDS_MAX) -> list[Word]:
    """The words of a text in their order, the first ones; a sign that says nothing is left out, another is a word."""
    found: list[Word] = []
    for part in _PARTS.finditer(text.replace("’", "'")):
        found += _words(part)
        if len(found) > most:
            break
    return found


def _words(part: re.Match[str]) -> list[Word]:
    text, start, end = part[0], part.start(), part.end()
    match part.lastgroup:
        case "quoted":
            return [Word(text, text[1:-1].casefold(), start, end, WordKind.QUOTED)]
        case "day":
            return [_day(text, start, end)]
        case "below":  # no amount is below nothing
            return [Word(text, text.casefold(), start, end)]
        case "number" | "unit":
            if _THOUSANDS.match(part["number"]):  # 50.000 is fifty thousand to some, and fifty to others
                return [Word(text, text.casefold(), start, end)]
            number = Decimal(part["number"].replace(",", "")) * _UNITS.get((part["unit"] or "").lower(), 1)
            return [Word(text, text.casefold().strip(), start, end, WordKind.NUMBER, number)]
        case "word":
            folded = text.casefold()
            parts = _SHORT.get(folded, folded).split() if folded in _SHORT else [folded.removesuffix("'s")]
            return [Word(text, form_of(one.removesuffix("'")), start, end) for one in parts]
    if text in _IDLE_SIGNS:
        return []
    return [Word(text, _CURRENCIES.get(text, text), start, end)]


def _day(text: str, start: int, end: int) -> Word:
    try:
        return Word(text, text, start, end, WordKind.DAY, day=date.fromisoformat(text))
    except ValueError:
        return Word(text, text, start, end)


def form_of(word: str) -> str:
    """The form of a folded word that it has in common with its plural."""
    if word in _KEPT or len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") else word


def forms_of(text: str) -> tuple[str, ...]:
    """The forms of the words of a text."""
    return tuple(word.form for word in words_of(text))


def starts(words: Sequence[Word], place: int, forms: Sequence[str]) -> bool:
    """Says whether these forms stand there."""
    if place + len(forms) > len(words) or words[place].form != forms[0]:
        return False  # nearly always: many phrases are tried at each word
    return all(words[place + at].form == form for at, form in enumerate(forms))


def longest(words: Sequence[Word], place: int, phrases: Sequence[Sequence[str]]) -> int:
    """Says how many words the longest of these phrases has that stands there; 0 where none does."""
    return max((len(phrase) for phrase in phrases if starts(words, place, phrase)), default=0)


def phrases(text: str) -> tuple[tuple[str, ...], ...]:
    """Phrases by their forms, from a text with `|` between them."""
    return tuple(forms_of(one) for one in text.split("|"))


def each(text: str) -> frozenset[str]:
    """Forms, from a text with blanks between."""
    return frozenset(text.split())


def between(text: str, first: Word, last: Word) -> str:
    """Return the text from one word to another: a name as it is spelt, without what says whose."""
    if first is last and first.kind is WordKind.QUOTED:
        return " ".join(text[first.start + 1 : first.end - 1].split())
    name = " ".join(text[first.start : last.end].split())
    return name[:-2] if name.endswith(("'s", "’s")) else name.removesuffix("'").removesuffix("’")
