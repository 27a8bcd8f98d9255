"""Names at the end of a question: which kind they may be of, and how they are spelt."""

from collections.abc import Sequence
from typing import Final

from providers.embedded.listing import NOUNS, STATES
from providers.embedded.periods import period_at
from providers.embedded.steps import Asked
from providers.embedded.words import WordKind, between, each

_NAME_MAX: Final = 8
_ARTICLES: Final = frozenset({"the", "a", "an", "our"})
_CALLED: Final = frozenset({"called", "named"})
NO_NAMES: Final = each(
    "me my i you he she it we they them him her us that which who not without no never except than or and but over"
    " under more less least most best worst every all any how why what when should could would can will do does"
    " did is are was were have has if because to from with about by per since until before after between some"
    " something everything anything nothing someone somebody everyone everybody anyone anybody noone nobody none"
    " monday tuesday wednesday thursday friday saturday sunday"
    " this these those their your his please joke story weather email e-mail"
)
"""Words that no name is made of, unless it is quoted."""
_STATES: Final = frozenset(word for kind in STATES for word in STATES[kind])


def only_name(asked: Asked, start: int, end: int | None = None) -> str:
    """The name that the words there are, and nothing else; empty where they are none."""
    words = asked.words[start:end]
    if not words or len(words) > _NAME_MAX:
        return ""
    if len(words) == 1 and words[0].kind is WordKind.QUOTED:
        return between(asked.text, words[0], words[0])
    for at, word in enumerate(words):
        is_plural = word.form in NOUNS and word.text.lower() != word.form
        is_state = word.form in _STATES and not word.text[0].isupper()
        if word.kind is WordKind.QUOTED or word.form in NO_NAMES or is_plural or is_state:
            return ""
        if (word.is_owning and at + 1 < len(words)) or (len(words) == 1 and word.form in NOUNS):
            return ""
        if period_at(words, at, asked.today) is not None and word.kind is not WordKind.NUMBER:
            return ""
    return between(asked.text, words[0], words[-1])


def named_from(asked: Asked, start: int, kinds: Sequence[str], end: int | None = None) -> tuple[tuple[str, ...], str]:
    """The kinds that a name may be of, and the name, from there on: «the deal Acme renewal», «Acme»."""
    words = asked.words[:end]
    at = start
    while at < len(words) and words[at].form in _ARTICLES:
        at += 1
    kind = NOUNS.get(words[at].form) if at + 1 < len(words) else None
    if kind is not None and words[at].text.lower() == words[at].form:
        at += 1
        at += words[at].form in _CALLED and at + 1 < len(words)
        return ((kind,), only_name(asked, at, end)) if kind in kinds else ((), "")
    last = words[-1] if start < at < len(words) - 1 and words[at - 1].form == "the" else None
    if last is not None and last.text == last.form and NOUNS.get(last.form) in kinds:  # the Acme renewal deal
        return (NOUNS[last.form],), only_name(asked, at, len(words) - 1)
    return tuple(kinds), only_name(asked, at, end)
