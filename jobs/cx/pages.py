"""Reads one HTML page as plain facts; parsed by libxml2, which loads nothing, in a child process.

The elements are gone through once, and what lies above each is on a stack, so the cost is that of the page's length.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from jobs.cx.links import ADDRESS_MAX, Link, read_link

if TYPE_CHECKING:
    from lxml import html

_MOST_LINKS = _MOST_SCRIPTS = 1_000
_WORDS_MAX = 200
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_COLOR = re.compile(r"#(?:[0-9a-f]{6}|[0-9a-f]{3})\b", re.IGNORECASE)
_ABOVE = frozenset({"label", "form"})
_GATHERED = frozenset({"a", "title"})
_UNLABELLED_TYPES = {"hidden", "submit", "button", "image", "reset"}


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was read. `seconds` went by until its first byte, `size` are its bytes, header names lower case."""

    url: str
    kind: str
    seconds: float = 0.0
    size: int = 0
    headers: Mapping[str, str] | None = None
    language: str = ""
    title: str = ""
    description: str = ""
    viewport: str = ""
    headings: int = 0
    images: int = 0
    images_described: int = 0
    fields: int = 0
    fields_labelled: int = 0
    links: tuple[Link, ...] = ()
    scripts: tuple[str, ...] = ()
    languages: frozenset[str] = frozenset()
    has_message_form: bool = False
    has_search: bool = False
    has_linked_data: bool = False
    has_open_graph: bool = False
    theme_color: str = ""
    colors: tuple[str, ...] = ()
    logos: tuple[str, ...] = ()


def read_page(
    body: bytes, *, url: str, kind: str, content_type: str = "", seconds: float = 0.0, headers: Mapping[str, str]
) -> Page:
    """The facts of a page; of a body that is no HTML, those of an empty one."""
    found = _Reader(url)
    root = _parsed(body, content_type)
    if root is not None:
        found.read(root)
    meta = found.meta
    return Page(
        url=url,
        kind=kind,
        seconds=seconds,
        size=len(body),
        headers=headers,
        language=found.language,
        title=found.title.text,
        description=meta.get("description", ""),
        viewport=meta.get("viewport", "").replace(" ", "").lower(),
        headings=found.headings,
        images=found.images,
        images_described=found.images_described,
        fields=len(found.fields),
        fields_labelled=sum(found.is_labelled(one) for one in found.fields),
        links=tuple(read_link(url, words.text) for url, words in found.links),
        scripts=tuple(found.scripts),
        languages=frozenset(filter(None, {found.language, *found.alternates})),
        has_message_form=found.has_message_form,
        has_search=found.has_search,
        has_linked_data=found.has_linked_data,
        has_open_graph="og:title" in meta,
        theme_color=meta.get("theme-color", "").strip(),
        colors=tuple(color for color, _ in found.colors.most_common(20)),
        logos=tuple(url for _, url in sorted(found.logos)),
    )


def _parsed(body: bytes, content_type: str) -> html.HtmlElement | None:
    from lxml import etree, html  # 4 MiB, which only child processes take

    named = _CHARSET.search(content_type) or _CHARSET.search(body[:2_000].decode("latin-1"))
    for encoding in (named[1] if named else "utf-8", "utf-8"):
        try:
            parser = html.HTMLParser(encoding=encoding, no_network=True, remove_comments=True, remove_pis=True)
            return html.document_fromstring(body, parser=parser)
        except LookupError:  # an encoding that nobody knows
            continue
        except (etree.ParserError, etree.XMLSyntaxError, ValueError):
            return None
    return None


class _Words:
    """The beginning of an element's text, on one line, while that is gone through."""

    __slots__ = ("_room", "_words")

    def __init__(self) -> None:
        self._words: list[str] = []
        self._room = _WORDS_MAX

    @property
    def text(self) -> str:
        return " ".join(self._words)[:_WORDS_MAX]

    @property
    def is_full(self) -> bool:
        return self._room < 0

    def add(self, words: list[str]) -> None:
        self._words += words
        self._room -= len(self._words)


@dataclass(slots=True)
class _Open:
    """The elements whose text is being gathered: those that have none yet, and the others until they are full.

    Apart, so that blanks within many nested links are not handed to each of them.
    """

    empty: dict[html.HtmlElement, _Words] = field(default_factory=dict)
    begun: dict[html.HtmlElement, _Words] = field(default_factory=dict)

    def put(self, element: html.HtmlElement) -> _Words:
        words = self.empty[element] = _Words()
        return words

    def end(self, element: html.HtmlElement) -> None:
        self.empty.pop(element, None)
        self.begun.pop(element, None)

    def add(self, text: str | None) -> None:
        if not text or not (self.empty or self.begun):
            return
        words = text[: _WORDS_MAX * 4].split()
        if words and self.empty:
            self.begun |= self.empty
            self.empty.clear()
        for element in [element for element, kept in self.begun.items() if self._has_filled(kept, words)]:
            del self.begun[element]

    @staticmethod
    def _has_filled(kept: _Words, words: list[str]) -> bool:
        kept.add(words)
        return kept.is_full


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a form, and what may tell what it is for."""

    identifier: str | None
    is_named: bool


class _Reader:
    """Goes through the elements once."""

    def __init__(self, url: str) -> None:
        self._base = url
        self._has_base = False
        self.language = ""
        self.title = _Words()
        self.meta: dict[str, str] = {}
        self.headings = self.images = self.images_described = 0
        self.fields: list[_Field] = []
        self.links: list[tuple[str, _Words]] = []
        self.scripts: list[str] = []
        self.alternates: set[str] = set()
        self.colors: Counter[str] = Counter()
        self.logos: list[tuple[int, str]] = []
        self.has_message_form = self.has_search = self.has_linked_data = False
        self._labels: set[str] = set()
        self._above: Counter[str] = Counter()
        self._open = _Open()

    def read(self, root: html.HtmlElement) -> None:
        from lxml import etree

        self.language = _primary(root.get("lang"))
        for event, element in etree.iterwalk(root, events=("start", "end")):
            if event == "start":
                self._enter(element)
                self._open.add(element.text)
            else:
                self._leave(element)
                self._open.add(element.tail)

    def is_labelled(self, one: _Field) -> bool:
        """Says whether a person who does not see the field hears what it is for."""
        return one.is_named or one.identifier in self._labels

    def _enter(self, element: html.HtmlElement) -> None:
        _READERS.get(element.tag, _Reader._other)(self, element)
        for color in _COLOR.findall(element.get("style") or ""):
            self.colors[color.lower()] += 1
        if element.tag in _ABOVE:
            self._above[element.tag] += 1

    def _leave(self, element: html.HtmlElement) -> None:
        if element.tag in _ABOVE:
            self._above[element.tag] -= 1
        elif element.tag in _GATHERED:
            self._open.end(element)

    def _field(self, element: html.HtmlElement) -> None:
        named = any((element.get(name) or "").strip() for name in ("aria-label", "aria-labelledby", "title"))
        self.fields.append(_Field(element.get("id"), named or self._above["label"] > 0))

    def _other(self, element: html.HtmlElement) -> None:
        if element.get("role") == "search":
            self.has_search = True
        if element.get("itemtype"):
            self.has_linked_data = True

    def _base_address(self, element: html.HtmlElement) -> None:
        if element.get("href") is not None and not self._has_base:  # the first one counts, as in browsers
            self._base = self._address(element.get("href")) or self._base
            self._has_base = True

    def _title(self, element: html.HtmlElement) -> None:
        if not self.title.text:
            self.title = self._open.put(element)

    def _h1(self, _element: html.HtmlElement) -> None:
        self.headings += 1

    def _meta(self, element: html.HtmlElement) -> None:
        name = (element.get("name") or element.get("property") or "").lower()
        if name and name not in self.meta:
            self.meta[name] = (element.get("content") or "")[:1_000]

    def _link(self, element: html.HtmlElement) -> None:
        kinds = set((element.get("rel") or "").lower().split())
        address = self._address(element.get("href"))
        if "alternate" in kinds and element.get("hreflang"):
            self.alternates.add(_primary(element.get("hreflang")))
        if address and kinds & {"icon", "apple-touch-icon", "apple-touch-icon-precomposed"}:
            self.logos.append((1 if "icon" not in kinds else 2, address))

    def _a(self, element: html.HtmlElement) -> None:
        address = self._address(element.get("href"))
        if address and len(self.links) < _MOST_LINKS:
            self.links.append((address, self._open.put(element)))

    def _img(self, element: html.HtmlElement) -> None:
        self.images += 1
        self.images_described += element.get("alt") is not None  # an empty text says: only decoration
        says = " ".join(element.get(name) or "" for name in ("src", "alt", "class", "id")).lower()
        address = self._address(element.get("src"))
        if "logo" in says and address:
            self.logos.append((0, address))

    def _label(self, element: html.HtmlElement) -> None:
        self._labels.add(element.get("for") or "")
        self._labels.discard("")

    def _input(self, element: html.HtmlElement) -> None:
        kind = (element.get("type") or "text").lower()
        self.has_search = self.has_search or kind == "search"
        if kind not in _UNLABELLED_TYPES:
            self._field(element)

    def _textarea(self, element: html.HtmlElement) -> None:
        self._field(element)
        self.has_message_form = self.has_message_form or self._above["form"] > 0

    def _script(self, element: html.HtmlElement) -> None:
        if element.get("src") and len(self.scripts) < _MOST_SCRIPTS:
            self.scripts.append((element.get("src") or "")[:500].lower())
        if (element.get("type") or "").lower() == "application/ld+json" and (element.text or "").strip():
            self.has_linked_data = True

    def _style(self, element: html.HtmlElement) -> None:
        for color in _COLOR.findall((element.text or "")[:200_000]):
            self.colors[color.lower()] += 1

    def _address(self, href: str | None) -> str:
        """The absolute address; nothing where there is none, or it is longer than any that is called."""
        if not href or len(href) > ADDRESS_MAX:
            return ""
        try:
            joined = urljoin(self._base, href.strip())
            return joined if len(joined) <= ADDRESS_MAX and urlsplit(joined).scheme else ""
        except ValueError:  # brackets that do not match
            return ""


_READERS: dict[str, Callable[[_Reader, html.HtmlElement], None]] = {
    "base": _Reader._base_address,
    "title": _Reader._title,
    "h1": _Reader._h1,
    "meta": _Reader._meta,
    "link": _Reader._link,
    "a": _Reader._a,
    "img": _Reader._img,
    "label": _Reader._label,
    "input": _Reader._input,
    "select": _Reader._field,
    "textarea": _Reader._textarea,
    "script": _Reader._script,
    "style": _Reader._style,
}


def _primary(tag: str | None) -> str:
    """The language of a tag without its region: en of en-GB; nothing for x-default."""
    primary = (tag or "").strip().lower().replace("_", "-").partition("-")[0]
    return primary if re.fullmatch("[a-z]{2,3}", primary) else ""
