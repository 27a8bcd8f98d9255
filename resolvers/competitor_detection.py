"""Finds which competitors texts speak of: pure, the same for the same texts and catalogue (docs/competitors.md).

A competitor is found by whole words: its name, its aliases, its domains. Where two overlap the longer one counts. A
mention in a clause with a negation counts for little, and takes from what the others say.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from typing import NamedTuple

from contract.limits import EVIDENCE_MAX, QUOTE_MAX
from contract.normal_form import normal_form
from resolvers.competitor_phrases import TOKEN, Pace, Phrases, Squeezed, Start, Term

APPLIED = 0.5
"""The confidence from which on a competitor is noted on the deal."""

_WEIGHTS = {"name": 0.8, "domain": 0.8, "alias": 0.7}
_NEGATED = 0.25

_RUN = re.compile(r"[\w.-]+")
_HOST_MAX = 253
_STOP = re.compile(r"[!?;,\n()\u2026]+|[.:](?=\s|$)|\s[\u2013\u2014-]\s")
_CONTRAST = frozenset(["but", "however", "although", "whereas", "aber", "sondern", "jedoch", "mais", "pero", "sino"])
_NEGATION = frozenset(
    [
        *("no", "not", "never", "none", "neither", "nor", "without", "cannot"),
        *("nicht", "kein", "keine", "keinen", "keinem", "keiner", "ohne", "nie", "niemals", "statt"),
        *("pas", "sans", "jamais", "aucun", "aucune", "sin", "nunca", "ningún", "ninguna"),
    ]
)
_PAIRS = frozenset({("instead", "of"), ("rather", "than")})
_CONTRACTED = re.compile(r"n['\u2019]t(?![^\W_])")


@dataclass(frozen=True, slots=True)
class Known:
    """A competitor of the catalogue."""

    name: str
    aliases: Sequence[str] = ()
    domains: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A text to be read: what it is, of which record, and of when."""

    source: str
    source_id: str
    at: datetime | None
    text: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """A mention: where it stands, and the words around it."""

    source: str
    source_id: str
    quote: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Detected:
    """A competitor that is mentioned; `confidence` lies between 0 and 1."""

    name: str
    confidence: float
    evidence: list[Evidence]


class _Mention(NamedTuple):
    start: int
    end: int
    term: Term


@dataclass(slots=True)
class _Tally:
    """Adds up what the mentions of a competitor say together: the formula of docs/competitors.md."""

    doubt: float = 1.0
    plain: int = 0
    number: int = 0
    negated: float = 0.0
    evidence: list[Evidence] = field(default_factory=list)

    def add(self, kind: str, is_negated: bool) -> None:
        """Count a mention."""
        self.number += 1
        if is_negated:
            self.negated = max(self.negated, _WEIGHTS[kind])
        else:
            self.plain += 1
            self.doubt *= 1 - _WEIGHTS[kind]

    @property
    def confidence(self) -> float:
        """The confidence to two decimals."""
        if not self.plain:
            return round(_NEGATED * self.negated, 2)
        return min(round((1 - self.doubt) * (1 + self.plain / self.number) / 2, 2), 0.99)


def detect(catalogue: Iterable[Known], sources: Iterable[Source], pace: Pace = lambda: None) -> list[Detected]:
    """The competitors that the texts mention, the surest first, then by name.

    The time is linear in the texts and the catalogue; `pace` is called every few steps, and may raise to end it.
    """
    known = sorted(catalogue, key=lambda k: (k.name.casefold(), k.name))
    phrases = Phrases(_terms(known), pace)
    domains = {_fold(d)[0]: k.name for k in reversed(known) for d in k.domains}
    tallies: dict[str, _Tally] = {}
    for source in sources:
        pace()
        text = normal_form("NFC", source.text)
        folded, places = _fold(text)
        for mention, is_negated in _judged(folded, _mentions(folded, phrases, domains, pace), pace):
            tally = tallies.setdefault(mention.term.competitor, _Tally())
            tally.add(mention.term.kind, is_negated)
            if len(tally.evidence) < EVIDENCE_MAX:
                quote = _quote(text, places[mention.start], places[mention.end])
                tally.evidence.append(Evidence(source.source, source.source_id, quote, source.at))
    detected = [Detected(name, tally.confidence, tally.evidence) for name, tally in tallies.items()]
    return sorted(detected, key=lambda d: (-d.confidence, d.name.casefold(), d.name))


def folded_name(name: str) -> str:
    """The name without regard to letter case and to the way its accents are written."""
    return _fold(normal_form("NFC", name))[0]


def _fold(text: str) -> tuple[str, Sequence[int]]:
    """The text case-folded, and for each place in it, and its end, the place in the text."""
    folded = text.casefold()
    if len(folded) == len(text):  # folding makes no character shorter, so each is where it was
        return folded, range(len(text) + 1)
    places = [index for index, character in enumerate(text) for _ in character.casefold()]
    return folded, [*places, len(text)]


def _terms(known: Sequence[Known]) -> Iterator[tuple[str, Term]]:
    """The names and aliases, folded, and what they stand for."""
    for competitor in known:
        for kind, texts in (("name", [competitor.name]), ("alias", competitor.aliases)):
            for text in texts:
                yield folded_name(text).strip(), Term(competitor.name, kind)


def _hosts(folded: str, domains: dict[str, str], pace: Pace) -> Iterator[_Mention]:
    """The names of hosts in these domains, each in the smallest part of the text that names it."""
    labels_max = max((domain.count(".") + 1 for domain in domains), default=0)
    for run in _RUN.finditer(folded) if domains else ():
        pace()
        host = run[0].strip(".-")
        if "." not in host or len(host) > _HOST_MAX:
            continue
        labels = host.split(".")
        for size in range(min(labels_max, len(labels)), 1, -1):
            domain = ".".join(labels[-size:])
            if domain in domains:
                start = folded.index(host, run.start())
                yield _Mention(start, start + len(host), Term(domains[domain], "domain"))
                break


def _mentions(folded: str, phrases: Phrases, domains: dict[str, str], pace: Pace) -> list[_Mention]:
    """The mentions without those that a longer one overlaps, in the order of the text.

    The longest is taken first. Of all phrases that start at one place only the longest that still fits is ever looked
    at: the next shorter one takes its turn where what was taken meanwhile is in the way.
    """
    squeezed = Squeezed(folded, pace)
    turns: list[tuple[int, int, bool, _Mention, Start | None]] = []

    def queue(mention: _Mention, start: Start | None) -> None:
        heappush(turns, (mention.start - mention.end, mention.start, start is None, mention, start))

    for start in phrases.starts(folded, squeezed, pace):
        if (found := start.find(squeezed, len(folded))) is not None:
            queue(_Mention(start.place, *found), start)
    for mention in _hosts(folded, domains, pace):
        queue(mention, None)
    taken: list[_Mention] = []
    is_taken = bytearray(len(folded))
    while turns:
        pace()
        *_, mention, again = heappop(turns)
        if is_taken[mention.start]:
            continue
        # What was taken is no shorter, so where it overlaps, it covers one of the ends.
        if not is_taken[mention.end - 1]:
            is_taken[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
            taken.append(mention)
        elif again is not None:
            found = again.find(squeezed, is_taken.index(1, mention.start))
            if found is not None:
                queue(_Mention(mention.start, *found), again)
    return sorted(taken)


def _judged(folded: str, mentions: Sequence[_Mention], pace: Pace) -> Iterator[tuple[_Mention, bool]]:
    """The mentions, each with whether its clause says no; what stands within a mention neither ends one nor denies."""
    if not mentions:
        return
    breaks = _starts(_STOP, folded, pace)
    denials = _starts(_CONTRACTED, folded, pace)
    before = ""
    for token in TOKEN.finditer(folded):
        pace()
        if token[0] in _CONTRAST:
            breaks.append(token.start())
        elif token[0] in _NEGATION or (before, token[0]) in _PAIRS:
            denials.append(token.start())
        before = token[0]
    breaks.sort()
    denials.sort()
    for mention in mentions:
        pace()
        first, last = bisect_left(breaks, mention.start), bisect_left(breaks, mention.end)
        start = breaks[first - 1] if first else 0
        end = breaks[last] if last < len(breaks) else len(folded)
        outside = _any_between(denials, start, mention.start) or _any_between(denials, mention.end, end)
        yield mention, outside


def _starts(pattern: re.Pattern[str], text: str, pace: Pace) -> list[int]:
    places = []
    for match in pattern.finditer(text):
        pace()
        places.append(match.start())
    return places


def _any_between(places: Sequence[int], start: int, end: int) -> bool:
    found = bisect_left(places, start)
    return found < len(places) and places[found] < end


def _quote(text: str, start: int, end: int) -> str:
    """The words around the mention, in one line."""
    room = max(QUOTE_MAX - (end - start), 0) // 2
    first, last = max(start - room, 0), min(end + room, len(text))
    while 0 < first < start and text[first - 1].isalnum():
        first += 1
    while end < last < len(text) and text[last].isalnum():
        last -= 1
    line = " ".join(text[first:last].split())
    return ("…" if first else "") + line + ("…" if last < len(text) else "")
