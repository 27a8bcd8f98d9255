"""The PDF of a CX report, set by Typst: the template is `report.typ`, the fonts lie in `fonts/`.

CPU-bound, 0.1 to 2 seconds, and done in a child process.
The same content gives the same bytes: no font of the system, no clock and no network has a part in it.
"""

from functools import cache
from importlib.resources import files
from pathlib import Path

import orjson
import typst

from reports import facts
from reports.content import SLOTS, Content, Factor, Finding
from reports.logo_images import drawable
from reports.scores import band, severity_band
from reports.text import breakable, cut, paragraphs

FOLDER = Path(str(files("reports")))
_SCRIPTS = (
    "Arabic", "Hebrew", "Devanagari", "Bengali", "Tamil", "Telugu", "Gujarati", "Gurmukhi", "Kannada", "Malayalam",
    "Oriya", "Sinhala", "Thai", "Lao", "Khmer", "Myanmar", "Ethiopic", "Georgian", "Armenian", "Symbols", "Symbols2",
)  # fmt: skip
FAMILIES = (
    "Inter",
    *(f"Noto Sans {script}" for script in _SCRIPTS),
    "Noto Emoji",
    "Droid Sans Fallback",
    "NanumSquare",  # last: it claims Chinese characters too, with empty glyphs
)


def render_pdf(content: Content) -> bytes:
    """The bytes of the PDF."""
    made = _set(content).compile(format="pdf", timestamp=int(content.generated_at.timestamp()))
    if not isinstance(made, bytes):  # only pictures come in several parts
        raise TypeError("a PDF is one file")
    return made


_DENSITIES = (1.0, 0.9, 0.8, 0.7, 1.1, 1.2)
_SHORT_PAGES = 6
_FILLED = 0.55


def _set(content: Content) -> typst.Compiler:
    """The report as it stands best: closer, or wider, where little would stand on its last page.

    Of a long report one page matters less than the time of another try.
    """
    shown = _shown(content)
    tried: list[tuple[float, typst.Compiler]] = []
    for density in _DENSITIES:
        told = orjson.dumps(shown | {"density": density}).decode()
        compiler = typst.Compiler(_template(), root=str(FOLDER), font_paths=fonts(), sys_inputs={"content": told})
        [end] = orjson.loads(compiler.query("<end>", field="value"))
        tried.append((end["part"], compiler))
        if end["part"] >= _FILLED or not 2 < end["page"] <= _SHORT_PAGES:
            break
    return max(tried, key=lambda one: one[0])[1]


@cache
def _template() -> bytes:
    return (FOLDER / "report.typ").read_bytes()


@cache
def fonts() -> typst.Fonts:
    return typst.Fonts(include_system_fonts=False, include_embedded_fonts=False, font_paths=[str(FOLDER / "fonts")])


def _shown(content: Content) -> dict[str, object]:
    """The content in the words and colors that the template places."""
    colors = content.brand.colors
    headline = content.section("headline")
    logo = drawable(content.brand.logo)
    return {
        "fonts": FAMILIES,
        "brand": {
            "company": content.brand.company,
            "primary": colors.primary,
            "on_primary": colors.on_primary,
            "strong": colors.strong,
            "accent": colors.mark,
        },
        "brand_short": breakable(cut(content.brand.company, 60)),
        "logo": None if logo is None else logo.data.decode() if logo.is_vector else list(logo.data),
        "title": content.title,
        "kicker": breakable(cut(facts.kicker(content), 110)),
        "company": breakable(cut(content.company, 160)),
        "company_short": breakable(cut(content.company, 60)),
        "company_size": 38 if len(content.company) <= 22 else 29 if len(content.company) <= 60 else 20,
        "domain": breakable(cut(content.domain, 80)),
        "headline": None if headline is None else breakable(cut(" ".join(t for _, t in headline.paragraphs), 280)),
        "prepared": breakable(cut(facts.prepared(content), 90)),
        "date": facts.day(content.generated_at),
        "revision": content.revision,
        "footer": breakable(cut(f"{content.company} · Revision {content.revision}", 90)),
        "measured": facts.measured_words(content),
        "scale": facts.SCALE,
        "score": _scored(content.score),
        "cards": _cards(content),
        "benchmarks": _benchmarks(content),
        "factors": [_factor(factor, content) for factor in content.factors],
        "findings": [_finding(finding) for finding in content.findings],
        "sections": [
            {
                "name": section.name,
                "title": breakable(section.title),
                "paragraphs": [[bullet, breakable(text)] for bullet, text in section.paragraphs],
            }
            for section in content.sections
        ],
        "placed": SLOTS,
    }


def _scored(score: int | None) -> dict[str, object]:
    found = band(score)
    return {"value": score, "label": found.label, "color": found.color}


def _cards(content: Content) -> list[dict[str, object]]:
    ranked = facts.measured(content)
    if not ranked:
        return []
    best, worst = ranked[0], ranked[-1]
    at_risk = sum(1 for factor in ranked if band(factor.score).label == "At risk")
    return [
        {"label": label, "value": value, "note": breakable(cut(note, 60)), "color": paint}
        for label, value, note, paint in (
            ("Strongest signal", str(best.score), best.name, band(best.score).color),
            ("Weakest signal", str(worst.score), worst.name, band(worst.score).color),
            ("Signals at risk", str(at_risk), f"of {len(ranked)} measured", band(0 if at_risk else 100).color),
        )
    ]


def _benchmarks(content: Content) -> list[dict[str, object]]:
    """The company among its benchmarks, best first; nothing where there is nothing to compare."""
    if not content.benchmarks or content.score is None:
        return []
    rows = [(breakable(cut(content.company, 60)), float(content.score), True)]
    rows += [(breakable(cut(one.name, 60)), one.score, False) for one in content.benchmarks]
    rows.sort(key=lambda row: -row[1])
    return [{"name": name, "score": score, "shown": f"{score:.0f}", "own": own} for name, score, own in rows]


def _factor(factor: Factor, content: Content) -> dict[str, object]:
    found = band(factor.score)
    part = facts.share(factor, content.factors)
    return {
        "name": breakable(factor.name),
        "score": factor.score,
        "shown": "–" if factor.score is None else str(factor.score),
        "label": found.label,
        "color": found.color,
        "weight": "–" if part is None else f"{part:.0%}" if part >= 0.01 or part == 0 else "<1%",
        "finding": breakable(factor.finding),
        "url": factor.evidence_url,
        "url_shown": breakable(cut(facts.domain_of(factor.evidence_url), 90)),
    }


def _finding(finding: Finding) -> dict[str, object]:
    shown = severity_band(finding.severity)
    return {
        "title": breakable(finding.title),
        "severity": shown.label,
        "color": shown.color,
        "paragraphs": [[bullet, breakable(text)] for bullet, text in paragraphs(finding.detail)],
    }
