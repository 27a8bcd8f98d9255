"""The demo's research run: shops that do not exist, scored from pages that are written here, without any network."""

from contract.vocabulary import ResearchResultStatus, ResearchRunStatus
from jobs.cx.brand import colors_of
from jobs.cx.pages import read_page
from jobs.cx.signals import assess
from jobs.cx.site import Site
from jobs.research import write_report
from storage.base import now
from storage.database import Database
from storage.tables import ResearchResult, ResearchRun

_ROASTER = """<!doctype html><html lang="en"><title>Harbor Coffee Roasters</title>
<meta name="theme-color" content="#0b5d4e"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="Coffee, roasted by the sea since 1998."><meta property="og:title" content="Harbor">
<link rel="alternate" hreflang="de" href="/de/"><style>a { color: #c8102e }</style><h1>Coffee by the sea</h1>
<a href="mailto:hello@harbor.example">Write to us</a> <a href="tel:+15550100">Call us</a> <a href="/contact">Contact</a>
<a href="/help">Help</a> <a href="/account/login">Log in</a> <a href="/privacy">Privacy</a> <img src="/beans.jpg">"""
_BAKERY = """<!doctype html><html><title>North Bakery</title><style>h1 { color: #8a4b08 }</style>
<h1>Bread</h1><h1>Cake</h1><a href="https://www.instagram.com/north.example">Instagram</a>
<a href="/about">About</a> <img src="/bread.jpg">"""
_PLAIN = "<!doctype html><html lang=en><title>{0}</title><meta name=viewport content='width=device-width'><h1>{0}</h1>"
_COMPANIES = (
    ("Harbor Coffee Roasters", "harbor.example", "https", _ROASTER, ("contact", "help", "privacy"), 3, 0.21),
    ("North Bakery", "north.example", "http", _BAKERY, (), 1, 2.4),
)
_UNREACHABLE = ("Lighthouse Books", "lighthouse.example", "the name lighthouse.example cannot be resolved")


async def write_research(database: Database, organization: str, subject: str) -> None:
    """A run with two scored results, whose reports the worker renders, and one company that could not be looked at."""
    run = ResearchRun(
        name="Shops by the sea",
        status=ResearchRunStatus.PARTIAL.value,
        result_count=len(_COMPANIES) + 1,
        completed_at=now(),
        created_by=subject,
    )
    async with database.writing(organization) as session:
        await session.insert(run)
        for position, (company, domain, scheme, home, kinds, tried, seconds) in enumerate(_COMPANIES):
            site = _site(f"{scheme}://{domain}/", home, kinds, tried, seconds)
            assessed = assess(site)
            result = ResearchResult(
                run_id=run.id,
                position=position,
                company_name=company,
                domain=domain,
                status=ResearchResultStatus.SCORED.value,
                score=assessed.score,
                factors=[factor.document() for factor in assessed.factors],
            )
            brand: dict[str, object] = {"company": company, "colors": colors_of(site.home)}
            await session.insert(result)
            await write_report(session, result, site, assessed, brand)
        company, domain, error = _UNREACHABLE
        failed = ResearchResultStatus.FAILED.value
        await session.insert(
            ResearchResult(run_id=run.id, position=2, company_name=company, domain=domain, status=failed, error=error)
        )


def _site(url: str, home: str, kinds: tuple[str, ...], tried: int, seconds: float) -> Site:
    headers = {"strict-transport-security": "max-age=63072000"} if url.startswith("https") else {}
    pages = [read_page(home.encode(), url=url, kind="home", seconds=seconds, headers=headers)]
    pages += [
        read_page(_PLAIN.format(kind.title()).encode(), url=f"{url}{kind}", kind=kind, seconds=seconds, headers=headers)
        for kind in kinds
    ]
    return Site(tuple(pages), tried)
