from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import (
    Browser,
    BrowserContext,
    Page,
    Request,
    ViewportSize,
    async_playwright,
    expect,
)

from contract.demo import SALES
from gateway.demo.links import DemoLinks, Invitation
from tests.support.service import SCRIPT, Service, environment

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # a page reaches this machine and nothing else
]
VIEWPORT: ViewportSize = {"width": 1360, "height": 820}

PATIENCE_MS = 30_000
"""How long anything on a page may take: other work on the machine makes a browser slow."""

expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Offline:
    """A page that reaches this machine alone, with the addresses beside the service's and what it complained about."""

    page: Page
    elsewhere: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def live_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the service keeps its data."""
    return tmp_path_factory.mktemp("live")


@pytest.fixture(scope="session")
def live(live_folder: Path) -> Iterator[Service]:
    """The service with its demo data, as `./run` starts it."""
    with Service(live_folder, "--demo") as service:
        yield service


@pytest.fixture(scope="session")
def live_server(live: Service) -> str:
    """Its address, without a slash at the end."""
    return live.address


@pytest.fixture(scope="session")
def live_token(live: Service) -> str:
    """The token that it printed."""
    return live.value("Token")


@pytest.fixture(scope="session")
def live_organization(live: Service) -> str:
    """The organization that it printed."""
    return live.value("Organization")


@pytest.fixture(scope="session")
def live_link(live_server: str, live_token: str, live_organization: str) -> str:
    """A link that signs in with what it printed, in any number of new tabs."""
    return f"{live_server}/graphql#token={live_token}&org={live_organization}"


@pytest.fixture
def code_link(live_server: str, live_folder: Path) -> str:
    """A link as it prints one, with a code of its own."""
    code = DemoLinks(live_folder / "data").make(Invitation("user_demo_admin", SALES))
    return f"{live_server}/graphql#code={code}"


@pytest.fixture(scope="session")
def token_of(live: Service, live_folder: Path) -> Callable[..., str]:
    """A session token of a member of the demo: its subject, and the options of the command."""

    @cache
    def mint(subject: str, *options: str) -> str:
        done = subprocess.run(
            [SCRIPT, "token", "--user", subject, *options],
            env=environment(live_folder),
            capture_output=True,
            check=True,
            text=True,
        )
        return done.stdout.strip()

    return mint


@pytest.fixture(scope="session")
def chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    pytest.fail("Chromium is missing, and the pages were not looked at: install it (Debian: apt-get install chromium).")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """One for all tests: it takes seconds to start."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def context(browser: Browser, live: Service) -> AsyncIterator[BrowserContext]:
    """One for all tests: what a page loaded, 5 MB of GraphiQL for one, is neither fetched nor compiled again."""
    context = await browser.new_context(viewport=VIEWPORT, service_workers="block")
    await context.grant_permissions(["clipboard-read", "clipboard-write"], origin=live.address)
    yield context
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def offline(context: BrowserContext, live_server: str) -> AsyncIterator[Offline]:
    """A page of a new tab in a browser that keeps nothing of the tests before."""
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    seen = Offline(page)

    def asked(address: str) -> None:
        site = urlsplit(address)
        if site.scheme in ("http", "https", "ws", "wss") and site.netloc != urlsplit(live_server).netloc:
            seen.elsewhere.append(address)

    def requested(request: Request) -> None:
        asked(request.url)

    # Not by routes, which would have the browser load everything anew.
    context.on("request", requested)
    page.on("websocket", lambda opened: asked(opened.url))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("console", lambda said: seen.complaints.append(said.text) if said.type == "error" else None)
    yield seen
    context.remove_listener("request", requested)
    await _forget(context, live_server)


async def _forget(context: BrowserContext, origin: str) -> None:
    """Close all tabs, and clear what they kept; what the browser cached stays."""
    blank = await context.new_page()
    for page in context.pages:
        if page is not blank:
            await page.close()
    devtools = await context.new_cdp_session(blank)
    kept = "cookies,indexeddb,local_storage"
    await devtools.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": kept})
    await blank.close()
