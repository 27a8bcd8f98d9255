"""Writes the service's own words into statements, which keep their plan then: a parameter would hide the value."""

from sqlalchemy import literal_column

from storage.base import PlainText
from storage.expressions import AnyColumn


def word(text: str) -> AnyColumn:
    """Return one of the service's own words as a value; never a client's, since nothing is escaped."""
    return literal_column(f"'{text}'", PlainText)
