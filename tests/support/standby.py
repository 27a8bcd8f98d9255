"""A server that follows another by PostgreSQL's own streaming replication, and can take its place."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from tests.support.postgresql import OWNER, Server, in_memory

REPLICATED = {
    "wal_level": "replica",
    "max_wal_senders": "10",
    "wal_log_hints": "on",
    "wal_keep_size": "'256MB'",  # what the old primary needs to find where the two parted
    "hot_standby_feedback": "on",
}
"""Settings of a server that others may follow, and that may follow one of them again."""
_PORT = 5432


class Standby(Server):
    """A running copy of a server that follows it; leave the block to stop it and delete its data."""

    def __init__(self, primary: Server, place: Path | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="crm-pg-", dir=place or in_memory()))
        self._data = self._folder / "data"
        self._programs, self.system_user = primary._programs, primary.system_user
        if self.system_user is not None:
            shutil.chown(self._folder, self.system_user)
        self.run("pg_basebackup", "-h", primary.address[0], "-U", "postgres", "-D", str(self._data), "-R", "-c", "fast")
        self._begin()

    def promote(self) -> None:
        """Have it take writes; returns when it does."""
        self.run("pg_ctl", "promote", "-D", str(self._data), "-w")


def follow(old: Server, new: Server) -> None:
    """Bring a server that died back as a standby of the one that took its place, by the documented recipe.

    What it wrote and nobody has is undone first: it would be in the way of what comes.
    """
    source = f"host={new.address[0]} user=postgres dbname=postgres"
    old.run("pg_rewind", "-D", str(old._data), f"--source-server={source}", "-R")
    old.restart()


def several(database: str, *servers: Server, attributes: str = "read-write") -> str:
    """The address of a database on whichever of these servers takes writes."""
    hosts = "&".join(f"host={quote(server.address[0])}:{_PORT}" for server in servers)
    return f"postgresql+asyncpg://{OWNER}@/{database}?{hosts}&target_session_attrs={attributes}"


def caught_up(primary: Server, standby: Server, seconds: float = 30) -> None:
    """Wait until the standby has applied all that the primary has written by now."""
    position = primary.ask("SELECT pg_current_wal_insert_lsn()::text")
    deadline = time.monotonic() + seconds
    while not standby.ask(f"SELECT pg_last_wal_replay_lsn() >= '{position}'"):
        if time.monotonic() > deadline:
            raise TimeoutError("the standby is behind")
        time.sleep(0.01)
