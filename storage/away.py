"""Telling a database that is away, or has no room for us just now, from a statement that is wrong."""

import sqlite3

import asyncpg
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

_AWAY = ("08", "57", "53", "40")
"""SQLSTATE classes of a server that is away, shutting down, or out of connections, or that gave another transaction
way because the two waited for each other: each time it is right to try again."""
_VAGUE = (asyncpg.InterfaceError, sqlite3.OperationalError, sqlite3.ProgrammingError, InterfaceError, OperationalError)
_AWAY_WORDS = ("locked", "busy", "closed", "unable to open", "connection")


def is_statement_error(error: BaseException) -> bool:
    """Whether the server refused a statement, and the connection is as good as before."""
    return isinstance(error, asyncpg.PostgresError | sqlite3.DatabaseError) and not is_away(error)


def is_away(error: BaseException) -> bool:
    """Whether the error says that the database cannot be reached or has no room, rather than that we are wrong."""
    if isinstance(error, OSError | PoolTimeout):
        return True
    cause = getattr(error, "orig", error)
    state = getattr(cause, "sqlstate", None)
    if state:
        return str(state)[:2] in _AWAY
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return isinstance(cause, _VAGUE) and any(word in str(cause) for word in _AWAY_WORDS)
