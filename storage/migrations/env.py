"""What Alembic runs for every command; the connection, its lock and its transaction come from `storage.migrate`."""

from typing import Any

from alembic import context
from sqlmodel import SQLModel

import storage.tables  # noqa: F401  # registers the tables
from storage.tables.meetings import UNCOMPARED_INDEXES


def _compared(_item: Any, name: str | None, kind: str, _reflected: bool, _compare_to: Any) -> bool:
    return not (kind == "index" and name in UNCOMPARED_INDEXES)


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    include_object=_compared,
    render_as_batch=False,
)
context.run_migrations()
