"""Columns that the database works out of a record's others, for an index of the value; no surface shows them."""

from typing import Any

from sqlalchemy import Computed
from sqlalchemy.ext.compiler import compiles
from sqlmodel import Field

from storage.base import PlainText


class WorkedOut(Computed):
    """A value that PostgreSQL writes with the row, and that SQLite works out whenever it is asked for."""

    def __init__(self, expression: str) -> None:
        super().__init__(expression, persisted=True)


@compiles(WorkedOut, "sqlite")
def _virtual(worked_out: WorkedOut, _compiler: object, **_: object) -> str:
    return f"GENERATED ALWAYS AS ({worked_out.sqltext}) VIRTUAL"


def worked_out(expression: str) -> Any:  # Any: what SQLModel's own `Field` gives
    """Declares a text that is worked out so: nobody writes it."""
    return Field(default=None, sa_type=PlainText, sa_column_args=[WorkedOut(expression)])
