"""Gives the documents of customer intelligence types for what they say under their fixed keys (decision 989)."""

import math
from collections.abc import Mapping, Sequence

import strawberry

from reports.colors import hex_color
from schema.declare import field


@strawberry.type(description="The colors of a report, each as #rrggbb; null where it has the usual one.")
class CXColors:
    primary: str | None = field('Of headings and tables, such as "#1f3a5f".')
    secondary: str | None = field('Of what stands beside them, such as "#3f6f9f".')
    accent: str | None = field('Of rules and bullets, such as "#e08a1e".')


@strawberry.type(description="What the brand of a report says under the documented keys.")
class CXLook:
    company: str | None = field("The company's name as the report writes it; null where it has the result's.")
    colors: CXColors = field("The colors.")
    logo: str | None = field("The logo as a data: URI of a PNG, JPEG or SVG image.")


@strawberry.type(description="One signal of a company's score.")
class CXSignal:
    key: str | None = field('Names the signal, such as "response_time".')
    name: str | None = field('The same for people, such as "Response time".')
    weight: float | None = field("Its share of the score; those of all signals sum to 1.")
    score: int | None = field("0 to 100; null where there was nothing to measure.")
    value: float | None = field("What was measured, in `unit`; null where there was nothing to measure.")
    unit: str | None = field('The unit of `value`, such as "milliseconds".')
    finding: str | None = field("What was found, in a sentence.")
    evidence_url: str | None = field("The page on which it was found.")


def look_of(brand: object) -> CXLook:
    """Read the keys that are documented; what is of another shape than theirs is left out."""
    told: Mapping[str, object] = brand if isinstance(brand, Mapping) else {}
    named = told.get("colors")
    colors: Mapping[str, object] = named if isinstance(named, Mapping) else {}
    return CXLook(
        company=_text(told.get("company")),
        colors=CXColors(
            primary=_color(colors.get("primary")),
            secondary=_color(colors.get("secondary")),
            accent=_color(colors.get("accent")),
        ),
        logo=_text(told.get("logo")) or None,
    )


def signals_of(factors: Sequence[object] | None) -> list[CXSignal]:
    """Read the factors of a result in their order, and of each the keys that are documented."""
    return [_signal(factor) for factor in factors or () if isinstance(factor, Mapping)]


def _signal(factor: Mapping[str, object]) -> CXSignal:
    score = _number(factor.get("score"))
    return CXSignal(
        key=_text(factor.get("key")),
        name=_text(factor.get("name")),
        weight=_number(factor.get("weight")),
        score=None if score is None else round(score),
        value=_number(factor.get("value")),
        unit=_text(factor.get("unit")),
        finding=_text(factor.get("finding")),
        evidence_url=_text(factor.get("evidence_url")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _color(value: object) -> str | None:
    return hex_color(value) if isinstance(value, str) else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None
