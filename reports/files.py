"""All files of one revision of a report: rendered from one content, with the names that a reader saves them under."""

from hashlib import sha256

from contract.vocabulary import MediaType
from reports.content import ArtifactKind, Content
from reports.deck import render_deck
from reports.pdf import render_pdf
from reports.rendering import RenderedFile
from reports.spreadsheet import render_spreadsheet
from reports.text import cut, one_line

_FORBIDDEN = str.maketrans(dict.fromkeys('/\\:*?"<>|', " "))


def render_all(content: Content) -> tuple[RenderedFile, ...]:
    """PDF, spreadsheet and deck, or an exception and none of them.

    CPU-bound, half a second to a few seconds, and done in a child process.
    """
    return tuple(_file(content, kind, render(content)) for kind, render in _RENDERERS.items())


def file_name(content: Content, suffix: str) -> str:
    """Makes the file's name that a reader finds in the downloads: prefix, company, what it is, revision."""
    parts = (content.bpo_prefix, content.company, content.title, f"r{content.revision}")
    words = (one_line(cut(part, 60).translate(_FORBIDDEN)) for part in parts)
    return " - ".join(word for word in words if word).lstrip(". -") + f".{suffix}"


def _file(content: Content, kind: ArtifactKind, data: bytes) -> RenderedFile:
    suffix = _SUFFIXES[kind]
    name = file_name(content, suffix)
    return RenderedFile(kind, name, suffix, MediaType[kind.name].value, data, sha256(data).hexdigest())


_RENDERERS = {
    ArtifactKind.PDF: render_pdf,
    ArtifactKind.SPREADSHEET: render_spreadsheet,
    ArtifactKind.DECK: render_deck,
}
_SUFFIXES = {ArtifactKind.PDF: "pdf", ArtifactKind.SPREADSHEET: "xlsx", ArtifactKind.DECK: "pptx"}
