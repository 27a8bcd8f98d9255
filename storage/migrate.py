"""Migrations, applied from within the program: no alembic.ini, no logging set-up, safe when several processes start."""

import asyncio
import fcntl
import os
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

from contract.errors import Unavailable
from storage.addresses import file_in
from storage.db_errors import is_away, is_no_database
from storage.folders import make

if TYPE_CHECKING:
    from alembic.config import Config

FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x63726D  # "crm"; one key for all versions of the program
_LOCK_SECONDS = 60
_OF_SQLITE = {"isolation_level": None, "timeout": _LOCK_SECONDS}
_UNPREPARED = {"prepared_statement_cache_size": 0, "statement_cache_size": 0, "prepared_statement_name_func": str}
"""Nothing stays behind on a pooler's connection, and nothing of others is met there (decision 116)."""
_REVISION = re.compile(r"^(revision|down_revision)\b[^=]*= *(?:\"([^\"]+)\"|'([^']+)'|None) *$", re.MULTILINE)


class UnknownRevision(RuntimeError):
    """The database was migrated by another, probably newer version of the program."""


class UnusableFile(RuntimeError):
    """The SQLite file cannot be made, or is none; the text names it and the reason."""


async def upgrade(url: str, revision: str = "head") -> None:
    """Apply what is not applied yet; a new SQLite file is made with mode 0600, in a folder of its own if need be.

    Several callers at once wait for each other (SQLite: up to 60 s, then Unavailable). All or nothing.
    """
    if revision == "head" and not await pending(url):
        return
    await asyncio.to_thread(_prepare_file, make_url(url))
    await _command(url, lambda config: _alembic().upgrade(config, revision))


async def downgrade(url: str, revision: str) -> None:
    """Take migrations back until `revision` (or "base") is the current one."""
    await _command(url, lambda config: _alembic().downgrade(config, revision))


@asynccontextmanager
async def turn(url: URL) -> AsyncIterator[None]:
    """A turn among all processes on this database: one is in the block at a time, with sessions of its own in it."""
    file = file_in(url)
    if file is None:
        async with _connection(url) as connection:
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK + 1})"))
            yield
        return
    descriptor = os.open(f"{file}.lock", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        await asyncio.to_thread(fcntl.flock, descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


async def draft(url: str, message: str) -> None:
    """Write a new migration file with the differences between the tables and a fully migrated database."""
    from storage.tables import load_all  # which an upgrade does not need

    load_all()
    number = f"{int(revisions()[-1]) + 1:04}"
    await _command(url, lambda config: _alembic().revision(config, message, autogenerate=True, rev_id=number))


async def current(url: str) -> str | None:
    """The revision of the database; None before the first migration, also where there is no database file yet."""
    address = make_url(url)
    file = file_in(address)
    if file is not None and not file.exists():
        return None
    async with _connection(address) as connection:
        exists = (
            "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'"
            if file is not None
            else "SELECT 1 WHERE to_regclass('alembic_version') IS NOT NULL"
        )
        if (await connection.execute(text(exists))).first() is None:
            return None
        found: str | None = (await connection.execute(text("SELECT version_num FROM alembic_version"))).scalar()
        return found


async def pending(url: str) -> list[str]:
    """The revisions that are not applied yet, oldest first; raises UnknownRevision where the database is ahead."""
    known = revisions()
    at = await current(url)
    if at is None:
        return known
    if at not in known:
        raise UnknownRevision(f"the database is at revision {at}, which this version does not know")
    return known[known.index(at) + 1 :]


def revisions() -> list[str]:
    """All revisions, oldest first, read off the files: importing Alembic would take longer than all the rest."""
    after: dict[str | None, str] = {}
    for file in (FOLDER / "versions").glob("*.py"):
        named = {m[1]: m[2] or m[3] for m in _REVISION.finditer(file.read_text())}
        after[named["down_revision"]] = named["revision"]
    chain: list[str] = []
    while (following := after.get(chain[-1] if chain else None)) is not None:
        chain.append(following)
    return chain


def _alembic() -> Any:  # Any: imported where it is needed
    from alembic import command

    return command


async def _command(url: str, run: Callable[["Config"], object]) -> None:
    """Run an Alembic command on one connection, in one transaction, while no other process does.

    One at a time within a process, too: Alembic keeps the running migration in a module's variable.
    """
    address = make_url(url)

    def inside(connection: Connection) -> None:
        from alembic.config import Config

        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
        run(config)

    async with _connection(address, writing=True) as connection:
        # Begun before Alembic looks: else, on SQLite, it would commit after each migration and let others in between.
        await connection.begin()
        if address.get_backend_name() == "postgresql":
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        await connection.run_sync(inside)
        if file_in(address) is not None:
            # Migrations run without enforcement, as tables may have to be made anew; so look afterwards.
            broken = (await connection.execute(text("PRAGMA foreign_key_check"))).all()
            if broken:
                raise RuntimeError(f"the migration leaves references to nothing: {broken}")
        await connection.commit()


@asynccontextmanager
async def _connection(url: URL, *, writing: bool = False) -> AsyncIterator[AsyncConnection]:
    is_file = file_in(url) is not None
    engine = create_async_engine(url, poolclass=NullPool, connect_args=_OF_SQLITE if is_file else _UNPREPARED)
    if is_file and writing:
        event.listen(engine.sync_engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    try:
        async with engine.connect() as connection:
            yield connection
    except (DBAPIError, OSError) as error:
        if is_no_database(error):
            raise UnusableFile(f"{url.database}: is not a database") from error
        if is_away(error):
            raise Unavailable() from error
        raise
    finally:
        await engine.dispose()


def _prepare_file(url: URL) -> None:
    file = file_in(url)
    if file is None:
        return
    if not file.exists():
        try:
            make(file.parent)
            with suppress(FileExistsError):
                # Never opened again where it exists: closing it would take away the locks that this process has on it.
                descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
                os.fchmod(descriptor, 0o600)  # whatever the umask
                os.close(descriptor)
        except OSError as error:
            raise UnusableFile(f"{file}: {error.strerror}") from error
    _write_ahead(file)


def _write_ahead(file: Path) -> None:
    """Turn the write-ahead log on, once for all: of several processes that do so at once all but one get an error."""
    deadline = time.monotonic() + _LOCK_SECONDS
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if not is_away(error):
                    raise
                if time.monotonic() > deadline:
                    raise Unavailable() from error
                time.sleep(0.02)
