"""The first draft of a report, from templates over what was found: the same findings give the same words."""

from collections.abc import Sequence
from fractions import Fraction

from jobs.cx.signals import FORMULA_VERSION, Assessment, Factor
from jobs.cx.site import Site

STRONG, WEAK, POOR = 75, 60, 40
"""A factor of STRONG or more is a strength; below it is a gap, below WEAK a serious one, below POOR a severe one."""

_BANDS = ((85, "an excellent"), (70, "a good"), (50, "a fair"), (30, "a weak"), (0, "a poor"))
_MOST_POINTS = 4

ADVICE = {
    "contact_channels": "Offer more than one way to get in touch: phone, e-mail, a message form and chat.",
    "contact_page": "Give customers one contact page and link it from every page.",
    "self_service": "Publish answers to the most frequent questions, searchable, so that customers need not wait.",
    "response_time": "Bring the time to the first byte below 800 ms with caching or a content delivery network.",
    "page_weight": "Slim the home page down, so that it opens quickly on a phone.",
    "mobile": "Let every page fit the width of a phone, and let people enlarge it.",
    "accessibility": "Declare the language of pages, describe images, and label form fields.",
    "languages": "Declare the languages of the site, and offer it in those of the most important markets.",
    "security": "Serve everything over TLS and send the protective headers that browsers know.",
    "structured_data": "Describe the company in structured data, so that search engines and assistants quote it right.",
    "transparency": "Link the pages about the company, privacy and terms from the home page.",
    "reliability": "Repair the linked pages that cannot be opened.",
}
"""The advice about each gap."""


def draft(company: str, site: Site, assessed: Assessment) -> tuple[dict[str, object], dict[str, object]]:
    """The narrative slots and the analysis of a report."""
    factors = [factor for factor in assessed.factors if factor.score is not None]
    strengths = sorted((f for f in factors if _score(f) >= STRONG), key=lambda f: (-_score(f), -f.weight))
    gaps = sorted((f for f in factors if _score(f) < STRONG), key=lambda f: (-_lost(f), f.key))
    band = next(word for least, word in _BANDS if assessed.score >= least)
    copy_blobs: dict[str, object] = {
        "headline": f"{company} scores {assessed.score} of 100: {band} first impression online",
        "executive_summary": _summary(company, site, assessed, strengths, gaps, band),
        "strengths": [f"{f.name} ({f.score}): {f.finding}" for f in strengths[:_MOST_POINTS]]
        or ["No signal stands out yet."],
        "gaps": [f"{f.name} ({f.score}): {f.missing}" for f in gaps[:_MOST_POINTS]] or ["No signal is below the mark."],
        "recommendations": [ADVICE[f.key] for f in gaps[:_MOST_POINTS]] or ["Keep up what is in place."],
        "next_steps": _next_steps(gaps),
        "methodology": (
            f"{_read(site)} within its robots.txt. "
            f"{len(assessed.factors)} signals are scored from 0 to 100 and weighted; the score is their weighted mean "
            f"(formula {FORMULA_VERSION}). Nothing behind a login was looked at, and no customer was asked."
        ),
    }
    analysis: dict[str, object] = {
        "findings": [
            {"title": f.name, "detail": _explained(f), "severity": _severity(_score(f))}
            for f in gaps  # what is strong is no finding
        ],
        "pages": [{"kind": page.kind, "url": page.url, "title": page.title} for page in site.pages],
        "formula_version": FORMULA_VERSION,
    }
    return copy_blobs, analysis


def _summary(
    company: str, site: Site, assessed: Assessment, strengths: Sequence[Factor], gaps: Sequence[Factor], band: str
) -> str:
    sentences = [
        f"The public web site of {company} gives customers {band} experience: {assessed.score} of 100 over "
        f"{len(assessed.factors)} signals on {_pages(site)}."
    ]
    if strengths:
        sentences.append(f"It does best at {_named(strengths[:2])}.")
    if gaps:
        sentences.append(f"Most is to be gained at {_named(gaps[:2])}.")
    return " ".join(sentences)


def _next_steps(gaps: Sequence[Factor]) -> list[str]:
    if not gaps:
        return ["Measure again in three months."]
    return [
        f"Agree on an owner for {gaps[0].name.lower()}, the gap that costs the most.",
        "Put the recommendations into an order by effort.",
        "Measure again in three months.",
    ]


def _explained(factor: Factor) -> str:
    """Says what was found, what is missing, and what to do: nothing twice."""
    missing = () if factor.tells_all or factor.missing == factor.finding else (factor.missing,)
    return " ".join((factor.finding, *missing, ADVICE[factor.key]))


def _named(factors: Sequence[Factor]) -> str:
    return " and ".join(f"{f.name.lower()} ({f.score})" for f in factors)


def _pages(site: Site) -> str:
    return "1 page" if len(site.pages) == 1 else f"{len(site.pages)} pages"


def _read(site: Site) -> str:
    was, them = ("was", "it") if len(site.pages) == 1 else ("were", "them")
    return f"{_pages(site)} of the public web site {was} read, as any visitor sees {them},"


def _severity(score: int) -> str:
    return "high" if score < POOR else "medium" if score < WEAK else "low"


def _score(factor: Factor) -> int:
    return factor.score or 0


def _lost(factor: Factor) -> Fraction:
    """Says how much of the whole score the factor leaves on the table."""
    return Fraction(factor.weight) * (100 - _score(factor))
