"""Statements of a merge: what refers to the records that go, on its way to the one that stays (contract/mergeable.py).

Each reference takes one statement to read and one to move, however many rows have it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sqlalchemy import Text, and_, bindparam, cast, delete, func, or_, select, union_all, update
from sqlmodel import col

from contract.bulk_vocabulary import MergeableKind
from contract.mergeable import LINKS, REFERENCES, Reference, Way
from contract.timeline import SUBJECTS
from storage.base import Identifier, Record, now
from storage.expressions import AnyColumn, AnyEntity, AnySelect, Values
from storage.new_rows import model_named, new_row, table_of
from storage.queries import history
from storage.queries.duplicates import MODELS
from storage.queries.filtering import in_list
from storage.queries.history import Following
from storage.queries.list_conditions import among
from storage.tables import DealContact, Event, ExternalKey, NotDuplicate, TagLink
from storage.tenancy.sessions import TenantSession

Row = Any
"""A row of one of the tables that refer to such records. Any: what they have in common is no class."""


@dataclass(frozen=True, slots=True)
class Going:
    """The records that go into another."""

    kind: MergeableKind
    into: str
    ids: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Both."""
        return (self.into, *self.ids)


@dataclass(slots=True)
class Links:
    """Every reference to the records that go, as it was: what a merge moves, and an undo moves back.

    `moved` and `enrolled` have, by the reference's name, the key of a row and the record that it named; what is
    enrolled also whether it names none now. `linked` has whole rows with whether the record that stays had one, too,
    `gained` its rows before and after, `kept` rows that go with the record, `pairs` those there were and those made,
    `keys` those of other systems that lead to the record that stays from then on.
    """

    moved: dict[str, list[list[str]]] = field(default_factory=dict)
    enrolled: dict[str, list[list[Any]]] = field(default_factory=dict)  # Any: two identifiers, and whether
    linked: dict[str, list[list[Row]]] = field(default_factory=dict)
    gained: list[list[Row]] = field(default_factory=list)
    kept: list[Row] = field(default_factory=list)
    pairs: list[list[list[str]]] = field(default_factory=lambda: [[], []])
    keys: list[str] = field(default_factory=list)

    def as_data(self) -> dict[str, object]:
        """Return the data of them that is kept with the merge."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def counts(self, kind: MergeableKind) -> dict[str, int]:
        """Says how many there are of each kind of link, and of those that both had."""
        counted = dict.fromkeys(LINKS, 0)
        for one in REFERENCES[kind]:
            name = name_of(one)
            rows: Sequence[Row] = self.moved.get(name) or self.enrolled.get(name) or self.linked.get(name) or ()
            if one.way is Way.KEPT:
                rows = [row for row in self.kept if table_of(row) == one.table]
            if one.count is not None:
                counted[one.count] += len(rows)
            if one.way in (Way.LINKED, Way.ENROLLED):
                counted["collapsed"] += sum(1 for row in rows if row[-1])
        return counted


def name_of(reference: Reference) -> str:
    """Return the name of the reference in a merge's record."""
    return f"{reference.table}.{reference.column}"


def of_way(kind: MergeableKind, way: Way) -> Iterator[Reference]:
    """The references of a kind that go this way."""
    return (one for one in REFERENCES[kind] if one.way is way)


def own_rows(session: TenantSession, kind: MergeableKind, one: Reference, *conditions: AnyColumn) -> AnyColumn:
    """The organization's rows that name a record of this kind."""
    model: AnyEntity = model_named(one.table)
    of_kind = [] if one.kind_column is None else [getattr(model, one.kind_column) == kind.value]
    return and_(model.org_id == session.org_id, *of_kind, *conditions)


def _column(one: Reference) -> AnyColumn:
    return col(getattr(model_named(one.table), one.column))


def key_column(one: Reference) -> AnyColumn:
    """The column that, with the organization, the kind and the reference, finds a row."""
    model: AnyEntity = model_named(one.table)
    known = ("org_id", one.kind_column, one.column)
    [name] = [c.name for c in model.__table__.primary_key.columns if c.name not in known]
    return col(getattr(model, name))


async def number(session: TenantSession, going: Going) -> int:
    """Says how many links the records have that go."""
    counted = [
        select(func.count().label("rows"))
        .select_from(model_named(one.table))
        .where(own_rows(session, going.kind, one, _column(one).in_(going.ids)))
        for one in REFERENCES[going.kind]
        if one.count is not None
    ]
    each = union_all(*counted).subquery("each")
    found: int = await session.scalar(select(func.sum(each.c.rows)))
    return int(found)


async def records_of(
    session: TenantSession, kind: MergeableKind, ids: Sequence[str], *, lock: bool
) -> dict[str, Record]:
    """The records with these canonical identifiers, locked in one order for all where they are to be merged."""
    model: AnyEntity = MODELS[kind]
    found = select(model).where(model.org_id == session.org_id, among(model.id, ids)).order_by(model.id)
    rows = await session.find_all(found.with_for_update() if lock else found)
    return {row.id: row for row in rows}


async def links_of(session: TenantSession, going: Going, *, lock: bool) -> Links:
    """Everything that refers to the records that go; locked, nobody else changes it until the transaction ends."""
    links, kind = Links(), going.kind

    def held(found: AnySelect) -> AnySelect:
        return found.with_for_update() if lock else found

    for one in of_way(kind, Way.MOVED):  # of each of them a statement, as of the next ones
        found = select(key_column(one).label("key"), _column(one).label("was"))
        own = own_rows(session, kind, one, _column(one).in_(going.ids))
        rows = await session.rows(held(found.where(own).order_by(key_column(one))))
        links.moved[name_of(one)] = [[row.key, row.was] for row in rows]
    for one in of_way(kind, Way.ENROLLED):
        beside = col(getattr(model_named(one.table), str(one.beside)))
        found = select(key_column(one).label("key"), _column(one).label("was"), beside.label("beside"))
        own = own_rows(session, kind, one, _column(one).in_(going.all))
        rows = await session.rows(held(found.where(own).order_by(key_column(one))))
        links.enrolled[name_of(one)] = _enrolled(going, rows)
    for one in of_way(kind, Way.LINKED):
        model: AnyEntity = model_named(one.table)
        own = own_rows(session, kind, one, _column(one).in_(going.all))
        found_rows = await session.find_all(held(select(model).where(own).order_by(key_column(one))))
        links.linked[name_of(one)], gained = _linked(going, one, found_rows)
        links.gained += gained
    for one in of_way(kind, Way.KEPT):
        model = model_named(one.table)
        own = own_rows(session, kind, one, _column(one).in_(going.ids))
        links.kept += await session.find_all(select(model).where(own).order_by(model.id))
    pairs = [own_rows(session, kind, one, _column(one).in_(going.ids)) for one in of_way(kind, Way.PAIRED)]
    found_pairs = await session.find_all(held(select(NotDuplicate).where(or_(*pairs))))
    links.pairs = [[[row.low_id, row.high_id] for row in found_pairs], _new_pairs(going, found_pairs)]
    return links


def _in_turn(going: Going, rows: Sequence[Row], column: str) -> list[Row]:
    """The rows of the records that go, in the order in which these were named."""
    going_rows = [row for row in rows if getattr(row, column) in going.ids]
    return sorted(going_rows, key=lambda row: going.ids.index(getattr(row, column)))


def _enrolled(going: Going, rows: Sequence[Row]) -> list[list[object]]:
    had = {row.beside for row in rows if row.was == going.into}
    enrolled = []
    for row in _in_turn(going, rows, "was"):
        enrolled.append([row.key, row.was, row.beside in had])
        had.add(row.beside)
    return enrolled


def _linked(going: Going, one: Reference, rows: Sequence[Row]) -> tuple[list[list[Row]], list[list[Row]]]:
    """The rows of those that go, and what the rows gain of them that the record that stays had itself."""
    key = key_column(one).key
    had = {getattr(row, key): row for row in rows if getattr(row, one.column) == going.into}
    before, linked = dict(had), []
    for row in _in_turn(going, rows, one.column):
        at = getattr(row, key)
        linked.append([row, at in had])
        had[at] = _together(had[at], row) if at in had else row._replace(**{one.column: going.into})
    return linked, [[before[at], had[at]] for at in before if before[at] != had[at]]


def _together(stays: Row, goes: Row) -> Row:
    """One link of two: on a deal the contact is the primary one where either was, and has a role where either had."""
    if table_of(stays) != DealContact.__tablename__:
        return stays
    return stays._replace(role=stays.role or goes.role, is_primary=stays.is_primary or goes.is_primary)


def _new_pairs(going: Going, pairs: Sequence[NotDuplicate]) -> list[list[str]]:
    """The pairs that the others make with the record that stays; two that become one are no pair."""
    others = {i for pair in pairs for i in (pair.low_id, pair.high_id)} - set(going.all)
    return [sorted((going.into, other)) for other in sorted(others)]


async def move(session: TenantSession, going: Going, links: Links, event: Event) -> None:
    """Have everything name the record that stays, and tell of it whoever has a history."""
    kind = going.kind
    for one in of_way(kind, Way.MOVED):
        if links.moved[name_of(one)]:
            await tell(session, one, event, going.into, _column(one), going.ids)
            await _set(session, kind, one, going.into, _column(one).in_(going.ids))
    for one in of_way(kind, Way.ENROLLED):
        rows = links.enrolled[name_of(one)]
        for into, collapsed in ((going.into, False), (None, True)):
            if keys := [key for key, _, both in rows if both is collapsed]:
                await _set(session, kind, one, into, among(key_column(one), keys))
    for one in of_way(kind, Way.LINKED):
        await _link(session, going, one, links)
    if links.gained:
        await session.update_each([after for _, after in links.gained], "role", "is_primary")
    for one in of_way(kind, Way.FOLLOWED):
        await _follow(session, kind, one, going)
    await _pair(session, going, links)


async def tell(
    session: TenantSession, one: Reference, event: Event, into: str | None, column: AnyColumn, values: Sequence[str]
) -> None:
    """Tell each record whose column has one of the values, and which has a history, that it names another."""
    subject = SUBJECTS.get(one.table)
    if subject is None:
        return
    model: AnyEntity = model_named(one.table)
    after = cast(bindparam("into", type_=Identifier()), Text())
    told = Following(subject, model, col(model.id), one.column, cast(_column(one), Text()), after)
    condition, called = in_list(column, "values"), f"{column} among values"
    await history.follow(session, event, told, condition, called=called, into=into, values=list(values))


async def _set(
    session: TenantSession, kind: MergeableKind, one: Reference, into: str | None, *conditions: AnyColumn
) -> None:
    model: AnyEntity = model_named(one.table)
    changed: Values = {one.column: into}
    if hasattr(model, "version"):
        changed |= {"version": model.version + 1, "updated_at": now()}
    await session.execute(update(model).where(own_rows(session, kind, one, *conditions)).values(changed))


async def _link(session: TenantSession, going: Going, one: Reference, links: Links) -> None:
    rows = links.linked[name_of(one)]
    if not rows:
        return
    model: AnyEntity = model_named(one.table)
    await session.execute(delete(model).where(own_rows(session, going.kind, one, _column(one).in_(going.ids))))
    made: dict[str, Row] = {}
    for row, collapsed in rows:
        at = getattr(row, key_column(one).key)
        if not collapsed:
            made[at] = row._replace(**{one.column: going.into})
        elif at in made:  # of another one that goes
            made[at] = _together(made[at], row)
    new = list(made.values())
    if model is TagLink and new:
        last = select(func.max(col(TagLink.position))).where(
            own_rows(session, going.kind, one, _column(one) == going.into)
        )
        first = ((await session.scalar(last)) or 0) + 1
        # Not when the record that goes was made: the database writes that of the other (decision 820).
        new = [row._replace(position=first + place, record_created_at=None) for place, row in enumerate(new)]
    await session.insert_each_missing(new)


async def _follow(session: TenantSession, kind: MergeableKind, one: Reference, going: Going) -> None:
    model: AnyEntity = model_named(one.table)
    beside = col(getattr(model, str(one.beside)))
    changed = {one.column: going.into, str(one.beside): func.coalesce(beside, _column(one))}
    await session.execute(
        update(model).where(own_rows(session, kind, one, _column(one).in_(going.ids))).values(changed)
    )


async def _pair(session: TenantSession, going: Going, links: Links) -> None:
    """Have the pairs of those that go be the other's; which of them are new is noted."""
    old, new = links.pairs
    if old:
        low, high = col(NotDuplicate.low_id), col(NotDuplicate.high_id)
        own = col(NotDuplicate.org_id) == session.org_id, col(NotDuplicate.kind) == going.kind.value
        await session.execute(delete(NotDuplicate).where(*own, or_(low.in_(going.ids), high.in_(going.ids))))
    made = await add_pairs(session, going.kind, new)
    links.pairs = [old, [[pair.low_id, pair.high_id] for pair in made]]


async def add_pairs(
    session: TenantSession, kind: MergeableKind, pairs: Sequence[Sequence[str]]
) -> Sequence[NotDuplicate]:
    """Note that these are not one; gives the pairs of which that was not known."""
    drafts = [new_row(NotDuplicate, kind=kind.value, low_id=low, high_id=high) for low, high in pairs]
    return await session.insert_each_missing(drafts)


async def lead_keys(session: TenantSession, going: Going, records: Sequence[Row], stays: Row) -> list[str]:
    """Have the keys in other systems that the records had lead to the one that stays; those that are new."""
    old = {record.external_key for record in records} - {None, stays.external_key}
    drafts = [new_row(ExternalKey, kind=going.kind.value, key=key, record_id=going.into) for key in sorted(old)]
    return [made.key for made in await session.insert_each_missing(drafts)]


async def remove(session: TenantSession, going: Going) -> None:
    """Delete the records that go, which nothing names any more."""
    model: AnyEntity = MODELS[going.kind]
    await session.execute(delete(model).where(model.org_id == session.org_id, model.id.in_(going.ids)))
