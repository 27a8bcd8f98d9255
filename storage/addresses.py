"""Reads a database's address. Settings are checked by it, without all that speaks to a database."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

_PLAIN_FILE = re.compile(r"sqlite\+aiosqlite:///([^?]+)")
"""The address of a file without parameters, which is most of them: SQLAlchemy takes its time to load (decision 900)."""


def check_address(url: str) -> None:
    """Raise ValueError, without a word of the address, where no database can be meant by it."""
    if _plain(url) is not None:
        return
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        address = make_url(url)
    except (ArgumentError, ValueError):  # a port that is no number, which may be half a password
        raise ValueError("cannot be read: @ : / in a password must be percent-encoded") from None
    file_in(address)


def login_of(url: str) -> str:
    """The user that an address names; of its parameters the last, as the driver takes it."""
    from sqlalchemy.engine import make_url

    address = make_url(url)
    return str(address.query.get("user") or address.username or "")


def file_of(url: str) -> Path | None:
    """The database's file; None for a server."""
    if plain := _plain(url):
        return plain
    from sqlalchemy.engine import make_url

    return file_in(make_url(url))


def file_in(url: "URL") -> Path | None:
    """The same of an address that was read; raises ValueError for SQLite without a file."""
    if url.get_backend_name() != "sqlite":
        return None
    if not url.database or url.database == ":memory:":
        raise ValueError("SQLite needs a file: a database in memory is another one for every connection")
    return Path(url.database)


def _plain(url: str) -> Path | None:
    match = _PLAIN_FILE.fullmatch(url)
    return None if match is None or match[1] == ":memory:" else Path(match[1])
