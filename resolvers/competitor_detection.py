"""Which competitors texts speak of: pure, the same for the same texts and catalogue (docs/competitors.md).

A competitor is found by whole words: its name, its aliases, its domains. Where two overlap the longer one counts. A
mention in a clause with a negation counts for little, and takes from what the others say.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from contract.limits import EVIDENCE_MAX, QUOTE_MAX

APPLIED = 0.5
"""From this confidence on a competitor is noted on the deal."""

_WEIGHTS = {"name": 0.8, "domain": 0.8, "alias": 0.7}
_NEGATED = 0.25

_TOKEN = re.compile(r"[^\W_]+")
_HOST = re.compile(r"[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)+")
_GAP = re.compile(r"[\s\u2010-\u2015_-]+")
_CLAUSE = re.compile(
    r"[!?;,\n()\u2026]+|[.:](?=\s|$)|\s[\u2013\u2014-]\s"
    r"|\b(?:but|however|although|whereas|aber|sondern|jedoch|mais|pero|sino)\b"
)
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|neither|nor|without|cannot|instead of|rather than"
    r"|nicht|kein|keine|keinen|keinem|keiner|ohne|nie|niemals|statt"
    r"|pas|sans|jamais|aucun|aucune|sin|nunca|ningún|ninguna)\b|n['\u2019]t\b"
)


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
    found: dict[str, list[tuple[_Mention, Evidence]]] = {}
    for source in sources:
        text = unicodedata.normalize("NFC", source.text)
        folded, places = _fold(text)
        for mention in _judged(folded, _longest(_mentions(folded, terms, domains))):
            quote = _quote(text, places[mention.start], places[mention.end])
            evidence = Evidence(source.source, source.source_id, quote, source.at)
            found.setdefault(mention.term.competitor, []).append((mention, evidence))
    detected = [
        Detected(name, _confidence([m for m, _ in pairs]), [evidence for _, evidence in pairs][:EVIDENCE_MAX])
        for name, pairs in found.items()
    ]
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
    for host in _HOST.finditer(folded) if domains else ():
        labels = host[0].split(".")
        for index in range(len(labels) - 1):
            domain = ".".join(labels[index:])
            if domain in domains:
                yield _Mention(host.start(), host.end(), _Term(domains[domain], "domain", domain, "", _HOST))
                break


def _longest(mentions: Iterable[_Mention]) -> list[_Mention]:
    """Without those that a longer one overlaps, in the order of the text."""
    kept: list[_Mention] = []
    taken: set[int] = set()
    for mention in sorted(mentions, key=lambda m: (m.start - m.end, m.start)):
        span = range(mention.start, mention.end)
        if taken.isdisjoint(span):
            taken.update(span)
            kept.append(mention)
    return sorted(kept, key=lambda m: m.start)


def _judged(folded: str, mentions: Sequence[_Mention]) -> Iterator[_Mention]:
    """The mentions, each with whether its clause says no."""
    if not mentions:
        return
    breaks = [match.span() for match in _CLAUSE.finditer(folded)]
    at = 0
    for mention in mentions:
        # What stands within a mention, such as the comma of a name, ends no clause.
        while at < len(breaks) and breaks[at][1] <= mention.start:
            at += 1
        start = breaks[at - 1][1] if at else 0
        end = next((first for first, _ in breaks[at:] if first >= mention.end), len(folded))
        clause = f"{folded[start : mention.start]} | {folded[mention.end : end]}"
        yield _Mention(mention.start, mention.end, mention.term, _NEGATION.search(clause) is not None)


def _quote(text: str, start: int, end: int) -> str:
    """The words around the mention, in one line."""
    room = max(QUOTE_MAX - (end - start), 0) // 2
    first, last = max(start - room, 0), min(end + room, len(text))
    while 0 < first < start and text[first - 1].isalnum():
        first += 1
    while end < last < len(text) and text[last].isalnum():
        last -= 1
    line = " ".join(text[first:last].split())
    return ("…" if text[:first].strip() else "") + line + ("…" if text[last:].strip() else "")
