"""What is sent to a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from storage.database import Database

BROKEN_RULES = (asyncpg.IntegrityConstraintViolationError, sqlite3.IntegrityError)
"""The errors of the drivers for a row that breaks a constraint."""
DATABASE_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, sqlite3.Error)
"""All errors of the drivers."""


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """The texts of the statements sent meanwhile, without those that begin a transaction."""
    sent: list[str] = []

    def note(statement: str) -> None:
        if not statement.startswith("BEGIN"):
            sent.append(statement)

    database.observers.append(note)
    try:
        yield sent
    finally:
        database.observers.remove(note)
