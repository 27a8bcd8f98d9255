"""Statements that every record type shares: find one to change, look references up, and append to the change log."""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from sqlalchemy import BigInteger, Executable, Text, and_, bindparam, func, select, update
from sqlmodel import SQLModel, col

from contract.criteria import Compare, ListQuery, Op, Order, PageWindow
from contract.vocabulary import SortDirection
from storage.adapters.sqlmodel import mappers
from storage.base import JsonDict, Record, as_uuid, now
from storage.expressions import AnyColumn, AnySelect, Values
from storage.new_rows import new_row
from storage.queries import history, history_at_once
from storage.queries.filtering import id_matches
from storage.queries.history import Told
from storage.queries.listable import Listable
from storage.queries.paging import by_ids, page
from storage.rows import Row
from storage.statements import ORG_PARAM
from storage.tables import Event, EventCounter
from storage.tenancy.sessions import TenantSession

RecordT = TypeVar("RecordT", bound=Record)
RowT = TypeVar("RowT", bound=Row)

TOLD_AT_ONCE = 2
"""Of how many records a statement of PostgreSQL tells; of more one reads, and another writes."""


async def one(session: TenantSession, listable: Listable[RowT], identifier: object) -> RowT | None:
    """The row with this identifier; None where it is no UUID, missing, or another organization's."""
    canonical = as_uuid(identifier)
    if canonical is None:
        return None
    return (await by_ids(session, listable, [canonical])).get(canonical)


async def lock_for_update(
    session: TenantSession, model: type[RecordT], identifier: object, *conditions: AnyColumn
) -> RecordT | None:
    """The entity with this identifier, locked against other writers; None as for `one`."""
    canonical = as_uuid(identifier)
    if canonical is None:
        return None
    return await session.find(model, *conditions, id=canonical, lock=True)


async def missing_references(session: TenantSession, references: Mapping[str, tuple[type[Record], str]]) -> list[str]:
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

    def build() -> AnySelect:
        wanted = and_(col(model.org_id) == ORG_PARAM, id_matches(col(model.id), alone))
        return select(col(model.id)).where(wanted).with_for_update(read=True, key_share=True)

    rows = await session.fetch(("existing", model, alone), build, ids=list(ids), id=next(iter(ids)))
    return {row.id for row in rows}


async def lock_each(session: TenantSession, model: type[Record], identifiers: Sequence[str]) -> list[str]:
    """Reads those that exist, locked in one order by every caller, so that two callers never wait for each other."""
    ids = [canonical for i in identifiers if (canonical := as_uuid(i)) is not None]
    own = select(col(model.id)).where(col(model.org_id) == session.org_id, col(model.id).in_(ids))
    return [row.id for row in await session.rows(own.order_by(col(model.id)).with_for_update())]


def references_to(model: type[Record]) -> list[AnyColumn]:
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


async def null_references(session: TenantSession, *columns: AnyColumn, value: str) -> None:
    """Set the given reference columns to null wherever they hold the value, before the record that they name goes.

    That is a change of the records that held it: those with a version get the next one.
    """
    for column in columns:  # a statement for each: there are as many as the tables have references, whatever is in them
        model = column.class_
        changed: Values = {column.key: None}
        if hasattr(model, "version"):
            changed |= {"version": model.version + 1, "updated_at": now()}
        await session.execute(update(model).where(col(model.org_id) == session.org_id, column == value).values(changed))


async def insert_missing(session: TenantSession, record: SQLModel) -> bool:
    """Insert the row unless it is there; of several who do so at the same time none fails. Whether it was this one.

    A record of a tenant table names its organization itself.
    """
    return await session.insert_missing(record)


async def append_event(
    session: TenantSession,
    *,
    type: str,
    area: str,
    actor: str,
    request_id: str | None,
    data: JsonDict,
    told: Sequence[Told] = (),
) -> Event:
    """Write an event with the organization's next sequence number, with what it changed in records, and give it.

    The counter's lock holds until the commit, so whatever else the transaction locks comes before.
    """
    draft = new_row(Event, sequence=0, type=type, area=area, actor=actor, request_id=request_id, data=data)
    await tell(session, draft, told)
    [event] = await append_events(session, [draft])
    return event


async def tell(session: TenantSession, event: Event, told: Sequence[Told]) -> None:
    """Write what the event changed in records, which their writer has locked: of one or two at once, where it can."""
    if session.dialect == "postgresql" and 0 < len(told) <= TOLD_AT_ONCE:
        await history_at_once.tell(session, event, told)
    else:
        await history.tell(session, event, told)


async def append_events(session: TenantSession, drafts: Sequence[Event]) -> list[Event]:
    """Write events with the organization's next sequence numbers, in one step of its counter, and give them."""
    counted = await session.fetch("next_event", _next_event, number=len(drafts))
    if not counted:
        await session.insert(new_row(EventCounter, last=len(drafts)))
    session.appended = counted[0].last if counted else len(drafts)
    first = session.appended - len(drafts) + 1
    numbered = [
        draft._replace(sequence=first + place)  # type: ignore[attr-defined]  # a named tuple
        for place, draft in enumerate(drafts)
    ]
    return await session.insert(*numbered, last=True)


def _next_event() -> Executable:
    return (
        update(EventCounter)
        .where(col(EventCounter.org_id) == ORG_PARAM)
        .values(last=col(EventCounter.last) + bindparam("number", type_=BigInteger))
        .returning(col(EventCounter.last))
    )


async def all_of(session: TenantSession, listable: Listable[RowT]) -> Sequence[RowT]:
    """All rows of a record type that an organization has few of, in its default order."""

    def build() -> AnySelect:
        terms = ((listable.column(key.name), descending) for key, descending in listable.terms(None))
        return listable.select(ORG_PARAM).order_by(*(c.desc() if descending else c.asc() for c, descending in terms))

    return await session.fetch(("all", listable), build)


async def by_text(session: TenantSession, listable: Listable[RowT], field: str, text: str) -> RowT | None:
    """The oldest row whose field is exactly this text."""
    oldest = ListQuery(Compare(field, Op.EQ, text), Order("created_at", SortDirection.ASC), PageWindow(first=1))
    return next(iter((await page(session, listable, oldest)).rows), None)


_TURNS = 0x75707365
"""The family of the locks by which bulk writers take turns; the rest of a lock's number stands for whose they are."""


async def take_turns(session: TenantSession, *models: type[Record]) -> None:
    """Let those who write many of an organization's records of these kinds come one after the other, until the
    transaction ends. Whoever names several kinds names them in one order (decision 954).

    No index says that an address or a domain has one record, so that two upserts which both find none would both make
    it; two merges lock each other's records as they go on. SQLite has one writer anyway.
    """
    if session.dialect == "postgresql":
        names = [bindparam(None, f"{session.org_id}:{model.__tablename__}", type_=Text()) for model in models]
        await session.rows(select(*(func.pg_advisory_xact_lock(_TURNS, func.hashtext(name)) for name in names)))


async def lock_organization(session: TenantSession) -> None:
    """Let one writer at a time through what concerns the organization's rows as a whole."""
    await session.find(EventCounter, lock=True)
