"""The logo on a report: an image that came as data, checked so far that every renderer can draw it.

It comes from any editor of the report, so an address is never followed: not the logo's own, and none inside an SVG
image, which may hold shapes, gradients and text, and nothing that loads, repeats or runs (decision 58).
"""

import base64
import binascii
import re
import warnings
from dataclasses import dataclass
from io import BytesIO
from urllib.parse import unquote_to_bytes
from xml.parsers import expat

MOST_BYTES = 256 * 1024
MOST_PIXELS = 4_000_000
MOST_RATIO = 20
"""The factor by which one side may be longer than the other: what is drawn has as many pixels as its ratio says."""
_URI = re.compile(r"data:(image/(?:png|jpeg|jpg|svg\+xml))((?:;[\w=\-]+)*?)(;base64)?,(.*)", re.DOTALL | re.IGNORECASE)
_SVG = "image/svg+xml"
_RASTER = {"image/png": "PNG", "image/jpeg": "JPEG"}
_NAMESPACE = "http://www.w3.org/2000/svg"
_MOST_ELEMENTS = 5_000
_ELEMENTS = frozenset(
    (
        "svg",
        "g",
        "defs",
        "title",
        "desc",
        "metadata",
        "path",
        "rect",
        "circle",
        "ellipse",
        "line",
        "polyline",
        "polygon",
        "text",
        "tspan",
        "clipPath",
        "linearGradient",
        "radialGradient",
        "stop",
        "style",
    )
)
_LENGTH = re.compile(r"(\+?(?:\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})(?:e[+-]?\d{1,2})?)([a-z]*)$", re.IGNORECASE)
_UNITS = {
    "": 1.0,
    "px": 1.0,
    "pt": 4 / 3,
    "pc": 16.0,
    "mm": 96 / 25.4,
    "cm": 96 / 2.54,
    "in": 96.0,
    "em": 12.0,
    "ex": 6.0,
}
_OUTSIDE = "must not refer to anything outside of the image"
_REFERENCE = re.compile(r"url\(\s*['\"]?\s*(?!#)|@import|\bsrc\s*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Logo:
    """A checked image: `image/png`, `image/jpeg` or `image/svg+xml`, and its bytes."""

    media_type: str
    data: bytes

    @property
    def is_vector(self) -> bool:
        return self.media_type == _SVG


def read_logo(uri: str) -> Logo:
    """The logo of a `data:` URI. Raises ValueError, whose text says what is wrong."""
    found = _URI.fullmatch(uri.strip())
    if found is None:
        raise ValueError("must be a data: URI of a PNG, JPEG or SVG image")
    media_type = found[1].lower().replace("image/jpg", "image/jpeg")
    if len(found[4]) > 4 * MOST_BYTES:
        raise ValueError(f"must be at most {MOST_BYTES // 1024} KiB")
    data = _decoded(found[4], base64_coded=bool(found[3]))
    if len(data) > MOST_BYTES:
        raise ValueError(f"must be at most {MOST_BYTES // 1024} KiB")
    if media_type == _SVG:
        _check_svg(data)
    else:
        _check_raster(data, _RASTER[media_type])
    return Logo(media_type, data)


def check_size(width: float, height: float) -> None:
    """Raise ValueError where one side is too much longer than the other, or either is no length."""
    if not (0 < width <= MOST_RATIO * height and 0 < height <= MOST_RATIO * width):
        raise ValueError(f"must not be more than {MOST_RATIO} times as wide as high, or as high as wide")


def _decoded(text: str, *, base64_coded: bool) -> bytes:
    raw = unquote_to_bytes(text)
    if not base64_coded:
        return raw
    try:
        return base64.b64decode(b"".join(raw.split()), validate=True)
    except binascii.Error:
        raise ValueError("is no valid base64") from None


def _check_raster(data: bytes, form: str) -> None:
    from PIL import Image  # 2 MiB, which only child processes take

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(BytesIO(data), formats=[form]) as image:
                width, height = image.size
                if width * height > MOST_PIXELS:
                    raise ValueError(f"must have at most {MOST_PIXELS} pixels")
                check_size(width, height)
                image.load()
    except (OSError, SyntaxError, Image.DecompressionBombError):
        raise ValueError(f"is no readable {form} image") from None


def _check_stated_size(attributes: dict[str, str]) -> None:
    """Raise ValueError for a size that an SVG image states; whether it is drawn so is asked before it is drawn."""
    box = [_length(part, 0.0) for part in re.split(r"[\s,]+", attributes.get("viewBox", "").strip()[:200])]
    width, height = (box[2], box[3]) if len(box) == 4 else (0.0, 0.0)
    sides = [(width, height), (_length(attributes.get("width"), width), _length(attributes.get("height"), height))]
    for wide, high in sides:
        if wide > 0 and high > 0:  # else it has a size that is usual, or none
            check_size(wide, high)


def _length(text: str | None, fallback: float) -> float:
    """A length of a number and a unit, in pixels; the fallback where it is none, or a share of what is around it."""
    found = _LENGTH.match((text or "").strip()[:50])
    return float(found[1]) * _UNITS[found[2].lower()] if found and found[2].lower() in _UNITS else fallback


def _check_svg(data: bytes) -> None:
    """Every element is of the few that only draw; nothing refers to anything outside of the image."""
    depth = count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        local = name.rpartition("}")[2]
        if count == 1:
            _check_stated_size(attributes)
            if local != "svg":
                raise ValueError("is no readable SVG image")
        if "}" in name and not name.startswith(f"{_NAMESPACE}}}"):
            return  # an editor's own notes, which nothing draws
        if local not in _ELEMENTS:
            raise ValueError(f"must be an SVG image of shapes and text: <{local[:40]}> is not accepted")
        if depth > 100 or count > _MOST_ELEMENTS:
            raise ValueError("is too large an SVG image")
        for key, value in attributes.items():
            if key.rpartition("}")[2] == "href" and not value.startswith("#"):
                raise ValueError(_OUTSIDE)
            words(value)

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def words(text: str) -> None:
        if _REFERENCE.search(text):
            raise ValueError(_OUTSIDE)

    def doctype(*_arguments: object) -> None:
        raise ValueError("must be an SVG image without a document type")

    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, words
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError:
        raise ValueError("is no readable SVG image") from None
