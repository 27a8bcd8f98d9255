"""Turns a measured number into a score, exactly: corners joined by straight lines, and rounding half up."""

from fractions import Fraction
from itertools import pairwise
from math import floor

Curve = tuple[tuple[int | Fraction, int], ...]
"""(input, score) corners: straight lines between them, level before the first and after the last."""


def along(curve: Curve, x: Fraction) -> Fraction:
    """The score of x."""
    if x <= curve[0][0]:
        return Fraction(curve[0][1])
    for (x0, y0), (x1, y1) in pairwise(curve):
        if x <= x1:
            return y0 + (x - x0) * Fraction(y1 - y0) / (x1 - x0)
    return Fraction(curve[-1][1])


def half_up(x: Fraction) -> int:
    """The nearest whole number, halves upwards."""
    return floor(x + Fraction(1, 2))


def tenths(x: Fraction) -> float:
    """Rounds to one decimal, halves upwards."""
    return half_up(10 * x) / 10
