"""Statements on duplicates: groups of records that share a key, and pairs that are known not to be one.

A key is a group where two records or more have it. It is left out where all of them share a surer one, whose group has
them all, and where every pair of them is dismissed. Groups are read in the order of their index, behind the cursor.
What is asked of each group has to be found by an index, whatever the planner knows of tables that an import has just
filled (decision 1156).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from sqlalchemy import Integer, and_, bindparam, exists, func, literal_column, or_, select, true
from sqlalchemy.orm import aliased
from sqlmodel import col

from contract.bulk_vocabulary import DuplicateReason, MergeableKind
from contract.limits import NAMESAKES_MAX
from contract.mergeable import SIGNS, TABLES
from storage.base import PlainText, Record
from storage.expressions import AnyColumn, AnyEntity, AnySelect, Values
from storage.match_triggers import MATCHED, Matched
from storage.new_rows import model_named, new_row
from storage.queries.dialects import literal_number, unseen
from storage.queries.filtering import in_list
from storage.queries.words import word
from storage.statements import ORG_PARAM
from storage.tables import MatchGroup, MatchKey, NotDuplicate
from storage.tenancy.sessions import TenantSession

Pair = tuple[str, str]
"""Two identifiers in order."""

MODELS: Mapping[MergeableKind, type[Record]] = {kind: model_named(table) for kind, table in TABLES.items()}
"""The tables of the kinds."""
_RECORD = "matched"
_NAMESAKES = next(sign for sign, reason in SIGNS.items() if reason is DuplicateReason.SAME_NAME)


@dataclass(frozen=True, slots=True)
class Shared:
    """A key that so many records have."""

    sign: str
    size: int
    key: str


def _having(entity: AnyEntity, kind: MergeableKind, key: AnyColumn) -> tuple[AnyColumn, ...]:
    return entity.org_id == ORG_PARAM, entity.kind == word(kind), entity.key == key


def _is_shown(kind: MergeableKind) -> tuple[AnyColumn, ...]:
    """Says whether a key is a group to be shown."""
    few = or_(col(MatchGroup.sign) != word(_NAMESAKES), col(MatchGroup.size) <= literal_number(NAMESAKES_MAX))
    own = col(MatchGroup.org_id) == ORG_PARAM, col(MatchGroup.kind) == word(kind)
    pairs = col(MatchGroup.size) * (col(MatchGroup.size) - literal_number(1)) / literal_number(2)
    # In this order: nothing is looked for where there cannot be a surer one, as with most keys of an import.
    is_foremost = or_(col(MatchGroup.sign) == word(_matched(kind).surest), ~_is_within_a_surer_one(kind))
    return (*own, col(MatchGroup.size) > literal_number(1), few, is_foremost, _dismissed(kind) < pairs)


def _matched(kind: MergeableKind) -> Matched:
    [matched] = [each for each in MATCHED if each.kind == kind]
    return matched


def _keys_of(kind: MergeableKind) -> list[AnyColumn]:
    """The keys of the record that is called `_RECORD`, made of it as triggers make them; NULL for one that it lacks."""
    return [literal_column(key, PlainText) for key in _matched(kind).keys_of(_RECORD)]


def _is_within_a_surer_one(kind: MergeableKind) -> AnyColumn:
    """Says whether all records of the group share a surer key, which the first of them has, too.

    Its keys are values, each of a select of its own. Expressions of a joined record are none: PostgreSQL looks nothing
    up by what a function could leak before the policy was asked, and would read all groups for each one.
    """
    one: AnyEntity = aliased(MatchKey)
    its: AnyEntity = aliased(MatchKey)
    other: AnyEntity = aliased(MatchKey)
    surer: AnyEntity = aliased(MatchGroup)
    record: AnyEntity = aliased(MODELS[kind], name=_RECORD)
    first = (
        select(one.record_id)
        .where(*_having(one, kind, col(MatchGroup.key)))
        .order_by(one.record_id)
        .limit(literal_number(1))
        .correlate(MatchGroup)
        .scalar_subquery()
    )
    of_first = [
        select(key).select_from(record).where(record.org_id == ORG_PARAM, record.id == first).correlate(MatchGroup)
        for key in _keys_of(kind)
    ]
    both = and_(*_having(other, kind, surer.key), other.record_id == its.record_id)
    sharing = (
        select(func.count())
        .select_from(its)
        .join(other, both)
        .where(*_having(its, kind, col(MatchGroup.key)))
        .correlate(MatchGroup, surer)
        .scalar_subquery()
    )
    return exists(
        select(literal_column("1"))
        .select_from(surer)
        .where(
            surer.org_id == ORG_PARAM,
            surer.kind == word(kind),
            surer.key.in_([key.scalar_subquery() for key in of_first]),
            surer.size >= col(MatchGroup.size),
            surer.sign < col(MatchGroup.sign),
            sharing == col(MatchGroup.size),
        )
        .correlate(MatchGroup)
    )


def _dismissed(kind: MergeableKind) -> AnyColumn:
    """Says how many pairs of the records with the key are known not to be one."""
    low: AnyEntity = aliased(MatchKey)
    high: AnyEntity = aliased(MatchKey)
    pair = and_(
        col(NotDuplicate.org_id) == ORG_PARAM,
        col(NotDuplicate.kind) == word(kind),
        col(NotDuplicate.low_id) == low.record_id,
    )
    ends = and_(*_having(high, kind, col(MatchGroup.key)), high.record_id == col(NotDuplicate.high_id))
    return (
        select(func.count())
        .select_from(low)
        .join(NotDuplicate, pair)
        .join(high, ends)
        .where(*_having(low, kind, col(MatchGroup.key)))
        .correlate(MatchGroup)
        .scalar_subquery()
    )


async def shared(
    session: TenantSession, kind: MergeableKind, limit: int, *, after: Shared | None = None, offset: int = 0
) -> list[Shared]:
    """The next groups, the surest first, then the largest, then by key."""
    is_behind = after is not None

    def build() -> AnySelect:
        sign, size, key = col(MatchGroup.sign), col(MatchGroup.size), col(MatchGroup.key)
        at: dict[str, AnyColumn] = {
            "sign": unseen(bindparam("c_sign", type_=PlainText)),
            "size": unseen(bindparam("c_size", type_=Integer())),
            "key": unseen(bindparam("c_key", type_=PlainText)),
        }
        smaller = or_(size < at["size"], and_(size == at["size"], key > at["key"]))
        behind = and_(sign >= at["sign"], or_(sign > at["sign"], smaller)) if is_behind else true()
        groups = select(sign, size, key).where(*_is_shown(kind), behind)
        ordered = groups.order_by(sign, size.desc(), key)
        return ordered.limit(bindparam("limit", type_=Integer())).offset(bindparam("offset", type_=Integer()))

    values: Values = {"limit": limit, "offset": offset}
    if after is not None:
        values |= {"c_sign": after.sign, "c_size": after.size, "c_key": after.key}
    rows = await session.fetch(("duplicates", kind, is_behind), build, **values)
    return [Shared(row.sign, row.size, row.key) for row in rows]


async def count(session: TenantSession, kind: MergeableKind) -> int:
    """Says how many groups there are."""

    def build() -> AnySelect:
        return select(func.count().label("number")).select_from(MatchGroup).where(*_is_shown(kind))

    [row] = await session.fetch(("duplicates counted", kind), build)
    number: int = row.number
    return number


async def members(
    session: TenantSession, kind: MergeableKind, keys: Sequence[str], most: int
) -> dict[str, dict[str, frozenset[str]]]:
    """The oldest records that have each of these keys, each with all keys that it has itself."""
    record: AnyEntity = aliased(MODELS[kind], name=_RECORD)
    names = [f"own_{number}" for number, _ in enumerate(_keys_of(kind))]

    def build() -> AnySelect:
        its = and_(record.org_id == ORG_PARAM, record.id == col(MatchKey.record_id))
        rank = func.row_number().over(partition_by=col(MatchKey.key), order_by=(record.created_at, record.id))
        having = col(MatchKey.org_id) == ORG_PARAM, col(MatchKey.kind) == word(kind)
        owned = [key.label(name) for name, key in zip(names, _keys_of(kind), strict=True)]
        ranked = (
            select(col(MatchKey.key), col(MatchKey.record_id), rank.label("rank"), *owned)
            .where(*having, its, in_list(col(MatchKey.key), "keys"))
            .subquery("ranked")
        )
        columns: list[AnyColumn] = [ranked.c.key, ranked.c.record_id, *(ranked.c[name] for name in names)]
        within = ranked.c.rank <= bindparam("most", type_=Integer())
        return select(*columns).where(within).order_by(ranked.c.key, ranked.c.rank)

    found: dict[str, dict[str, frozenset[str]]] = {key: {} for key in keys}
    for row in await session.fetch(("members of duplicates", kind), build, keys=list(keys), most=most):
        found[row.key][row.record_id] = frozenset(own for own in row[2:] if own is not None)
    return found


async def dismissed_among(session: TenantSession, kind: MergeableKind, ids: Sequence[str]) -> set[Pair]:
    """The pairs of these records that are known not to be one."""

    def build() -> AnySelect:
        low, high = col(NotDuplicate.low_id), col(NotDuplicate.high_id)
        own = col(NotDuplicate.org_id) == ORG_PARAM, col(NotDuplicate.kind) == word(kind)
        return select(low, high).where(*own, in_list(low, "ids"), in_list(high, "ids"))

    rows = await session.fetch(("dismissed pairs", kind), build, ids=list(ids))
    return {(row.low_id, row.high_id) for row in rows}


async def dismiss(session: TenantSession, kind: MergeableKind, ids: Iterable[str]) -> int:
    """Note that no two of these records are one; how many pairs were not known before."""
    pairs = combinations(sorted(set(ids)), 2)
    drafts = [new_row(NotDuplicate, kind=kind.value, low_id=low, high_id=high) for low, high in pairs]
    return len(await session.insert_each_missing(drafts))
