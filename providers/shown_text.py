"""Shows a model's answer as plain text whose citations are records that a tool gave (decisions 350, 351).

A pure filter: it knows no record but by what it is told of those that were seen, and holds for any cut of the text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from providers.link_filter import LinkFilter, Span

LABEL_MAX: Final = 200
_MARK: Final = re.compile(r"\[\[([A-Za-z_]{1,20}):([^\[\]\s]{1,100})\]\]")
_OPEN_MARK: Final = re.compile(r"\[(?:\[(?:[A-Za-z_]{1,20}(?::(?:[^\[\]\s]{1,100}\]?)?)?)?)?\Z")
"""The end of a text that may be the beginning of a mark."""
_OPEN_MARK_MAX: Final = 2 + 20 + 1 + 100 + 1
_LEFT_OUT: Final = {
    **dict.fromkeys((*range(9), 11, 12, *range(13, 32), *range(127, 160))),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A))),  # these turn the text around
    **dict.fromkeys(range(0xD800, 0xE000), "�"),
}


class ShownWarning(StrEnum):
    """A notice to the reader of what was taken out, each once."""

    LINK_REMOVED = "link_removed"
    UNCITED = "uncited"


@dataclass(frozen=True, slots=True)
class Citation:
    """A record that the text names: from one code point of all that was shown to another."""

    start: int
    end: int
    kind: str
    id: str
    label: str


@dataclass(frozen=True, slots=True)
class Shown:
    """The text that may be shown by now. The citations are of text that was shown before, or is in `text`."""

    text: str
    citations: tuple[Citation, ...] = ()
    warnings: tuple[ShownWarning, ...] = ()


@dataclass(slots=True)
class ShownText:
    """The filter of one message. `seen` has the names of records by kind and id, and may grow meanwhile.

    `start` is how much of the message was shown before; `warned` is what its reader has been told.
    """

    seen: Mapping[tuple[str, str], str]
    start: int = 0
    warned: set[ShownWarning] = field(default_factory=set)
    _links: LinkFilter = field(init=False)
    _held: str = ""
    _cited: list[tuple[Span, str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._links = LinkFilter(shown=self.start)

    @property
    def held(self) -> int:
        """Says how many characters are held back."""
        return len(self._held) + self._links.held

    def feed(self, text: str) -> Shown:
        """Some more of what the model says."""
        return self._shown(text, ends=False)

    def end(self) -> Shown:
        """Return what was held back, once the model says no more; what comes afterwards begins anew."""
        return self._shown("", ends=True)

    def _shown(self, text: str, *, ends: bool) -> Shown:
        held = self._held + text.translate(_LEFT_OUT)
        found, at = [], 0
        warnings: list[ShownWarning] = []
        for mark in _MARK.finditer(held):
            found.append(self._links.feed(held[at : mark.start()]))
            found.append(self._marked(mark[1].lower(), mark[2], warnings))
            at = mark.end()
        open_mark = None if ends else _OPEN_MARK.search(held, max(at, len(held) - _OPEN_MARK_MAX))
        until = len(held) if open_mark is None else open_mark.start()
        found.append(self._links.feed(held[at:until], ends=ends))
        self._held = held[until:]
        if self._links.removed:
            self._warn(ShownWarning.LINK_REMOVED, warnings)
        return Shown("".join(found), self._citations(), tuple(warnings))

    def _marked(self, kind: str, id: str, warnings: list[ShownWarning]) -> str:
        """Return what the filter of links shows by now of a record's name in the place of its mark."""
        label = self.seen.get((kind, id))
        if label is None:
            self._warn(ShownWarning.UNCITED, warnings)
            return ""
        shown = label_of(label) or kind
        span = Span(self._links.read, self._links.read + len(shown))
        self._links.spans.append(span)
        self._cited.append((span, kind, id, shown))
        return self._links.feed(shown)

    def _warn(self, warning: ShownWarning, warnings: list[ShownWarning]) -> None:
        if warning not in self.warned:
            self.warned.add(warning)
            warnings.append(warning)

    def _citations(self) -> tuple[Citation, ...]:
        """Those whose names have been shown whole by now."""
        found, left = [], []
        for span, kind, id, label in self._cited:
            if not span.is_whole:
                self._links.spans.remove(span)
            elif span.shown_at is not None and self._links.shown >= span.shown_at + len(label):
                found.append(Citation(span.shown_at, span.shown_at + len(label), kind, id, label))
                self._links.spans.remove(span)
            else:
                left.append((span, kind, id, label))
        self._cited = left
        return tuple(found)


def label_of(name: str) -> str:
    """A record's name on one line, without what is not shown."""
    links = LinkFilter()
    return links.feed(" ".join(name.translate(_LEFT_OUT).split())[:LABEL_MAX], ends=True)
