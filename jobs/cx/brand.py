"""Reads a company's look off its home page: its colors, and its logo where that is small and harmless."""

import base64
import re
from contextlib import suppress

from jobs.cx.pages import Page
from jobs.cx.site import SiteReader
from providers.children.errors import ChildError
from providers.children.pool import Children
from reports.colors import contrast, hex_color, rgb
from reports.logo import MOST_BYTES
from reports.rendering import DRAWING, is_drawable

_TYPES = ("image/png", "image/jpeg", "image/svg+xml")
_DRAWING_TRIED = 2
_GREY = 40
"""Channels that differ by less make a grey, which is no color of a brand."""


def colors_of(home: Page) -> dict[str, str]:
    """The primary color and, where there is a second one, the accent; nothing where the page names none."""
    named = [hex_color(color) for color in (home.theme_color, *home.colors)]
    found = [color for color in dict.fromkeys(named) if color is not None and _is_of_a_brand(color)]
    second = next((color for color in found[1:] if contrast(color, found[0]) >= 1.3), None)
    return ({"primary": found[0]} if found else {}) | ({"accent": second} if second else {})


async def brand_of(reader: SiteReader, children: Children, company: str, home: Page) -> dict[str, object]:
    """`{company, colors, logo}` as the report takes it; the logo as data, so that the report never loads one."""
    brand: dict[str, object] = {"company": company, "colors": colors_of(home)}
    for url in home.logos[:_DRAWING_TRIED]:
        answer = await reader.logo(url, _TYPES, MOST_BYTES)
        if answer is None:
            continue
        uri = f"data:{answer.media_type};base64,{base64.b64encode(answer.body).decode()}"
        with suppress(ChildError):  # whatever it did to its process, the company has another logo, or none
            if await children.run(DRAWING, is_drawable, uri):
                return brand | {"logo": uri}
    return brand


def _is_of_a_brand(color: str) -> bool:
    channels = rgb(color)
    return max(channels) - min(channels) >= _GREY and re.fullmatch("#(?:000000|ffffff)", color) is None
