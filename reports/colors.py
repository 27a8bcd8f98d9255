"""Colors of a brand, and what keeps text on them readable."""

import re
from dataclasses import dataclass

_HEX = re.compile(r"#?([0-9a-f]{3}|[0-9a-f]{6})", re.IGNORECASE)
_WHITE, INK, MUTED, HAIR = "#ffffff", "#1b2430", "#5b6675", "#dfe4ea"
_VISIBLE = 1.6
_READABLE = 4.5  # the contrast that WCAG 2.2 AA asks of text, 1.4.3


@dataclass(frozen=True, slots=True)
class Palette:
    """The colors of a report, as `#rrggbb`."""

    primary: str = "#1f3a5f"
    secondary: str = "#3f6f9f"
    accent: str = "#e08a1e"

    @property
    def strong(self) -> str:
        """The primary color, darkened until it is readable on white: headings and rules."""
        return darkened(self.primary)

    @property
    def mark(self) -> str:
        """The accent for rules and bullets, or the strong color where white would swallow it."""
        return self.accent if contrast(self.accent, _WHITE) >= _VISIBLE else self.strong

    @property
    def on_primary(self) -> str:
        return readable_on(self.primary)


def hex_color(text: str) -> str | None:
    """`#rrggbb` in lower case for `#rgb`, `#rrggbb` and both without the `#`; None for anything else."""
    found = _HEX.fullmatch(text.strip())
    if found is None:
        return None
    digits = found[1].lower()
    return "#" + (digits if len(digits) == 6 else "".join(2 * digit for digit in digits))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.2: 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def readable_on(background: str) -> str:
    """White or ink, whichever reads better there; white wins where it is readable."""
    if contrast(_WHITE, background) >= _READABLE or contrast(_WHITE, background) >= contrast(INK, background):
        return _WHITE
    return INK


def darkened(color: str, against: str = _WHITE) -> str:
    """The color, mixed with ink until it is readable against a light background."""
    for tenths in range(11):
        mixed = mix(color, INK, tenths / 10)
        if contrast(mixed, against) >= _READABLE:
            return mixed
    return INK


def mix(color: str, other: str, part: float) -> str:
    """The color with that part of the other, 0 to 1, in it."""
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(rgb(color), rgb(other), strict=True))


def rgb(color: str) -> tuple[int, int, int]:
    """Red, green and blue of `#rrggbb`, 0 to 255."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _luminance(color: str) -> float:
    red, green, blue = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (channel / 255 for channel in rgb(color))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
