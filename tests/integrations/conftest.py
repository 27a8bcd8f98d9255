"""The tests of integrations each ask the application from outside, and have its jobs done when they say so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.schema.conftest import graphql, one, surface_url, two
from tests.support import microsoft as outlook
from tests.support.gateway import Gateway, open_gateway
from tests.support.google import CLIENT_ID, CLIENT_SECRET, Google, google_server
from tests.support.microsoft import Microsoft, microsoft_server
from tests.support.slack import CLIENT_ID as SLACK_ID
from tests.support.slack import CLIENT_SECRET as SLACK_SECRET
from tests.support.slack import SIGNING_SECRET, Slack, slack_server
from tests.support.zoom import CLIENT_ID as ZOOM_ID
from tests.support.zoom import CLIENT_SECRET as ZOOM_SECRET
from tests.support.zoom import SECRET_TOKEN, Zoom, zoom_server

__all__ = ["graphql", "one", "surface_url", "two"]


@pytest.fixture(scope="session")
def google_of_all() -> Iterator[Google]:
    """The Google of all tests."""
    with google_server() as google:
        yield google


@pytest.fixture
def google(google_of_all: Google) -> Iterator[Google]:
    """The Google, as it usually is."""
    yield google_of_all
    usual = Google()
    for name in ("lasts", "rotates", "page", "slow", "forgets_before", "grants_seconds"):
        setattr(google_of_all, name, getattr(usual, name))
    google_of_all.faults.clear()


@pytest.fixture(scope="session")
def microsoft_of_all() -> Iterator[Microsoft]:
    """The Microsoft of all tests."""
    with microsoft_server() as microsoft:
        yield microsoft


@pytest.fixture
def microsoft(microsoft_of_all: Microsoft) -> Iterator[Microsoft]:
    """The Microsoft, as it usually is."""
    yield microsoft_of_all
    usual = Microsoft()
    for name in (
        "lasts",
        "rotates",
        "page",
        "slow",
        "forgets_before",
        "shows_masters",
        "leads_to",
        "grants_seconds",
        "tries",
    ):
        setattr(microsoft_of_all, name, getattr(usual, name))
    microsoft_of_all.faults.clear()


@pytest.fixture(scope="session")
def slack_of_all() -> Iterator[Slack]:
    """The Slack of all tests."""
    with slack_server() as slack:
        yield slack


@pytest.fixture
def slack(slack_of_all: Slack) -> Iterator[Slack]:
    """The Slack, as it usually is."""
    yield slack_of_all
    slack_of_all.rotates, slack_of_all.slow, slack_of_all.page = False, 0.0, 200
    slack_of_all.faults.clear()


@pytest.fixture(scope="session")
def zoom_of_all() -> Iterator[Zoom]:
    """The Zoom of all tests."""
    with zoom_server() as zoom:
        yield zoom


@pytest.fixture
def zoom(zoom_of_all: Zoom) -> Iterator[Zoom]:
    """The Zoom, as it usually is."""
    yield zoom_of_all
    usual = Zoom()
    for name in ("lasts", "page", "slow", "leads_to"):
        setattr(zoom_of_all, name, getattr(usual, name))
    zoom_of_all.faults.clear()


@pytest.fixture
def reached(gateway: Gateway) -> Iterator[None]:
    """Providers can send notices to the public address."""
    accounts = gateway.runtime.services.accounts
    object.__setattr__(accounts, "is_reached", True)
    yield
    object.__setattr__(accounts, "is_reached", False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def gateway(
    surface_url: str,
    google_of_all: Google,
    microsoft_of_all: Microsoft,
    slack_of_all: Slack,
    zoom_of_all: Zoom,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Gateway]:
    """The running application, set up for the accounts of all of them."""
    async with open_gateway(
        surface_url,
        tmp_path_factory.mktemp("data"),
        google_client_id=CLIENT_ID,
        google_client_secret=CLIENT_SECRET,
        google_base_url=google_of_all.url,
        microsoft_client_id=outlook.CLIENT_ID,
        microsoft_client_secret=outlook.CLIENT_SECRET,
        microsoft_tenant="organizations",
        microsoft_base_url=microsoft_of_all.url,
        slack_client_id=SLACK_ID,
        slack_client_secret=SLACK_SECRET,
        slack_signing_secret=SIGNING_SECRET,
        slack_tier="internal",
        slack_base_url=slack_of_all.url,
        zoom_client_id=ZOOM_ID,
        zoom_client_secret=ZOOM_SECRET,
        zoom_webhook_secret=SECRET_TOKEN,
        zoom_base_url=zoom_of_all.url,
        public_url="http://gateway",
        cors_origins=("https://app.example",),
    ) as gateway:
        yield gateway
