"""A logo as what each file can hold: Typst draws vectors, a workbook and a deck take pictures only.

For child processes: what is drawn may be meant to keep the machine busy.
"""

import re
from functools import lru_cache
from io import BytesIO

import typst
from PIL import Image

from reports.logo import Logo, check_size

_LONGEST = 1_000
_PAGE = b"""#set page(width: auto, height: auto, margin: 0pt, fill: none)
#image(bytes(sys.inputs.logo), width: 240pt)
"""
_PAGE_SIZE = re.compile(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def drawable(logo: Logo | None) -> Logo | None:
    """The logo as Typst takes it: an SVG image as it is, any other no larger than print needs; None if it cannot."""
    if logo is None or raster(logo) is None:
        return None
    return logo if logo.is_vector else Logo("image/png", raster(logo) or b"")


@lru_cache(maxsize=16)
def raster(logo: Logo) -> bytes | None:
    """The logo as a PNG picture of at most 1,000 pixels a side; None where it turns out that it cannot be drawn."""
    try:
        data = _drawn(logo.data) if logo.is_vector else logo.data
        with Image.open(BytesIO(data)) as image:
            image.load()
            picture = image.convert("RGBA")
    except (typst.TypstError, OSError, ValueError, SyntaxError):
        return None
    picture.thumbnail((_LONGEST, _LONGEST), Image.Resampling.LANCZOS)
    if 0 in picture.size:
        return None
    return _png(picture)


@lru_cache(maxsize=16)
def on_plate(logo: Logo) -> bytes | None:
    """The logo as a PNG picture on white with a margin, so that it shows on a ground of any color."""
    found = raster(logo)
    if found is None:
        return None
    with Image.open(BytesIO(found)) as picture:
        margin = max(8, picture.height // 5)
        plate = Image.new("RGBA", (picture.width + 2 * margin, picture.height + 2 * margin), "#ffffff")
        plate.alpha_composite(picture.convert("RGBA"), (margin, margin))
    return _png(plate)


def _png(picture: Image.Image) -> bytes:
    made = BytesIO()
    picture.save(made, "PNG", dpi=(96, 96))
    return made.getvalue()


def _drawn(svg: bytes) -> bytes:
    """The picture. Raises ValueError or TypstError where it cannot be drawn; asked for its size before it is."""
    inputs = {"logo": svg.decode()}
    page = typst.compile(_PAGE, ignore_system_fonts=True, format="svg", sys_inputs=inputs)
    found = _PAGE_SIZE.search(page, 0, 2_000)
    if found is None:
        raise ValueError("has no size")
    check_size(float(found[1]), float(found[2]))
    made = typst.compile(_PAGE, ignore_system_fonts=True, format="png", ppi=220, sys_inputs=inputs)
    return made  # one page, one picture


def in_pdf(logo: Logo) -> bool:
    """Says whether a PDF can have a logo of vectors, which it takes as they are."""
    try:
        typst.compile(_PAGE, ignore_system_fonts=True, format="pdf", sys_inputs={"logo": logo.data.decode()})
    except (typst.TypstError, ValueError):
        return False
    return True


def size_of(picture: bytes) -> tuple[int, int]:
    """Width and height of a picture, in pixels."""
    with Image.open(BytesIO(picture)) as image:
        return image.size
