"""A record and its event in one statement: one round trip, and the organization's event counter is held no longer.

Between the statements of a transaction the counter's row stays locked while the client is busy with other requests, so
an organization's creations go one after the other at the client's pace. As one statement they go at the server's
(decision 74).
"""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import asyncpg
from sqlalchemy import Select, bindparam, func, insert, literal_column, select, true
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlmodel import SQLModel, col

from storage.base import Identifier, Record, as_uuid
from storage.database import Database
from storage.drafts import model_of
from storage.postgresql import SETTING
from storage.prepared import ORGANIZATION
from storage.tables import Event, EventCounter

_WALL = "crm_wall"


def can_append(database: Database) -> bool:
    """Whether the database knows such a statement, which SQLite does not."""
    return database.dialect == "postgresql"


async def append(
    database: Database, organization: str, record: Any, references: Mapping[str, type[Record]], event: Any
) -> bool:
    """Insert a draft whose given references exist, and the draft of its event with the next sequence number.

    False, and nothing is written, where a reference leads nowhere. For a database that `can_append`.
    """
    model = model_of(record)
    given = {name: model for name, model in references.items() if getattr(record, name) is not None}
    values = {f"to_{name}": as_uuid(getattr(record, name)) for name in given}
    if None in values.values():
        return False
    values |= {f"new_{name}": getattr(record, name) for name in _columns(model)}
    values |= {f"event_{name}": getattr(event, name) for name in _columns(Event)}
    build = partial(_appending, model, given)
    try:
        rows = await database.send_at_once(organization, ("append", model, tuple(given)), build, values)
    except asyncpg.ForeignKeyViolationError:  # a reference was deleted in the same moment
        return False
    return bool(rows)


def _appending(model: type[SQLModel], references: Mapping[str, type[Record]]) -> Select[Any]:
    """Everything hangs on the wall: rows to be read or inserted come after the organization has been set.

    The policies on what is inserted look at each row as it comes; reading is fenced as in storage/prepared.py.
    """
    set_organization = func.set_config(SETTING, func.text(ORGANIZATION), true()).label("id")
    wall = select(set_organization).cte(_WALL).prefix_with("MATERIALIZED")
    allowed = select(wall.c.id).select_from(wall)
    for name, target in references.items():
        sought = bindparam(f"to_{name}", type_=Identifier)
        found = (
            select(col(target.id))
            .where(col(target.org_id) == ORGANIZATION, col(target.id) == sought, wall.c.id.is_not(None))
            .offset(literal_column("0"))
            .lateral(f"to_{name}")
        )
        allowed = allowed.join(found, true())
    going = allowed.cte("going").prefix_with("MATERIALIZED")
    made = _inserting(model, "new").select_from(going)
    record = insert(model).from_select(["org_id", *_columns(model)], made).returning(_table(model).c.id).cte("made")
    columns: list[Any] = [ORGANIZATION.label("org_id"), literal_column("1").label("last")]
    first = select(*columns).select_from(record)
    counter = upsert(EventCounter).from_select(["org_id", "last"], first)
    counted = (
        counter.on_conflict_do_update(index_elements=["org_id"], set_={"last": col(EventCounter.last) + 1})
        .returning(col(EventCounter.last))
        .cte("counted")
    )
    noted = _inserting(Event, "event").add_columns(counted.c.last).select_from(counted)
    written = (
        insert(Event)
        .from_select(["org_id", *_columns(Event), "sequence"], noted)
        .returning(col(Event.sequence))
        .cte("written")
    )
    return select(written.c.sequence)


def _inserting(model: type[SQLModel], prefix: str) -> Select[Any]:
    parameters = (bindparam(f"{prefix}_{n}", type_=_table(model).c[n].type) for n in _columns(model))
    return select(ORGANIZATION, *parameters)


@cache
def _columns(model: type[SQLModel]) -> tuple[str, ...]:
    """The columns that the draft gives."""
    return tuple(c.name for c in _table(model).columns if c.name not in ("org_id", "sequence"))


def _table(model: type[SQLModel]) -> Any:
    return model.__table__  # type: ignore[attr-defined]  # every table class has one
