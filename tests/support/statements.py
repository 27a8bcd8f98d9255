"""What is sent to a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from storage.database import Database


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
