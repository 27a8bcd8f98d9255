"""The disk full: writes are refused with 503, reads go on, and writes as soon as there is room again."""

from __future__ import annotations

import asyncio
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest
from sqlalchemy.engine import make_url

from storage import migrate
from tests.faults.load import kept, pick, until, writing
from tests.support.live import Live, going
from tests.support.postgresql import DURABLE, Server

pytestmark = pytest.mark.long

SQLITE_SIZE = 8 * 2**20
POSTGRESQL_SIZE = 160 * 2**20
_SMALL = {"shared_buffers": "'16MB'", "max_wal_size": "'64MB'"}
NOTES = "x" * 9_000


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    """A file system of that size; skips where this machine does not let us mount one."""
    folder.mkdir(exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> Callable[[], None]:
    """Take all that is left of the disk; what is returned gives it back."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (2**16, 2**10, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return ballast.unlink


async def _until_full(address: str, headers: dict[str, str]) -> None:
    """Write until that is refused, as it has to be."""
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=30) as client:
        for _ in range(20_000):
            answer = await client.post("/deals", json={"name": "Large", "notes": NOTES})
            if answer.status_code != 201:
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1"), answer.text
                return
    pytest.fail("the disk was never full")


@pytest.fixture
def small_file(sqlite_template: Path, tmp_path: Path) -> Iterator[Path]:
    """A migrated SQLite file on a small disk."""
    with small_disk(tmp_path / "disk", SQLITE_SIZE):
        file = tmp_path / "disk" / "crm.db"
        file.parent.chmod(0o700)
        shutil.copyfile(sqlite_template, file)
        file.chmod(0o600)
        yield file


@pytest.fixture
def disk() -> Iterator[Path]:
    """A small disk that other users of the system may use; its path is short enough for that of a socket."""
    folder = Path(tempfile.mkdtemp(prefix="crm-disk-"))
    try:
        folder.chmod(0o755)
        with small_disk(folder, POSTGRESQL_SIZE):
            yield folder
    finally:
        folder.rmdir()


@pytest.fixture
def small_server(disk: Path) -> Iterator[str]:
    """The address of a migrated database of a server on the small disk."""
    with Server(disk, **DURABLE | _SMALL) as server:
        server.create("small")
        asyncio.run(migrate.upgrade(server.url("small")))
        yield server.url("small")


async def test_sqlite_without_room(small_file: Path, tmp_path: Path) -> None:
    async with going(tmp_path, f"sqlite+aiosqlite:///{small_file}", CRM_RATE_LIMIT="off") as live:
        await _survives(live, partial(fill, small_file.parent))


async def test_postgresql_without_room(small_server: str, disk: Path, tmp_path: Path) -> None:
    async with going(tmp_path, small_server, CRM_RATE_LIMIT="off") as live:
        await _survives(live, partial(fill, disk))


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_file_that_may_not_grow(database_url: str, tmp_path: Path) -> None:
    """The same by a limit of the process, where no disk can be made: other errors of the system, one answer."""
    async with going(tmp_path, database_url, CRM_RATE_LIMIT="off") as live:

        def limit(size: int) -> None:
            resource.prlimit(live.service.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        def without_room() -> Callable[[], None]:
            limit(Path(f"{make_url(database_url).database}-wal").stat().st_size + 2**16)
            return partial(limit, resource.RLIM_INFINITY)

        await _survives(live, without_room)


async def _survives(live: Live, without_room: Callable[[], Callable[[], None]]) -> None:
    """Nothing but 503 while there is no room; reads go on; and so do writes, as soon as there is room again."""
    headers = live.token()
    async with writing(live, 4) as load:
        await load.until(pick(20, 500))
        make_room = await asyncio.to_thread(without_room)
        await _until_full(live.service.address, headers)
        refusals = load.outcomes[503]
        await until(lambda: load.outcomes[503] > refusals + 20)
        async with httpx.AsyncClient(base_url=live.service.address, headers=headers, timeout=30) as client:
            assert (await client.get("/health")).status_code == 200
            assert (await client.get("/deals", params={"limit": 1})).status_code == 200
        began = time.monotonic()
        make_room()
        before = len(load.acknowledged)
        await load.until(before + 20, 30)
        print(f"{load.outcomes}; 20 writes {time.monotonic() - began:.2f} s after there was room")
        refusals = load.outcomes[503]
        await load.until(before + 60)
        assert load.outcomes[503] == refusals
    assert load.outcomes.keys() <= {200, 201, 503}
    found = await kept(load)
    assert (found.lost, found.partial) == (0, 0)
    assert "Traceback" not in live.service.log.read_text()
