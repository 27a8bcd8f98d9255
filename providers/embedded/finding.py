"""Finds the record that a name means: the only one of it, or a question which one is meant (decision 353)."""

import unicodedata
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final

from providers.embedded.steps import Asked, Lines, Outcome, Pick, Request, Step, one, refused
from providers.embedded.words import words_of

KINDS: Final = ("account", "contact", "deal", "lead", "meeting")
"""The kinds of records that a search finds by name."""
TOLD_MAX: Final = 5
WHICH: Final = "Which one do you mean? Answer with its number."
_SOUGHT: Final = 20


@dataclass(frozen=True, slots=True)
class Found:
    """A record."""

    kind: str
    id: str
    label: str

    @property
    def mark(self) -> str:
        """The mark that names it in an answer."""
        return mark(self.kind, self.id)


def mark(kind: str, id: str) -> str:
    """Write the mark that names a record in an answer, and becomes its name and a citation."""
    return f"[[{kind}:{id}]]"


def label_of(node: dict[str, object]) -> str:
    """A record's name as its row has it."""
    name = node.get("name") or node.get("subject")
    return str(name or " ".join(str(node[key]) for key in ("firstName", "lastName") if node.get(key)))


def find(asked: Asked, name: str, kinds: Sequence[str]) -> Generator[Step, Sequence[Outcome], Found | Lines]:
    """The record of that name, or what is said instead."""
    types = [kind.upper() for kind in kinds]
    outcome = yield from one(Request("search", {"query": name, "types": types, "first": _SOUGHT}))
    return chosen(asked, name, kinds, outcome)


def chosen(asked: Asked, name: str, kinds: Sequence[str], outcome: Outcome) -> Found | Lines:
    """The only record of that name among what the search gave, or what is said instead."""
    if not outcome.is_ok:
        return refused(outcome)
    hits = [hit for hit in _hits(outcome.data) if hit.kind in kinds]
    sought, parts = _folded(name), {word.form for word in words_of(name)}
    exact = [hit for hit in hits if _folded(hit.label) == sought]
    named = exact or [hit for hit in hits if _is_named(parts, hit.label)]
    if len(named) == 1:
        return named[0]
    what = " or ".join(kinds) if len(kinds) < len(KINDS) else "record"
    if not (named or hits):
        return [f"I found no {what} named «{name}»."]
    if asked.pick is not None:
        return _picked(asked.pick, named or hits)
    found = f"Several are named «{name}»:" if named else f"I found no {what} named «{name}», but these have the words:"
    return [found, *_numbered((named or hits)[:TOLD_MAX]), WHICH]


def _picked(pick: Pick, hits: Sequence[Found]) -> Found | Lines:
    """The one that was chosen by its number, if it still is the one that was told by it."""
    lines = _numbered(hits[:TOLD_MAX])
    at = pick.number - 1
    if at < len(lines) and _folded(f"{at + 1}. {hits[at].label} · {hits[at].kind}") == _folded(pick.line):
        return hits[at]
    return ["The records have changed meanwhile:", *lines, WHICH]


def _numbered(hits: Sequence[Found]) -> list[str]:
    return [f"{number}. {hit.mark} · {hit.kind}" for number, hit in enumerate(hits, 1)]


def _hits(data: object) -> list[Found]:
    found = []
    for hit in data if isinstance(data, list) else []:
        node = hit.get("node") if isinstance(hit, dict) else None
        if isinstance(node, dict) and node.get("id"):
            found.append(Found(str(hit.get("type", "")).lower(), str(node["id"]), label_of(node)))
    return found


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _is_named(parts: set[str], label: str) -> bool:
    return parts <= {word.form for word in words_of(label)}
