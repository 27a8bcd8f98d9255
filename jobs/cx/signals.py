"""The customer-experience score: the pages of a site in, twelve factors and a score of 0 to 100 out.

Pure and exact: the same pages give the same factors everywhere. docs/customer-intelligence.md explains the choices,
and a test compares its table with this module.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from contract.curves import Curve, along, half_up, tenths
from jobs.cx.pages import Page
from jobs.cx.site import Site

FORMULA_VERSION = "1"

CHANNELS_CURVE: Curve = ((0, 0), (1, 35), (2, 60), (3, 80), (4, 100))
SELF_SERVICE_CURVE: Curve = ((0, 0), (1, 40), (2, 70), (3, 100))
RESPONSE_CURVE: Curve = ((300, 100), (800, 80), (1500, 50), (3000, 20), (6000, 0))
WEIGHT_CURVE: Curve = ((100, 100), (300, 80), (600, 40), (1000, 0))
LANGUAGES_CURVE: Curve = ((0, 0), (1, 60), (2, 80), (4, 100))
STRUCTURE_CURVE: Curve = ((0, 0), (1, 40), (2, 70), (3, 100))

CHAT_WIDGETS = (
    "intercom",
    "zdassets",
    "zopim",
    "drift",
    "livechatinc",
    "tawk.to",
    "crisp.chat",
    "hs-scripts",
    "freshchat",
    "freshworks",
    "olark",
    "userlike",
    "tidio",
    "gorgias",
    "helpscout",
)
_PROTECTION = ("Strict-Transport-Security", "Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy")


@dataclass(frozen=True, slots=True)
class Factor:
    """One signal; `score` and `value` are None where there was nothing to measure."""

    key: str
    name: str
    weight: float
    score: int | None
    value: float | None
    unit: str
    finding: str
    evidence_url: str
    missing: str = ""
    """The sentence for what was not found, which a report's gaps say; the factor as it is kept goes without."""
    tells_all: bool = False
    """Whether the finding says what was not found, too."""

    def document(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__ if name not in ("missing", "tells_all")}


@dataclass(frozen=True, slots=True)
class Assessment:
    """The score of a site and what it is made of."""

    score: int
    factors: tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class _Reading:
    score: Fraction
    value: Fraction
    finding: str
    page: Page
    missing: str = ""
    """The sentence for what keeps it from a full score; without one it is the finding."""
    tells_all: bool = False
    """Whether the finding has that in it already."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal: its share of the score in percent, the unit of what is measured, and how a site is read for it."""

    key: str
    name: str
    percent: int
    unit: str
    read: Callable[[Site], _Reading | str]


def assess(site: Site) -> Assessment:
    """The factors of a site and its score: their weighted mean over those that could be measured, rounded half up."""
    factors = tuple(_factor(signal, site) for signal in SIGNALS)
    measured = [(s.percent, f.score) for s, f in zip(SIGNALS, factors, strict=True) if f.score is not None]
    points = sum(percent * score for percent, score in measured)
    return Assessment(half_up(Fraction(points, sum(percent for percent, _ in measured))), factors)


def _factor(signal: Signal, site: Site) -> Factor:
    reading = signal.read(site)
    weight = signal.percent / 100
    if isinstance(reading, str):
        return Factor(signal.key, signal.name, weight, None, None, signal.unit, reading, site.home.url)
    score, value = half_up(reading.score), tenths(reading.value)
    told = (reading.finding, reading.page.url, reading.missing or reading.finding, reading.tells_all)
    return Factor(signal.key, signal.name, weight, score, value, signal.unit, *told)


def _contact_channels(site: Site) -> _Reading:
    found = {
        "e-mail": _page_with(site, lambda page: _leads_to(page, "e-mail")),
        "phone": _page_with(site, lambda page: _leads_to(page, "phone")),
        "a message form": _page_with(site, lambda page: page.has_message_form),
        "live chat": _page_with(site, lambda page: any(w in s for s in page.scripts for w in CHAT_WIDGETS)),
        "social media": _page_with(site, lambda page: _leads_to(page, "social")),
    }
    return _of_kinds("Customers can reach the company by", found, CHANNELS_CURVE, site, "No way to get in touch")


def _contact_page(site: Site) -> _Reading:
    page = _first(site, "contact")
    if page is not None:
        return _Reading(Fraction(100), Fraction(100), "The home page leads to a contact page.", page)
    if _leads_to(site.home, "contact"):
        text = "The home page mentions a contact page, but it could not be read."
        return _Reading(Fraction(50), Fraction(50), text, site.home)
    return _Reading(Fraction(0), Fraction(0), "The home page leads to no contact page.", site.home)


def _self_service(site: Site) -> _Reading:
    found = {
        "a help center": _page_with(site, lambda page: _mentions(page, "help")),
        "answers to frequent questions": _page_with(site, lambda page: _mentions(page, "faq")),
        "a search": _page_with(site, lambda page: page.has_search),
        "a customer login": _page_with(site, lambda page: _leads_to(page, "login")),
        "documentation or guides": _page_with(site, lambda page: _leads_to(page, "guides")),
    }
    return _of_kinds("Customers can help themselves with", found, SELF_SERVICE_CURVE, site, "No self-service")


def _response_time(site: Site) -> _Reading:
    middle = Fraction(half_up(Fraction(median(page.seconds for page in site.pages)) * 1000))
    text = f"The first byte of a page arrived after {middle} ms, the median of {_count(len(site.pages), 'page')}."
    slow = f"A page takes {middle} ms to begin; {RESPONSE_CURVE[0][0]} ms are quick."
    return _Reading(along(RESPONSE_CURVE, middle), middle, text, max(site.pages, key=lambda page: page.seconds), slow)


def _page_weight(site: Site) -> _Reading:
    kilobytes = Fraction(site.home.size, 1000)
    text = f"The HTML of the home page has {tenths(kilobytes):g} kB."
    heavy = f"The HTML of the home page has {tenths(kilobytes):g} kB; {WEIGHT_CURVE[0][0]} kB are light."
    return _Reading(along(WEIGHT_CURVE, kilobytes), kilobytes, text, site.home, heavy)


def _mobile(site: Site) -> _Reading:
    good, bad = "fit the width of a phone and can be enlarged", "fit the width of a phone, or cannot be enlarged"
    return _share(site, _is_mobile, good, bad)


def _accessibility(site: Site) -> _Reading:
    parts: list[tuple[str, int, int]] = [
        ("pages that declare their language", sum(bool(p.language) for p in site.pages), len(site.pages)),
        ("pages with a title", sum(bool(p.title) for p in site.pages), len(site.pages)),
        ("pages with one main heading", sum(p.headings == 1 for p in site.pages), len(site.pages)),
        ("images with a text", sum(p.images_described for p in site.pages), sum(p.images for p in site.pages)),
        ("form fields with a label", sum(p.fields_labelled for p in site.pages), sum(p.fields for p in site.pages)),
    ]
    measured = [(name, part, whole) for name, part, whole in parts if whole]
    share = 100 * sum((Fraction(part, whole) for _, part, whole in measured), Fraction(0)) / len(measured)
    said = "; ".join(f"{name}: {part} of {whole}" for name, part, whole in measured)
    worst = min(site.pages, key=lambda p: (bool(p.language) + bool(p.title) + (p.headings == 1), -p.images))
    lacking = "; ".join(f"{name}: {part or 'none'} of {whole}" for name, part, whole in measured if part < whole)
    return _Reading(share, share, _sentence(said), worst, _sentence(lacking) if lacking else "", tells_all=True)


def _languages(site: Site) -> _Reading:
    found = sorted(set().union(*(page.languages for page in site.pages)))
    text = f"The site is offered in {_count(len(found), 'language')}: {', '.join(found)}." if found else _NO_LANGUAGE
    few = f"The site is offered in no more than {_count(len(found), 'language')}." if found else ""
    return _Reading(along(LANGUAGES_CURVE, Fraction(len(found))), Fraction(len(found)), text, site.home, few)


_NO_LANGUAGE = "No page says which language it is in."


def _security(site: Site) -> _Reading:
    headers = site.home.headers or {}
    found = ["TLS"] if site.home.url.startswith("https:") else []
    found += [name for name in _PROTECTION if name.lower() in headers]
    share = Fraction(100 * len(found), 1 + len(_PROTECTION))
    missing = [name for name in ("TLS", *_PROTECTION) if name not in found]
    text = f"In place: {', '.join(found)}." if found else "Nothing that protects visitors is in place."
    return _Reading(share, share, text, site.home, f"Missing: {', '.join(missing)}." if missing else "")


def _structure(site: Site) -> _Reading:
    found = {
        "machine-readable data": _page_with(site, lambda page: page.has_linked_data),
        "a link preview": _page_with(site, lambda page: page.has_open_graph),
        "a description": site.home if site.home.description.strip() else None,
    }
    return _of_kinds("Search engines and assistants find", found, STRUCTURE_CURVE, site, "No structured data")


def _transparency(site: Site) -> _Reading:
    wanted = {"about": "the company", "privacy": "privacy", "terms": "terms or the legal notice"}
    found = [words for kind, words in wanted.items() if _page_with(site, _mentioning(kind)) is not None]
    lacking = [words for words in wanted.values() if words not in found]
    share = Fraction(100 * len(found), len(wanted))
    text = f"The site has pages about {_listed(found)}." if found else "No page about the company, privacy or terms."
    missing = f"No page was found about {_listed(lacking, 'or')}." if lacking else ""
    return _Reading(share, share, text, site.home, missing)


def _reliability(site: Site) -> _Reading | str:
    if not site.tried:
        return "The home page leads to no page that could be tried."
    share = Fraction(100 * (len(site.pages) - 1), site.tried)
    text = f"Of {_count(site.tried, 'linked page')}, {len(site.pages) - 1} could be opened."
    broken = site.tried - len(site.pages) + 1
    missing = f"{_count(broken, 'linked page')} could not be opened." if broken else ""
    return _Reading(share, share, text, site.home, missing, tells_all=True)


SIGNALS = (
    Signal("contact_channels", "Contact channels", 14, "channels", _contact_channels),
    Signal("contact_page", "Contact page", 8, "percent", _contact_page),
    Signal("self_service", "Self-service", 12, "ways", _self_service),
    Signal("response_time", "Response time", 10, "milliseconds", _response_time),
    Signal("page_weight", "Page weight", 4, "kilobytes", _page_weight),
    Signal("mobile", "Mobile use", 8, "percent", _mobile),
    Signal("accessibility", "Accessibility basics", 12, "percent", _accessibility),
    Signal("languages", "Languages", 6, "languages", _languages),
    Signal("security", "Security basics", 8, "percent", _security),
    Signal("structured_data", "Structured data", 4, "kinds", _structure),
    Signal("transparency", "Transparency", 6, "percent", _transparency),
    Signal("reliability", "Working links", 8, "percent", _reliability),
)


def _of_kinds(lead: str, found: dict[str, Page | None], curve: Curve, site: Site, nothing: str) -> _Reading:
    there = {name: page for name, page in found.items() if page is not None}
    number = Fraction(len(there))
    text = f"{lead} {_listed(list(there))}." if there else f"{nothing} was found."
    lacking = [name for name in found if name not in there]
    missing = f"Not found: {', '.join(lacking)}." if lacking else ""
    page = next(iter(there.values()), site.home)
    return _Reading(along(curve, number), number, text, page, missing, tells_all=not there)


def _share(site: Site, holds: Callable[[Page], bool], words: str, lacks: str) -> _Reading:
    good = [page for page in site.pages if holds(page)]
    share = Fraction(100 * len(good), len(site.pages))
    text = f"Of {_count(len(site.pages), 'page')}, {len(good)} {words}."
    bad = len(site.pages) - len(good)
    does = "does" if bad == 1 else "do"
    missing = f"Of {_count(len(site.pages), 'page')}, {bad} {does} not {lacks}." if bad else ""
    worst = next((page for page in site.pages if not holds(page)), site.home)
    return _Reading(share, share, text, worst, missing, tells_all=True)


def _page_with(site: Site, holds: Callable[[Page], bool]) -> Page | None:
    return next((page for page in site.pages if holds(page)), None)


def _first(site: Site, kind: str) -> Page | None:
    return _page_with(site, lambda page: page.kind == kind)


def _mentioning(kind: str) -> Callable[[Page], bool]:
    return lambda page: _mentions(page, kind)


def _mentions(page: Page, kind: str) -> bool:
    return page.kind == kind or _leads_to(page, kind)


def _leads_to(page: Page, kind: str) -> bool:
    return any(kind in link.leads_to for link in page.links)


def _is_mobile(page: Page) -> bool:
    return "width=device-width" in page.viewport and not re.search(
        r"user-scalable=(?:no|0)|maximum-scale=1(?:\.0*)?(?![\d.])", page.viewport
    )


def _listed(words: Sequence[str], joint: str = "and") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {joint} {words[-1]}"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
