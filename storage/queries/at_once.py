"""A record, what follows of it and its event in one statement of PostgreSQL: one round trip, which is a transaction.

Between the statements of a transaction the row of the organization's event counter stays locked while the client is
busy with other requests, so an organization's writes go one after the other at the client's pace. As one statement they
go at the server's (decision 74).

Everything hangs on the first expression, which sets the organization for this transaction (isolation layer 5): a row is
read or written only once it has been set. Rows are read behind a fence (OFFSET 0), as in storage/statements.py; rows
are changed by inserts that meet them, since an UPDATE may look at its table before it looks at what it is joined to.
References are checked by the foreign keys (decision 199). Whoever finds nothing written looks for the reason in a
transaction. What the event changed in the record, or in others, is written with it (storage/queries/history.py).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TypeVar

import asyncpg
from sqlalchemy import (
    CTE,
    Boolean,
    ColumnElement,
    Select,
    Text,
    bindparam,
    case,
    func,
    inspect,
    literal_column,
    null,
    or_,
    select,
    true,
    update,
)
from sqlalchemy import delete as delete_of
from sqlalchemy.dialects.postgresql import insert
from sqlmodel import SQLModel, UTCDateTime, col

from contract.vocabulary import DealStatus, MemberState
from storage.base import Identifier, PlainText, Record, now, with_copies
from storage.expressions import AnyColumn, AnyEntity, AnySelect, Values
from storage.new_rows import model_of
from storage.postgres.tenant_connection import SETTING
from storage.queries import history, history_at_once
from storage.queries.history import Told
from storage.queries.records import references_to
from storage.statements import ORG_PARAM
from storage.table_statements import columns_of_table
from storage.tables import (
    DealContact,
    Event,
    EventCounter,
    FileLink,
    Person,
    PipelineStage,
    RecordChange,
    StageChange,
    TagLink,
)
from storage.tables.files import ATTACHABLE
from storage.tables.tags import TAGGED
from storage.tenancy.sessions import TenantSession

R = TypeVar("R", bound=SQLModel)

STATUS = "status"
"""The column that takes the type of the stage, in which a deal is or to which it goes."""
CLOSED_AT = "closed_at"
"""The column that has the moment at which that was no longer open (decision 239)."""
STANDING = (STATUS, CLOSED_AT)
_OPEN: ColumnElement[str] = literal_column(f"'{DealStatus.OPEN.value}'")
_UNKNOWN: Mapping[str, ColumnElement[object]] = dict.fromkeys(STANDING, literal_column("NULL", Text()))


async def create(session: TenantSession, record: R, event: Event, *, move: StageChange | None = None) -> R | None:
    """Insert a draft and the draft of its event, and give the row; None, and nothing is done, where a reference leads
    nowhere. With a move, the record has the status of the stage that it names.
    """
    model = model_of(record)
    values = _named("new", record) | _named("event", event) | ({} if move is None else _named("move", move))
    build = partial(_creating, model, has_move=move is not None)
    return await _sent(session, ("create at once", model, move is not None), build, values, record, move)


async def change(
    session: TenantSession,
    row: R,
    changes: Mapping[str, object],
    event: Event,
    *,
    move: StageChange | None = None,
    told: Sequence[Told] = (),
) -> R | None:
    """Change a versioned row that was read without a lock, insert the draft of its event, and give the row.

    None, and nothing is done, where the row has another version by now, a reference leads nowhere, or the new owner is
    no active member (decision 223).
    """
    model = model_of(row)
    changes = with_copies(model, changes)
    names = tuple(sorted(changes))
    after: R = row._replace(**changes)  # type: ignore[attr-defined]  # a named tuple
    all_values = _named("new", after)
    wanted = {f"new_{n}" for n in (*_needed(model), *_stored(model, names))}
    values = {n: value for n, value in all_values.items() if n in wanted} | _named("event", event)
    values |= {"id": all_values["new_id"], "seen": _named("new", row)["new_version"]}
    values |= {} if move is None else _named("move", move)
    values |= history_at_once.values_of(event, told)
    has_owner, alone = changes.get("owner_id") is not None, history_at_once.alone(told)
    build = partial(_changing, model, _stored(model, names), alone, has_owner=has_owner, has_move=move is not None)
    key = ("change at once", model, names, alone, has_owner, move is not None)
    return await _sent(session, key, build, values, after, move)


async def _sent(
    session: TenantSession,
    key: tuple[object, ...],
    build: Callable[[], AnySelect],
    values: Values,
    row: R,
    move: StageChange | None,
) -> R | None:
    try:
        rows = await session.at_once(key, build, **values)
    except asyncpg.ForeignKeyViolationError:
        return None
    if not rows:
        return None
    if move is None:
        return row
    standing = {name: getattr(rows[0], name) for name in STANDING}
    moved: R = row._replace(**standing)  # type: ignore[attr-defined]  # a named tuple
    return moved


async def link(
    session: TenantSession, row: DealContact, seen: DealContact | None, event: Event, told: Sequence[Told]
) -> bool:
    """Put a contact on a deal, or change the link that was seen, and insert the draft of the event.

    It is no primary one. False, and nothing is done, where the link is not as it was seen, or one of the two is not
    there.
    """
    values = _named("new", row) | _named("event", event) | history_at_once.values_of(event, told)
    values |= {} if seen is None else {"seen_role": seen.role, "seen_is_primary": seen.is_primary}
    build = partial(_linking, history_at_once.alone(told), is_known=seen is not None)
    try:
        return bool(await session.at_once(("link at once", history_at_once.alone(told), seen is None), build, **values))
    except (asyncpg.ForeignKeyViolationError, asyncpg.UniqueViolationError):
        return False


def _linking(told: Sequence[bool], *, is_known: bool) -> AnySelect:
    scope, table = _scope(), _table(DealContact)
    deal = table.c.deal_id == _parameter(DealContact, "new", "deal_id")
    contact = table.c.contact_id == _parameter(DealContact, "new", "contact_id")
    sources = []
    if is_known:
        as_seen = (
            table.c.role.is_not_distinct_from(bindparam("seen_role", type_=PlainText)),
            table.c.is_primary == bindparam("seen_is_primary", type_=Boolean),
        )
        there = select(table.c.deal_id).where(table.c.org_id == ORG_PARAM, deal, contact, *as_seen)
        sources.append(_fenced(scope, there.with_for_update(), "there"))
    going = _going(scope, *sources)
    names = columns_of_table(DealContact)
    new = select(ORG_PARAM, *(_parameter(DealContact, "new", n) for n in names)).select_from(going)
    proposed = insert(table).from_select(["org_id", *names], new)
    keys = ["org_id", "deal_id", "contact_id"]
    if is_known:
        changed = {n: proposed.excluded[n] for n in ("role", "is_primary")}
        proposed = proposed.on_conflict_do_update(index_elements=keys, set_=changed)
    made = proposed.returning(table.c.deal_id.label("id")).cte("made")
    return _noted(made, told, has_move=False)


async def delete(
    session: TenantSession, model: type[SQLModel], event: Event, told: Sequence[Told] = (), **key: str
) -> bool:
    """Delete the row of this key, set to null what names it, and insert the draft of its event; whether there was one.

    One statement of a transaction that has set its organization: rows are found by an UPDATE here.
    """
    values = _named("event", event) | history_at_once.values_of(event, told) | key | {"changed_at": now()}
    build = partial(_deleting, model, tuple(key), history_at_once.alone(told))
    return bool(await session.fetch(("delete at once", model, history_at_once.alone(told)), build, **values))


def _deleting(model: type[SQLModel], key: Sequence[str], told: Sequence[bool]) -> AnySelect:
    table = _table(model)
    own = (table.c.org_id == ORG_PARAM, *(table.c[name] == bindparam(name, type_=Identifier) for name in key))
    first = table.c[key[0]].label("id")
    there = select(first).where(*own).with_for_update().cte("there")
    wanted = select(there.c.id).scalar_subquery()
    by_table: dict[AnyColumn, list[AnyColumn]] = {}
    for reference in references_to(model) if issubclass(model, Record) else ():
        by_table.setdefault(reference.class_, []).append(reference)
    gone = delete_of(table).where(*own, table.c[key[0]] == wanted).returning(first).cte("gone")
    statement = _noted(gone, told, has_move=False)
    references = [reference for named in by_table.values() for reference in named]
    followed = (*history.freed(references, wanted), *history.taken_off(model, wanted))
    for number, (following, is_meant) in enumerate(followed):
        put: AnyColumn = history.following(following, is_meant).returning(literal_column("1").label("n"))
        statement = statement.add_cte(put.cte(f"followed_{number}"))
    for number, (owner, columns) in enumerate(by_table.items()):  # of a statement, a row can be changed once
        changed: dict[str, AnyColumn] = {c.key: case((c == wanted, null()), else_=c) for c in columns}
        if hasattr(owner, "version"):
            moment = bindparam("changed_at", type_=UTCDateTime)
            changed |= {"version": owner.version + literal_column("1"), "updated_at": moment}
        names_it = or_(*(c == wanted for c in columns))
        freed = update(owner).where(col(owner.org_id) == ORG_PARAM, names_it).values(changed)
        statement = statement.add_cte(freed.returning(literal_column("1").label("n")).cte(f"freed_{number}"))
    kind = TAGGED.get(table.name)
    if kind is not None:
        link = _table(TagLink).c
        its = (link.org_id == ORG_PARAM, link.kind == literal_column(f"'{kind}'"), link.record_id == wanted)
        statement = statement.add_cte(delete_of(TagLink).where(*its).returning(link.record_id).cte("untagged"))
    attached_as = ATTACHABLE.get(table.name)
    if attached_as is not None:
        file = _table(FileLink).c
        its = (file.org_id == ORG_PARAM, file.kind == literal_column(f"'{attached_as}'"), file.record_id == wanted)
        statement = statement.add_cte(delete_of(FileLink).where(*its).returning(file.record_id).cte("detached"))
    subject = history.kind_of(model)
    if subject is not None:
        change = _table(RecordChange).c
        of_it = (change.subject_kind == literal_column(f"'{subject}'"), change.subject_id == wanted)
        dropped = delete_of(RecordChange).where(change.org_id == ORG_PARAM, *of_it).returning(change.id)
        statement = statement.add_cte(dropped.cte("forgotten"))
    return statement


def _scope() -> CTE:
    set_organization = func.set_config(SETTING, func.text(ORG_PARAM), true()).label("id")
    return select(set_organization).cte("tenant_scope").prefix_with("MATERIALIZED")


def _fenced(scope: CTE, found: AnySelect, name: str) -> AnyColumn:
    return found.where(scope.c.id.is_not(None)).offset(literal_column("0")).lateral(name)


def _going(scope: CTE, *sources: AnyColumn, standing: Mapping[str, ColumnElement[object]] = _UNKNOWN) -> CTE:
    allowed = select(scope.c.id, *(one.label(name) for name, one in standing.items())).select_from(scope)
    for source in sources:
        allowed = allowed.join(source, true())
    return allowed.cte("going").prefix_with("MATERIALIZED")


def _stage(scope: CTE) -> AnyColumn:
    """The stage to which a deal goes, which stays as it is until the statement has ended."""
    sought = col(PipelineStage.id) == bindparam("move_to_stage_id", type_=Identifier)
    found = select(col(PipelineStage.type)).where(col(PipelineStage.org_id) == ORG_PARAM, sought)
    return _fenced(scope, found.with_for_update(read=True), "stage")


def _creating(model: type[SQLModel], *, has_move: bool) -> AnySelect:
    scope = _scope()
    stage = _stage(scope) if has_move else None
    if stage is None:
        going = _going(scope)
    else:
        closed = case((stage.c.type == _OPEN, null()), else_=_parameter(model, "new", "updated_at"))
        going = _going(scope, stage, standing={STATUS: stage.c.type, CLOSED_AT: closed})
    names = columns_of_table(model)
    values = [going.c[n] if n in STANDING and has_move else _parameter(model, "new", n) for n in names]
    made = (
        insert(model)
        .from_select(["org_id", *names], select(ORG_PARAM, *values).select_from(going))
        .returning(_table(model).c.id, *_standing_of(model))
        .cte("made")
    )
    return _noted(made, (), has_move=has_move)


def _changing(
    model: type[SQLModel], names: Sequence[str], told: Sequence[bool], *, has_owner: bool, has_move: bool
) -> AnySelect:
    scope, table = _scope(), _table(model)
    is_it = table.c.id == bindparam("id", type_=Identifier)
    seen = table.c.version == bindparam("seen", type_=table.c.version.type)
    known = _standing_of(model) if has_move else []
    row = select(table.c.id, *known).where(table.c.org_id == ORG_PARAM, is_it, seen).with_for_update()
    there = _fenced(scope, row, "there")
    sources = [there]
    if has_owner:
        owner = col(Person.id) == bindparam("new_owner_id", type_=PlainText)
        active = col(Person.state) == literal_column(f"'{MemberState.ACTIVE.value}'")
        person = select(col(Person.id)).where(col(Person.org_id) == ORG_PARAM, owner, active)
        sources.append(_fenced(scope, person.with_for_update(read=True), "owner"))
    standing = _UNKNOWN
    if has_move:
        stage = _stage(scope)
        sources.append(stage)
        closed = case(
            (stage.c.type == there.c.status, there.c.closed_at),
            (stage.c.type == _OPEN, null()),
            else_=_parameter(model, "new", "updated_at"),
        )
        standing = {STATUS: stage.c.type, CLOSED_AT: closed}
    going = _going(scope, *sources, standing=standing)
    moving = STANDING if has_move else ()
    given = [*dict.fromkeys(["id", *names, *_needed(model), *moving])]
    values = [
        bindparam("id", type_=Identifier) if n == "id" else going.c[n] if n in moving else _parameter(model, "new", n)
        for n in given
    ]
    proposed = insert(table).from_select(
        ["org_id", *given], select(ORG_PARAM, *values).select_from(going), include_defaults=False
    )
    changed = {n: proposed.excluded[n] for n in (*names, *moving)}
    made = (
        proposed.on_conflict_do_update(index_elements=["org_id", "id"], set_=changed)
        .returning(table.c.id, *_standing_of(model))
        .cte("made")
    )
    return _noted(made, told, has_move=has_move)


def _noted(made: CTE, told: Sequence[bool], *, has_move: bool) -> AnySelect:
    """Note where the record was written: the move, what is told, the organization's next event number, the event."""
    origin = made
    if has_move:
        names = columns_of_table(StageChange)
        values = [_parameter(StageChange, "move", n) for n in names]
        moved = select(ORG_PARAM, *values).select_from(made)
        inserted_move = insert(StageChange).from_select(["org_id", *names], moved)
        origin = inserted_move.returning(col(StageChange.id)).cte("moved")
    columns: list[AnyColumn] = [ORG_PARAM.label("org_id"), literal_column("1").label("last")]
    counter = insert(EventCounter).from_select(["org_id", "last"], select(*columns).select_from(origin))
    counted = (
        counter.on_conflict_do_update(index_elements=["org_id"], set_={"last": col(EventCounter.last) + 1})
        .returning(col(EventCounter.last))
        .cte("counted")
    )
    names = tuple(n for n in columns_of_table(Event) if n != "sequence")
    values = [_parameter(Event, "event", n) for n in names]
    noted: Select[*tuple[object, ...]] = select(ORG_PARAM, *values, counted.c.last).select_from(counted)
    written = (
        insert(Event).from_select(["org_id", *names, "sequence"], noted).returning(col(Event.sequence)).cte("written")
    )
    standing = [made.c[n] if n in made.c else _UNKNOWN[n].label(n) for n in STANDING]
    statement: AnySelect = select(written.c.sequence, *standing).select_from(written.join(made, true()))
    for number, is_alone in enumerate(told):
        statement = statement.add_cte(history_at_once.telling(made, number, is_alone=is_alone))
    return statement


def _parameter(model: type[SQLModel], prefix: str, name: str) -> AnyColumn:
    table = _table(model)
    return bindparam(f"{prefix}_{name}", type_=table.c[name].type)


def _standing_of(model: type[SQLModel]) -> list[AnyColumn]:
    table = _table(model)
    return [table.c[n] for n in STANDING if n in table.c]


@cache
def _needed(model: type[SQLModel]) -> tuple[str, ...]:
    """The columns that a proposed row cannot be without, beside its key."""
    table = _table(model)
    return tuple(c.name for c in table.columns if not c.nullable and not c.computed and c.name not in ("org_id", "id"))


def _named(prefix: str, row: SQLModel) -> Values:
    """The parameters of a row."""
    attributes = inspect(model_of(row)).column_attrs
    return {f"{prefix}_{a.columns[0].name}": getattr(row, a.key) for a in attributes}


def _stored(model: type[SQLModel], names: Sequence[str]) -> tuple[str, ...]:
    """The names in the database of these attributes."""
    attributes = inspect(model).column_attrs
    return tuple(str(attributes[name].columns[0].name) for name in names)


def _table(model: AnyEntity) -> AnyEntity:
    return model.__table__
