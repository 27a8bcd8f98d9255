"""Runs statements of callers on SQLite: read-only connections in threads of their own, behind an authorizer."""

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import local
from time import monotonic
from typing import Final
from urllib.parse import quote

from contract.catalog_tables import SQL_FUNCTIONS, SQL_TABLES
from contract.errors import AnalyticsFailed, AnalyticsRefused, TimedOut, Unavailable
from contract.guard_layers import GuardLayer
from contract.limits import SQL_RUNNING_MAX, SQL_SECONDS, SQL_TABLES_MAX
from storage.analytics.exact_functions import NAMES, register
from storage.analytics.guard import Guarded
from storage.analytics.values import BATCH, Answer
from storage.thread_rank import step_back

_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 500_000,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 5,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 10 * SQL_TABLES_MAX,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_FUNCTIONS: Final = frozenset({*SQL_FUNCTIONS["sqlite"], *NAMES, "like", "current_date", "likelihood"})
_STEPS: Final = 100_000
"""Steps of SQLite's machine between two looks at the time: some milliseconds. A look takes the interpreter's lock."""
_NICER: Final = 19
_READ: Final = {name: frozenset({"", "org_id", *table.columns}) for name, table in SQL_TABLES.items()}


def _give_way() -> None:
    """Have this thread step back (decision 1197)."""
    step_back(_NICER)


def authorize(action: int, one: str | None, other: str | None, database: str | None, _view: str | None) -> int:
    """Decide on every part of a statement whether the connection may do it: read listed columns by listed functions."""
    if action == sqlite3.SQLITE_SELECT:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ and database in ("main", None) and (other or "") in _READ.get(one or "", ()):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (other or "").lower() in _FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def connect(file: str) -> sqlite3.Connection:
    """A connection that reads the file, and can do nothing else. Raises sqlite3.Error."""
    connection = sqlite3.connect(
        f"file:{quote(file)}?mode=ro", uri=True, check_same_thread=False, isolation_level=None, cached_statements=0
    )
    for pragma in (
        "query_only=ON",
        "busy_timeout=500",
        "cell_size_check=ON",
        "cache_size=-16000",
    ):
        connection.execute(f"PRAGMA {pragma}")
    register(connection)
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, most)
    connection.set_authorizer(authorize)
    return connection


@dataclass(slots=True)
class _Run:
    """A statement while it runs."""

    guarded: Guarded
    organization: str
    answer: Answer
    deadline: float
    connection: sqlite3.Connection | None = None
    is_ended: bool = False

    def is_over(self) -> bool:
        """Says whether its time is."""
        return self.is_ended or monotonic() > self.deadline

    def end(self) -> None:
        """End it, in whatever step it is."""
        self.is_ended = True
        if self.connection is not None:
            self.connection.interrupt()


class SqliteRunner:
    """Runs statements on one file, two at a time."""

    dialect = "sqlite"

    def __init__(self, file: str, *, seconds: float = SQL_SECONDS) -> None:
        self._file = file
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(SQL_RUNNING_MAX, thread_name_prefix="analytics", initializer=_give_way)
        self._own = local()
        self._connections: list[sqlite3.Connection] = []

    async def run(self, guarded: Guarded, organization: str, answer: Answer) -> None:
        """Fill the answer. Raises AnalyticsFailed, AnalyticsRefused (SESSION), TimedOut, Unavailable."""
        loop = asyncio.get_running_loop()
        run = _Run(guarded, organization, answer, monotonic() + self._seconds)
        work = loop.run_in_executor(self._threads, self._run, run)
        timer = loop.call_later(self._seconds, run.end)
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            run.end()
            await asyncio.wait([work])
            if not work.cancelled():
                work.exception()  # asked for, or else the loop would log it
            raise
        finally:
            timer.cancel()

    def _run(self, run: _Run) -> None:
        try:
            connection = run.connection = self._connection()
            connection.set_progress_handler(run.is_over, _STEPS)
            if run.is_over():
                raise TimedOut
            rows = connection.execute(run.guarded.sql, [run.organization] * run.guarded.parameters)
            try:
                while found := rows.fetchmany(BATCH):
                    if not run.answer.take(found):
                        break
            finally:
                rows.close()
        except sqlite3.Error as error:
            raise _explained(error, run) from None
        finally:
            if run.connection is not None:
                run.connection.set_progress_handler(None, 0)
                run.connection = None

    def _connection(self) -> sqlite3.Connection:
        """The thread's own."""
        found: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if found is None:
            found = self._own.connection = connect(self._file)
            self._connections.append(found)
        return found

    async def close(self) -> None:
        """Close every connection, once what runs has ended."""
        await asyncio.to_thread(self._threads.shutdown)
        for connection in self._connections:
            connection.close()
        self._connections.clear()


def _is_taken(run: _Run) -> bool:
    """Says whether the database takes the statement, so that what it computes is to blame."""
    if run.connection is None:
        return False
    try:
        run.connection.execute(f"EXPLAIN {run.guarded.sql}", [run.organization] * run.guarded.parameters).close()
    except sqlite3.Error:
        return False
    return True


def _explained(error: sqlite3.Error, run: _Run) -> Exception:
    """The error as callers are told it: the database's own words may quote values."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if run.is_over() or code == sqlite3.SQLITE_INTERRUPT:
        return TimedOut()
    if code == sqlite3.SQLITE_AUTH:
        return AnalyticsRefused(GuardLayer.SESSION, "the connection may not do this", 1, 1)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR):
        return Unavailable()
    if code == sqlite3.SQLITE_TOOBIG:
        return AnalyticsFailed("A text or the statement gets too long")
    if _is_taken(run):
        return AnalyticsFailed("A division by zero, a text that is no number, or a figure with too many digits")
    return AnalyticsFailed("The database does not take the statement")
