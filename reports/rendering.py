"""Does what reports need done in child processes: judges logos, and renders. What is slow to load is loaded there."""

from dataclasses import dataclass

from contract.errors import Problems
from providers.children.limits import Limits
from reports.content import ArtifactKind
from reports.logo import read_logo
from reports.reading import Stored, content_of

_MEBIBYTE = 1024 * 1024
CHECKING = Limits("checking", processes=1, memory_bytes=128 * _MEBIBYTE, processor_seconds=2, seconds=5)
"""The limits for requests, which wait: a logo is read, and not drawn."""
DRAWING = Limits("drawing", processes=2, memory_bytes=128 * _MEBIBYTE, processor_seconds=5, seconds=15)
RENDERING = Limits(
    "rendering",
    processes=1,
    memory_bytes=256 * _MEBIBYTE,
    processor_seconds=120,
    seconds=240,
    result_bytes=32 * _MEBIBYTE,
    is_heavy=True,
)
"""The heaviest content that is accepted takes some 200 MiB of these, and 10 to 20 seconds."""


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A file and what is said about it; `suffix` is that of its name, without the dot."""

    kind: ArtifactKind
    name: str
    suffix: str
    content_type: str
    data: bytes
    sha256: str


def logo_problem(uri: str) -> str:
    """Says what is wrong with a logo; nothing where it can be taken."""
    try:
        read_logo(uri)
    except ValueError as error:
        return str(error)
    return ""


def is_drawable(uri: str) -> bool:
    """Says whether a logo can be taken and drawn in every way that a report draws it: tried, where it harms nobody."""
    from reports.logo_images import in_pdf, raster

    try:
        logo = read_logo(uri)
    except ValueError:
        return False
    return raster(logo) is not None and (not logo.is_vector or in_pdf(logo))


def render_stored(stored: Stored) -> tuple[RenderedFile, ...] | str:
    """The files of a stored revision, or what is wrong with them."""
    from reports.files import render_all

    try:
        content = content_of(**stored)
    except Problems as error:
        return error.message
    return render_all(content)
