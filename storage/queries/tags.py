"""Statements on tags, and on the records that have them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from sqlalchemy import Integer, Text, and_, bindparam, delete, exists, func, literal, select, text, update
from sqlalchemy.dialects import postgresql
from sqlmodel import col

from contract.limits import TAG_COPIES_MAX
from contract.normal_form import folded
from contract.vocabulary import TaggedKind
from storage.base import Identifier, Record, as_uuid, now
from storage.db_errors import is_duplicate
from storage.expressions import AnyColumn, AnyEntity, AnySelect, Values
from storage.new_rows import model_named, new_row
from storage.queries.filtering import in_list
from storage.queries.list_conditions import among
from storage.statements import ORG_PARAM
from storage.tables import Tag, TagLink
from storage.tables.tags import TAGGED
from storage.tenancy.sessions import TenantSession

MODELS: Mapping[TaggedKind, type[Record]] = {TaggedKind(kind): model_named(table) for table, kind in TAGGED.items()}
"""The tables of the kinds of records that have tags."""
_LEAD: AnyEntity = MODELS[TaggedKind.LEAD]


def kind_of(model: type[Record]) -> TaggedKind | None:
    """The kind that records of this table are tagged as; None for those that have no tags."""
    kind = TAGGED.get(str(model.__tablename__))
    return None if kind is None else TaggedKind(kind)


@dataclass(frozen=True, slots=True)
class LinkedTag:
    """A tag that a record has: which, its name, and its place among the record's."""

    id: str
    name: str
    position: int


async def names_of(session: TenantSession, kind: TaggedKind, record_ids: Sequence[str]) -> dict[str, list[str]]:
    """The names of the tags of records of one kind, in the order in which they got them."""
    found: dict[str, list[str]] = {i: [] for i in record_ids}
    for row in await session.fetch("tags_of", partial(_linked, col(Tag.name)), kind=kind.value, ids=list(record_ids)):
        found[row.record_id].append(row.name)
    return found


async def names_between(
    session: TenantSession, kind: TaggedKind, first: str, last: str, most: int
) -> dict[str, list[str]] | None:
    """The same of all records from one to another that have some; None where they have more than so many together.

    Links lie in the order of the records' identifiers, so they are found at once, and not one record after another
    (decision 1187).
    """

    def build() -> AnySelect:
        record_id = col(TagLink.record_id)
        links = (
            select(record_id, col(TagLink.tag_id), col(TagLink.position))
            .where(
                col(TagLink.org_id) == ORG_PARAM,
                col(TagLink.kind) == bindparam("kind", type_=Text()),
                record_id >= bindparam("first", type_=Identifier()),
                record_id <= bindparam("last", type_=Identifier()),
            )
            .limit(bindparam("limit", type_=Integer()))
            .subquery("links")
        )
        linked = and_(col(Tag.org_id) == ORG_PARAM, col(Tag.id) == links.c.tag_id)
        return select(links.c.record_id, col(Tag.name)).join(Tag, linked).order_by(links.c.position, col(Tag.name))

    values: Values = {"kind": kind.value, "first": first, "last": last, "limit": most + 1}
    rows = await session.fetch("tags_between", build, **values)
    if len(rows) > most:
        return None
    found: dict[str, list[str]] = {}
    for record_id, name in rows:
        found.setdefault(record_id, []).append(name)
    return found


async def usage(session: TenantSession, tag_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Says how many records of each kind have the tags."""

    def build() -> AnySelect:
        tag, kind = col(TagLink.tag_id), col(TagLink.kind)
        counted = select(tag, kind, func.count().label("records"))
        return counted.where(col(TagLink.org_id) == ORG_PARAM, in_list(tag, "ids")).group_by(tag, kind)

    found: dict[str, dict[str, int]] = {i: {} for i in tag_ids}
    for row in await session.fetch("tag_usage", build, ids=list(tag_ids)):
        found[row.tag_id][row.kind] = row.records
    return found


async def number(session: TenantSession) -> int:
    """Says how many tags the organization has."""
    counted: int = await session.scalar(select(func.count()).select_from(Tag).where(col(Tag.org_id) == session.org_id))
    return counted


async def named(session: TenantSession, names: Iterable[str]) -> dict[str, Tag]:
    """The tags of these names that there are, by what the names fold to, kept from being deleted meanwhile."""
    wanted = sorted({folded(name) for name in names})
    own = select(Tag).where(col(Tag.org_id) == session.org_id, col(Tag.folded_name).in_(wanted))
    # In one order, so that two callers never wait for each other.
    rows = await session.find_all(own.order_by(col(Tag.folded_name)).with_for_update(read=True))
    return {tag.folded_name: tag for tag in rows}


async def make_missing(session: TenantSession, names: Iterable[str]) -> dict[str, Tag]:
    """Make a tag of each name that there is none of, and give these; of several who do so at once none fails."""
    distinct = {folded(name): name for name in reversed(list(names))}  # of two spellings the first
    made = await session.insert_each_missing([new_row(Tag, name=distinct[key]) for key in sorted(distinct)])
    return {folded(tag.name): tag for tag in made}


@dataclass(frozen=True, slots=True)
class LockedRecord:
    """A record that nobody else changes meanwhile: its kind, and when it was made."""

    kind: TaggedKind
    created_at: datetime


async def lock_records(session: TenantSession, ids: Sequence[str]) -> dict[str, LockedRecord]:
    """The records that there are of these, locked against other writers."""
    found: dict[str, LockedRecord] = {}
    for kind, model in MODELS.items():  # a statement for each table that has records with tags

        def build(model: AnyEntity = model) -> AnySelect:
            own = select(model.id, model.created_at).where(model.org_id == ORG_PARAM, in_list(model.id, "ids"))
            # In one order, so that two callers never wait for each other.
            return own.order_by(model.id).with_for_update()

        rows = await session.fetch(("tagged", kind), build, ids=list(ids))
        found |= {row.id: LockedRecord(kind, row.created_at) for row in rows}
    return found


def _linked(*columns: AnyColumn) -> AnySelect:
    """Select these columns of the tags of records of one kind, beside the records, in the tags' order."""
    linked = and_(col(Tag.org_id) == col(TagLink.org_id), col(Tag.id) == col(TagLink.tag_id))
    return (
        select(col(TagLink.record_id), *columns)
        .join(Tag, linked)
        .where(
            col(TagLink.org_id) == ORG_PARAM,
            col(TagLink.kind) == bindparam("kind", type_=Text()),
            in_list(col(TagLink.record_id), "ids"),
        )
        .order_by(col(TagLink.position), col(Tag.name))
    )


async def links_of(session: TenantSession, records: Mapping[str, TaggedKind]) -> dict[str, list[LinkedTag]]:
    """The tags that records have, in the order in which they got them; the records come with their kinds."""
    shape = partial(_linked, col(TagLink.tag_id), col(TagLink.position), col(Tag.name))
    found: dict[str, list[LinkedTag]] = {i: [] for i in records}
    for kind in dict.fromkeys(records.values()):  # a statement for each kind
        ids = [i for i, its in records.items() if its is kind]
        for row in await session.fetch("links_of", shape, kind=kind.value, ids=ids):
            found[row.record_id].append(LinkedTag(row.tag_id, row.name, row.position))
    return found


async def link(session: TenantSession, links: Sequence[TagLink]) -> None:
    """Put tags on records that do not have them."""
    await session.insert_each_missing(links)


async def unlink(session: TenantSession, record_ids: Sequence[str], tag_ids: Collection[str] | None = None) -> None:
    """Take these tags off the records, or all of them."""
    own = [
        col(TagLink.org_id) == session.org_id,
        col(TagLink.kind).in_([kind.value for kind in MODELS]),
        among(col(TagLink.record_id), record_ids),
    ]
    chosen = own if tag_ids is None else [*own, among(col(TagLink.tag_id), list(tag_ids))]
    await session.execute(delete(TagLink).where(*chosen))


async def touch(session: TenantSession, kind: TaggedKind, record_ids: Sequence[str]) -> None:
    """Give records whose tags changed their next version, where they have one; leads get the names of theirs."""
    model: AnyEntity = MODELS[kind]
    if kind is TaggedKind.LEAD:
        await copy_names(session, among(col(model.id), record_ids))
    await _next_version(session, model, among(col(model.id), record_ids))


async def _next_version(session: TenantSession, model: AnyEntity, wanted: AnyColumn) -> None:
    if hasattr(model, "version"):
        next_one = {"version": model.version + 1, "updated_at": now()}
        await session.execute(update(model).where(col(model.org_id) == session.org_id, wanted).values(next_one))


_NAMES = {
    "postgresql": "coalesce((SELECT json_agg(t.name ORDER BY l.position, t.name) FROM tag_links AS l {on}), '[]')",
    "sqlite": "(SELECT json_group_array(name) FROM"
    " (SELECT t.name FROM tag_links AS l {on} ORDER BY l.position, t.name))",
}
_ON = (
    "JOIN tags AS t ON t.org_id = l.org_id AND t.id = l.tag_id"
    " WHERE l.org_id = leads.org_id AND l.kind = 'lead' AND l.record_id = leads.id"
)


async def copy_names(session: TenantSession, *wanted: AnyColumn, **values: object) -> None:
    """Write the names of their tags with these leads, where the search reads them (decision 243)."""
    names = text(_NAMES[session.dialect].format(on=_ON))
    own = update(_LEAD).where(col(_LEAD.org_id) == session.org_id, *wanted)
    await session.execute(own.values(tags=names, **values))


async def copy_names_that_differ(session: TenantSession, lead_ids: Sequence[str]) -> None:
    """The same for those of these leads that have others, which get their next version with them (decision 1104)."""
    names = _NAMES[session.dialect].format(on=_ON)
    differ = "CAST(leads.tags AS jsonb) <> CAST({} AS jsonb)" if session.dialect == "postgresql" else "json(tags) <> {}"
    wanted = among(_LEAD.id, lead_ids), text(differ.format(names))
    await copy_names(session, *wanted, version=_LEAD.version + 1, updated_at=now())


async def lock_leads_behind(session: TenantSession, after: str, size: int) -> list[str]:
    """Lock so many leads behind this identifier against other writers, in their order; which they are."""
    own = col(_LEAD.org_id) == session.org_id, _LEAD.id > after
    rows = await session.rows(select(_LEAD.id).where(*own).order_by(_LEAD.id).limit(size).with_for_update())
    return [row.id for row in rows]


def leads_with(organization: str, *tag_ids: str) -> AnyColumn:
    """The condition that a lead has one of the tags."""
    return _having(organization, TaggedKind.LEAD, tag_ids)


def _having(organization: str, kind: TaggedKind, tag_ids: Sequence[str]) -> AnyColumn:
    model: AnyEntity = MODELS[kind]
    return exists(
        select(literal(1)).where(
            col(TagLink.org_id) == organization,
            among(col(TagLink.tag_id), tag_ids),
            col(TagLink.kind) == kind.value,
            col(TagLink.record_id) == model.id,
            col(model.org_id) == organization,
        )
    )


async def lock_records_with(session: TenantSession, tag_ids: Iterable[str]) -> bool:
    """Lock the records that have one of the tags against other writers, in one order; False where they are too many.

    It comes before the tags are locked, since whoever tags a record locks the record before its tags.
    """
    ids, left = _canonical(tag_ids), TAG_COPIES_MAX
    for kind, model in MODELS.items():  # a statement for each table that has records with tags
        of_kind: AnyEntity = model
        having = select(of_kind.id).where(_having(session.org_id, kind, ids)).order_by(of_kind.id)
        locked = having.limit(left + 1).with_for_update().subquery()
        left -= await session.scalar(select(func.count()).select_from(locked))
        if left < 0:
            return False
    return True


async def touch_with(session: TenantSession, tag_ids: Sequence[str]) -> None:
    """Give the records that have one of the tags their next version, since they are about to show others."""
    for kind, model in MODELS.items():  # the same
        await _next_version(session, model, _having(session.org_id, kind, tag_ids))


async def ids_with(session: TenantSession, tag_ids: Sequence[str]) -> dict[TaggedKind, list[str]]:
    """The records that have one of the tags, by kind; without leads, which a job of their own looks through."""
    linked = select(col(TagLink.kind), col(TagLink.record_id)).distinct()
    wanted = linked.where(
        col(TagLink.org_id) == session.org_id,
        among(col(TagLink.tag_id), tag_ids),
        col(TagLink.kind).in_([kind.value for kind in MODELS if kind is not TaggedKind.LEAD]),
    )
    found: dict[TaggedKind, list[str]] = {}
    for row in await session.rows(wanted):
        found.setdefault(TaggedKind(row.kind), []).append(row.record_id)
    return found


async def merge(session: TenantSession, from_ids: Sequence[str], into: str) -> int:
    """Put a tag wherever one of the others was, and delete those; how many records got it."""
    links: AnyEntity = TagLink.__table__  # type: ignore[attr-defined]  # every table class has one
    others = links.c.org_id == session.org_id, links.c.tag_id.in_(from_ids)
    place = func.min(links.c.position)
    moved = select(links.c.org_id, links.c.kind, links.c.record_id, literal(into, Tag.id.type), place)  # type: ignore[attr-defined]
    columns = ["org_id", "kind", "record_id", "tag_id", "position"]
    grouped = moved.where(*others).group_by(links.c.org_id, links.c.kind, links.c.record_id)
    put = postgresql.insert(links).from_select(columns, grouped).on_conflict_do_nothing()
    moved_to = await session.execute(put)
    await session.execute(delete(Tag).where(col(Tag.org_id) == session.org_id, col(Tag.id).in_(from_ids)))
    return moved_to


async def change(session: TenantSession, tag: Tag, values: Values) -> Tag | None:
    """Change columns of a tag, and give it; None where its new name is another tag's."""
    try:
        async with session.within():
            return await session.update(tag, **values)
    except Exception as error:
        if is_duplicate(error):
            return None
        raise


async def drop(session: TenantSession, tag_id: str, *, copies: bool) -> None:
    """Delete a tag with its links; the leads that had it get the names of the others, where it `copies` them."""
    having = select(_LEAD.id).where(leads_with(session.org_id, tag_id))
    leads = [row.id for row in await session.rows(having)] if copies else []
    await session.execute(delete(Tag).where(col(Tag.org_id) == session.org_id, col(Tag.id) == tag_id))
    if leads:
        await copy_names(session, among(_LEAD.id, leads))


async def lock_tags(session: TenantSession, ids: Sequence[str]) -> dict[str, Tag]:
    """The tags with these identifiers, locked against other writers in one order."""
    own = select(Tag).where(col(Tag.org_id) == session.org_id, among(col(Tag.id), _canonical(ids)))
    rows = await session.find_all(own.order_by(col(Tag.folded_name)).with_for_update())
    return {tag.id: tag for tag in rows}


def _canonical(ids: Iterable[str]) -> list[str]:
    return [found for i in ids if (found := as_uuid(i)) is not None]
