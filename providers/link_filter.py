"""Takes links, images, HTML and addresses out of a text that comes piece by piece (decision 351).

What is taken out is decided by at most 512 characters from where it begins, so that the same text gives the same
however it is cut.
"""

import re
from dataclasses import dataclass, field
from typing import Final

REMOVED: Final = "[link removed]"
HELD_MAX: Final = 512
"""The characters that are held back while something may be open."""
_NAME: Final = r"A-Za-z0-9+.\-"
_NAME_MAX: Final = 32
_SCHEMES: Final = frozenset(
    {
        *("about", "blob", "chrome", "data", "file", "ftp", "ftps", "http", "https", "intent", "javascript", "mailto"),
        *("sms", "tel", "vbscript", "view-source", "ws", "wss", "callto", "sip", "skype", "ssh", "xmpp"),
    }
)
"""Those that lead somewhere without two slashes, too."""
_SPECIAL: Final = re.compile(
    rf"!?\[|[\]<]|//|(?<![{_NAME}])(?:www\.|[A-Za-z][{_NAME}]{{0,{_NAME_MAX - 1}}}:)", re.IGNORECASE | re.ASCII
)
_OPEN: Final = re.compile(rf"(?:/|!|(?<![{_NAME}])[A-Za-z][{_NAME}]{{0,{_NAME_MAX - 1}}})\Z")
"""The end of a text that may be the beginning of something."""
_BRACKET: Final = re.compile(r"[\[\]]")
_PARENTHESIS: Final = re.compile(r"[()]")
_WORD_END: Final = re.compile(r'[\s<>"]')
_BEHIND: Final = ").,;:!?]*_'"
"""The characters that stand behind an address more often than in it."""
_GLUE: Final = frozenset("([:")
"""The characters that would make a link of the brackets before them."""


@dataclass(frozen=True, slots=True)
class _Step:
    """So many characters are shown as they are, or taken out; `then` is shown behind those that are shown."""

    size: int
    is_removed: bool = False
    then: str = ""
    goes_on: bool = False
    """Whether all until the next blank is taken out, too."""


@dataclass(slots=True)
class Span:
    """A stretch of the text that went in, and where it came out; it is `whole` where nothing of it was taken out."""

    start: int
    end: int
    shown_at: int | None = None
    is_whole: bool = True


@dataclass(slots=True)
class LinkFilter:
    """The filter of one text. `shown` counts the characters that came out, `spans` are looked for until they have."""

    shown: int = 0
    removed: int = 0
    spans: list[Span] = field(default_factory=list)
    _held: str = ""
    _read: int = 0
    """How many characters came in before those that are held."""
    _before: str = ""
    _in_address: bool = False
    _after_removed: bool = False

    @property
    def read(self) -> int:
        """Says how many characters have come in."""
        return self._read + len(self._held)

    @property
    def held(self) -> int:
        """Says how many characters are held back."""
        return len(self._held)

    def feed(self, text: str, *, ends: bool = False) -> str:
        """Take more of the text, and return what may be shown by now; all of the rest where it ends."""
        self._held += text
        found: list[str] = []
        line, at = self._before + self._held, len(self._before)
        first = at
        while at < len(line):
            step = self._step(line, at, ends)
            if step is None:
                break
            self._take(line, at, step, self._read - first, found)
            at += step.size
        if at > first:
            self._before = line[at - 1]
        self._held, self._read = line[at:], self._read + at - first
        if ends:
            self._in_address, self._after_removed = False, self._after_removed or self._before == "]"
        return "".join(found)

    def _take(self, line: str, at: int, step: _Step, offset: int, found: list[str]) -> None:
        """Show the step's characters, or what stands in their place; `offset` is between the line and the text."""
        start, end = at + offset, at + step.size + offset
        if step.is_removed:
            for span in self.spans:
                span.is_whole &= end <= span.start or span.end <= start
            if step.size and not self._in_address:
                self._put(REMOVED, found)
                self._after_removed = True
                self.removed += 1
            self._in_address = step.goes_on
            return
        text = line[at : at + step.size]
        if not text:
            return
        if self._after_removed and text[0] in _GLUE:
            self._put(" ", found)
        for span in self.spans:
            if start <= span.start < end:
                span.shown_at = self.shown + span.start - start
        self._put(text + step.then, found)
        self._after_removed = False

    def _put(self, text: str, found: list[str]) -> None:
        if text == REMOVED and self._after_removed:
            text = f" {text}"
        found.append(text)
        self.shown += len(text)

    def _step(self, line: str, at: int, ends: bool) -> _Step | None:
        """Decide what becomes of the characters there; None where more of the text says it."""
        if self._in_address:
            return self._rest_of_address(line, at)
        special = _SPECIAL.search(line, at)
        until = special.start() if special is not None else len(line)
        if until > at:
            if special is None and not ends and (tail := _OPEN.search(line, max(at, len(line) - _NAME_MAX))):
                until = tail.start()
            return _Step(until - at) if until > at else None
        text = line[at : special.end()] if special is not None else ""
        match text[-1]:
            case "[":
                return _bracket(line, at, len(text), ends)
            case "]":
                return _closing(line, at, ends)
            case "<":
                return _tag(line, at, ends)
        return _address(line, at, text, ends)

    def _rest_of_address(self, line: str, at: int) -> _Step:
        end = _end_of_word(line, at, len(line))
        if end == at:
            self._in_address = False
            return _Step(0)
        return _Step(end - at, is_removed=True, goes_on=end == len(line))


def _bracket(line: str, at: int, size: int, ends: bool) -> _Step | None:
    """`[text](address)` is taken out whole, an image likewise; what is none is text."""
    limit = at + HELD_MAX
    found = _BRACKET.search(line, at + size, limit)
    if found is None:
        return _Step(size) if ends or len(line) >= limit else None
    behind = found.end()
    if found[0] == "[" or behind >= limit:
        return _Step(size)
    if behind >= len(line):
        return _Step(size) if ends else None
    if line[behind] != "(":
        return _Step(size)
    return _destination(line, at, behind, ends)


def _closing(line: str, at: int, ends: bool) -> _Step | None:
    """The end of what a link shows, where its beginning was too far away; `]:` would name an address."""
    if at + 1 >= len(line):
        return _Step(1) if ends else None
    if line[at + 1] == "(":
        return _destination(line, at, at + 1, ends)
    return _Step(1, then=" ") if line[at + 1] == ":" else _Step(1)


def _destination(line: str, at: int, behind: int, ends: bool) -> _Step | None:
    """From there to the parenthesis that closes the one `behind`; where that is far, what leads to it."""
    depth = 0
    for found in _PARENTHESIS.finditer(line, behind, at + HELD_MAX):
        depth += 1 if found[0] == "(" else -1
        if not depth:
            return _Step(found.end() - at, is_removed=True)
    return _Step(behind + 1 - at, is_removed=True) if ends or len(line) >= at + HELD_MAX else None


def _tag(line: str, at: int, ends: bool) -> _Step | None:
    if at + 1 >= len(line):
        return _Step(1, then=" ") if ends else None
    if not (line[at + 1].isalpha() or line[at + 1] in "/!?"):
        return _Step(1)
    end = line.find(">", at, at + HELD_MAX)
    if end >= 0:
        return _Step(end + 1 - at, is_removed=True)
    return _Step(1, then=" ") if ends or len(line) >= at + HELD_MAX else None


def _address(line: str, at: int, text: str, ends: bool) -> _Step | None:
    """An address until the next blank, without the signs at its end; a word before a colon is often none."""
    behind, name = at + len(text), text[:-1].lower()
    if not ends and behind + 1 >= len(line) and (behind >= len(line) or line[behind] == "/"):
        return None
    leads = line.startswith("//", behind) if text[-1] == ":" else False
    if text == "//" or text[-1] == "." or name in _SCHEMES:
        leads |= behind < len(line) and not line[behind].isspace()
    if not leads:
        return _Step(len(text))
    end = _end_of_word(line, at, at + HELD_MAX)
    if end - at >= HELD_MAX:
        return _Step(end - at, is_removed=True, goes_on=True)
    if end == len(line) and not ends:
        return None
    whole = line[at:end]
    return _Step(max(len(whole.rstrip(_BEHIND)), len(text)), is_removed=True)


def _end_of_word(line: str, at: int, limit: int) -> int:
    found = _WORD_END.search(line, at, limit)
    return found.start() if found is not None else min(limit, len(line))
