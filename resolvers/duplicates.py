"""Duplicates: groups of accounts or contacts that may be one, and those that are known not to be (decision 432)."""

import base64
import binascii
from asyncio import gather, sleep
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated

import orjson
from pydantic import Field, StrictStr

from contract.bulk_vocabulary import DuplicateReason, MergeableKind
from contract.criteria import PageWindow
from contract.errors import Problem, Problems
from contract.limits import DISMISSED_MAX, DUPLICATES_SHOWN
from contract.mergeable import SIGNS
from contract.scopes import ScopeGroup
from resolvers.merging import LISTABLES
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input
from resolvers.shared.lists import PageResult, by_id
from resolvers.shared.node_lookup import NodeResult
from resolvers.shared.sentences import ABSENT
from storage.base import as_uuid
from storage.queries import duplicates as statements
from storage.queries import merged_ids
from storage.queries.duplicates import Shared
from storage.queries.kinds import kinds_of
from storage.queries.records import lock_each
from storage.rows import Row
from storage.tenancy.sessions import TenantSession

_LOOKED_AT = 200
"""Records of a group of which it is known who is not one with whom."""
_NOBODY: AbstractSet[str] = frozenset()


class DuplicatesDismiss(Input):
    """Records that are not one."""

    ids: Annotated[list[StrictStr], Field(min_length=2, max_length=DISMISSED_MAX)]


class DuplicateGroup(Row):
    """Records that may be one: what they have in common, the oldest of them, and how many there are."""

    __slots__ = ("reasons", "records", "shared", "size")

    def __init__(
        self, reasons: Sequence[DuplicateReason], records: Sequence[NodeResult], size: int, shared: Shared
    ) -> None:
        self.reasons = reasons
        self.records = records
        self.size = size
        self.shared = shared


@requires(ScopeGroup.CRM_READ)
async def list_duplicates(ctx: Context, kind: MergeableKind, page: PageWindow) -> PageResult[DuplicateGroup]:
    """A page of the groups, the surest and largest first; no group has two that are dismissed. Raises Problems."""
    after = None if page.after is None else _decoded(page.after)
    async with ctx.reading() as session:
        found = await statements.shared(session, kind, page.size + 1, after=after, offset=page.offset or 0)
        shown = found[: page.size]
        members = await statements.members(session, kind, [one.key for one in shown], _LOOKED_AT) if shown else {}
        ids = list(dict.fromkeys(i for group in members.values() for i in group))
        pairs = await statements.dismissed_among(session, kind, ids) if ids else set()
    dismissed: dict[str, set[str]] = defaultdict(set)
    for low, high in pairs:
        dismissed[low].add(high)
        dismissed[high].add(low)

    async def total() -> int:
        async with ctx.reading() as session:
            return await statements.count(session, kind)

    groups = await gather(*(_group(ctx, kind, one, members[one.key], dismissed) for one in shown))
    rows = [group for group in groups if group is not None]
    return PageResult(_cursor, rows, len(found) > page.size, bool(after or page.offset), total)


async def _group(
    ctx: Context,
    kind: MergeableKind,
    shared: Shared,
    members: Mapping[str, AbstractSet[str]],
    dismissed: Mapping[str, AbstractSet[str]],
) -> DuplicateGroup | None:
    """The group of a key; None where nobody is left of it who may be one with another."""
    ids, size = list(members), shared.size
    apart = {i: others for i in ids if (others := dismissed.get(i, _NOBODY) & members.keys())}
    if apart:
        ids = _together(ids, apart)
        size = len(ids)
        await sleep(0)  # others have a turn
    if len(ids) < 2:
        return None
    common = sorted(frozenset.intersection(*(frozenset(members[i]) for i in ids)))
    listable = LISTABLES[kind]
    rows = await gather(*(by_id(ctx, listable, i) for i in ids[:DUPLICATES_SHOWN]))
    records = [NodeResult(listable.typename, row) for row in rows if row is not None]
    return DuplicateGroup([SIGNS[key[0]] for key in common], records, size, shared)


def _together(ids: Sequence[str], apart: Mapping[str, AbstractSet[str]]) -> list[str]:
    """The most records of which no two are dismissed (decision 433): each is tried first, with all that go with it.

    `apart` has those that a record is not one with.
    """
    best: set[str] = set()
    for place, first in enumerate(ids):
        chosen = {first}
        for other in ids:
            if chosen.isdisjoint(apart.get(other, _NOBODY)):
                chosen.add(other)
        if len(chosen) > len(best):
            best = chosen
        if len(best) > 1 and place >= DUPLICATES_SHOWN:
            break
    return [i for i in ids if i in best]


def _cursor(row: Row) -> str:
    shared: Shared = row.shared  # type: ignore[attr-defined]  # a group
    document = orjson.dumps([shared.sign, shared.size, shared.key])
    return base64.urlsafe_b64encode(document).rstrip(b"=").decode()


def _decoded(text: str) -> Shared:
    """The group at the cursor. Raises Problems where it is none of such a list."""
    try:
        sign, size, key = orjson.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        if sign not in SIGNS or type(size) is not int or not 0 < size < 2**31 or "\0" in key or not key.isprintable():
            raise ValueError(text)
    except (ValueError, TypeError, AttributeError, binascii.Error):
        raise Problems([Problem(("after",), "is not a cursor of this list in this order", "cursor")]) from None
    return Shared(sign, size, key)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def dismiss_duplicates(ctx: Context, input: DuplicatesDismiss) -> int:
    """Note that no two of these records are one, and give how many pairs they make. Raises Problems."""
    asked = [as_uuid(i) for i in input.ids]
    async with ctx.writing() as session:
        known, kinds = await _found(session, [i for i in asked if i is not None])
        kind = next((kinds[i] for i in asked if i in kinds), None)
        problems = []
        for place, i in enumerate(asked):
            if i not in kinds:
                problems.append(Problem(("ids", place), ABSENT, "reference"))
            elif kinds[i] is not kind:
                problems.append(Problem(("ids", place), f"is no {kind}, as the first one is", "value_error"))
        ids = dict.fromkeys(known[i] for i in asked if i in kinds)
        if not problems and len(ids) < 2:
            problems.append(Problem(("ids",), "must name two records", "too_short"))
        if problems or kind is None:
            raise Problems(problems)
        there = await lock_each(session, statements.MODELS[kind], list(ids))
        if await statements.dismiss(session, kind, there):
            data = {"kind": kind.value, "ids": there}
            await changes.append_event(ctx, session, "duplicates_dismissed", data)
    return len(there) * (len(there) - 1) // 2


async def _found(session: TenantSession, ids: Sequence[str]) -> tuple[dict[str, str], dict[str, MergeableKind]]:
    """The records that identifiers name or lead to, and their kinds, by the identifiers that were asked for."""
    listables = {kind.value: listable for kind, listable in LISTABLES.items()}
    kinds = await kinds_of(session, listables, ids)
    leads = await merged_ids.leading(session, [i for i in ids if i not in kinds])
    kinds |= await kinds_of(session, listables, list(leads.values()))
    known = {i: leads.get(i, i) for i in ids if leads.get(i, i) in kinds}
    return known, {i: MergeableKind(kinds[record]) for i, record in known.items()}
