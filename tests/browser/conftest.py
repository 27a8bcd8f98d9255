from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, Route, async_playwright

from tests.support.service import Service

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Offline:
    """A page that reaches the tested service and nothing else, with what it complained about."""

    page: Page
    elsewhere: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service with its demo data, as `./run` starts it."""
    with Service(tmp_path_factory.mktemp("live"), "--demo") as service:
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
def live_link(live: Service) -> str:
    """The link that it printed."""
    return live.value("Link")


@pytest.fixture(scope="session")
def chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    pytest.fail("Chromium is missing, and the pages were not looked at: install it (Debian: apt-get install chromium).")


@pytest.fixture
async def offline(chromium: str, live_server: str, tmp_path: Path) -> AsyncIterator[Offline]:
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            tmp_path / "profile",
            executable_path=chromium,
            args=FLAGS,
            viewport={"width": 1360, "height": 820},
            service_workers="block",
        )
        page = context.pages[0]
        page.set_default_timeout(20_000)
        seen = Offline(page)

        async def only_the_service(route: Route) -> None:
            if urlsplit(route.request.url).netloc == urlsplit(live_server).netloc:
                await route.continue_()
            else:
                seen.elsewhere.append(route.request.url)
                await route.abort()

        await context.route("**/*", only_the_service)
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.on("console", lambda said: seen.complaints.append(said.text) if said.type == "error" else None)
        yield seen
        await context.close()
