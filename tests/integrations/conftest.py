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
    for name in ("lasts", "rotates", "page", "slow", "forgets_before"):
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
    for name in ("lasts", "rotates", "page", "slow", "forgets_before", "shows_masters", "leads_to"):
        setattr(microsoft_of_all, name, getattr(usual, name))
    microsoft_of_all.faults.clear()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def gateway(
    surface_url: str, google_of_all: Google, microsoft_of_all: Microsoft, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    """The running application, set up for the accounts of both."""
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
        public_url="http://gateway",
        cors_origins=("https://app.example",),
    ) as gateway:
        yield gateway
