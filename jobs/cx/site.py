"""Reading a company's public web site: its home page and the few pages behind it that customers look for."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from jobs.cx.links import PAGES, Link
from jobs.cx.pages import Page, read_page
from jobs.cx.robots import EVERYTHING, MOST_BYTES, NOTHING, Permission, permission
from providers.children.errors import ChildError
from providers.children.limits import Limits as ChildLimits
from providers.children.pool import Children
from providers.outbound import Answer, Limits, NotAllowed, Outbound, OutboundError, TooManyRedirects, WrongType

PAGES_MAX = 6
"""Pages of a site that are read at most, the home page among them."""

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_PAGE = Limits(seconds=20, body_bytes=1_000_000, cut=True)
_ROBOTS = Limits(seconds=10, body_bytes=MOST_BYTES, cut=True)
READING = ChildLimits(
    "reading", processes=2, memory_bytes=192 * 1024 * 1024, processor_seconds=5, seconds=30, result_bytes=8_000_000
)
"""The limits for one page, or one robots.txt. A usual page takes some milliseconds of them."""
_DELAY_MAX = 5.0

Checkpoint = Callable[[], Awaitable[None]]
"""Awaited before each request; raises to stop the reading."""


class SiteUnreadable(Exception):
    """There is no home page to look at; the words are for clients. `is_final`: trying again would not help."""

    def __init__(self, words: str, *, is_final: bool) -> None:
        super().__init__(words)
        self.is_final = is_final


class _Closed(Exception):
    """robots.txt asks that this address is not read."""


@dataclass(frozen=True, slots=True)
class Site:
    """The pages that were read: the home page first. `tried` counts the linked pages that were asked for."""

    pages: tuple[Page, ...]
    tried: int

    @property
    def home(self) -> Page:
        return self.pages[0]


class SiteReader:
    """Reads one site, in the order and at the pace that its robots.txt asks for."""

    def __init__(self, outbound: Outbound, children: Children, checkpoint: Checkpoint) -> None:
        self._outbound = outbound
        self._children = children
        self._checkpoint = checkpoint
        self._robots: dict[str, bytes] = {}
        self._delays: dict[str, float] = {}

    async def read(self, domain: str) -> Site:
        """The site. Raises SiteUnreadable, and whatever the checkpoint raises."""
        home = await self._home(domain)
        pages = [home]
        tried = 0
        for kind, link in linked_pages(home):
            found = await self._linked(kind, link)
            tried += found is not False
            if isinstance(found, Page):
                pages.append(found)
        return Site(tuple(pages), tried)

    async def logo(self, url: str, media_types: Iterable[str], most_bytes: int) -> Answer | None:
        """The image at the address, where it can be had."""
        try:
            await self._ask(url)
            limits = Limits(seconds=10, body_bytes=most_bytes)
            answer = await self._outbound.request(
                "GET", url, types=frozenset(media_types), limits=limits, before_redirect=self._ask
            )
        except (OutboundError, _Closed):
            return None
        return answer if answer.status == 200 else None

    async def _home(self, domain: str) -> Page:
        """Over TLS where the site speaks it, else without."""
        problem: OutboundError | None = None
        for scheme in ("https", "http"):
            try:
                answer = await self._get(f"{scheme}://{domain}/")
                break
            except (NotAllowed, WrongType) as error:
                raise SiteUnreadable(str(error), is_final=True) from None
            except OutboundError as error:
                problem = error
        else:
            raise SiteUnreadable(str(problem), is_final=False)
        if answer is None:
            raise SiteUnreadable(f"the robots.txt of {domain} asks not to be read", is_final=True)
        if answer.status != 200:
            words = f"{domain} answers with status {answer.status}"
            raise SiteUnreadable(words, is_final=answer.status < 500 and answer.status != 429)
        return await self._page(answer, "home")

    async def _linked(self, kind: str, link: Link) -> Page | bool:
        """The page; True where it was asked for in vain, False where it may not be read."""
        try:
            answer = await self._get(link.url)
        except OutboundError:
            return True
        if answer is None:
            return False
        return await self._page(answer, kind) if answer.status == 200 else True

    async def _get(self, url: str) -> Answer | None:
        """The page's answer; None where it may not be read. Raises OutboundError."""
        try:
            await self._ask(url)
            await asyncio.sleep(min(self._delays[_origin(url)], _DELAY_MAX))
            return await self._outbound.request("GET", url, types=_HTML, limits=_PAGE, before_redirect=self._ask)
        except _Closed:
            return None

    async def _ask(self, url: str) -> None:
        """Before an address is read, that of a redirect too (decision 97).

        Raises _Closed, OutboundError, or whatever the checkpoint raises.
        """
        if not await self._may(url):
            raise _Closed
        await self._checkpoint()

    async def _may(self, url: str) -> bool:
        """Says whether the robots.txt of its origin lets the address be read. Raises OutboundError if none answers."""
        origin = _origin(url)
        if origin not in self._robots:
            await self._checkpoint()
            self._robots[origin] = await self._rules(origin)
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        said = await self._permission(origin, path)
        self._delays[origin] = said.delay
        return said.allowed

    async def _rules(self, origin: str) -> bytes:
        """The origin's robots.txt, or what RFC 9309 has stand for it. Raises OutboundError where nobody answers."""
        try:
            answer = await self._outbound.request("GET", f"{origin}/robots.txt", limits=_ROBOTS)
        except TooManyRedirects:
            return EVERYTHING
        if answer.status >= 500:
            return NOTHING
        return EVERYTHING if answer.status >= 300 else answer.body

    async def _permission(self, origin: str, path: str) -> Permission:
        rules = self._robots[origin]
        if not rules:
            return Permission(True, 0.0)
        try:
            return await self._children.run(READING, permission, rules, path)
        except ChildError as error:
            raise SiteUnreadable(f"Reading the robots.txt of {_name(origin)} {error}", is_final=False) from None

    async def _page(self, answer: Answer, kind: str) -> Page:
        """Reads the page in a child. Raises SiteUnreadable where a child could not bear it."""
        try:
            return await self._children.run(
                READING,
                read_page,
                answer.body,
                url=answer.url,
                kind=kind,
                content_type=answer.headers.get("content-type", ""),
                seconds=answer.seconds,
                headers={name.lower(): value for name, value in answer.headers.items()},
            )
        except ChildError as error:
            raise SiteUnreadable(f"Reading a page of {_name(answer.url)} {error}", is_final=False) from None


def linked_pages(home: Page) -> list[tuple[str, Link]]:
    """The first link of the home page to each kind of page, on the same host."""
    found: list[tuple[str, Link]] = []
    host = _host(home.url)
    own = [link for link in home.links if link.leads_to and _host(link.url) == host]
    seen = {home.url.partition("#")[0]}
    for kind in PAGES:
        for link in own:
            address = link.url.partition("#")[0]
            if kind in link.leads_to and address not in seen:
                seen.add(address)
                found.append((kind, replace(link, url=address)))
                break
    return found[: PAGES_MAX - 1]


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _name(url: str) -> str:
    return urlsplit(url).hostname or ""


def _host(url: str) -> str:
    """The host and port of a web address without the usual www; nothing for other addresses."""
    parts = urlsplit(url)
    return parts.netloc.lower().removeprefix("www.") if parts.scheme in ("http", "https") else ""
