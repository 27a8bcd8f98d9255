"""Statements that every noun shares: find one to change, look references up, and append to the change log."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Select, and_, select, update
from sqlalchemy.dialects import postgresql
from sqlmodel import SQLModel, col

from contract.criteria import Compare, Listing, Op, Order, Page
from contract.vocabulary import SortDirection
from storage.adapters.sqlmodel import mappers
from storage.base import Record, as_uuid, now
from storage.drafts import draft
from storage.prepared import ORGANIZATION
from storage.queries.filtering import these
from storage.queries.nouns import Noun
from storage.queries.paging import by_ids, page
from storage.sessions import TenantSession
from storage.tables import Event, EventCounter

RecordT = TypeVar("RecordT", bound=Record)


async def one(session: TenantSession, noun: Noun, identifier: object) -> Any:
    """The row with this identifier; None where it is no UUID, missing, or another organization's."""
    canonical = as_uuid(identifier)
    if canonical is None:
        return None
    return (await by_ids(session, noun, [canonical])).get(canonical)


async def to_change(
    session: TenantSession, model: type[RecordT], identifier: object, *conditions: Any
) -> RecordT | None:
    """The entity with this identifier, locked against other writers; None as for `one`."""
    canonical = as_uuid(identifier)
    if canonical is None:
        return None
    return await session.find(model, col(model.id) == canonical, *conditions, lock=True)


async def missing(session: TenantSession, references: Mapping[str, tuple[type[Record], str]]) -> list[str]:
    """The names of the references that lead nowhere in the organization; the others are kept from being deleted."""
    canonical = {name: (model, as_uuid(i)) for name, (model, i) in references.items()}
    there: dict[type[Record], set[str]] = {}
    for model in dict.fromkeys(model for model, _ in canonical.values()):  # a statement for each table
        there[model] = await _existing(session, model, {i for other, i in canonical.values() if other is model and i})
    return [name for name, (model, i) in canonical.items() if i not in there[model]]


async def _existing(session: TenantSession, model: type[Record], ids: Collection[str]) -> set[str]:
    """Finds which of the identifiers the organization has; a deletion of one of them waits for this transaction."""
    if not ids:
        return set()
    alone = len(ids) == 1

    def build() -> Select[Any]:
        wanted = and_(col(model.org_id) == ORGANIZATION, these(col(model.id), alone))
        return select(col(model.id)).where(wanted).with_for_update(read=True, key_share=True)

    rows = await session.fetch(("existing", model, alone), build, ids=list(ids), id=next(iter(ids)))
    return {row.id for row in rows}


async def lock_each(session: TenantSession, model: type[Record], identifiers: Sequence[str]) -> list[str]:
    """Reads those that exist, locked in one order by every caller, so that two callers never wait for each other."""
    ids = [canonical for i in identifiers if (canonical := as_uuid(i)) is not None]
    own = select(col(model.id)).where(col(model.org_id) == session.org_id, col(model.id).in_(ids))
    return [row.id for row in await session.rows(own.order_by(col(model.id)).with_for_update())]


def references_to(model: type[Record]) -> list[Any]:
    """The columns by which records name one of this table, but for those of rows that are deleted with it.

    They are in the order of their tables' names, so that all deletions lock in the same order.
    """
    target = str(model.__tablename__)
    found = [
        (key.parent.table.name, key.parent.name, mapper.class_, mapper.get_property_by_column(key.parent).key)
        for mapper in mappers()
        for key in mapper.local_table.foreign_keys
        if key.target_fullname == f"{target}.id" and key.ondelete is None
    ]
    return [getattr(owner, attribute) for _, _, owner, attribute in sorted(found, key=lambda each: each[:2])]


async def clear(session: TenantSession, *columns: Any, value: str) -> None:
    """Set the given reference columns to null wherever they hold the value, before the record that they name goes.

    That is a change of the records that held it: those with a version get the next one.
    """
    for column in columns:  # a statement for each: there are as many as the tables have references, whatever is in them
        model = column.class_
        changed: dict[str, Any] = {column.key: None}
        if hasattr(model, "version"):
            changed |= {"version": model.version + 1, "updated_at": now()}
        await session.execute(
            update(model)
            .where(col(model.org_id) == session.org_id, column == value)
            .values(changed)
            .execution_options(synchronize_session=False)
        )


async def insert_missing(session: TenantSession, record: SQLModel) -> bool:
    """Insert the row unless it is there; of several who do so at the same time none fails. Whether it was this one.

    A record of a tenant table names its organization itself.
    """
    model: Any = type(record)
    values = {column.columns[0].name: getattr(record, column.key) for column in model.__mapper__.column_attrs}
    # SQLite has the clause in the same words, and its compiler takes the statement of PostgreSQL's dialect.
    result = await session.execute(postgresql.insert(model.__table__).values(values).on_conflict_do_nothing())
    return bool(result.rowcount)  # type: ignore[attr-defined]  # an INSERT gives a cursor result


async def append_event(
    session: TenantSession, *, type: str, area: str, actor: str, request_id: str | None, data: dict[str, Any]
) -> Any:
    """Write an event with the organization's next sequence number, and give it.

    The counter's lock holds until the commit, so whatever else the transaction locks comes before.
    """
    await session.flush()
    counted = await session.fetch("next_event", _next_event)
    if not counted:
        await session.insert(EventCounter(last=1))
    sequence = counted[0].last if counted else 1
    event = draft(Event, sequence=sequence, type=type, area=area, actor=actor, request_id=request_id, data=data)
    await session.insert(event)
    return event


def _next_event() -> Any:
    return (
        update(EventCounter)
        .where(col(EventCounter.org_id) == ORGANIZATION)
        .values(last=col(EventCounter.last) + 1)
        .returning(col(EventCounter.last))
        .execution_options(synchronize_session=False)
    )


async def all_of(session: TenantSession, noun: Noun) -> Sequence[Any]:
    """All rows of a noun that an organization has few of, in its default order."""

    def build() -> Select[Any]:
        terms = ((noun.column(key.name), descending) for key, descending in noun.terms(None))
        return noun.select(ORGANIZATION).order_by(*(c.desc() if descending else c.asc() for c, descending in terms))

    return await session.fetch(("all", noun), build)


async def by_text(session: TenantSession, noun: Noun, field: str, text: str) -> Any:
    """The oldest row whose field is exactly this text."""
    oldest = Listing(Compare(field, Op.EQ, text), Order("created_at", SortDirection.ASC), Page(first=1))
    return next(iter((await page(session, noun, oldest)).rows), None)


async def lock_organization(session: TenantSession) -> None:
    """Let one writer at a time through what concerns the organization's rows as a whole."""
    await session.find(EventCounter, lock=True)
