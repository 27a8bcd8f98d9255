"""Names and colors a score of 0 to 100: one scale for all three files."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Band:
    """A range of scores: from where it begins, its word, and its color, readable on white."""

    start: int
    label: str
    color: str


BANDS = (
    Band(80, "Leading", "#12704a"),
    Band(60, "Solid", "#2b6cb0"),
    Band(40, "Developing", "#a15c07"),
    Band(0, "At risk", "#b42318"),
)
UNMEASURED = Band(0, "Not measured", "#667085")


def band(score: float | None) -> Band:
    """The band of a score; `UNMEASURED` without one."""
    if score is None:
        return UNMEASURED
    return next(found for found in BANDS if score >= found.start)


SEVERITY_COLORS = {"high": "#b42318", "medium": "#a15c07", "low": "#2b6cb0"}
"""The colors of how much a finding weighs, by `Severity`'s values."""
