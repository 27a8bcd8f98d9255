"""Finds what the bytes of a file are: of its beginning and its end, never of its name. No archive is opened.

Decision 392 says more.
"""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import puremagic

UNKNOWN: Final = "application/octet-stream"
PLAIN: Final = "text/plain"
_TEXTS: Final = frozenset({"text/csv", "application/json", "text/markdown"})
"""Kinds of text that nothing but the sender's word tells from others."""
_SIGNATURES: Final = (
    (re.compile(rb"%PDF-"), "application/pdf"),
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)
"""The kinds that browsers may show, told by the whole of their signature at the very beginning."""
SHOWN: Final = frozenset({PLAIN, *(kind for _, kind in _SIGNATURES)})
"""The kinds that may be shown in a page's place."""
_MARKUP: Final = (
    (re.compile(r"<svg[\s>/]", re.IGNORECASE), "image/svg+xml"),
    (
        re.compile(
            r"<(!doctype\s+html|html|head|body|script|iframe|title|meta|link|style|div|table|a|br|p|h1|b|img)[\s>/]",
            re.IGNORECASE,
        ),
        "text/html",
    ),
)
_CONTROLS: Final = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_ZIP: Final = b"PK\x03\x04"
_SURE: Final = 0.3
"""The confidence that three bytes of a signature give."""
_LONGEST: Final = 100


def sniffed(head: bytes, tail: bytes, declared: str | None = None) -> str:
    """The media type of a file with this beginning and this end.

    What the sender declared counts only among kinds that the bytes may be.
    """
    said = (declared or "").partition(";")[0].strip().lower()
    for signature, kind in _SIGNATURES:
        if signature.match(head):
            return kind
    text = _text(head, tail)
    if text is not None:
        return _kind_of_text(text, said)
    return _kind_of_binary(head, tail, said)


def _text(head: bytes, tail: bytes) -> str | None:
    """The beginning as text, where both are UTF-8 without control characters; cut characters count as whole."""
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.end < len(head) or error.reason != "unexpected end of data":
            return None
        text = head[: error.start].decode("utf-8-sig")
    begins = next((place for place, byte in enumerate(tail[:4]) if byte & 0xC0 != 0x80), 0)
    try:
        end = tail[begins:].decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROLS.search(text) or _CONTROLS.search(end) else text


def _kind_of_text(text: str, said: str) -> str:
    for markup, kind in _MARKUP:
        if markup.search(text):
            return kind
    if text.lstrip().startswith("<?xml"):
        return "application/xml"
    return said if said in _TEXTS else PLAIN


def _kind_of_binary(head: bytes, tail: bytes, said: str) -> str:
    import puremagic  # its table of signatures takes more than 1 MiB, which only uploads need

    try:
        matches = puremagic.magic_string(head + tail)
    except puremagic.PureError:
        return UNKNOWN
    found = [match for match in matches if match.mime_type and match.confidence >= _SURE]
    best = [match for match in found if _rank(match) == _rank(found[0])]
    kinds: list[str] = list(dict.fromkeys(match.mime_type for match in best))
    if said in kinds:
        return said
    if head.startswith(_ZIP):
        return "application/zip"
    if len(kinds) != 1 or kinds[0].startswith("text/") or kinds[0] in SHOWN or len(kinds[0]) > _LONGEST:
        return UNKNOWN
    return kinds[0]


def _rank(match: "puremagic.PureMagicWithConfidence") -> tuple[float, int]:
    return match.confidence, len(match.byte_match)
