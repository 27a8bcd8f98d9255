"""The GraphQL surface, asked from outside: one application and one database per dialect, an organization per test."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any

import pytest
import pytest_asyncio

from tests.support.gateway import Gateway, open_gateway
from tests.support.tenants import GraphQL, Tenant, new_tenant
from tests.support.world import Headers

_NUMBERS = count(1)


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def surface_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a migrated database for all tests of the surface."""
    if request.param == "sqlite":
        file = tmp_path_factory.mktemp("surface") / "crm.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), file)
        file.chmod(0o600)
        yield f"sqlite+aiosqlite:///{file}"
    else:
        server, template = (request.getfixturevalue(name) for name in ("postgresql", "postgresql_template"))
        name = f"surface_{next(_NUMBERS)}"  # tests/records has one of its own
        server.create(name, template=template)
        yield server.url(name)
        server.drop(name)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def gateway(surface_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gateway]:
    """The running application."""
    async with open_gateway(surface_url, tmp_path_factory.mktemp("data")) as gateway:
        yield gateway


@pytest.fixture
def graphql(gateway: Gateway) -> GraphQL:
    """`graphql(headers, query, variables)` gives the body of the answer, whatever its status."""

    async def run(headers: Headers, query: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        body: dict[str, Any] = (await gateway.graphql(query, headers, **(variables or {}))).json()
        return body

    return run


@pytest_asyncio.fixture(loop_scope="session")
async def one(gateway: Gateway) -> Tenant:
    """A new organization."""
    return await new_tenant(gateway)


@pytest_asyncio.fixture(loop_scope="session")
async def two(gateway: Gateway) -> Tenant:
    """Another new organization."""
    return await new_tenant(gateway)
