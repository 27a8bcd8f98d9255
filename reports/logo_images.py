"""A logo as what each file can hold: Typst draws vectors, a workbook and a deck take pictures only."""

from functools import lru_cache
from io import BytesIO

import typst
from PIL import Image

from reports.logo import Logo

_LONGEST = 1_000
_PAGE = b"""#set page(width: auto, height: auto, margin: 0pt, fill: none)
#image(bytes(sys.inputs.logo), width: 240pt)
"""


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
    made = BytesIO()
    picture.save(made, "PNG")
    return made.getvalue()


def _drawn(svg: bytes) -> bytes:
    made = typst.compile(
        _PAGE, ignore_system_fonts=True, format="png", ppi=220, sys_inputs={"logo": svg.decode()}
    )
    return made if isinstance(made, bytes) else made[0]
