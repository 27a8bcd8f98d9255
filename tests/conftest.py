"""Databases: every test that asks for one runs on SQLite and on PostgreSQL, with a migrated database of its own.

Nothing here or below depends on how fast the machine is (decision 175).
"""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import certifi
import pytest
from pydantic._internal import _fields

from contract.limits import CONNECTION_SECONDS
from storage import migrate
from storage.bounded_cache import BoundedCache
from storage.database import Database
from storage.statements import CompiledStatement
from storage.tables import load_all
from tests.support import distribution_watch
from tests.support.postgresql import Server, in_memory

_numbers = count()

# Tests go through the metadata, which the service has whole.
load_all()

# Each commit to an SQLite file on a disk waits for that, 5 ms for one and more than the whole test for many.
if (memory := in_memory()) is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", memory)

# What is collected stays to the end: the collector would look through it again and again while it grows.
gc.disable()


def pytest_collection_finish() -> None:
    """Leave what is there by now alone for good, and look less often at what comes: tests keep little of it."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before those that are not asked for are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that are marked as long on one database only get the mark there."""
    for item in items:
        mark = item.get_closest_marker("long_on")
        callspec = getattr(item, "callspec", None)
        if mark is None or callspec is None:
            continue
        if any(value in mark.args for value in callspec.params.values() if isinstance(value, str)):
            item.add_marker("long")  # whichever of the databases' fixtures has the parameter


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """A test fails that has sent what a database that is distributed by organization would refuse."""
    yield
    distribution_watch.complain(is_forgiven=item.get_closest_marker("undistributable") is not None)


@pytest.hookimpl(optionalhook=True)  # `./run lowest` has no xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deals out by module and database what would be dealt out by module."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.support.scheduling import ByModuleAndDatabase

    return ByModuleAndDatabase(config, log)


@pytest.fixture(scope="session", autouse=True)
def _patient() -> Iterator[None]:
    """Requests wait for their connections: what a starved machine refuses says nothing of what is tested."""
    with pytest.MonkeyPatch.context() as patch:
        _wait_for_connections(patch, 30.0)
        yield


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests wait for their connections as long as they do where the service is installed."""
    _wait_for_connections(monkeypatch, CONNECTION_SECONDS)


def _wait_for_connections(patch: pytest.MonkeyPatch, seconds: float) -> None:
    for module in ("storage.connection_pool", "storage.database", "storage.analytics.postgresql_runner"):
        patch.setattr(f"{module}.CONNECTION_SECONDS", seconds)


@pytest.fixture(scope="session", autouse=True)
def _timeless() -> Iterator[None]:
    """What a request takes of the database costs nothing within the tests, whatever else the machine does.

    Who tests what time costs brings a clock (decision 141).
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("storage.database_time.monotonic", lambda: 0.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def _attentive() -> Iterator[None]:
    """Workers in the tests' own process look for work ten times as often: most of what a job took was the wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobs.worker._POLL_SECONDS", 0.05)
        yield


@pytest.fixture(scope="session", autouse=True)
def _distributable() -> Iterator[None]:
    """Every statement that is sent to PostgreSQL is judged, once in each process."""
    with distribution_watch.watching():
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Clients know one certificate authority: reading all takes each of them 20 ms, and nothing here asks any."""
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    first, _, _ = Path(certifi.where()).read_text().partition(begin)[2].partition(end)
    file = tmp_path_factory.mktemp("authorities") / "one.pem"
    file.write_text(f"{begin}{first}{end}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("certifi.where", lambda: str(file))
        patch.setenv("SSL_CERT_FILE", str(file))
        yield


@pytest.fixture(scope="session", autouse=True)
def _compiled_once() -> Iterator[None]:
    """Databases of one kind share their compiled statements: each follows from its key, whatever it is sent to."""
    shared: dict[str, BoundedCache[Hashable, CompiledStatement]] = {}
    begin = Database.__init__

    def begin_sharing(self: Database, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        self.statements = shared.setdefault(self.dialect, self.statements)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "__init__", begin_sharing)
        yield


@pytest.fixture(scope="session", autouse=True)
def _read_once() -> Iterator[None]:
    """Pydantic reads the signature of what makes a default once, not for each row: three quarters of its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_fields, "takes_validated_data_argument", cache(_fields.takes_validated_data_argument))
        yield


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """The server; it starts when the first test needs it, and its absence is a failure."""
    with Server() as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_template(postgresql: Server) -> str:
    """The name of a migrated database to copy."""
    postgresql.create("template_migrated")
    asyncio.run(migrate.upgrade(postgresql.url("template_migrated")))
    return "template_migrated"


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file to copy."""
    file = tmp_path_factory.mktemp("sqlite") / "template.db"
    asyncio.run(migrate.upgrade(f"sqlite+aiosqlite:///{file}"))
    return file


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    """Ask for it to know which of the two it is, or parametrize it indirectly to run on one of them."""
    return str(request.param)


@pytest.fixture
def empty_database_url(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database without any table (SQLite: of a file that does not exist)."""
    if dialect == "sqlite":
        yield f"sqlite+aiosqlite:///{tmp_path / 'empty.db'}"
    else:
        yield from _postgresql_copy(request.getfixturevalue("postgresql"), "template0")


@pytest.fixture
def database_url(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a fresh migrated database."""
    if dialect == "sqlite":
        file = tmp_path / "crm.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), file)
        file.chmod(0o600)
        yield f"sqlite+aiosqlite:///{file}"
    else:
        template = request.getfixturevalue("postgresql_template")
        yield from _postgresql_copy(request.getfixturevalue("postgresql"), template)


def _postgresql_copy(server: Server, template: str) -> Iterator[str]:
    name = f"test_{next(_numbers)}"
    server.create(name, template=template)
    yield server.url(name)
    server.drop(name)


@pytest.fixture
async def open_database(database_url: str) -> AsyncIterator[Callable[[], Database]]:
    """Opens further `Database`s on the same database, as other processes would; they are closed at the end."""
    opened: list[Database] = []

    def open_one() -> Database:
        opened.append(Database(database_url))
        return opened[-1]

    yield open_one
    for database in opened:
        await database.close()


@pytest.fixture
async def database(open_database: Callable[[], Database]) -> Database:
    """A fresh migrated database."""
    return open_database()
