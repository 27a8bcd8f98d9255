"""Telling a database that is away, has no room or gave up on a statement from a statement that is wrong."""

import sqlite3

import asyncpg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from contract.errors import GatewayError, TimedOut, Unavailable
from storage.adapters.aiosqlite import FileConnection
from storage.connection_pool import Driver

_AWAY = ("08", "57", "53", "40")
"""SQLSTATE classes of a server that is away, shutting down, or out of connections, or that gave another transaction
way because the two waited for each other (decision 98): each time it is right to try again."""
_STANDBY = "25006"
"""The SQLSTATE of a write to a server that only follows another, where the next connection finds it (decision 960)."""
_MOVING = "CRM57"
"""The SQLSTATE of a write to an organization that is being moved, or lies on another server by now (decision 1082)."""
_CANCELED = "57014"
"""The SQLSTATE of a statement that the server ended, which is one that took too long."""
_SQLITE_AWAY = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
    }
)


def is_statement_error(error: BaseException) -> bool:
    """Says whether the server refused or ended a statement, and the connection is as good as before."""
    return isinstance(error, asyncpg.PostgresError | sqlite3.DatabaseError) and not is_away(error)


def is_timed_out(error: BaseException) -> bool:
    """Says whether a statement was ended because it took too long (decision 87)."""
    cause = getattr(error, "orig", error)
    if (code := _sqlite_code(cause)) is not None:
        return code == sqlite3.SQLITE_INTERRUPT
    return getattr(cause, "sqlstate", None) == _CANCELED


def is_duplicate(error: BaseException) -> bool:
    """Says whether a statement would have made a second row of what there can be one of."""
    codes = (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
    return isinstance(error, asyncpg.UniqueViolationError) or getattr(error, "sqlite_errorcode", None) in codes


def is_no_database(error: BaseException) -> bool:
    """Says whether the file is none of SQLite's."""
    return _sqlite_code(getattr(error, "orig", error)) == sqlite3.SQLITE_NOTADB


def _sqlite_code(cause: object) -> int | None:
    """SQLite's primary result code; None where the error is not its own."""
    code: int | None = getattr(cause, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def is_away(error: BaseException) -> bool:
    """Says whether the error says that the database cannot be reached or has no room, rather than that we are wrong."""
    if is_timed_out(error):
        return False
    if isinstance(error, OSError | PoolTimeout):
        return True
    cause = getattr(error, "orig", error)
    if isinstance(cause, asyncpg.InternalClientError):
        return True  # the server has just told the connection, which was idle, that it ends
    if (code := _sqlite_code(cause)) is not None:
        return code in _SQLITE_AWAY
    state = getattr(cause, "sqlstate", None)
    if state:
        return str(state)[:2] in _AWAY or state in (_STANDBY, _MOVING)
    return isinstance(error, DBAPIError) and error.connection_invalidated


def closed_under(driver: Driver, error: BaseException | None) -> ConnectionResetError | None:
    """Say that the connection was closed where that is why the driver refused a statement, and nothing otherwise.

    The driver's own errors have no code: such a one is of a closed connection or of a mistake, which the driver knows.
    """
    if isinstance(error, asyncpg.InterfaceError) and driver.is_closed():
        return ConnectionResetError("the connection is closed")
    return None


def leaves_what_came_before(driver: Driver, error: BaseException) -> bool:
    """Says whether a transaction can be taken back to where the part began in which the error was met.

    It cannot where the connection is closed or its server away, nor where SQLite has taken back all of it, as it does
    with a write that took too long.
    """
    if not isinstance(error, Exception) or closed_under(driver, error):
        return False
    if isinstance(driver, FileConnection) and not driver.in_transaction:
        return False
    return is_statement_error(error) or refusal_of(error) is None


def refusal_of(error: BaseException) -> GatewayError | None:
    """Says what is to be raised in place of an error that is not the statement's: Unavailable, TimedOut, or nothing."""
    if is_timed_out(error):
        return TimedOut()
    return Unavailable() if is_away(error) else None
