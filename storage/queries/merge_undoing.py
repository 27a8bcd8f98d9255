"""Statements that undo a merge: what still is as the merge left it goes back, and what does not is told.

Each gives the names of what it leaves, as `table/key`.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import and_, case, delete, null, or_, select, update
from sqlmodel import col

from contract.bulk_vocabulary import MergeableKind
from contract.mergeable import Reference, Way
from storage.base import now
from storage.expressions import AnyEntity, Values
from storage.new_rows import model_named, table_of
from storage.queries.duplicates import MODELS
from storage.queries.list_conditions import among
from storage.queries.merging import Going, Links, add_pairs, key_column, name_of, of_way, own_rows, tell
from storage.tables import Account, Event, ExternalKey, Merge, MergedId, NotDuplicate
from storage.tenancy.sessions import TenantSession


async def missing_account(session: TenantSession, ids: Sequence[str]) -> set[str]:
    """Those of the accounts that are not there any more; the others stay until the transaction ends."""
    there = select(col(Account.id)).where(col(Account.org_id) == session.org_id, among(col(Account.id), ids))
    rows = await session.rows(there.with_for_update(read=True, key_share=True))
    return set(ids) - {row.id for row in rows}


async def later(session: TenantSession, merge: Merge) -> Merge | None:
    """The merge, not undone, that took the record away that stayed in this one."""
    led = select(col(MergedId.merge_id)).where(
        col(MergedId.org_id) == session.org_id,
        col(MergedId.kind) == merge.kind,
        col(MergedId.from_id) == merge.into_id,
    )
    found = await session.scalar(led)
    return None if found is None else await session.find(Merge, id=found)


async def behind(session: TenantSession, merge: Merge) -> Sequence[Merge]:
    """The merges into the same record that came later and are not undone, the first ones first."""
    own = col(Merge.org_id) == session.org_id, col(Merge.into_id) == merge.into_id, col(Merge.undone_at).is_(None)
    later = or_(
        col(Merge.merged_at) > merge.merged_at, and_(col(Merge.merged_at) == merge.merged_at, col(Merge.id) > merge.id)
    )
    return await session.find_all(
        select(Merge).where(*own, later).order_by(col(Merge.merged_at), col(Merge.id)).with_for_update()
    )


def hand_on(going: Going, links: Links, later: Links) -> bool:
    """Leave to a later merge what its records had, too, so that the one that stays goes on having it of those.

    Whether there is such a thing. An undo of that merge then takes it away (decision 594).
    """
    handed = False
    for one in of_way(going.kind, Way.LINKED):
        name, key = name_of(one), key_column(one).key
        own = {getattr(entry[0], key): entry for entry in links.linked.get(name, ()) if not entry[1]}
        for entry in later.linked.get(name, ()):
            if entry[1] and (mine := own.pop(getattr(entry[0], key), None)) is not None:
                mine[1], entry[1], handed = True, False, True
    for pair in list(links.pairs[1]):
        [other] = set(pair) - {going.into}
        if any(other in old for old in later.pairs[0]):
            links.pairs[1].remove(pair)
            later.pairs[1].append(pair)
            handed = True
    return handed


async def move_back(session: TenantSession, going: Going, links: Links, event: Event) -> list[str]:
    """Have everything name the records of before that still names the one that stayed."""
    left: list[str] = []
    for one in of_way(going.kind, Way.MOVED):  # a statement to read, and one for each record that came back
        moved = links.moved.get(name_of(one), [])
        left += await _back(session, going, one, dict(moved), going.into, event)
    for one in of_way(going.kind, Way.ENROLLED):
        rows = links.enrolled.get(name_of(one), [])
        for now_at, collapsed in ((going.into, False), (None, True)):
            its = {key: was for key, was, both in rows if both is collapsed}
            left += await _back(session, going, one, its, now_at, event)
    for one in of_way(going.kind, Way.LINKED):
        left += await _unlink(session, going, one, links)
    for one in of_way(going.kind, Way.FOLLOWED):
        await _follow_back(session, going, one, links)
    await session.insert(*links.kept)
    await _unpair(session, going, links)
    return left


async def _back(
    session: TenantSession,
    going: Going,
    one: Reference,
    moved: Mapping[str, str],
    now_at: str | None,
    event: Event,
) -> list[str]:
    if not moved:
        return []
    model: AnyEntity = model_named(one.table)
    key, column = key_column(one), col(getattr(model, one.column))
    own = own_rows(session, going.kind, one, among(key, list(moved)))
    rows = await session.rows(
        select(key.label("key"), column.label("named")).where(own).order_by(key).with_for_update()
    )
    still = [row.key for row in rows if row.named == now_at]
    for was in going.ids:  # ten at most
        if keys := [each for each in still if moved[each] == was]:
            await tell(session, one, event, was, key, keys)
            changed: Values = {one.column: was}
            if hasattr(model, "version"):
                changed |= {"version": model.version + 1, "updated_at": now()}
            its = own_rows(session, going.kind, one, among(key, keys))
            await session.execute(update(model).where(its).values(changed))
    return [f"{one.table}/{row.key}" for row in rows if row.named != now_at]


async def _unlink(session: TenantSession, going: Going, one: Reference, links: Links) -> list[str]:
    """Give the rows back whose link the record that stayed still has; those that it had not itself it loses."""
    given = links.linked.get(name_of(one), [])
    if not given:
        return []
    model: AnyEntity = model_named(one.table)
    key, column = key_column(one), col(getattr(model, one.column))
    own = own_rows(session, going.kind, one, column == going.into)
    has = {getattr(row, key.key): row for row in await session.find_all(select(model).where(own).with_for_update())}
    back = [(row, collapsed) for row, collapsed in given if getattr(row, key.key) in has]
    made = {getattr(row, key.key) for row, collapsed in back if not collapsed}
    if made:
        await session.execute(delete(model).where(own, among(key, sorted(made))))
    gained = [pair for pair in links.gained if table_of(pair[1]) == one.table]
    regained = [before for before, after in gained if has.get(getattr(after, key.key)) == after]
    if regained:
        await session.update_each(regained, "role", "is_primary")
    await session.insert_each_missing([row for row, _ in back])
    lost = dict.fromkeys(getattr(row, key.key) for row, _ in given if getattr(row, key.key) not in has)
    return [f"{one.table}/{each}" for each in lost]


async def _follow_back(session: TenantSession, going: Going, one: Reference, links: Links) -> None:
    model: AnyEntity = model_named(one.table)
    column, beside = col(getattr(model, one.column)), col(getattr(model, str(one.beside)))
    led = links.moved.get("merged_ids.into_id", [])
    for was in going.ids:  # ten at most
        own = own_rows(session, going.kind, one, column == going.into)
        before = among(beside, [was, *(key for key, named in led if named == was)])
        named = case((beside == was, null()), else_=beside)
        await session.execute(update(model).where(own, before).values({one.column: was, str(one.beside): named}))


async def _unpair(session: TenantSession, going: Going, links: Links) -> None:
    old, made = links.pairs
    if made:
        others = [low if high == going.into else high for low, high in made]
        low_id, high_id = col(NotDuplicate.low_id), col(NotDuplicate.high_id)
        own = col(NotDuplicate.org_id) == session.org_id, col(NotDuplicate.kind) == going.kind.value
        ends = [and_(one == going.into, among(other, others)) for one, other in ((low_id, high_id), (high_id, low_id))]
        await session.execute(delete(NotDuplicate).where(*own, or_(*ends)))
    await add_pairs(session, going.kind, old)


async def drop_keys(session: TenantSession, going: Going, keys: Sequence[str]) -> None:
    """Have these keys in other systems lead to the record that stayed no more."""
    if keys:
        own = col(ExternalKey.org_id) == session.org_id, col(ExternalKey.kind) == going.kind.value
        its = col(ExternalKey.record_id) == going.into, among(col(ExternalKey.key), keys)
        await session.execute(delete(ExternalKey).where(*own, *its))


async def taken_keys(session: TenantSession, kind: MergeableKind, keys: Sequence[str]) -> dict[str, str]:
    """Those of the keys that a record has itself, each with the record's identifier."""
    model: AnyEntity = MODELS[kind]
    held = select(model.external_key, model.id).where(model.org_id == session.org_id, among(model.external_key, keys))
    return {row.external_key: row.id for row in await session.rows(held)}


async def forget_ids(session: TenantSession, kind: MergeableKind, merge: Merge) -> None:
    """Have the identifiers lead nowhere but to the records themselves."""
    own = col(MergedId.org_id) == session.org_id, col(MergedId.kind) == kind.value
    await session.execute(delete(MergedId).where(*own, col(MergedId.merge_id) == merge.id))
