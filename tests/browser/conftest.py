from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, Route, WebSocket, async_playwright, expect

from gateway.demo.links import DemoLinks, Invitation
from storage.seeding.demo import SALES
from tests.support.service import SCRIPT, Service, environment

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

PATIENCE_MS = 30_000
"""How long anything on a page may take: other work on the machine makes a browser slow."""

expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Offline:
    """A page that reaches the tested service and nothing else, with what it complained about."""

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
        await context.grant_permissions(["clipboard-read", "clipboard-write"], origin=live_server)
        page = context.pages[0]
        page.set_default_timeout(PATIENCE_MS)
        seen = Offline(page)

        async def only_the_service(route: Route) -> None:
            if urlsplit(route.request.url).netloc == urlsplit(live_server).netloc:
                await route.continue_()
            else:
                seen.elsewhere.append(route.request.url)
                await route.abort()

        def socket(opened: WebSocket) -> None:
            if urlsplit(opened.url).netloc != urlsplit(live_server).netloc:
                seen.elsewhere.append(opened.url)

        await context.route("**/*", only_the_service)
        page.on("websocket", socket)
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.on("console", lambda said: seen.complaints.append(said.text) if said.type == "error" else None)
        yield seen
        await context.close()
