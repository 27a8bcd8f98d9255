"""Merging: several accounts or contacts become one, and everything that named them names that (decision 434)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

from contract.bulk_vocabulary import MergeableKind
from contract.criteria import EVERYTHING, Compare, Condition, ListQuery, Op, Order, PageWindow, Selection
from contract.errors import InvalidState, Problem, Problems
from contract.limits import MERGE_UNDO_DAYS, MERGED_LINKS_MAX
from contract.mergeable import LINKS
from contract.scopes import ScopeGroup
from resolvers.merge_fields import MergeField, MergeInput, merged
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.lists import PageResult, by_id, page_of
from resolvers.shared.node_lookup import NodeResult
from resolvers.shared.result_codec import dumps
from resolvers.shared.sentences import ABSENT
from storage.base import Record, as_uuid, now
from storage.joined_rows import ToldMergeRow
from storage.new_rows import new_row
from storage.queries import listables, merged_ids, records
from storage.queries import merging as statements
from storage.queries.duplicates import MODELS
from storage.queries.history import Told, changed_fields
from storage.queries.merging import Going, Links
from storage.tables import Merge, MergedId
from storage.tenancy.sessions import TenantSession

LISTABLES = {MergeableKind.ACCOUNT: listables.ACCOUNTS, MergeableKind.CONTACT: listables.CONTACTS}
"""The listables that read the records of the kinds."""


NO_LINKS: Mapping[str, int] = MappingProxyType(dict.fromkeys(LINKS, 0))
"""The counts of a merge that is not to be."""


@dataclass(frozen=True, slots=True)
class MergePreview:
    """The fields of the merged record, and how many links go over by their kind."""

    fields: Sequence[MergeField]
    links: dict[str, int]


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge that was made, and the record that stays."""

    merge: Merge
    record: NodeResult


@dataclass(frozen=True, slots=True)
class _Plan:
    """A merge before it is done: the records, their fields afterwards, and the links that go over."""

    going: Going
    records: Sequence[Record]
    fields: Sequence[MergeField]
    links: Links


@requires(ScopeGroup.CRM_READ, finds=(listables.MERGES,))
async def get_merge(ctx: Context, merge_id: str, selection: Selection | None = None) -> ToldMergeRow | None:
    """The merge, or None."""
    return await by_id(ctx, listables.MERGES, merge_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_merges(
    ctx: Context, kind: MergeableKind | None, page: PageWindow, selection: Selection | None = None
) -> PageResult[ToldMergeRow]:
    """A page of the merges, newest first."""
    condition: Condition = EVERYTHING if kind is None else Compare("kind", Op.EQ, kind.value)
    return await page_of(ctx, listables.MERGES, ListQuery(condition, Order("merged_at"), page), selection)


@requires(ScopeGroup.CRM_READ)
async def preview_merge(ctx: Context, input: MergeInput) -> MergePreview:
    """Preview a merge: plan it as the merge itself does, and leave it undone. Raises Problems or InvalidState."""
    async with ctx.reading() as session:
        plan = await _planned(session, input, lock=False)
    return MergePreview(plan.fields, plan.links.counts(input.kind))


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def merge_records(ctx: Context, input: MergeInput) -> Merged:
    """Make one record of several, in one transaction. Raises Problems, InvalidState, or PreconditionFailed."""
    async with ctx.writing() as session:
        await records.take_turns(session, *MODELS.values())
        plan = await _planned(session, input, lock=True)
        merged_now = await _made(ctx, session, plan, input)
    ctx.forget()
    return merged_now


async def merged_from(ctx: Context, kind: MergeableKind, record_id: str) -> list[str]:
    """The identifiers of those that went into a record, for who has it; those of its siblings come along."""

    async def load(ids: list[str]) -> list[list[str]]:
        async with ctx.reading() as session:
            found = await merged_ids.taken_by(session, kind, ids)
        return [found[i] for i in ids]

    ids: list[str] = await ctx.loader(("merged_from", kind), load).load(record_id)
    return ids


async def record_of(ctx: Context, kind: MergeableKind, record_id: str) -> NodeResult | None:
    """The record of the kind, for who may read such; None where it was deleted."""
    listable = LISTABLES[kind]
    record = await by_id(ctx, listable, record_id)
    return None if record is None else NodeResult(listable.typename, record)


async def _planned(session: TenantSession, input: MergeInput, *, lock: bool) -> _Plan:
    """Plan the merge. Raises Problems, InvalidState for too many links, or PreconditionFailed."""
    into, others = await _named(session, input, lock=lock)
    changes.expect(into, input.expected_version)
    fields = merged(input.kind, [into, *others], input)
    going = Going(input.kind, into.id, tuple(other.id for other in others))
    if (links := await statements.number(session, going)) > MERGED_LINKS_MAX:
        message = f"{links:,} links would go over, and a merge moves at most {MERGED_LINKS_MAX:,}"
        raise InvalidState(message, field=("input", "from"))
    return _Plan(going, [into, *others], fields, await statements.links_of(session, going, lock=lock))


async def _named(session: TenantSession, input: MergeInput, *, lock: bool) -> tuple[Record, list[Record]]:
    """The record that stays and those that go, by identifiers of whichever led there. Raises Problems."""
    asked = [as_uuid(i) for i in (input.into, *input.from_)]
    ids = [i for i in asked if i is not None]
    found = await statements.records_of(session, input.kind, ids, lock=lock)
    leads: Mapping[str, str] = {}
    if missing := [i for i in ids if i not in found]:
        leads = await merged_ids.leading(session, missing)
        found |= await statements.records_of(session, input.kind, list(leads.values()), lock=lock)
    records = [None if i is None else found.get(leads.get(i, i)) for i in asked]
    into, others = records[0], dict.fromkeys(record.id for record in records[1:] if record is not None)
    problems = []
    for place, record in enumerate(records):
        at = ("input", "into") if place == 0 else ("input", "from", place - 1)
        if record is None:
            problems.append(Problem(at, await _why_not(session, input.kind, asked[place]), "reference"))
        elif place > 0 and into is not None and record.id == into.id:
            problems.append(Problem(at, "is the record itself", "value_error"))
    if problems or into is None:
        raise Problems(problems)
    return into, [found[i] for i in others]


async def _why_not(session: TenantSession, kind: MergeableKind, identifier: str | None) -> str:
    """Says what is wrong with a reference that leads to no such record."""
    [other] = [each for each in MergeableKind if each is not kind]
    if identifier is not None and await statements.records_of(session, other, [identifier], lock=False):
        return f"is {_A[other]}, and no {kind.value}"
    return ABSENT


_A = {MergeableKind.ACCOUNT: "an account", MergeableKind.CONTACT: "a contact"}


async def _made(ctx: Context, session: TenantSession, plan: _Plan, input: MergeInput) -> Merged:
    going, (into, *others), made_at = plan.going, plan.records, now()
    kind = going.kind
    fields = {field.field: field.value for field in plan.fields}
    changed = changes.differences(into, fields)
    merge = new_row(
        Merge,
        org_id=session.org_id,
        kind=kind.value,
        into_id=into.id,
        from_ids=list(going.ids),
        links=plan.links.counts(kind),
        merged_by=ctx.caller.subject,
        merged_at=made_at,
        undo_until=made_at + timedelta(days=MERGE_UNDO_DAYS),
        choice={choice.field: choice.record_id for choice in input.choose or ()},
    )
    data = {f"{kind.value}_id": into.id, "from_ids": list(going.ids), "merge_id": merge.id}
    event = changes.event_draft(ctx, f"{kind.value}_merged", data)
    await statements.move(session, going, plan.links, event)
    await statements.remove(session, going)
    record = await session.update(into, **changed, **changes.next_version(into))
    plan.links.keys = await statements.lead_keys(session, going, plan.records, record)
    before = {"from": others, "into": {name: [getattr(into, name), value] for name, value in changed.items()}}
    kept = {"moved": dumps(plan.links.as_data()).decode(), "before": dumps(before).decode()}
    await session.insert(changes.as_changed(merge, kept))
    await session.insert(
        *(new_row(MergedId, kind=kind.value, from_id=i, into_id=into.id, merge_id=merge.id) for i in going.ids)
    )
    told = changed_fields(kind.value, into, record)
    told |= {"from_ids": [None, list(going.ids)]}
    await records.tell(session, event, [Told(kind.value, into.id, told, alone=True)])
    await records.append_events(session, [event])
    return Merged(merge, NodeResult(LISTABLES[kind].typename, record))
