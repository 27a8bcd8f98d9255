"""Runs every command of Alembic; the connection, its lock and its transaction come from `storage.migrate`."""

from alembic import context
from sqlmodel import SQLModel

import storage.base  # noqa: F401  # gives the metadata its names of constraints
from storage.search_index import FULL_TEXT_TABLE


def _compared(_item: object, name: str | None, kind: str, _reflected: bool, _compare_to: object) -> bool:
    from storage.tables.activities import UNCOMPARED_INDEXES  # which an upgrade does not need
    from storage.tables.search import SEARCH_INDEX

    if kind == "table":
        return not str(name).startswith(FULL_TEXT_TABLE)
    return not (kind == "index" and name in {*UNCOMPARED_INDEXES, SEARCH_INDEX})


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    include_object=_compared,
    render_as_batch=False,
)
context.run_migrations()
