"""Words of a question: folded, in one form for singular and plural, with numbers, days and quoted texts apart."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum, auto


class TokenKind(Enum):
    """The kind of a word."""

    WORD = auto()
    NUMBER = auto()
    DAY = auto()
    QUOTED = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A word: as it was written, and its form, by which it is looked up."""

    text: str
    form: str
    kind: TokenKind = TokenKind.WORD
    number: Decimal | None = None
    day: date | None = None


_PARTS = re.compile(
    r"[\"“”„«»](?P<quoted>[^\"“”„«»]{1,200})[\"“”„«»]"
    r"|(?P<day>\d{4}-\d\d-\d\d)\b"
    r"|(?P<doubtful>(?<!\w)[-–−]\d[\w.,]*|[1-9]\d{0,2}(?:\.\d{3})+(?!\d)|!(?=\w))"
    r"|(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:(?P<unit>k|m|mio)|\s?(?P<named>million|thousand))?(?![\w-])"
    r"|(?P<word>[^\W_]+(?:['’][^\W_]+)?)"
    r"|(?P<sign>[^\s\w])",
    re.IGNORECASE,
)
_UNITS = {"k": 1_000, "thousand": 1_000, "m": 1_000_000, "mio": 1_000_000, "million": 1_000_000}
_SIGNS = frozenset(".,;:?!()-–—/&'")
_SHORT = {"don't": "do not", "doesn't": "does not", "didn't": "did not", "haven't": "have not", "hasn't": "has not"}
_SHORT |= {"isn't": "is not", "aren't": "are not", "wasn't": "was not", "weren't": "were not", "what's": "what is"}
_SHORT |= {"who's": "who is", "i've": "i have", "we've": "we have", "i'm": "i am", "who've": "who have"}
_SAME = {"mean": "average", "avg": "average"}
"""Words that are looked up as another one."""
_GREETING = re.compile(r"\s*(?:hi|hello|hey|good morning|good afternoon|thanks|thank you|okay|ok)\s*[,!.;:]\s", re.I)
_THANKS = re.compile(
    r"[,.;?!]\s*(?:thanks|thank you|many thanks|cheers)(?: in advance| a lot| so much)?\s*[.!]*\s*\Z", re.I
)
_KEPT = frozenset({"news", "lens", "does", "yes"})


def tokens_of(question: str) -> list[Token]:
    """The words of a question in their order. A sign that says nothing is left out; any other is a word.

    So is what would be another number without its sign, and 10.000, which is ten or ten thousand (decision 830).
    A greeting and thanks are left out where a sign parts them from the question: else they may begin a name.
    """
    greeting, thanks = _GREETING.match(question), _THANKS.search(question)
    return _tokens(question[greeting.end() if greeting else 0 : thanks.start() + 1 if thanks else len(question)])


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    for part in _PARTS.finditer(text.replace("’", "'")):
        if (quoted := part["quoted"]) is not None:
            found.append(Token(part[0], quoted.casefold(), TokenKind.QUOTED))
        elif part["day"] is not None:
            found.append(_day(part["day"]))
        elif part["doubtful"] is not None:
            found.append(Token(part[0], part[0]))
        elif part["number"] is not None:
            number = Decimal(part["number"].replace(",", "")) * _UNITS.get(
                (part["unit"] or part["named"] or "").lower(), 1
            )
            found.append(Token(part[0], part[0].casefold(), TokenKind.NUMBER, number))
        elif part["word"] is not None:
            found += _words(part["word"])
        elif part["sign"] not in _SIGNS:
            found.append(Token(part["sign"], part["sign"]))
    return found


def _day(text: str) -> Token:
    try:
        return Token(text, text, TokenKind.DAY, day=date.fromisoformat(text))
    except ValueError:
        return Token(text, text)


def _words(text: str) -> list[Token]:
    folded = text.casefold()
    if folded in _SHORT:
        return [Token(text, form_of(word)) for word in _SHORT[folded].split()]
    bare = folded.removesuffix("'s")
    form = form_of(bare)
    return [Token(text, _SAME.get(form, form))]


def form_of(word: str) -> str:
    """The form of a folded word that it has in common with its plural."""
    if word in _KEPT or len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith(("sses", "tuses")):
        return word[:-2]
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") else word


def forms_of(text: str) -> tuple[str, ...]:
    """The forms of the words of a text."""
    return tuple(token.form for token in _tokens(text))


def starts(tokens: Sequence[Token], place: int, words: Sequence[str]) -> bool:
    """Says whether these forms stand there."""
    if place >= len(tokens) or tokens[place].form != words[0]:
        return False  # nearly always: many phrases are tried at each word
    return [token.form for token in tokens[place : place + len(words)]] == list(words)
