"""Two organizations on two servers: neither sees anything of the other, and each works as on one (decision 1080).

What is told here of a second server is another database of the same one: the service knows no difference.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.isolation.test_other_organization import (  # noqa: F401  # run here as well, with two servers
    test_a_cursor_of_another_organization_shows_nothing_of_it,
    test_a_key_made_by_the_same_person_elsewhere_is_out_of_reach,
    test_through_no_surface,
    test_through_the_surfaces,
)
from tests.support.gateway import Gateway, open_gateway
from tests.support.postgresql import Server

pytestmark = pytest.mark.long


@pytest.fixture
def addresses(postgresql: Server, postgresql_template: str) -> Iterator[tuple[str, str]]:
    """Of the directory's database, and of another one."""
    names = ("clusters_directory", "clusters_north")
    for name in names:
        postgresql.create(name, template=postgresql_template)
    yield postgresql.url(names[0]), postgresql.url(names[1])
    for name in names:
        postgresql.drop(name)


@pytest.fixture
async def gateway(addresses: tuple[str, str], tmp_path: Path) -> AsyncIterator[Gateway]:
    """An application whose second organization lies on another server."""
    directory, north = addresses
    async with open_gateway(directory, tmp_path / "data", clusters=f"north={north}") as gateway:
        yield gateway
