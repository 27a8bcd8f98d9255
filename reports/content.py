"""Defines the content of a CX report: the one typed content that PDF, spreadsheet and deck are rendered from.

It is made of stored JSON by `reports.reading.content_of`, which checks and cleans it.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from reports.colors import Palette
from reports.logo import Logo


class ArtifactKind(StrEnum):
    """The files of one revision of a report."""

    PDF = "PDF"
    SPREADSHEET = "SPREADSHEET"
    DECK = "DECK"


class Severity(StrEnum):
    """The weight of a finding."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Brand:
    """The look of the report: whose name stands on it, in which colors, beside which logo."""

    company: str
    colors: Palette
    logo: Logo | None


@dataclass(frozen=True, slots=True)
class Factor:
    """One measured customer-experience signal; `score` is 0 to 100, None where it could not be measured."""

    name: str
    score: int | None
    weight: float
    finding: str
    evidence_url: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that the analysis found."""

    title: str
    detail: str
    severity: Severity | None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A score, 0 to 100, that the company's own is compared with."""

    name: str
    score: float


@dataclass(frozen=True, slots=True)
class Section:
    """A narrative slot: its name, its heading, and its paragraphs, each with whether it is a bullet."""

    name: str
    title: str
    paragraphs: tuple[tuple[bool, str], ...]


@dataclass(frozen=True, slots=True)
class Content:
    """A revision of a report, checked and cleaned.

    `sections` hold the copy blobs: the known ones in the order of `SLOTS`, then the others by name. `extras` are the
    parts of the analysis that have no place of their own, flattened to (path, value); the spreadsheet lists them.
    """

    company: str
    domain: str
    score: int | None
    factors: tuple[Factor, ...]
    sections: tuple[Section, ...]
    findings: tuple[Finding, ...]
    benchmarks: tuple[Benchmark, ...]
    extras: tuple[tuple[str, str], ...]
    brand: Brand
    bpo_prefix: str
    revision: int
    generated_at: datetime
    prepared_by: str = ""
    """Whose report it is, where no prefix says so: the organization's name."""

    @property
    def title(self) -> str:
        """The title on the cover, behind the prefix where there is one."""
        return "Customer experience report"

    def section(self, name: str) -> Section | None:
        """The narrative slot of that name, None where it says nothing."""
        return next((section for section in self.sections if section.name == name), None)


SLOTS = (
    "headline",
    "executive_summary",
    "strengths",
    "gaps",
    "recommendations",
    "next_steps",
    "methodology",
)
"""The narrative slots that have a place of their own; others are rendered behind them, by name."""
