"""Faults of everything that a gateway stands on, made for real: processes are killed, servers paused, disks filled.

`./run test --long` makes each once. The figures of docs/reliability.md are those of more of each:
`CRM_FAULTS=long ./run test tests/faults`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from storage import migrate
from tests.support.postgresql import DURABLE, Server


@pytest.fixture(scope="module")
def cluster() -> Iterator[Server]:
    """A PostgreSQL server of the module's own, which keeps what it acknowledged and may be hurt."""
    with Server(**DURABLE) as server:
        yield server


@pytest.fixture
def hurt_url(cluster: Server) -> Iterator[str]:
    """The address of a migrated database on it."""
    cluster.create("hurt")
    asyncio.run(migrate.upgrade(cluster.url("hurt")))
    yield cluster.url("hurt")
    cluster.drop("hurt")
