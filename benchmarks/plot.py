"""A small line chart as SVG text, readable on a light and on a dark page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 300, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 14, 34, 40
_STYLE = (
    "text{font:11px sans-serif;fill:#7a7a7a}.title{font-weight:bold}"
    ".axis{stroke:#9a9a9a;fill:none}.line{stroke:#3b7dd8;stroke-width:2;fill:none}.dot{fill:#3b7dd8}"
)


@dataclass(frozen=True, slots=True)
class Chart:
    """Points from left to right; the vertical axis begins at 0, the horizontal one may be logarithmic."""

    title: str
    across: str
    points: Sequence[tuple[float, float]]
    """Where, and how many milliseconds."""
    logarithmic: bool = False


def svg(charts: Sequence[Chart]) -> str:
    """The charts side by side."""
    inner = "".join(f'<g transform="translate({WIDTH * i} 0)">{_chart(chart)}</g>' for i, chart in enumerate(charts))
    width = WIDTH * len(charts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}"'
        f' role="img"><style>{_STYLE}</style>{inner}</svg>\n'
    )


def _chart(chart: Chart) -> str:
    scale = math.log10 if chart.logarithmic else float
    low, high = scale(chart.points[0][0]), scale(chart.points[-1][0])
    top = max(milliseconds for _, milliseconds in chart.points) * 1.25
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM

    def x(value: float) -> float:
        return round(_LEFT + (right - _LEFT) * (scale(value) - low) / (high - low), 1)

    def y(milliseconds: float) -> float:
        return round(bottom - (bottom - _TOP) * milliseconds / top, 1)

    parts = [
        f'<text class="title" x="{_LEFT}" y="18">{escape(chart.title)}</text>',
        f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>',
        f'<text x="{(_LEFT + right) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(chart.across)}</text>',
        f'<text x="{_LEFT - 6}" y="{bottom + 4}" text-anchor="end">0</text>',
        f'<text x="{_LEFT - 6}" y="{_TOP - 6}" text-anchor="end">ms</text>',
        '<polyline class="line" points="{}"/>'.format(" ".join(f"{x(a)},{y(ms)}" for a, ms in chart.points)),
    ]
    for across, milliseconds in chart.points:
        parts += [
            f'<circle class="dot" cx="{x(across)}" cy="{y(milliseconds)}" r="3"/>',
            f'<text x="{x(across)}" y="{y(milliseconds) - 8}" text-anchor="middle">{milliseconds:.2g}</text>',
            f'<text x="{x(across)}" y="{bottom + 16}" text-anchor="middle">{_short(across)}</text>',
        ]
    return "".join(parts)


def _short(value: float) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
