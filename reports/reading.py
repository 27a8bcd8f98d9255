"""Turns stored JSON, as a merge patch may have left it (specification 4.3), into a content that can be rendered."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NotRequired, TypedDict, Unpack

from contract.errors import Path, Problem, Problems
from contract.limits import REPORT_PARAGRAPH_WEIGHT, REPORT_TEXT_MAX
from contract.web_address import is_web_address
from reports.colors import Palette, hex_color
from reports.content import SLOTS, Benchmark, Brand, Content, Factor, Finding, Section, Severity
from reports.logo import Logo, read_logo
from reports.text import clean, heading, one_line, paragraphs

MOST_TEXT = 20_000
MOST_LINE = 500
MOST_SLOTS = 60
MOST_ITEMS = 1_000
MOST_LEAVES = 2_000
_MOST_EXTRAS = 2_000
_MOST_DEPTH = 32
_WORDS = {True: "yes", False: "no"}


class Stored(TypedDict):
    """A revision of a report as it is stored.

    - `factors`: a list of `{name, score 0–100 or null, weight ≥ 0, finding, evidence_url}`; only `name` is needed.
    - `copy_blobs`: slot name to a text (blank lines part paragraphs, `- ` is a bullet) or a list of texts (bullets);
      anything else is told leaf by leaf, each behind its place (decision 219).
    - `analysis`: `{findings: [text or {title, detail, severity}], benchmarks: [{name, score}]}`, and anything else.
    - `brand`: `{company, colors: {primary, secondary, accent}, logo}`: colors as `#rrggbb` or `#rgb`, the logo as a
      `data:` URI of a PNG, JPEG or SVG image.

    Null is the same as nothing (decision 57).
    """

    company: str
    domain: NotRequired[str | None]
    score: int | None
    factors: Sequence[object] | None
    copy_blobs: Mapping[str, object] | None
    analysis: Mapping[str, object] | None
    brand: Mapping[str, object] | None
    bpo_prefix: str | None
    revision: int
    generated_at: datetime
    prepared_by: NotRequired[str]


def content_of(**stored: Unpack[Stored]) -> Content:
    """The content of a stored revision, which can be rendered.

    Raises `Problems` with everything that is wrong, each at a path that begins with the part's name: `("brand",
    "colors", "primary")`.
    """
    reader = _Reader()
    brand_read = reader.brand(("brand",), stored["brand"], stored["company"])
    analysis_read = reader.mapping(("analysis",), stored["analysis"])
    content = Content(
        company=one_line(stored["company"])[:MOST_LINE],
        domain=one_line(stored.get("domain") or "")[:MOST_LINE],
        score=None if stored["score"] is None else max(0, min(100, stored["score"])),
        factors=tuple(reader.factors(("factors",), stored["factors"])),
        sections=tuple(reader.sections(("copy_blobs",), stored["copy_blobs"])),
        findings=tuple(reader.findings(("analysis", "findings"), analysis_read.get("findings"))),
        benchmarks=tuple(reader.benchmarks(("analysis", "benchmarks"), analysis_read.get("benchmarks"))),
        extras=tuple(reader.extras(analysis_read)),
        brand=brand_read,
        bpo_prefix=reader.line(("bpo_prefix",), stored["bpo_prefix"], 80),
        revision=stored["revision"],
        generated_at=stored["generated_at"].astimezone(UTC),
        prepared_by=one_line(stored.get("prepared_by", ""))[:MOST_LINE],
    )
    reader.weigh(content)
    if reader.problems:
        raise Problems(reader.problems)
    return content


class _Reader:
    """Reads one value after another and notes what is wrong instead of stopping there."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def wrong(self, path: Path, message: str) -> None:
        self.problems.append(Problem(path, message))

    def weigh(self, content: Content) -> None:
        """Note where there is more text than the pages may have, at what has the most of it."""
        weights: dict[str, int] = {
            "copy_blobs": sum(_weight(part.title, *(text for _, text in part.paragraphs)) for part in content.sections),
            "analysis": sum(
                _weight(one.title, *(text for _, text in paragraphs(one.detail))) for one in content.findings
            ),
            "factors": sum(_weight(one.name, one.finding, one.evidence_url) for one in content.factors),
        }
        total = sum(weights.values())
        if total > REPORT_TEXT_MAX:
            words = f"the report says too much: its texts weigh {total}, of at most {REPORT_TEXT_MAX}; a text weighs"
            most = max(weights, key=lambda name: weights[name])
            self.wrong((most,), f"{words} its bytes as UTF-8 and {REPORT_PARAGRAPH_WEIGHT} more for each paragraph")

    def mapping(self, path: Path, value: object) -> Mapping[str, object]:
        if value is None:
            return {}
        if isinstance(value, Mapping):
            return value
        self.wrong(path, "must be an object")
        return {}

    def items(self, path: Path, value: object, most: int = MOST_ITEMS) -> Iterator[tuple[Path, object]]:
        if value is None:
            return
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            self.wrong(path, "must be a list")
        elif len(value) > most:
            self.wrong(path, f"must have at most {most} items")
        else:
            yield from (((*path, index), item) for index, item in enumerate(value) if item is not None)

    def text(self, path: Path, value: object, most: int = MOST_TEXT) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            self.wrong(path, "must be a text")
        elif len(value) > most:
            self.wrong(path, f"must have at most {most} characters")
        else:
            return clean(value).strip()
        return ""

    def line(self, path: Path, value: object, most: int = MOST_LINE) -> str:
        return one_line(self.text(path, value, most))

    def number(self, path: Path, value: object, most: float, fallback: float) -> float:
        """A finite number from 0 to `most`."""
        if value is None:
            return fallback
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong(path, "must be a number")
        elif not (math.isfinite(value) and 0 <= value <= most):
            self.wrong(path, f"must be from 0 to {most:g}")
        else:
            return float(value)
        return fallback

    def brand(self, path: Path, value: object, company: str) -> Brand:
        given = self.mapping(path, value)
        colors = self.mapping((*path, "colors"), given.get("colors"))
        usual = Palette()
        return Brand(
            company=self.line((*path, "company"), given.get("company")) or one_line(company)[:MOST_LINE],
            colors=Palette(
                *(
                    self.color((*path, "colors", name), colors.get(name)) or getattr(usual, name)
                    for name in ("primary", "secondary", "accent")
                )
            ),
            logo=self.logo((*path, "logo"), given.get("logo")),
        )

    def color(self, path: Path, value: object) -> str | None:
        if value is None:
            return None
        found = hex_color(value) if isinstance(value, str) else None
        if found is None:
            self.wrong(path, "must be a color like #1f3a5f")
        return found

    def logo(self, path: Path, value: object) -> Logo | None:
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            self.wrong(path, "must be a text")
            return None
        try:
            return read_logo(value)
        except ValueError as error:
            self.wrong(path, str(error))
            return None

    def factors(self, path: Path, value: object) -> Iterator[Factor]:
        for at, item in self.items(path, value):
            given = self.mapping(at, item)
            name = self.line((*at, "name"), given.get("name"))
            score = self.number((*at, "score"), given.get("score"), 100, math.nan)
            yield Factor(
                name=name or "Unnamed",
                score=None if math.isnan(score) else round(score),
                weight=self.number((*at, "weight"), given.get("weight"), 1_000_000, 0),
                finding=self.text((*at, "finding"), given.get("finding")),
                evidence_url=self.web_address((*at, "evidence_url"), given.get("evidence_url")),
            )

    def web_address(self, path: Path, value: object) -> str:
        address = self.line(path, value, 2_000)
        if not address or is_web_address(address):
            return address
        self.wrong(path, "must be an http:// or https:// address")
        return ""

    def sections(self, path: Path, value: object) -> Iterator[Section]:
        given = self.mapping(path, value)
        if len(given) > MOST_SLOTS:
            self.wrong(path, f"must have at most {MOST_SLOTS} slots")
            return
        for name in (*(slot for slot in SLOTS if slot in given), *sorted(set(given).difference(SLOTS))):
            found = tuple(self.narrative((*path, name), given[name]))
            title = heading(name[:MOST_LINE])[:80]
            if found and title:
                yield Section(name=one_line(name), title=title, paragraphs=found)

    def narrative(self, path: Path, value: object) -> Iterator[tuple[bool, str]]:
        if value is None or isinstance(value, str):
            yield from paragraphs(self.text(path, value))
            return
        is_list = isinstance(value, Sequence)
        items = self.items(path, value, 200) if is_list else [(path, value)]
        leaves = ((at, name[:MOST_LINE].strip(), leaf) for at, item in items for name, leaf in _flat(item, "", 0))
        for count, (at, name, leaf) in enumerate(leaves):
            if count >= MOST_LEAVES:
                self.wrong(path, f"must have at most {MOST_LEAVES} values")
                return
            if line := self.line(at, f"{name}: {leaf}" if name else leaf, MOST_TEXT):
                yield is_list or bool(name), line

    def findings(self, path: Path, value: object) -> Iterator[Finding]:
        for at, item in self.items(path, value):
            if isinstance(item, str):
                yield Finding(title=self.line(at, item, MOST_TEXT), detail="", severity=None)
                continue
            given = self.mapping(at, item)
            yield Finding(
                title=self.line((*at, "title"), given.get("title")) or "Finding",
                detail=self.text((*at, "detail"), given.get("detail")),
                severity=self.severity((*at, "severity"), given.get("severity")),
            )

    def severity(self, path: Path, value: object) -> Severity | None:
        if value is None:
            return None
        if isinstance(value, str) and value.lower() in list(Severity):
            return Severity(value.lower())
        self.wrong(path, "must be high, medium or low")
        return None

    def benchmarks(self, path: Path, value: object) -> Iterator[Benchmark]:
        for at, item in self.items(path, value, 50):
            given = self.mapping(at, item)
            yield Benchmark(
                name=self.line((*at, "name"), given.get("name")) or "Benchmark",
                score=self.number((*at, "score"), given.get("score"), 100, 0),
            )

    def extras(self, analysis: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        rest = {key: analysis[key] for key in sorted(set(analysis).difference(("findings", "benchmarks")))}
        for count, (name, value) in enumerate(_flat(rest, "", 0)):
            if count >= _MOST_EXTRAS:
                self.wrong(("analysis",), f"must have at most {_MOST_EXTRAS} values of its own")
                return
            yield name[:MOST_LINE], value[:MOST_TEXT]


def _weight(*texts: str) -> int:
    return sum(len(text.encode()) + REPORT_PARAGRAPH_WEIGHT for text in texts)


def _flat(value: object, name: str, depth: int) -> Iterator[tuple[str, str]]:
    """The leaves of any JSON, each with its path, in the order of the keys."""
    if depth < _MOST_DEPTH and isinstance(value, Mapping):
        for key in sorted(value):
            own = one_line(key[:MOST_LINE])
            yield from _flat(value[key], f"{name}.{own}" if name else own, depth + 1)
    elif depth < _MOST_DEPTH and isinstance(value, Sequence) and not isinstance(value, str):
        for index, item in enumerate(value, 1):
            yield from _flat(item, f"{name} {index}", depth + 1)
    elif value is not None:
        yield name, clean(_WORDS.get(value, str(value)) if isinstance(value, bool) else str(value)).strip()
