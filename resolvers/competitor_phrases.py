"""Finding many phrases in a text at once, in time that grows with the text and hardly with the phrases.

Phrases that begin with the same word are kept in order, so that one binary search finds the longest of them that stands
at a place of the text, and another one the longest that ends before another place.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

TOKEN = re.compile(r"[^\W_]+")
_GAP = re.compile(r"[\s\u2010-\u2015_-]+")

Pace = Callable[[], None]
"""Called every few steps; it may raise, to end the work."""


class Term(NamedTuple):
    """The term that a phrase stands for."""

    competitor: str
    kind: str


class Squeezed:
    """A text with one space for each gap between its words; it knows where its places are in the text itself."""

    def __init__(self, text: str, pace: Pace) -> None:
        self.text = _GAP.sub(" ", text)
        # From each of these places on, as far as the next, both count alike.
        self._here, self._there = [0], [0]
        removed = 0
        for gap in _GAP.finditer(text) if len(self.text) < len(text) else ():
            pace()
            if (longer := gap.end() - gap.start() - 1) > 0:
                removed += longer
                self._here.append(gap.end() - removed)
                self._there.append(gap.end())

    def there(self, here: int) -> int:
        """The place in the text itself."""
        part = bisect_right(self._here, here) - 1
        return self._there[part] + here - self._here[part]

    def here(self, there: int) -> int:
        """The place of the text itself; within a gap it is the gap's."""
        part = bisect_right(self._there, there) - 1
        here = self._here[part] + there - self._there[part]
        return here if part + 1 == len(self._here) else min(here, self._here[part + 1] - 1)


class Phrases:
    """Terms by their folded texts, and those by their first words. Of equal texts the first one's term is found."""

    def __init__(self, terms: Iterable[tuple[str, Term]], pace: Pace) -> None:
        collected: dict[str, dict[str, dict[str, _Meaning]]] = {}
        for text, term in terms:
            pace()
            first = TOKEN.search(text)
            if first is not None:
                phrase = _GAP.sub(" ", text[first.start() :]).rstrip(" ")
                # What ends with a sign may stand right before a letter, but a first word is always a whole one.
                is_whole = text[-1].isalnum() or phrase == first[0]
                same = collected.setdefault(first[0], {}).setdefault(text[: first.start()], {})
                same[phrase] = same.get(phrase, _Meaning()).or_else(term, is_whole)
        self._by_first = {first: _SameFirst(by_signs, pace) for first, by_signs in collected.items()}

    def starts(self, text: str, squeezed: Squeezed, pace: Pace) -> Iterator["Start"]:
        """The places at which phrases may start, in order."""
        end = 0
        for token in TOKEN.finditer(squeezed.text):
            pace()
            same = self._by_first.get(token[0])
            if same is not None:
                place = squeezed.there(token.start())
                for signs, phrases in same.before(text, squeezed.there(end), place):
                    yield Start(place - signs, token.start(), phrases)
            end = token.end()


class _Meaning(NamedTuple):
    """The terms that a phrase stands for as whole words, and where it goes on as another word."""

    whole: Term | None = None
    begun: Term | None = None

    def or_else(self, term: Term, is_whole: bool) -> "_Meaning":
        """Returns the meaning with the term for what has none yet."""
        return _Meaning(self.whole or term, self.begun if is_whole else self.begun or term)


class _SameFirst:
    """Phrases with the same first word, by the signs that have to stand right before it."""

    def __init__(self, by_signs: dict[str, dict[str, _Meaning]], pace: Pace) -> None:
        self._by_signs = {signs: _Ordered(meanings, pace) for signs, meanings in by_signs.items()}
        self._lengths = sorted({len(signs) for signs in by_signs})

    def before(self, text: str, end: int, place: int) -> Iterator[tuple[int, "_Ordered"]]:
        """Finds those whose signs stand before the place, from where the word before it ends on; and how many signs."""
        for length in self._lengths:
            if place - length < end:
                return
            phrases = self._by_signs.get(text[place - length : place])
            if phrases is not None:
                yield length, phrases


class _Ordered:
    """Phrases in order. Each but the first, which is empty, is below the longest one that it begins with."""

    def __init__(self, meanings: dict[str, _Meaning], pace: Pace) -> None:
        self._phrases = ["", *sorted(meanings)]
        self._meanings = [_Meaning(), *(meanings[phrase] for phrase in self._phrases[1:])]
        self._longest = max(map(len, self._phrases))
        self._above, self._far_above, self._depths = [0], [0], [0]
        self._next = [0]
        """The longest phrase above that holds where this one stands."""
        for phrase in self._phrases[1:]:
            pace()
            self._append(phrase, self._climb(len(self._above) - 1, phrase))

    def _append(self, phrase: str, above: int) -> None:
        depths, far = self._depths, self._far_above
        # Far above is as far as it was from there to its own, twice: so a way up has few steps (skew-binary jumps).
        is_even = depths[above] - depths[far[above]] == depths[far[above]] - depths[far[far[above]]]
        goes_on = phrase[len(self._phrases[above])].isalnum()
        self._next.append(self._next[above] if goes_on and self._meanings[above].begun is None else above)
        self._above.append(above)
        far.append(far[far[above]] if is_even else above)
        depths.append(depths[above] + 1)

    def _climb(self, at: int, text: str) -> int:
        """Climbs from a phrase to the nearest one above, or itself, that the text begins with."""
        while not text.startswith(self._phrases[at]):
            far = self._far_above[at]
            at = self._above[at] if text.startswith(self._phrases[far]) else far
        return at

    def find(self, text: str, at: int, limit: int) -> tuple[int, Term] | None:
        """The longest phrase at this place of a squeezed text that ends at the limit at the latest."""
        piece = text[at : min(limit, at + self._longest)]
        found = self._climb(bisect_right(self._phrases, piece) - 1, piece)
        end = at + len(self._phrases[found])
        if text[end : end + 1].isalnum() and self._meanings[found].begun is None:
            found = self._next[found]
            end = at + len(self._phrases[found])
        whole, begun = self._meanings[found]
        term = begun if text[end : end + 1].isalnum() else whole
        return None if term is None else (end, term)


@dataclass(frozen=True, slots=True)
class Start:
    """A place of a text at which phrases may start, signs before the first word included."""

    place: int
    _at: int
    _phrases: _Ordered

    def find(self, squeezed: Squeezed, limit: int) -> tuple[int, Term] | None:
        """The longest phrase that ends at the limit at the latest; where it ends, and what it stands for."""
        found = self._phrases.find(squeezed.text, self._at, squeezed.here(limit))
        return None if found is None else (squeezed.there(found[0]), found[1])
