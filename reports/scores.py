"""Names and colors a score of 0 to 100: one scale for all three files."""

from dataclasses import dataclass

from reports.content import Severity


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


def severity_band(severity: Severity | None) -> Band:
    """The word and the color of a finding's severity; no word without one."""
    return _NO_SEVERITY if severity is None else _SEVERITIES[severity]


_NO_SEVERITY = Band(0, "", UNMEASURED.color)
_SEVERITIES = {
    Severity.HIGH: Band(0, "High", "#b42318"),
    Severity.MEDIUM: Band(0, "Medium", "#a15c07"),
    Severity.LOW: Band(0, "Low", "#2b6cb0"),
}
