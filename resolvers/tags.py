"""Tags: words on records of any kind, and what becomes of them (decisions 241 to 243)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field, StrictStr, WithJsonSchema

from contract.criteria import All, Compare, Condition, ListQuery, Op, Selection, UsedOn
from contract.errors import Duplicate, NotFound, Problem, Problems
from contract.limits import TAGGED_TOGETHER_MAX, TAGS_MAX
from contract.normal_form import folded
from contract.scopes import ScopeGroup
from contract.timeline import SUBJECTS
from contract.vocabulary import TaggedKind
from jobs.lead_tags import enqueue_copying
from jobs.tagged_records import enqueue_touching
from resolvers.shared import changes
from resolvers.shared.access import Rule, requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input
from resolvers.shared.lists import PageResult, page_of
from resolvers.shared.sentences import ABSENT
from resolvers.shared.tagging import Name, Names, check_room, made
from storage.base import as_uuid
from storage.new_rows import new_row
from storage.queries import listables, merged_ids, records
from storage.queries import tags as statements
from storage.queries.history import Told
from storage.queries.tags import LockedRecord
from storage.rows import TagRow
from storage.tables import Tag, TagLink
from storage.tenancy.sessions import TenantSession

_COLOR = re.compile(r"#[0-9A-Fa-f]{6}")


def _color(value: str) -> str:
    if not _COLOR.fullmatch(value):
        raise ValueError("must be a color such as #1A2B3C")
    return value.upper()


Color = Annotated[
    StrictStr, AfterValidator(_color), WithJsonSchema({"type": "string", "pattern": f"^{_COLOR.pattern}$"})
]


class TagCreate(Input):
    """A new tag."""

    name: Name
    color: Color | None = None


class TagUpdate(TagCreate):
    """Changes to a tag; null takes the color away."""

    name: Name = None  # type: ignore[assignment]  # a default that is never read: it may be left out


class TagMerge(Input):
    """The tags that go into another."""

    from_: Annotated[list[StrictStr], Field(min_length=1, max_length=TAGGED_TOGETHER_MAX)] = Field(alias="from")


class TagsApply(Input):
    """The tags to put on records, and to take off them."""

    ids: Annotated[list[StrictStr], Field(min_length=1, max_length=TAGGED_TOGETHER_MAX)]
    add: Names | None = None
    remove: Names | None = None


@dataclass(frozen=True, slots=True)
class TagUsage:
    """Says how many records of each kind have a tag."""

    accounts: int
    contacts: int
    deals: int
    leads: int
    activities: int
    campaigns: int
    total: int


@dataclass(frozen=True, slots=True)
class Merged:
    """The tag that stays, and how many records got it."""

    tag: Tag
    moved: int


@dataclass(frozen=True, slots=True)
class TaggedRecord:
    """A record, and the names of its tags."""

    id: str
    kind: TaggedKind
    tags: Sequence[str]


async def names_of(ctx: Context, kind: TaggedKind, record_id: str) -> list[str]:
    """The names of a record's tags, for who has the record; those of its siblings come in the same statement."""

    async def load(ids: list[str]) -> list[list[str]]:
        async with ctx.reading() as session:
            found = await statements.names_of(session, kind, ids)
        return [found[i] for i in ids]

    names: list[str] = await ctx.loader(("tags_of", kind), load).load(record_id)
    return names


@requires(ScopeGroup.CRM_READ, finds=(listables.TAGS,))
async def list_tags(ctx: Context, listing: ListQuery, selection: Selection | None = None) -> PageResult[TagRow]:
    """A page of the tags; `wanted` makes the condition."""
    return await page_of(ctx, listables.TAGS, listing, selection)


def wanted(query: str | None = None, used_on: Sequence[str] | None = None) -> Condition:
    """Make the condition: the name contains the text, letter case aside; on a record of one of the kinds."""
    parts: list[Condition] = []
    if query:
        parts.append(Compare("folded_name", Op.CONTAINS, folded(query)))
    if used_on is not None:
        parts.append(UsedOn(tuple(used_on)))
    return All(tuple(parts))


@requires(ScopeGroup.CRM_READ)
async def usage_of_tag(ctx: Context, tag_id: str) -> TagUsage:
    """Says how many records of each kind have the tag."""

    async def load(ids: list[str]) -> list[TagUsage]:
        async with ctx.reading() as session:
            found = await statements.usage(session, ids)
        return [_usage(found[i]) for i in ids]

    counts: TagUsage = await ctx.loader("tag_usage", load).load(tag_id)
    return counts


def _usage(counts: Mapping[str, int]) -> TagUsage:
    number = {kind: counts.get(kind.value, 0) for kind in TaggedKind}
    return TagUsage(
        number[TaggedKind.ACCOUNT],
        number[TaggedKind.CONTACT],
        number[TaggedKind.DEAL],
        number[TaggedKind.LEAD],
        number[TaggedKind.ACTIVITY],
        number[TaggedKind.CAMPAIGN],
        sum(number.values()),
    )


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_tag(ctx: Context, input: TagCreate) -> Tag:
    """Make a tag. Raises Duplicate where there is one of the name."""
    async with ctx.writing() as session:
        await check_room(session, 1, ("input",))
        tag = new_row(Tag, **input.given(), org_id=ctx.org_id)
        if not await records.insert_missing(session, tag):
            raise _taken()
        await changes.append_event(ctx, session, "tag_created", {"tag_id": tag.id})
    ctx.forget()
    return tag


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_tag(ctx: Context, tag_id: str, input: TagUpdate) -> Tag:
    """Rename or recolor a tag. Raises NotFound, or Duplicate where the name is another tag's."""
    fields = input.given()
    async with ctx.writing() as session:
        are_few = "name" not in fields or await statements.lock_records_with(session, [tag_id])
        tag = await _to_change(session, tag_id)
        if values := changes.differences(tag, fields):
            changed = await statements.change(session, tag, {**values, **changes.next_version(tag)})
            if changed is None:
                raise _taken()
            tag = changed
            if "name" in values:
                await _touch(ctx, session, [tag.id], are_few=are_few)
                await _copy_names(session, tag.id, are_few=are_few)
            await changes.append_event(ctx, session, "tag_updated", {"tag_id": tag.id, "changed": sorted(values)})
    ctx.forget()
    return tag


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def merge_tags(ctx: Context, tag_id: str, input: TagMerge) -> Merged:
    """Put a tag wherever one of the others was, and delete those. Raises NotFound or Problems."""
    into = as_uuid(tag_id)
    ids = [as_uuid(i) for i in input.from_]
    async with ctx.writing() as session:
        are_few = await statements.lock_records_with(session, [tag_id, *input.from_])
        found = await statements.lock_tags(session, [tag_id, *input.from_])
        if into is None or into not in found:
            raise NotFound(field=("into",))
        problems = [
            Problem(("from", n), "is the tag itself", "value_error")
            if i == into
            else Problem(("from", n), ABSENT, "reference")
            for n, i in enumerate(ids)
            if i == into or i not in found
        ]
        if problems:
            raise Problems(problems)
        others = [i for i in dict.fromkeys(ids) if i is not None]
        await _touch(ctx, session, others, are_few=are_few)
        moved = await statements.merge(session, others, into)
        await _copy_names(session, into, are_few=are_few)
        await changes.append_event(ctx, session, "tag_merged", {"tag_id": into, "from_ids": others, "moved": moved})
        tag = found[into]
    ctx.forget()
    return Merged(tag, moved)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_tag(ctx: Context, tag_id: str) -> str:
    """Take the tag off every record, and delete it. Raises NotFound."""
    async with ctx.writing() as session:
        are_few = await statements.lock_records_with(session, [tag_id])
        tag = await _to_change(session, tag_id)
        await _touch(ctx, session, [tag.id], are_few=are_few)
        await statements.drop(session, tag.id, copies=are_few)
        if not are_few:
            await enqueue_copying(session)
        await changes.append_event(ctx, session, "tag_deleted", {"tag_id": tag.id})
    ctx.forget()
    return tag.id


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def apply_tags(ctx: Context, input: TagsApply) -> list[TaggedRecord]:
    """Put tags on records of any kinds, and take others off, all or none. Raises Problems or Forbidden."""
    add, remove = input.add or [], input.remove or []
    ids = [as_uuid(i) for i in input.ids]
    async with ctx.writing() as session:
        locked = await statements.lock_records(session, [i for i in ids if i is not None])
        if missing := [i for i in ids if i is not None and i not in locked]:
            leads = await merged_ids.leading(session, missing)
            locked |= await statements.lock_records(session, list(leads.values())) if leads else {}
            ids = [i if i is None else leads.get(i, i) for i in ids]
        words = ABSENT
        if problems := [Problem(("ids", n), words, "reference") for n, i in enumerate(ids) if i not in locked]:
            raise Problems(problems)
        kinds = {i: record.kind for i, record in locked.items()}
        if TaggedKind.CAMPAIGN in kinds.values():
            Rule(ScopeGroup.OUTREACH_MANAGE).enforce(ctx.principal)
        before, after = await _put(session, locked, add, remove, ids)
        changed = [i for i in before if before[i] != after[i]]
        for kind in dict.fromkeys(kinds[i] for i in changed):  # a statement for each kind, or two
            await statements.touch(session, kind, [i for i in changed if kinds[i] is kind])
        if changed:
            data = {"ids": changed, "added": len(add), "removed": len(remove)}
            subjects = [i for i in changed if kinds[i] in SUBJECTS.values()]
            told = [Told(kinds[i].value, i, {"tags": [before[i], after[i]]}) for i in subjects]
            await changes.append_event(ctx, session, "records_tagged", data, told=told)
    ctx.forget()
    return [TaggedRecord(i, kinds[i], after[i]) for i in ids if i is not None]


_NamesOf = dict[str, list[str]]
"""The names of the tags that each of the records has, in the order in which it got them."""


async def _put(
    session: TenantSession,
    locked: Mapping[str, LockedRecord],
    add: Sequence[str],
    remove: Sequence[str],
    ids: Sequence[str | None],
) -> tuple[_NamesOf, _NamesOf]:
    """The names before and after. Raises Problems where a record would have too many tags, or the organization."""
    removed = await statements.named(session, remove)
    tags = await made(session, add, ("add",))
    gone = {tag.id for key, tag in removed.items() if key not in tags}
    kinds = {i: locked[i].kind for i in ids if i is not None}
    before = await statements.links_of(session, kinds)
    after: _NamesOf = {}
    links, problems = [], []
    for record, had in before.items():
        kept = [tag for tag in had if tag.id not in gone]
        new = [tag for tag in tags.values() if tag.id not in {old.id for old in kept}]
        if len(kept) + len(new) > TAGS_MAX:
            problems.append(Problem(("ids", ids.index(record)), f"would have more than {TAGS_MAX} tags", "too_long"))
        first = max((tag.position for tag in kept), default=-1) + 1
        kind, made_at = kinds[record].value, locked[record].created_at
        links += [
            new_row(TagLink, kind=kind, record_id=record, tag_id=tag.id, position=first + n, record_created_at=made_at)
            for n, tag in enumerate(new)
        ]
        after[record] = [*(tag.name for tag in kept), *(tag.name for tag in new)]
    if problems:
        raise Problems(problems)
    if gone:
        await statements.unlink(session, list(kinds), gone)
    await statements.link(session, links)
    return {record: [tag.name for tag in had] for record, had in before.items()}, after


async def _touch(ctx: Context, session: TenantSession, tag_ids: Sequence[str], *, are_few: bool) -> None:
    """Give the records that have one of these tags their next version, or have jobs do so (decision 1104)."""
    if are_few:
        await statements.touch_with(session, tag_ids)
    else:
        await enqueue_touching(session, await statements.ids_with(session, tag_ids), actor=ctx.subject)


async def _copy_names(session: TenantSession, tag_id: str, *, are_few: bool) -> None:
    """Write the names of their tags with the leads that have this one, or have a job do so (decision 192)."""
    if are_few:
        await statements.copy_names(session, statements.leads_with(session.org_id, tag_id))
    else:
        await enqueue_copying(session)


async def _to_change(session: TenantSession, tag_id: str) -> Tag:
    found = await statements.lock_tags(session, [tag_id])
    if not found:
        raise NotFound(field=("id",))
    return next(iter(found.values()))


def _taken() -> Duplicate:
    return Duplicate("There is a tag of this name", field=("input", "name"))
