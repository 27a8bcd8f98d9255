"""The detector of competitors with one expression for each term: slow, and what the fast one is held against."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from contract.limits import EVIDENCE_MAX, QUOTE_MAX
from resolvers.competitor_detection import Detected, Evidence, Known, Source

_WEIGHTS = {"name": 0.8, "domain": 0.8, "alias": 0.7}
_NEGATED = 0.25

_TOKEN = re.compile(r"[^\W_]+")
_RUN = re.compile(r"[\w.-]+")
_HOST_MAX = 253
_GAP = re.compile(r"[\s\u2010-\u2015_-]+")
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
class _Term:
    """A text that means a competitor, folded, as it is looked for from its first word on."""

    competitor: str
    kind: str
    text: str
    before: str
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Mention:
    start: int
    end: int
    term: _Term
    is_negated: bool = field(compare=False, default=False)


def detect(catalogue: Iterable[Known], sources: Iterable[Source]) -> list[Detected]:
    """The competitors that the texts mention, the surest first, then by name."""
    known = sorted(catalogue, key=lambda k: (k.name.casefold(), k.name))
    terms, domains = _terms(known), {_fold(d)[0]: k.name for k in reversed(known) for d in k.domains}
    found: dict[str, tuple[list[_Mention], list[Evidence]]] = {}
    for source in sources:
        text = unicodedata.normalize("NFC", source.text)
        folded, places = _fold(text)
        for mention in _judged(folded, _longest(_mentions(folded, terms, domains))):
            mentions, evidence = found.setdefault(mention.term.competitor, ([], []))
            mentions.append(mention)
            if len(evidence) < EVIDENCE_MAX:
                quote = _quote(text, places[mention.start], places[mention.end])
                evidence.append(Evidence(source.source, source.source_id, quote, source.at))
    detected = [Detected(name, _confidence(mentions), evidence) for name, (mentions, evidence) in found.items()]
    return sorted(detected, key=lambda d: (-d.confidence, d.name.casefold(), d.name))


def _confidence(mentions: Sequence[_Mention]) -> float:
    """The formula of docs/competitors.md, to two decimals."""
    plain = [_WEIGHTS[m.term.kind] for m in mentions if not m.is_negated]
    negated = [_WEIGHTS[m.term.kind] for m in mentions if m.is_negated]
    if not plain:
        return round(_NEGATED * max(negated), 2)
    doubt = 1.0
    for weight in plain:
        doubt *= 1 - weight
    share = len(plain) / len(mentions)
    return min(round((1 - doubt) * (1 + share) / 2, 2), 0.99)


def folded_name(name: str) -> str:
    """The name without regard to letter case and to the way its accents are written."""
    return _fold(unicodedata.normalize("NFC", name))[0]


def _fold(text: str) -> tuple[str, Sequence[int]]:
    """The text case-folded, and for each place in it, and its end, the place in the text."""
    folded = text.casefold()
    if len(folded) == len(text):  # folding makes no character shorter, so each is where it was
        return folded, range(len(text) + 1)
    places = [index for index, character in enumerate(text) for _ in character.casefold()]
    return folded, [*places, len(text)]


def _terms(known: Sequence[Known]) -> dict[str, list[_Term]]:
    """The names and aliases by their first words."""
    terms: dict[str, list[_Term]] = {}
    for competitor in known:
        for kind, texts in (("name", [competitor.name]), ("alias", competitor.aliases)):
            for text in texts:
                folded = folded_name(text).strip()
                first = _TOKEN.search(folded)
                if first is not None:
                    parts = (re.escape(part) for part in _GAP.split(folded[first.start() :]) if part)
                    pattern = re.compile(_GAP.pattern.join(parts) + (r"(?![^\W_])" if folded[-1].isalnum() else ""))
                    term = _Term(competitor.name, kind, folded, folded[: first.start()], pattern)
                    terms.setdefault(first[0], []).append(term)
    return terms


def _mentions(folded: str, terms: dict[str, list[_Term]], domains: dict[str, str]) -> Iterator[_Mention]:
    for token in _TOKEN.finditer(folded):
        for term in terms.get(token[0], ()):
            start = token.start() - len(term.before)
            matched = term.pattern.match(folded, token.start())
            if matched and start >= 0 and folded.startswith(term.before, start):
                yield _Mention(start, matched.end(), term)
    labels_max = max((domain.count(".") + 1 for domain in domains), default=0)
    for run in _RUN.finditer(folded) if domains else ():
        host = run[0].strip(".-")
        if "." not in host or len(host) > _HOST_MAX:
            continue
        labels = host.split(".")
        for size in range(min(labels_max, len(labels)), 1, -1):
            domain = ".".join(labels[-size:])
            if domain in domains:
                start = folded.index(host, run.start())
                yield _Mention(start, start + len(host), _Term(domains[domain], "domain", domain, "", _RUN))
                break


def _longest(mentions: Iterable[_Mention]) -> list[_Mention]:
    """Without those that a longer one overlaps, in the order of the text."""
    taken: list[_Mention] = []
    for mention in sorted(mentions, key=lambda m: (m.start - m.end, m.start)):
        place = bisect_left(taken, mention.start, key=lambda m: m.start)
        is_free = place == len(taken) or taken[place].start >= mention.end
        if is_free and (place == 0 or taken[place - 1].end <= mention.start):
            taken.insert(place, mention)
    return taken


def _judged(folded: str, mentions: Sequence[_Mention]) -> Iterator[_Mention]:
    """The mentions, each with whether its clause says no; what stands within a mention neither ends one nor denies."""
    if not mentions:
        return
    breaks = [match.start() for match in _STOP.finditer(folded)]
    denials = [match.start() for match in _CONTRACTED.finditer(folded)]
    before = ""
    for token in _TOKEN.finditer(folded):
        if token[0] in _CONTRAST:
            breaks.append(token.start())
        elif token[0] in _NEGATION or (before, token[0]) in _PAIRS:
            denials.append(token.start())
        before = token[0]
    breaks.sort()
    denials.sort()
    for mention in mentions:
        first, last = bisect_left(breaks, mention.start), bisect_left(breaks, mention.end)
        start = breaks[first - 1] if first else 0
        end = breaks[last] if last < len(breaks) else len(folded)
        outside = _any_between(denials, start, mention.start) or _any_between(denials, mention.end, end)
        yield _Mention(mention.start, mention.end, mention.term, outside)


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
