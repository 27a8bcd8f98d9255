"""Undoing a merge: the records come back under their identifiers, with what is as the merge left it (decision 436)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contract.bulk_vocabulary import MergeableKind
from contract.errors import InvalidState, NotFound
from contract.limits import MERGE_UNDO_DAYS
from contract.scopes import ScopeGroup
from resolvers.merging import LISTABLES
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.node_lookup import NodeResult
from resolvers.shared.result_codec import dumps, loads
from storage.base import JsonDict, Record, now
from storage.queries import merge_undoing as statements
from storage.queries import merged_ids, records
from storage.queries.duplicates import MODELS
from storage.queries.history import Told, changed_fields
from storage.queries.merging import Going, Links, Row
from storage.tables import Event, Merge
from storage.tenancy.sessions import TenantSession


@dataclass(frozen=True, slots=True)
class Unmerged:
    """A merge that was undone, the records that are back, and what stays as it is since it was changed after it."""

    merge: Merge
    restored: Sequence[NodeResult]
    kept: Sequence[str]


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def undo_merge(ctx: Context, merge_id: str) -> Unmerged:
    """Undo a merge within 30 days. Raises NotFound, or InvalidState for one that cannot be undone any more."""
    async with ctx.writing() as session:
        await records.take_turns(session, *MODELS.values())
        merge = await records.lock_for_update(session, Merge, merge_id)
        if merge is None:
            raise NotFound(field=("id",))
        if merge.undone_at is not None:
            raise InvalidState("The merge was undone already", field=("id",))
        if merge.undo_until < now():
            raise InvalidState(f"The merge was made more than {MERGE_UNDO_DAYS} days ago", field=("id",))
        done = await _undone(ctx, session, merge)
    ctx.forget()
    return done


async def _undone(ctx: Context, session: TenantSession, merge: Merge) -> Unmerged:
    kind = MergeableKind(merge.kind)
    into = await records.lock_for_update(session, MODELS[kind], merge.into_id)
    if into is None and (later := await statements.later(session, merge)) is not None:
        words = f"The record that stayed went into another by the merge {later.id}; undo that one first"
        raise InvalidState(words, field=("id",))
    before, going = loads(merge.before.encode()), Going(kind, merge.into_id, tuple(merge.from_ids))
    links = await _own_links(session, merge, going)
    data = {"merge_id": merge.id, "kind": merge.kind, "into_id": merge.into_id, "from_ids": list(merge.from_ids)}
    event = changes.event_draft(ctx, "merge_undone", data)
    await statements.drop_keys(session, going, links.keys)
    accounts = await _accounts_now(session, before)
    told: list[Told] = []
    kept: list[str] = []
    if into is not None:
        changed, kept = await _taken_back(session, kind, into, before["into"], accounts)
        after = await session.update(into, **changed, **changes.next_version(into))
        fields = changed_fields(kind.value, into, after)
        fields |= {"from_ids": [list(merge.from_ids), None]}
        told.append(Told(kind.value, into.id, fields, alone=True))
    rows, left = await _restorable(session, kind, before["from"], accounts)
    back = await session.insert(*rows)
    await statements.forget_ids(session, kind, merge)
    kept += left + await statements.move_back(session, going, links, event)
    told += [Told(kind.value, row.id, {"into_id": [merge.into_id, None]}, alone=True) for row in back]
    merge = await session.update(merge, undone_at=now())
    await _append(session, event, told)
    typename = LISTABLES[kind].typename
    shown = merge._replace(choice={}, moved="", before="")  # type: ignore[attr-defined]  # a named tuple
    return Unmerged(shown, [NodeResult(typename, row) for row in back], list(dict.fromkeys(kept)))


async def _own_links(session: TenantSession, merge: Merge, going: Going) -> Links:
    """The links of a merge, without those that later ones into the same record brought, too."""
    links = Links(**loads(merge.moved.encode()))
    for other in await statements.behind(session, merge):  # a statement for each that has such a link
        later = Links(**loads(other.moved.encode()))
        if statements.hand_on(going, links, later):
            await session.update(other, moved=dumps(later.as_data()).decode())
    return links


async def _append(session: TenantSession, event: Event, told: Sequence[Told]) -> None:
    await records.tell(session, event, told)
    await records.append_events(session, [event])


async def _accounts_now(session: TenantSession, before: JsonDict) -> Mapping[str, str]:
    """Find where the accounts that the records named before the merge are now: those that are gone lead nowhere.

    One that went into another leads there (decision 590).
    """
    named = {row.account_id for row in before["from"] if hasattr(row, "account_id")}
    named |= set(before["into"].get("account_id", ())[:1])
    ids = sorted(named - {None})
    if not ids:
        return {}
    gone = await statements.missing_account(session, ids)
    leads = await merged_ids.leading(session, sorted(gone))
    lost = await statements.missing_account(session, sorted(set(leads.values()))) if leads else set()
    return {i: i for i in ids if i not in gone} | {i: stays for i, stays in leads.items() if stays not in lost}


async def _restorable(
    session: TenantSession, kind: MergeableKind, rows: Sequence[Row], accounts: Mapping[str, str]
) -> tuple[list[Record], list[str]]:
    """The rows as they come back, a version later; an account that is gone meanwhile is named no more, and told."""
    kept: list[str] = []
    taken = await statements.taken_keys(session, kind, [row.external_key for row in rows if row.external_key])
    restored = []
    for row in rows:
        changed = changes.next_version(row)
        if kind is MergeableKind.CONTACT and row.account_id is not None:
            changed["account_id"] = accounts.get(row.account_id)
            if changed["account_id"] is None:
                kept.append("account_id")
        if row.external_key in taken:
            changed["external_key"] = None
            kept.append("external_key")
        restored.append(row._replace(**changed))
    return restored, kept


async def _taken_back(
    session: TenantSession,
    kind: MergeableKind,
    into: Record,
    fields: JsonDict,
    accounts: Mapping[str, str],
) -> tuple[dict[str, object], list[str]]:
    """The fields that get their values of before the merge, and those that were changed after it.

    An account that is gone, or a key in another system that is another record's by now, is not taken back.
    """
    still = {name: before for name, (before, after) in fields.items() if getattr(into, name) == after}
    key, account = still.get("external_key"), still.get("account_id")
    if key is not None and key in await statements.taken_keys(session, kind, [key]):
        del still["external_key"]
    if account is not None and account in accounts:
        still["account_id"] = accounts[account]
    elif account is not None:
        del still["account_id"]
    return still, [name for name in fields if name not in still]
