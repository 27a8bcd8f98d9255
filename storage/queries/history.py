"""Statements on the histories of records: what an event changed in them, written before the event.

Edits of one person within two minutes become one row (decision 232). A write of one record in one statement of
PostgreSQL does the same there (storage/queries/at_once.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import ClassVar

from sqlalchemy import (
    Insert,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    insert,
    literal_column,
    select,
    true,
)
from sqlalchemy import (
    column as source_column,
)
from sqlmodel import SQLModel, UTCDateTime, col

from contract.limits import EDITS_SECONDS
from contract.timeline import SUBJECTS, Fields, extended, told_fields
from storage import tables as t  # each is loaded when a statement is made of it (decision 1183)
from storage.base import Document, Identifier, PlainText, Stored, copies_of
from storage.expressions import AnyColumn, AnyEntity, AnySelect, Values
from storage.new_rows import as_row, model_of, new_row
from storage.queries.dialects import Dialectal
from storage.queries.list_conditions import TextList, any_of
from storage.statements import ORG_PARAM
from storage.tables import Event
from storage.tenancy.sessions import TenantSession

EDITS_APART = timedelta(seconds=EDITS_SECONDS)
"""The longest time between two edits of one person that are one change."""


@dataclass(frozen=True, slots=True)
class Told:
    """A change that an event made in a record. One that is told `alone` is never one with what was told before."""

    kind: str
    id: str
    fields: Fields
    alone: bool = False


def kind_of(model: type[SQLModel]) -> str | None:
    """The kind that the changes of this table's records name; None for records without a history."""
    return SUBJECTS.get(str(model.__tablename__))


def edited(before: Stored, after: Stored) -> list[Told]:
    """Tell of a record that was changed from one row into the other: nothing, or one thing."""
    kind = kind_of(model_of(after))
    if kind is None:
        return []
    fields = changed_fields(kind, before, after)
    return [Told(kind, as_row(after).id, fields)] if fields else []


def changed_fields(kind: str, before: Stored, after: Stored) -> Fields:
    """Find the fields of a record of the kind that differ and are told, which copies of texts never are."""
    copies = {copy for _, copy, _ in copies_of(model_of(after))}
    now = {name: value for name, value in as_row(after)._asdict().items() if name not in copies}
    return told_fields(kind, as_row(before)._asdict(), now)


def linked(deal_id: str, contact_id: str, *, was: bool, stays: bool, fields: Fields | None = None) -> list[Told]:
    """Tell, of both, of a contact that `was` on a deal before, and is afterwards where it `stays`."""

    def named(other: str) -> Fields:
        return {"contact_id" if other == contact_id else "deal_id": [other if was else None, other if stays else None]}

    more = fields or {}
    return [
        Told("deal", deal_id, named(contact_id) | more, alone=True),
        Told("contact", contact_id, named(deal_id) | more, alone=True),
    ]


def draft_of(event: Event, told: Told) -> t.RecordChange:
    """The draft of the change, as the event has its type, moment and actor."""
    return new_row(
        t.RecordChange,
        subject_kind=told.kind,
        subject_id=told.id,
        at=event.occurred_at,
        actor=event.actor,
        type=event.type,
        fields=told.fields,
    )


async def tell(session: TenantSession, event: Event, told: Sequence[Told]) -> None:
    """Write what the event, which need not be written yet, changed; in as many statements for many records as for one.

    The records are locked by their writer, so nobody else extends their last changes meanwhile.
    """
    if not told:
        return
    extending = [each for each in told if not each.alone]
    last = await last_told(session, extending, event) if extending else {}
    new, longer = [], []
    for each in told:
        before = None if each.alone else last.get((each.kind, each.id))
        if before is not None and (before.actor, before.type) == (event.actor, event.type):
            fields = extended(before.fields, each.fields)
            longer.append(before._replace(at=event.occurred_at, fields=fields))  # type: ignore[attr-defined]
        else:
            new.append(draft_of(event, each))
    if longer:
        await session.update_each(longer, "at", "fields")
    if new:
        await session.insert(*new)


class _records(Dialectal[object]):
    """Records as rows of a source: a list of their kinds, and one of their identifiers in the same order."""

    inherit_cache = True
    name = "records"
    templates: ClassVar = {"postgresql": "unnest({0}::TEXT[], {1}::TEXT[]::UUID[])"}


async def last_told(
    session: TenantSession, told: Iterable[Told], event: Event
) -> dict[tuple[str, str], t.RecordChange]:
    """The last change of each of these records, as far as an edit may extend it."""
    pairs = [(each.kind, each.id) for each in told]
    values: Values = {"kinds": [kind for kind, _ in pairs], "ids": [identifier for _, identifier in pairs]}
    build = _newest_of_each if session.dialect == "postgresql" else _recent_of_all
    since = event.occurred_at - EDITS_APART
    rows = await session.fetch_of(t.RecordChange, "last_told", build, since=since, **values)
    return {(row.subject_kind, row.subject_id): row for row in rows}


def _recent() -> Select[t.RecordChange]:
    """The changes that an edit may extend."""
    since = bindparam("since", type_=UTCDateTime)
    return select(t.RecordChange).where(col(t.RecordChange.org_id) == ORG_PARAM, col(t.RecordChange.at) > since)


def _recent_of_all() -> Select[t.RecordChange]:
    """Those of all the records, the newest of each last."""
    among = any_of(col(t.RecordChange.subject_kind), _KINDS), any_of(col(t.RecordChange.subject_id), _IDS)
    return _recent().where(*among).order_by(col(t.RecordChange.at), col(t.RecordChange.id).desc())


def _newest_of_each() -> AnySelect:
    """The newest of each record, by a look into the index for each.

    Of a table that has grown since it was analyzed the planner would else compare every change with every record
    (decision 1142).
    """
    columns = source_column("kind", PlainText), source_column("id", Identifier())
    asked = _records(_KINDS, _IDS).table_valued(*columns, name="asked").render_derived()
    its = col(t.RecordChange.subject_kind) == asked.c.kind, col(t.RecordChange.subject_id) == asked.c.id
    newest = _recent().where(*its).order_by(col(t.RecordChange.at).desc(), col(t.RecordChange.id))
    of_each = newest.limit(literal_column("1", Integer)).lateral("newest")
    return select(of_each).select_from(asked.join(of_each, true()))


_KINDS, _IDS = (bindparam(name, type_=TextList()) for name in ("kinds", "ids"))


async def forget(session: TenantSession, model: type[SQLModel], record_id: str) -> None:
    """Drop the history of a record that is deleted (decision 234)."""
    kind = kind_of(model)
    if kind is not None:
        own = col(t.RecordChange.org_id) == session.org_id, col(t.RecordChange.subject_kind) == kind
        await session.execute(delete(t.RecordChange).where(*own, col(t.RecordChange.subject_id) == record_id))


class _new_uuid(Dialectal[str]):
    """Makes an identifier; its order among those of the same moment says nothing."""

    type = Identifier()
    inherit_cache = True
    name = "new_uuid"
    _SQLITE = (
        "lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' ||"
        " substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))"
    )
    templates: ClassVar = {"postgresql": "gen_random_uuid()", "sqlite": _SQLITE}


class _told_field(Dialectal[object]):
    """The fields of a change of one field: its name, and the values before and after."""

    type = Document  # type: ignore[assignment]  # a type for every function, whatever its arguments
    inherit_cache = True
    name = "told_field"
    templates: ClassVar = {
        "postgresql": "json_build_object({}, json_build_array({}, {}))",
        "sqlite": "json_object({}, json_array({}, {}))",
    }


@dataclass(frozen=True, slots=True)
class Following:
    """Records that change because another does: what is told of each row of `table` that a condition picks."""

    kind: str
    table: AnyEntity
    subject: AnyColumn
    field: str
    before: AnyColumn
    after: AnyColumn


def freed(references: Iterable[AnyColumn], gone: AnyColumn) -> Iterator[tuple[Following, AnyColumn]]:
    """Tell of the records that name one that is deleted, with the condition that picks them."""
    for column in references:
        kind = kind_of(column.class_)
        if kind is not None:
            told = Following(
                kind, column.class_, col(column.class_.id), column.key, cast(gone, Text()), literal_column("NULL")
            )
            yield told, column == gone


def taken_off(model: type[SQLModel], gone: AnyColumn) -> Iterator[tuple[Following, AnyColumn]]:
    """Tell of the deals of a contact that is deleted, and of the contacts of a deal."""
    ends = {"contacts": ("contact", "deal"), "deals": ("deal", "contact")}
    if (names := ends.get(str(model.__tablename__))) is not None:
        own, other = (getattr(t.DealContact, f"{name}_id") for name in names)
        told = Following(names[1], t.DealContact, other, own.key, cast(gone, Text()), literal_column("NULL"))
        yield told, own == gone


async def tell_of_deletion(
    session: TenantSession, event: Event, model: type[SQLModel], references: Sequence[AnyColumn], record_id: str
) -> None:
    """Tell of a deletion what it changes elsewhere, and drop the record's own history (decision 234)."""
    gone = bindparam("gone", type_=Identifier)
    for told, condition in (*freed(references, gone), *taken_off(model, gone)):  # as many as there are such columns
        await follow(session, event, told, condition, gone=record_id)
    await forget(session, model, record_id)


async def tell_of_status(session: TenantSession, event: Event, stage_id: str, status: str) -> None:
    """Tell of a stage's new type what it makes of the deals in it."""
    after = bindparam("status", type_=PlainText)
    told = Following("deal", t.Deal, col(t.Deal.id), "status", col(t.Deal.status), after)
    condition = and_(col(t.Deal.stage_id) == bindparam("stage_id", type_=Identifier), col(t.Deal.status) != after)
    await follow(session, event, told, condition, status=status, stage_id=stage_id)


async def follow(
    session: TenantSession,
    event: Event,
    told: Following,
    condition: AnyColumn,
    *,
    called: str | None = None,
    **values: object,
) -> None:
    """Write what is told of each row that the condition picks, whose own parameters are the `values`.

    The condition is known by its text, or as it is `called`.
    """
    key = ("told of each", told.kind, str(told.subject), told.field, called or str(condition), *sorted(values))
    own = {f"event_{name}": getattr(event, name) for name in ("occurred_at", "actor", "type")}
    await session.change(key, partial(following, told, condition), **own, **values)


def following(told: Following, condition: AnyColumn) -> Insert:
    """An insert of what is told of each row that the condition picks, for an event by its parameters `event_…`."""
    table: AnyEntity = t.RecordChange.__table__  # type: ignore[attr-defined]  # every table class has one
    names = ["org_id", "id", "subject_kind", "subject_id", "at", "actor", "type", "fields"]
    event = [bindparam(f"event_{n}", type_=Event.__table__.c[n].type) for n in ("occurred_at", "actor", "type")]  # type: ignore[attr-defined]
    fields = _told_field(literal_column(f"'{told.field}'"), told.before, told.after)
    columns: list[AnyColumn] = [ORG_PARAM, _new_uuid(), literal_column(f"'{told.kind}'"), told.subject, *event, fields]
    rows = select(*columns).where(col(told.table.org_id) == ORG_PARAM, condition)
    return insert(table).from_select(names, rows, include_defaults=False)
